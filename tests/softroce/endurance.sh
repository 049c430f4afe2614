#!/bin/bash
# endurance.sh BUILD_DIR: sessions that are killed, stopped and cut off, and an honest client beside
# them, for RDMABENCH_SECONDS (120). No verbs object may be left.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"
host=${RDMABENCH_ADDRESS:-$(own_address)}
python3 "$here/../integration/endurance.py" "$rdmabench" --backend verbs --host "$host" --clients 2 \
  --seconds "${RDMABENCH_SECONDS:-120}"
assert_no_resources endurance
