# shellcheck shell=bash
# What the test scripts share. They run wherever there is an RDMA device: in a guest of `vm`, or on
# a machine that has one. Set by the guest, or by whoever runs the tests natively:
#   RDMABENCH_ADDRESS      this machine's address on the device (natively: found when unset)
#   RDMABENCH_ADDRESS6     its IPv6 address, tested too when set
#   RDMABENCH_PEER_ADDRESS, RDMABENCH_PEER_ADDRESS6   the other guest's
#   RDMABENCH_DEVICE       natively: the device to use, NAME or NAME:PORT
here=$(dirname "${BASH_SOURCE[0]}")
build_dir=${1:?usage: $0 BUILD_DIR}  # the script's own argument
rdmabench=$build_dir/tools/rdmabench
port=18515
scratch=$(mktemp -d)
server=
cleanup() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# The first IPv4 address of the network interface below the device.
own_address() {
  local netdev device=${RDMABENCH_DEVICE:-}
  netdev=$(rdma link show | awk -v "device=${device%%:*}" \
    '/state ACTIVE/ && (device == "" || index($2, device "/") == 1) {
       for (i = 3; i < NF; ++i) if ($i == "netdev") { print $(i + 1); exit } }')
  [[ -n $netdev ]] || fail "no active RDMA device with a network interface; set RDMABENCH_ADDRESS"
  ip -4 -oneline address show dev "$netdev" | awk '{ sub("/.*", "", $4); print $4; exit }'
}

# One line for each verbs object that a process holds. The kernel's own objects have no process.
user_objects() {
  local kind
  for kind in pd cq qp mr cm_id; do
    echo "kind $kind"
    rdma resource show "$kind" || exit
  done | awk '$1 == "kind" { kind = $2; next }
              match($0, / pid .*/) { print kind, "held by", substr($0, RSTART + 1) }' | sort
}

baseline=$(user_objects)

# Fails when processes hold objects that were not there at the start. The other side of a run may
# still be letting go of its own, or find out after its timeout that the peer is gone.
assert_no_resources() {
  local now left deadline=$((SECONDS + 10))
  while true; do
    now=$(user_objects) || fail "rdma resource show"
    left=$(comm -13 <(echo "$baseline") <(echo "$now"))
    [[ -n $left ]] || return 0
    ((SECONDS < deadline)) || break
    sleep 0.1
  done
  fail "verbs objects left over after $1:"$'\n'"$left"
}

# start_server [OPTION...]: starts the server, on CPU 0 where there is more than one, and waits until it listens.
start_server() {
  [[ -x $rdmabench ]] || fail "$rdmabench is not there: build it first"
  # Without --foreground, timeout would pass SIGTERM on twice.
  taskset -c 0 timeout --foreground -k 5 "${server_limit:-480}" \
    "$rdmabench" serve --port $port "$@" 2>"$scratch/serve.log" &
  server=$!
  local tries
  for ((tries = 0; tries < 100; ++tries)); do
    grep -q 'listening on' "$scratch/serve.log" && return
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat "$scratch/serve.log" >&2
  fail "the server does not listen"
}

stop_server() {
  local status=0
  kill -TERM "$server" 2>/dev/null || fail "the server had died: $(cat "$scratch/serve.log")"
  wait "$server" || status=$?
  server=
  cat "$scratch/serve.log" >&2
  [[ $status == 0 ]] || fail "the server ended with $status when asked to stop"
  assert_no_resources "the server"
}

# measure HOST lat|bw OP SIZES ITERATIONS [OPTION...]: one validated client run, whose JSON check_results reads.
measure() {
  local host=$1 kind=$2 op=$3 sizes=$4 iterations=$5 start=$SECONDS cpu=$(($(nproc) - 1))
  local result="$scratch/$kind $op $sizes ${host//:/_}.json"
  shift 5
  taskset -c $cpu timeout 60 "$rdmabench" "$kind" "$host" --port $port --backend verbs --op "$op" \
    --size "$sizes" --iterations "$iterations" --warmup 8 --validate --format json --output "$result" "$@" \
    ${RDMABENCH_DEVICE:+--device "$RDMABENCH_DEVICE"} ||
    fail "$kind $op $sizes to $host: exit status $?"
  assert_no_resources "$kind $op $sizes"
  echo "passed: $kind $op $sizes to $host, $((SECONDS - start)) s"
}

