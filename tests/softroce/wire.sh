#!/bin/bash
# wire.sh BUILD_DIR: `coll --wire --wire-shape nccl` over Soft-RoCE, beside the collectives of a fake NCCL.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"
fakes=$build_dir/tests/fakes
export LD_LIBRARY_PATH=$fakes/nccl/lib:$fakes/cuda/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export FAKE_CUDA_DEVICES=2 RDMABENCH_SIZE=2
host=${RDMABENCH_ADDRESS:-$(own_address)}
export RDMABENCH_RENDEZVOUS=$host:18700

rank() {
  RDMABENCH_RANK=$1 timeout 120 "$rdmabench" coll all-reduce --size 64K -n 3 --backend nccl --device lo --timeout 20s \
    --wire --wire-shape nccl --wire-backend verbs --wire-memory host --wire-duration 100ms \
    --format json --output "$scratch/wire.json"
}
rank 1 &
rank 0 || fail "rank 0: exit status $?"
wait $! || fail "rank 1: exit status $?"
assert_no_resources "coll --wire"
python3 - "$scratch/wire.json" <<'CHECK'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
row = {fact["name"]: fact["value"] for fact in document["results"][0]["facts"]}
# 64 KiB of two ranks over eight channels, each a queue pair.
assert (row["wire_nccl_message_bytes"], row["wire_nccl_in_flight"], row["wire_nccl_queue_pairs"]) == (4096, 4, 8), row
assert row["wire_nccl_bits_per_s"] > 0 and row["wire_nccl_share"] > 0, row
pairs = [note for note in document["notes"] if note.startswith("Wire, ")]
assert len(pairs) == 2 and all("by verbs rxe rxe0:1 rc" in pair for pair in pairs), pairs
steps = [note for note in document["notes"] if note.startswith("Wire as NCCL, ")]
assert len(steps) == 4 and all(step.endswith("b/s.") for step in steps), steps
print("\n".join(pairs + steps))
CHECK
