#!/bin/bash
# faults_server.sh BUILD_DIR: the first command of `vm run2`. Serves faults_client.py, and does to the
# server what it asks for, one line over the wire's port 18600 for each; answers "done" or why not.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

start() {
  "$rdmabench" serve --port $port 2>"$scratch/serve.log" &
  server=$!
  local tries
  for ((tries = 0; tries < 100; ++tries)); do
    grep -q 'listening on' "$scratch/serve.log" && return
    sleep 0.1
  done
  fail "the server does not listen: $(cat "$scratch/serve.log")"
}

# Waits for the server, and shows what it said.
end() {
  echo "the server said:"
  cat "$scratch/serve.log"
  wait "$server" 2>/dev/null && ended=0 || ended=$?
  server=
}

obey() {
  case $1 in
    start) start ;;
    terminate) kill -TERM "$server" && end && ((ended == 0)) ;;
    kill) kill -KILL "$server" && end ;;
    stop) kill -STOP "$server" ;;
    continue) kill -CONT "$server" ;;
    clean) assert_no_resources "${*:2}" ;;
    *) fail "no such order: $*" ;;
  esac
}

echo READY
coproc wire { busybox nc -l -p 18600; }
while read -r order <&"${wire[0]}"; do
  # shellcheck disable=SC2086  # an order and its argument
  obey $order
  echo "done" >&"${wire[1]}"
done
[[ -z $server ]] || { kill -TERM "$server" && end && ((ended == 0)); }
assert_no_resources "the server"
