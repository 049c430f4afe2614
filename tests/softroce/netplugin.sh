#!/bin/bash
# netplugin.sh BUILD_DIR first|second: every case of `rdmabench netplugin` between two kernels, with a plugin over TCP.
# The two commands of `vm run2`.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

plugin=$build_dir/tests/integration/libnccl-net-reference.so
REFERENCE_PLUGIN_ADDRESS=${RDMABENCH_ADDRESS:-$(own_address)}
export REFERENCE_PLUGIN_ADDRESS

case ${2:?usage: $0 BUILD_DIR first|second} in
  first)
    timeout 280 "$rdmabench" netplugin "$plugin" --listen 18517 --once 2>"$scratch/listen" &
    server=$!
    for ((tries = 0; tries < 100; ++tries)); do
      ! grep -q 'listening on' "$scratch/listen" || break
      sleep 0.1
    done
    echo READY
    wait "$server" || fail "the listening side: exit status $?, $(cat "$scratch/listen")"
    server=
    cat "$scratch/listen"
    ;;
  second)
    status=0
    timeout 260 "$rdmabench" netplugin "$plugin" "${RDMABENCH_PEER_ADDRESS:?}" --timeout 60s --size 8,64K \
      --iterations 40 --verbose >"$scratch/two_guests" || status=$?
    cat "$scratch/two_guests"
    [[ $status == 0 ]] || fail "two guests: exit status $status"
    grep -q ' 0 FAIL, 0 SKIP' "$scratch/two_guests" || fail "two guests: not all cases passed"
    echo "passed: two guests, $SECONDS s"
    ;;
esac
