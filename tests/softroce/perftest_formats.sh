#!/bin/bash
# perftest_formats.sh BUILD_DIR: perftest's own tools and ours with the same arguments, one after the
# other on the same device; both outputs go through one column parser, which must find them alike.
# docs/perftest.md takes from here which flags run in the guest.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

columns=$here/../perftest/perftest_columns.py
host=${RDMABENCH_ADDRESS:-$(own_address)}
device=${RDMABENCH_DEVICE:-rxe0}
last_cpu=$(($(nproc) - 1))
runs=0

# run_pair NAME COMMAND...: a server and a client with the same arguments, the output in NAME.*.
run_pair() {
  local name=$1 server_status=0 status=0
  shift
  taskset -c 0 timeout 60 "$@" >"$scratch/$name.server" 2>"$scratch/$name.server.log" &
  server=$!
  listening
  taskset -c $last_cpu timeout 60 "$@" "$host" >"$scratch/$name" 2>"$scratch/$name.log" || status=$?
  wait "$server" || server_status=$?
  server=
  [[ $status == 0 && $server_status == 0 ]] ||
    fail "$*: client $status, server $server_status"$'\n'"$(tail "$scratch/$name"*)"
}

# Waits until something listens on the port, by hexadecimal number in /proc. A server of perftest
# with -z or -R listens by rdma_cm, which is not seen there: it gets two seconds.
listening() {
  local deadline=$((SECONDS + 2))
  while ((SECONDS <= deadline)); do
    grep -qs ":$(printf %04X $port) .* 0A " /proc/net/tcp /proc/net/tcp6 && return
    kill -0 "$server" 2>/dev/null || fail "the server has ended: $(cat "$scratch"/*.server.log)"
    sleep 0.05
  done
}

# pair TOOL ARGUMENTS...: perftest's and ours must print the same but for what they measured.
pair() {
  local start=$SECONDS rule=()
  run_pair real "$@" -d "$device" -p $port
  run_pair own "$rdmabench" "$@" -d "$device" -p $port
  [[ " $* " != *" -D "* ]] || rule=(--any-count)  # each comes as far as it comes
  python3 "$columns" --alike "$scratch/real" "$scratch/own" "${rule[@]}" ||
    fail "$*: not alike"$'\n'"$(cat "$scratch/real" "$scratch/own")"
  runs=$((runs + 1))
  echo "alike: $*, $((SECONDS - start)) s"
}

# ours TOOL ARGUMENTS...: what perftest 4.5 does not take, does not do, or prints in another way.
ours() {
  run_pair own "$rdmabench" "$@" -p $port
  python3 "$columns" "$scratch/own" >/dev/null || fail "$*: $(cat "$scratch/own")"
  runs=$((runs + 1))
  echo "passed: $*"
}

# limit STATUS TOOL ARGUMENTS...: the client's exit code; perftest's server knows no limits.
limit() {
  local wanted=$1 status=0
  shift
  "$rdmabench" "$1" -p $port >/dev/null 2>&1 &
  server=$!
  listening
  timeout 60 "$rdmabench" "$@" -p $port "$host" >"$scratch/limit" 2>&1 || status=$?
  wait "$server" || true
  server=
  [[ $status == "$wanted" ]] || fail "$*: exit status $status"$'\n'"$(cat "$scratch/limit")"
  runs=$((runs + 1))
  echo "exit status $status: $*"
}

[[ -x $rdmabench ]] || fail "$rdmabench is not there: build it first"
command -v ib_write_bw >/dev/null || fail "perftest is not installed"

