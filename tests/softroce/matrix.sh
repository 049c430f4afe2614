#!/bin/bash
# matrix.sh BUILD_DIR: operation x transport x {latency, bandwidth, bidirectional} x {poll, events} x
# {1, 4} queue pairs. Every cell runs validated, or is refused by name because verbs forbids it. The
# table it prints is docs/matrix.md.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

host=${RDMABENCH_ADDRESS:-$(own_address)}
[[ -x $rdmabench ]] || fail "$rdmabench is not there: build it first"
if [[ -w /proc/sys/vm/nr_hugepages ]] && (($(cat /proc/sys/vm/nr_hugepages) < 32)); then
  echo 32 >/proc/sys/vm/nr_hugepages
fi

python3 "$here/matrix.py" refused "$rdmabench" "$host" $port || fail "what verbs forbids"

server_limit=500
start_server
matrix=passed
python3 "$here/matrix.py" run "$rdmabench" "$host" $port "$scratch" || matrix=failed
stop_server 2>"$scratch/log"
[[ $matrix == passed ]] || fail "the matrix"$'\n'"$(tail -40 "$scratch/log")"
echo "passed: the matrix, $SECONDS s"
