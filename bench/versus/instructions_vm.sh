#!/bin/bash
# instructions_vm.sh BUILD_DIR: user-space instructions of one 64 B message, our loop against a bare
# libibverbs loop, counted by callgrind. Run it where an RDMA device is:
#   tests/softroce/vm run -- bench/versus/instructions_vm.sh BUILD_DIR
# Both queue pairs are in one process, so nobody spins and the counts repeat. Prints TSV.
build_dir=${1:?usage: instructions_vm.sh BUILD_DIR}
source "$(dirname "$0")/instructions.sh"

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
