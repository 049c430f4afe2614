#!/bin/bash
# two_guests.sh BUILD_DIR first|second: every operation between two kernels. The two commands of `vm run2`: the first
# serves until the second has ended.
set -euo pipefail
side=${2:?usage: $0 BUILD_DIR first|second}
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

if [[ $side == first ]]; then
  start_server
  echo READY
  read -r line || fail "standard input ended before the client did"
  echo "the client has $line"
  stop_server
  exit
fi
host=${RDMABENCH_PEER_ADDRESS:-$(own_address)}
# Where other commands came before it, the server may be about to start.
for ((tries = 0; tries < 100; ++tries)); do
  ! (: </dev/tcp/"$host"/$port) 2>/dev/null || break
  sleep 0.1
done
for op in send write write-imm read; do
  for kind in lat bw; do
    measure "$host" "$kind" "$op" 8,64K 50
  done
done
if [[ -n ${RDMABENCH_PEER_ADDRESS6:-} ]]; then
  measure "$RDMABENCH_PEER_ADDRESS6" lat write 8 50
fi
check_results
