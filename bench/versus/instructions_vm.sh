#!/bin/bash
# instructions_vm.sh BUILD_DIR: user-space instructions of one 64 B write, our loop against a bare
# libibverbs loop, counted by callgrind. Run it where an RDMA device is:
#   tests/softroce/vm run -- bench/versus/instructions_vm.sh BUILD_DIR
# Both queue pairs are in one process, so nobody spins and the counts repeat. Prints TSV.
set -euo pipefail
shopt -s inherit_errexit
build_dir=${1:?usage: instructions_vm.sh BUILD_DIR}
size=64
few=1024
many=3072

# instructions PROGRAM ARGUMENTS...: everything the program executes in user space.
instructions() {
  local log
  log=$(timeout 120 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" \
    2>&1 >/dev/null) ||
    { echo "FAILED: $*: $log" >&2; return 1; }
  awk '/Collected/ { print $NF }' <<<"$log"
}

# per_message PROGRAM SIGNAL_EVERY: the difference of two lengths, so that set-up does not count.
per_message() {
  local short long
  short=$(instructions "$1" $few $size "$2")
  long=$(instructions "$1" $many $size "$2")
  awk "BEGIN { printf \"%.1f\", ($long - $short) / ($many - $few) }"
}

printf 'case\tours\tbare loop\tratio\n'
for signal_every in 1 32; do
  bare=$(per_message "$build_dir/bench/versus/bare_verbs_loop" $signal_every)
  ours=$(per_message "$build_dir/bench/verbs_stream_once" $signal_every)
  printf 'instructions per 64 B write, one in %d signalled\t%s\t%s\t%s\n' $signal_every "$ours" \
    "$bare" "$(awk "BEGIN { printf \"%.3f\", $ours / $bare }")"
done
