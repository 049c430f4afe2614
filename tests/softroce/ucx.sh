#!/bin/bash
# ucx.sh BUILD_DIR: UCX over the device's own transports, and beside verbs on the same device.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

host=${RDMABENCH_ADDRESS:-$(own_address)}
device=${RDMABENCH_DEVICE:-rxe0}
[[ $device == *:* ]] || device=$device:1
# UCX 1.13 drops every unreliable datagram of Soft-RoCE with an IPv4 GID, and connects by these.
for index in {0..7}; do
  [[ $(cat "/sys/class/infiniband/${device%%:*}/ports/${device#*:}/gids/$index") != fd77:* ]] || export UCX_IB_GID_INDEX=$index
done

# over NAME BACKEND lat|bw OPTION...: one run, into NAME.json.
over() {
  local name=$1 backend=$2 kind=$3 start=$SECONDS
  shift 3
  taskset -c $(($(nproc) - 1)) timeout 90 "$rdmabench" "$kind" "$host" --port $port --backend "$backend" --warmup 8 \
    --format json --output "$scratch/$name.json" "$@" || fail "$kind over $backend: $*: exit status $?"
  assert_no_resources "$kind over $backend"
  echo "passed: $kind over $backend: $*, $((SECONDS - start)) s"
}

start_server --allow-provider ucx
for transport in rc ud; do
  ucx=(--validate --ucx-tls "$transport" --device "$device" --require "provider=rc_verbs;ud_verbs,device=$device")
  over $transport-send ucx lat --op send -s 1,8,1K,64K -n 20 "${ucx[@]}"
  over $transport-read ucx lat --op read -s 8,64K -n 20 "${ucx[@]}"
  over $transport-write ucx bw --op write -s 8,64K -n 40 "${ucx[@]}"
done
over atomic ucx lat --op fetch-add -n 20 --ucx-tls rc --device "$device"
over many ucx bw --op write -s 4K -n 60 -q 3 --post-list 4 --ucx-tls rc --device "$device"

# What UCX adds to the same wire.
over verbs verbs lat --op send -s 8 -n 200 --launches 2 --device "${device%:*}"
over ucx ucx lat --op send -s 8 -n 200 --launches 2 --ucx-tls rc --device "$device"
"$rdmabench" compare "$scratch/verbs.json" "$scratch/ucx.json" --factor backend >"$scratch/compare" 2>&1 || (($? == 1)) ||
  fail "compare: $(cat "$scratch/compare")"
cat "$scratch/compare"
grep -q 'rc_verbs' "$scratch/compare" || fail "compare does not name what UCX took"
stop_server
