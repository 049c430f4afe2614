#!/bin/bash
# instructions_ucx.sh BUILD_DIR: user-space instructions of one 64 B send over UCX's tcp, our loop against a bare loop over
# libucp, tagged and active. Both ends are in one process. Prints TSV.
build_dir=${1:?usage: instructions_ucx.sh BUILD_DIR}
source "$(dirname "$0")/instructions.sh"

printf 'case\tours\tbare loop\tratio\n'
for kind in tagged active; do
  if [ $kind = active ]; then export RDMABENCH_ACTIVE=1; fi
  bare=$(per_message "$build_dir/bench/versus/bare_ucp_loop" send)
  for list in 1 16; do
    ours=$(per_message "$build_dir/bench/ucx_stream_once" send 1 $list)
    printf 'instructions per 64 B send, %s, lists of %d\t%s\t%s\t%s\n' \
      $kind $list "$ours" "$bare" "$(awk "BEGIN { printf \"%.3f\", $ours / $bare }")"
  done
done
