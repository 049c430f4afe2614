#!/bin/bash
# instructions_vm.sh BUILD_DIR: user-space instructions of one 64 B message, our loop against a bare
# libibverbs loop, counted by callgrind. Run it where an RDMA device is:
#   tests/softroce/vm run -- bench/versus/instructions_vm.sh BUILD_DIR
# Both queue pairs are in one process, so nobody spins and the counts repeat. Prints TSV.
set -euo pipefail
shopt -s inherit_errexit
build_dir=${1:?usage: instructions_vm.sh BUILD_DIR}
size=64
few=8192  # of both an epoch has its 32 marks, which cost something each
many=12288

# instructions PROGRAM ARGUMENTS...: everything the program executes in user space.
instructions() {
  local log
  log=$(timeout 300 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" \
    2>&1 >/dev/null) ||
    { echo "FAILED: $*: $log" >&2; return 1; }
  awk '/Collected/ { print $NF }' <<<"$log"
}

# per_message PROGRAM OP ARGUMENTS...: the difference of two lengths, so that set-up does not count.
# The arguments follow the count and the size.
per_message() {
  local program=$1 op=$2 short long
  shift 2
  short=$(instructions "$program" "$op" $few $size "$@")
  long=$(instructions "$program" "$op" $many $size "$@")
  awk "BEGIN { printf \"%.1f\", ($long - $short) / ($many - $few) }"
}

printf 'case\tours\tbare loop\tratio\n'
for op in write send read; do
  for signal_every in 1 32; do
    bare=$(per_message "$build_dir/bench/versus/bare_verbs_loop" $op $signal_every)
    for list in 1 16; do
      ours=$(per_message "$build_dir/bench/verbs_stream_once" $op $signal_every $list)
      printf 'instructions per 64 B %s, one in %d signalled, lists of %d\t%s\t%s\t%s\n' \
        $op $signal_every $list "$ours" "$bare" "$(awk "BEGIN { printf \"%.3f\", $ours / $bare }")"
    done
  done
done