pair ib_send_bw -F -s 4096 -n 200
pair ib_write_bw -F -s 4096 -n 200
pair ib_read_bw -F -s 4096 -n 200
pair ib_atomic_bw -F -n 200
pair ib_send_lat -F -s 8 -n 200
pair ib_write_lat -F -s 8 -n 200
pair ib_read_lat -F -s 8 -n 200
pair ib_atomic_lat -F -n 200
pair ib_atomic_bw -F -n 200 -A CMP_AND_SWAP
pair ib_write_bw -F -s 4096 -n 200 --report_gbits
pair ib_write_bw -F -s 8 -n 200 --report_gbits
pair ib_write_bw -F -s 4096 -n 200 -b
pair ib_read_bw -F -s 4096 -n 200 -b -o 4
pair ib_write_bw -F -s 4096 -D 2 -f 0
pair ib_write_bw -F -s 4096 -D 2 -f 0 --cpu_util
pair ib_write_lat -F -s 8 -D 2
pair ib_read_lat -F -s 8 -D 2
pair ib_write_bw -F -s 4096 -n 200 -q 4 -l 2 -t 64
pair ib_write_bw -F -s 4096 -n 200 -q 4 --mr_per_qp
pair ib_send_bw -F -s 4096 -n 200 -q 4 --mr_per_qp
pair ib_write_bw -F -s 64 -n 200 -Q 10 -N --use_old_post_send
pair ib_send_bw -F -s 4096 -n 200 -e
pair ib_send_lat -F -s 8 -n 200 -c UD
pair ib_send_bw -F -a -n 20 -c UD
pair ib_write_lat -F -s 8 -n 200 -c UC
pair ib_send_bw -F -s 1024 -n 200 --use-srq -r 256
pair ib_write_bw -F -s 4096 -n 200 -R
pair ib_send_lat -F -s 8 -n 200 -x 1 -i 1 -m 1024 -S 1 -u 16
# The exchange itself is ours, by TCP, with -z too: so that row and its addresses differ.
ours ib_write_bw -F -s 4096 -n 200 -z
# perftest takes the first IPv6 GID, which is link-local; rdmabench one that a router passes on.
ours ib_write_bw -F -s 4096 -n 200 --ipv6
pair ib_send_bw -F -s 4096 -n 200 --tclass=96 --pkey_index=0 --retry_count=6 --disable_pcie_relaxed
# perftest 4.5 itself never ends with this one on Soft-RoCE.
ours ib_write_bw -F -s 4096 -n 200 --perform_warm_up
ours ib_write_bw -F -s 4096 -n 200 --recv_post_list=2 --force-link=ETHERNET

ours ib_write_bw -F -a -n 20
ours ib_send_lat -a -D 1 -c UD -m 1024
ours ib_write_bw -s 4K -n 200 --write_with_imm --flow_label=5 -L 9 -I 32
ours ib_send_lat -s 8 -n 200 --send_with_imm -e -X 0
ours ib_write_bw -s 4K -n 200 -T 0x68 --ipv6-addr --data_validation
ours ib_write_bw -s 4K -D 1 --rate_limit=500 --rate_units=p --rate_limit_type=SW
ours ib_write_lat -s 8 -n 200 -C --pin_cores=0 --disable_numa
ours ib_write_lat -s 8 -n 200 --numa_node=0
ours ib_send_lat -s 8 -n 200 -W hw_counters/sent_pkts
grep -q 'hw_counters/sent_pkts=[1-9]' "$scratch/own" || fail "no counter: $(cat "$scratch/own")"
ours ib_write_bw -s 4K -n 200 --out_json --out_json_file="$scratch/bw.json"
python3 -m json.tool "$scratch/bw.json" >/dev/null || fail "--out_json is not JSON"

truncate -s 16M "$scratch/file"
limit 0 ib_write_bw -s 4K -n 200 --mmap="$scratch/file" --mmap-offset=4096
if echo 32 >/proc/sys/vm/nr_hugepages && (($(cat /proc/sys/vm/nr_hugepages) >= 16)); then
  limit 0 ib_write_bw -s 4K -n 200 --use_hugepages
else
  fail "no huge pages for --use_hugepages"
fi
limit 0 ib_write_bw -s 4K -n 200 -w 0.001 -y 0.000001
limit 1 ib_write_bw -s 4K -n 200 -w 1000000
limit 1 ib_write_bw -s 4K -n 200 -y 1000000
limit 0 ib_write_bw -s 4K -n 200 --output=bandwidth
grep -qE '^[0-9.]+$' "$scratch/limit" || fail "more than a number: $(cat "$scratch/limit")"

# Without an end: rows must come until it is told to stop.
"$rdmabench" ib_write_bw -p $port >/dev/null 2>&1 &
server=$!
listening
timeout -s INT 12 "$rdmabench" ib_write_bw -p $port -s 4K --run_infinitely -D 2 "$host" \
  >"$scratch/endless" 2>&1 || true
wait "$server" || true
server=
(($(grep -c '^ 4096 ' "$scratch/endless") >= 2)) || fail "no rows: $(cat "$scratch/endless")"
echo "passed: --run_infinitely"

assert_no_resources "all of them"
echo "passed: $runs command lines"
