#!/bin/bash
# two_guests_client.sh BUILD_DIR: the second command of `vm run2`. Every operation, two kernels.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

host=${RDMABENCH_PEER_ADDRESS:-$(own_address)}
for op in send write write-imm read; do
  for kind in lat bw; do
    measure "$host" "$kind" "$op" 8,64K 50
  done
done
if [[ -n ${RDMABENCH_PEER_ADDRESS6:-} ]]; then
  measure "$RDMABENCH_PEER_ADDRESS6" lat write 8 50
fi
check_results
