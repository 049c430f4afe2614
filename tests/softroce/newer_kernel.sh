#!/bin/bash
# newer_kernel.sh BUILD_DIR: every kind of memory, and what registering it costs. For a kernel that
# has udmabuf, which Debian's has from 6.12 on; natively, for whatever kernel is running.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"
uname -r
if [[ -z ${RDMABENCH_DEVICE:-} && ! -e /dev/udmabuf ]]; then
  echo "FAILED: this kernel was to have udmabuf" >&2
  exit 1
fi
[[ -n ${RDMABENCH_DEVICE:-} ]] || echo 8 >/proc/sys/vm/nr_hugepages
timeout 60 "$build_dir/tests/softroce/verbs_device_test" --gtest_filter='MemoryDevice.*'

kinds=(--memory host)
[[ ! -e /dev/udmabuf ]] || kinds+=(--memory dmabuf)
[[ -n ${RDMABENCH_DEVICE:-} ]] || kinds+=(--memory huge --memory file:/dev/shm/rdmabench)
result=$scratch/registration
timeout 60 "$build_dir/tools/rdmabench" reg "${kinds[@]}" --size 4K,64K --iterations 50 \
  ${RDMABENCH_DEVICE:+--device "$RDMABENCH_DEVICE"} --format json --output "$result"
python3 - "$result" "${#kinds[@]}" <<'CHECK'
import json
import sys

document = json.load(open(sys.argv[1], encoding="utf-8"))
results = document["results"]
assert not document["errors"], document["errors"]
assert len(results) == int(sys.argv[2]) // 2 * 2, results
for one in results:
    assert one["iterations"] == 50, one
    assert 0 < one["register_min_ns"] <= one["register_p50_ns"] <= one["register_max_ns"], one
    assert 0 < one["deregister_min_ns"] <= one["deregister_p50_ns"] <= one["deregister_max_ns"], one
    reasons = {other["route"]: other["reason"] for other in one["other_routes"]}
    assert len(reasons) == 2 and one["route"] not in reasons, one
    if one["memory"] == "dmabuf" and one["route"] != "dma-buf":
        print("not dma-buf:", reasons["dma-buf"])
        assert document["device"] in reasons["dma-buf"], reasons
CHECK
echo "passed: the cost of registering ${kinds[*]}"

# The operations that only ibv_wr_post(3) has; the driver of Soft-RoCE has them from Linux 6.2 and 6.3 on.
host=${RDMABENCH_ADDRESS:-$(own_address)}
start_server
for op in atomic-write flush; do
  timeout 60 "$rdmabench" lat "$host" --port $port --backend verbs --op $op --size 8 -n 20 --warmup 4 \
    >/dev/null 2>"$scratch/$op" && status=0 || status=$?
  # In the guest only the library may lack it.
  lacks=rdma-core
  in_guest || lacks='rdma-core\|device_cap_flags_ex'
  if [[ $status == 3 ]] && grep -q "$lacks" "$scratch/$op"; then
    echo "not here: $(cat "$scratch/$op")"
    continue
  fi
  [[ $status == 0 ]] || fail "lat --op $op: exit status $status: $(cat "$scratch/$op")"
  sizes=8
  [[ $op == atomic-write ]] || sizes=8,4K,64K
  measure "$host" lat $op $sizes 200
  measure "$host" bw $op $sizes 400
done
stop_server
check_results
