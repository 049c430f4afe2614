# Counted by callgrind; sourced by instructions_vm.sh and instructions_ucx.sh.
set -euo pipefail
shopt -s inherit_errexit
size=64
few=8192  # of both an epoch has its 32 marks, which cost something each
many=12288

# instructions PROGRAM ARGUMENTS...: everything the program executes in user space.
instructions() {
  local log
  log=$(timeout 300 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" \
    2>&1 >/dev/null) ||
    { echo "FAILED: $*: $log" >&2; return 1; }
  awk '/Collected/ { print $NF }' <<<"$log"
}

# per_message PROGRAM OP ARGUMENTS...: the difference of two lengths, so that set-up does not count.
# The arguments follow the count and the size.
per_message() {
  local program=$1 op=$2 short long
  shift 2
  short=$(instructions "$program" "$op" $few $size "$@")
  long=$(instructions "$program" "$op" $many $size "$@")
  awk "BEGIN { printf \"%.1f\", ($long - $short) / ($many - $few) }"
}