# Eight clients of one server at the same time.
eight_at_once() {
  local start=$SECONDS client clients=()
  for client in {1..8}; do
    timeout 60 "$rdmabench" lat "$1" --port $port --backend verbs --op write --size 8 \
      --iterations 20 --warmup 4 --validate >"$scratch/client$client" 2>&1 &
    clients+=($!)
  done
  for client in "${clients[@]}"; do
    wait "$client" || fail "one of eight clients: $(cat "$scratch"/client*)"
  done
  assert_no_resources "eight clients"
  echo "passed: eight clients at once, $((SECONDS - start)) s"
}

# A client that is killed while it measures leaves nothing at the server, which goes on.
killed_client() {
  PYTHONPATH=$here/../integration timeout 60 python3 -c '
import sys
from command import Terminal
client = Terminal(*sys.argv[1:])
client.wait_for("size 1 of 1")
client.process.kill()
client.end()' "$rdmabench" bw "$1" --port $port --backend verbs --op write --size 64 --duration 60s ||
    fail "no client could be killed"
  assert_no_resources "a killed client"
  measure "$1" lat send 8 50
}

# One more Soft-RoCE device, rxe1, on a network device of its own. Only in a guest: this machine's
# devices are its owner's. What goes to its own address stays within it, so the far end only has to
# be up.
add_second_device() {
  local tries
  ip link add veth0 mtu 4200 type veth peer name veth1 mtu 4200
  ip link set veth0 up
  ip link set veth1 up
  ip address add 10.78.0.1/24 dev veth0
  rdma link add rxe1 type rxe netdev veth0
  for ((tries = 0; tries < 100; ++tries)); do
    grep -qs ':ffff:0a4e:' /sys/class/infiniband/rxe1/ports/1/gids/* && return
    sleep 0.05
  done
  fail "rxe1 has no GID for 10.78.0.1"
}

# Not before the server has ended: the kernel waits until nobody has rxe1 open.
remove_second_device() {
  rdma link delete rxe1
  ip link delete veth0
}

in_guest() {
  [[ -e /sys/firmware/qemu_fw_cfg/by_name/opt/job ]]
}

sent_packets() {
  cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"
}

# Two devices at once, a thread on each, and both carry it.
two_devices() {
  local start=$SECONDS kind result device before after
  add_second_device
  for kind in lat bw; do
    declare -A before=([rxe0]=$(sent_packets rxe0) [rxe1]=$(sent_packets rxe1))
    result="$scratch/$kind write 8,64K two_devices.json"
    taskset -c $(($(nproc) - 1)) timeout 60 "$rdmabench" "$kind" "$1" --port $port \
      --device rxe0,rxe1 --threads 2 --op write --size 8,64K --iterations 40 --warmup 4 \
      --validate --format json --output "$result" || fail "$kind over two devices: exit status $?"
    for device in rxe0 rxe1; do
      after=$(sent_packets $device)
      # Of 20 messages of 64 KiB and more, in packets of 4 KiB at most.
      ((after - before[$device] >= 320)) ||
        fail "$kind over two devices: $device sent $((after - before[$device])) packets"
    done
    grep -q '"device": "rxe0,rxe1"' "$result" || fail "the report of $kind names other devices"
    assert_no_resources "$kind over two devices"
  done
  echo "passed: lat and bw over two devices at once, $((SECONDS - start)) s"
}

check_results() {
  python3 "$here/check_results.py" "$scratch"/*.json ||
    fail "the results are not what was asked for"
}
