#!/bin/bash
# netplugin.sh BUILD_DIR [first|second]: our network plugin for NCCL over verbs, on this machine alone or, as the
# commands of `vm run2`, between two kernels.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

plugin=$build_dir/lib/netplugin/plugin/libnccl-net-rdmabench.so
export RDMABENCH_NET_BACKEND=verbs RDMABENCH_NET_CHUNK=16K RDMABENCH_NET_TIMEOUT=30s
[[ -z ${RDMABENCH_DEVICE:-} ]] || export RDMABENCH_NET_DEVICE=$RDMABENCH_DEVICE

# check NAME [HOST...]: all cases, and a few sizes
check() {
  local name=$1 start=$SECONDS status=0
  shift
  timeout 260 "$rdmabench" netplugin "$plugin" "$@" --timeout 60s --size 8,64K --iterations 40 --verbose \
    >"$scratch/$name" || status=$?
  cat "$scratch/$name"
  [[ $status == 0 ]] || fail "$name: exit status $status"
  grep -q ' 0 FAIL, 0 SKIP' "$scratch/$name" || fail "$name: not all cases passed"
  assert_no_resources "$name"
  echo "passed: $name, $((SECONDS - start)) s"
}

case ${2:-alone} in
  alone)
    check one_process
    ;;
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
    assert_no_resources "the listening side"
    ;;
  second)
    check two_guests "${RDMABENCH_PEER_ADDRESS:?}"
    ;;
esac
