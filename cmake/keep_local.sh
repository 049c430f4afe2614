#!/bin/sh
# Makes the inline functions, templates and vtables of an object its own: no other object's copy of one can take its
# place. What RTTI compares, and what is one per process, stays shared.
# Usage: keep_local.sh LD NM OBJCOPY IN OUT
set -eu
"$1" -r --force-group-allocation "$4" -o "$5"
"$2" "$5" | awk '$(NF-1) == "W" || ($(NF-1) == "V" && $NF ~ /^_ZTV/) { print $NF }' >"$5.local"
"$3" --localize-symbols="$5.local" "$5"
