#!/bin/bash
# fabric_ranks.sh BUILD_DIR first|second: `rdmabench fabric` over verbs between two kernels, each
# command of `vm run2` with its own. Ranks 0 and 2 are of the first, 1 and 3 of the second.
set -euo pipefail
side=${2:?usage: $0 BUILD_DIR first|second}
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

case $side in
  first) leader=${RDMABENCH_ADDRESS:-$(own_address)} ;;
  second) leader=${RDMABENCH_PEER_ADDRESS:-$(own_address)} ;;
esac

device=${RDMABENCH_DEVICE:-rxe0}
device=${device%%:*}

# rank N OF PORT [OPTION...]: one rank, whose output is in $scratch/rank.N
rank() {
  local number=$1 of=$2 port=$3
  shift 3
  RDMABENCH_RANK=$number RDMABENCH_SIZE=$of RDMABENCH_RENDEZVOUS=$leader:$port exec timeout -k 5 150 \
    "$rdmabench" fabric --backend verbs --size 4K --timeout 10s --no-confirm \
    ${RDMABENCH_DEVICE:+--device "$RDMABENCH_DEVICE"} "$@" >"$scratch/rank.$number" 2>&1
}

# expect WHAT IN_JSON_LINES: how many records of the leader's output hold that text
expect() {
  local count
  count=$(grep -c "$1" "$scratch/rank.0" || true)
  [[ $count == "$2" ]] || fail "$count records with $1, not $2: $(cat "$scratch"/rank.*)"
}

[[ $side == second ]] || echo READY

# Two ranks: every pair both ways, nobody lost.
if [[ $side == first ]]; then
  (rank 0 2 18600 --iterations 20 --format json) || true
  expect '"record":"measurement"' 4
  expect '"error":null' 4
  expect '"record":"lost"' 0
  expect '"record":"verdict"' 1
else
  (rank 1 2 18600 --iterations 20) || fail "rank 1: $(cat "$scratch/rank.1")"
fi
assert_no_resources "a fabric of two"
echo "passed: two ranks"

# Four ranks, of which number 3 is stopped once it has been let in: it is named, and the others'
# six ordered pairs are there.
if [[ $side == first ]]; then
  (rank 2 4 18601 --duration 2s) &
  other=$!
  (rank 0 4 18601 --duration 2s --format json) || true
  wait $other || fail "rank 2: $(cat "$scratch/rank.2")"
  expect '"record":"lost","rank":3' 1
  expect '"record":"lost"' 1
  [[ $(grep '"error":null' "$scratch/rank.0" | grep -vc '"sender":3\|"receiver":3') == 12 ]] ||
    fail "not all pairs of those that are left: $(cat "$scratch/rank.0")"
else
  idle=$(sent_packets "$device")
  (rank 3 4 18601 --duration 2s) &
  victim=$!
  (rank 1 4 18601 --duration 2s) &
  other=$!
  # Nothing is measured before all are in; then there is work for another 20 seconds.
  for ((tries = 0; $(sent_packets "$device") < idle + 200; ++tries)); do
    ((tries < 600)) || fail "no rank of this kernel sends: $(cat "$scratch"/rank.*)"
    sleep 0.1
  done
  pkill -STOP -P $victim || fail "rank 3 had ended: $(cat "$scratch/rank.3")"
  wait $other || fail "rank 1: $(cat "$scratch/rank.1")"
  pkill -KILL -P $victim || true
  kill -KILL $victim 2>/dev/null || true
fi
assert_no_resources "a fabric of four"
echo "passed: four ranks, one of them stopped"
