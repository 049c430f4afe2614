#!/bin/bash
# two_guests_server.sh BUILD_DIR: the first command of `vm run2`. Serves until the second has ended.
set -euo pipefail
# shellcheck source=tests/softroce/common.sh
. "$(dirname "$0")/common.sh"

start_server
echo READY
read -r line || fail "standard input ended before the client did"
echo "the client has $line"
stop_server
