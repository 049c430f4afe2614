#!/bin/bash
# gpu_memory.sh BUILD_DIR: a GPU's memory over Soft-RoCE, which takes none of it: with a fake driver
# it must end staged, say so, and give the device's own refusals as the reasons.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"
export LD_LIBRARY_PATH=$build_dir/tests/fakes/cuda/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

host=${RDMABENCH_ADDRESS:-$(own_address)}
start_server
# Each message once: tests/integration/gpu_memory.py has each in either kind. It has no atomics.
for run in "lat send" "bw write" "bw write-imm" "lat read" "lat fetch-add" "bw fetch-add"; do
  read -r kind op <<<"$run"
  sizes=8,4K,64K
  [[ $op != fetch-add ]] || sizes=8
  taskset -c $(($(nproc) - 1)) timeout 60 "$rdmabench" "$kind" "$host" --port $port \
    --backend verbs --op "$op" --memory cuda:0 --size $sizes --depth 32 --iterations 10 --warmup 2 \
    --validate --no-watch --format json --output "$scratch/$run.json" ||
    fail "$run in GPU memory: exit status $?"
  assert_no_resources "$run in GPU memory"
done
timeout 60 "$rdmabench" bw "$host" --port $port --op send --memory cuda:0 --peer-memory host \
  --size 4K --iterations 10 --warmup 2 --no-watch
status=0
timeout 60 "$rdmabench" bw "$host" --port $port --op send --memory cuda:0 --peer-memory host --gpu-mapping pcie \
  --iterations 30 --no-watch 2>"$scratch/demanded" || status=$?
cat "$scratch/demanded"
[[ $status == 3 ]] || fail "a mapping that was demanded and refused: exit status $status"
stop_server

timeout 60 "$rdmabench" reg --memory cuda:0 --memory cuda:0,vmm --size 64K,1M --iterations 50
timeout 60 "$rdmabench" reg --memory cuda:0 --size 64K --iterations 50 --format json \
  --output "$scratch/reg.json"
python3 - "$scratch" "$here/../../docs/schema/rdmabench-1.schema.json" <<'CHECK'
import json
import pathlib
import sys

import jsonschema

folder = pathlib.Path(sys.argv[1])
registration = json.loads((folder / "reg.json").read_text(encoding="utf-8"))
jsonschema.validate(registration, json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")))
assert [one["route"] for one in registration["results"]] == ["staged"], registration["results"]
reasons = {(one["route"], one["mapping"]): one["reason"] for one in registration["refused"]}
for mapping in ("default", "pcie"):
    assert "rxe0" in reasons["dma-buf", mapping], reasons
    assert "EOPNOTSUPP" in reasons["dma-buf", mapping], reasons
assert "nvidia_peermem is not loaded" in reasons["nvidia_peermem", ""], reasons
assert "data-direct" in dict(reasons) or ("data-direct", "pcie") in reasons, reasons
runs = sorted(path for path in folder.glob("* *.json"))
assert len(runs) == 6, runs
for path in runs:
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["error"] is None, document["error"]
    details = document["resolved"]["details"]
    assert details["memory_route"] == "staged", details
    assert "EOPNOTSUPP" in details["memory_routes_refused"], details
    assert details["inline"] == "0", details
    for row in document["results"]:
        notes = " ".join(row["notes"])
        assert "staged: at the client" in notes and "staged: at the server" in notes, row
        assert row["validated"], row
    print("passed:", path.stem, details["memory_routes"])
CHECK
echo "passed: GPU memory over Soft-RoCE is staged and says so"
