#!/bin/sh
# Runs an example as two processes of this machine: first without an address, until it says at which port it listens,
# then with that address.
# Usage: two_processes.sh PROGRAM [ARGUMENT...]   (RDMABENCH_ADDRESS: this machine's address [127.0.0.1])
set -eu
out=$(mktemp)
"$@" >"$out" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -f "$out"' EXIT
tries=0
until port=$(sed -n 's/^listening on //p' "$out") && [ -n "$port" ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 100 ] || { cat "$out"; exit 1; }
  sleep 0.1
done
"$@" "${RDMABENCH_ADDRESS:-127.0.0.1}" "$port" || { cat "$out"; exit 1; }
wait "$server" || { cat "$out"; exit 1; }
