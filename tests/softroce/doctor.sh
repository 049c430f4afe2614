#!/bin/bash
# doctor.sh BUILD_DIR: the doctor says of rxe0 what is true, and sees its faults.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

# It takes addresses away from eth0, which a machine of somebody's would not like.
if [[ -n ${RDMABENCH_DEVICE:-} || ! -e /sys/class/infiniband/rxe0 ]]; then
  echo "not run: the doctor's test is for a guest"
  exit
fi
[[ -x $rdmabench ]] || fail "$rdmabench is not there: build it first"
judge() {
  local status=0
  "$rdmabench" doctor --format json --output "$scratch/$1.json" "${@:2}" || status=$?
  ((status <= 1)) || fail "doctor: exit status $status"
}

judge healthy
ip link set eth0 mtu 1500
judge small
ip link set eth0 mtu 4200
address=$(own_address)
ip address flush dev eth0
judge bare
ip address add "$address/24" dev eth0
ulimit -l 64
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all \
  "$rdmabench" doctor --format json >"$scratch/nobody.json" || (($? == 1)) ||
  fail "doctor as nobody"
python3 "$here/check_doctor.py" "$scratch" "$address"
