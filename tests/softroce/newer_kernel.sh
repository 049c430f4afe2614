#!/bin/bash
# newer_kernel.sh BUILD_DIR: every kind of memory, and what registering it costs. For a kernel that
# has udmabuf, which Debian's has from 6.12 on; natively, for whatever kernel is running.
set -euo pipefail
build_dir=${1:?usage: $0 BUILD_DIR}
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
result=$(mktemp)
trap 'rm -f "$result"' EXIT
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
