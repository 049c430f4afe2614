#!/bin/bash
# one_guest.sh BUILD_DIR: every operation over verbs, both ends on this machine, one server.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

device_test=$build_dir/tests/softroce/verbs_device_test
if [[ -x $device_test ]]; then
  timeout 60 "$device_test" >"$scratch/device_test.log" 2>&1 || status=$?
  cat "$scratch/device_test.log"
  [[ ${status:-0} == 0 ]] || fail "verbs_device_test: exit status $status"
  ! grep -q SKIPPED "$scratch/device_test.log" || fail "verbs_device_test found no device"
  assert_no_resources verbs_device_test
fi

host=${RDMABENCH_ADDRESS:-$(own_address)}
example=$build_dir/examples/scattered_reply
if [[ -x $example ]]; then
  RDMABENCH_ADDRESS=$host timeout 60 "$(dirname "$0")/../../examples/two_processes.sh" "$example" verbs "" ||
    fail "scattered_reply over verbs: exit status $?"
  assert_no_resources scattered_reply
fi
program=$build_dir/tests/programs/caller_memory
if [[ -x $program ]]; then
  timeout 60 "$program" verbs "" "$host" || fail "caller_memory over verbs: exit status $?"
  assert_no_resources caller_memory
fi
start_server
for op in send write write-imm read; do
  sizes=1,8,256,1K,4K,64K,1M  # inline, one packet, several packets; then large ones
  measure "$host" lat "$op" $sizes 20
  [[ $op != write ]] || sizes=1:1M
  measure "$host" bw "$op" $sizes 20  # emulated: 1 MiB takes 20 ms
done
if [[ -n ${RDMABENCH_ADDRESS6:-} ]]; then
  measure "$RDMABENCH_ADDRESS6" lat write 8 50
fi
# Several times as many as there are slots.
measure "$host" bw write 64K 200 --depth 32
measure "$host" bw send 64K 200 --depth 32
eight_at_once "$host"
killed_client "$host"
! in_guest || two_devices "$host"
stop_server
! in_guest || remove_second_device
check_results
