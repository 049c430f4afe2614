// The script that measures two networks in turn.
#include <fmt/format.h>

#include <cctype>
#include <string>
#include <vector>

#include "analysis/measuring_plan.h"

namespace rdmabench::analysis {
namespace {

/// In a comment: a name may not end it.
std::string in_comment(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' || c == '\r' ? ' ' : c;
  return out;
}

constexpr const char* kHead = R"(#!/bin/sh
# Measures A = {a} and B = {b} in turn, {launches} launches of each kind on each, and then decides.
# Written by: {plan_command}
#
# On each network a server has to run: rdmabench serve. Then: SERVER_A=HOST SERVER_B=HOST sh THIS
# A file that is there already is not measured again: after a failure, run the script once more.
#
#   SERVER_A, SERVER_B    the server's host on each network
#   LAUNCHER              put before each client, for example: srun -N1 -n1 --overlap -w node1
#   LAUNCHER_A, _B        the same for one network
#   SERVE_A, SERVE_B      put before a server that this script starts and ends, for example:
#                         srun -N1 -n1 --overlap -w node2   (or env, for this machine)
#   OPTIONS_A, OPTIONS_B  of lat and bw on that network, for example: --device mlx5_0
#   SERVE_OPTIONS         of the servers that this script starts
#   DIR_A, DIR_B          where the results go; the clients have to see these folders too
#   BW_TIME               time of each size's bandwidth
set -eu
RDMABENCH=${{RDMABENCH:-rdmabench}}
SERVER_A=${{SERVER_A:?"the server's host on A"}}
SERVER_B=${{SERVER_B:?"the server's host on B"}}
LAUNCHER_A=${{LAUNCHER_A:-${{LAUNCHER:-}}}}
LAUNCHER_B=${{LAUNCHER_B:-${{LAUNCHER:-}}}}
SERVE_A=${{SERVE_A:-}}
SERVE_B=${{SERVE_B:-}}
OPTIONS_A=${{OPTIONS_A:-}}
OPTIONS_B=${{OPTIONS_B:-}}
SERVE_OPTIONS=${{SERVE_OPTIONS:-}}
DIR_A=${{DIR_A:-{folder_a}}}
DIR_B=${{DIR_B:-{folder_b}}}
BW_TIME=${{BW_TIME:-1s}}
OUTPUT=${{OUTPUT:-decision.html}}
mkdir -p "$DIR_A" "$DIR_B"

servers=
end_servers() {{
  for server in $servers; do kill "$server" 2>/dev/null || :; done
  servers=
}}
trap end_servers EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# The options are lists of words: they are not quoted.
serve() {{
  [ -n "$1" ] || return 0
  $1 "$RDMABENCH" serve $SERVE_OPTIONS &
  servers="$servers $!"
}}
serve "$SERVE_A"
[ "$SERVE_A" = "$SERVE_B" ] || serve "$SERVE_B"
[ -z "$servers" ] || sleep "${{SERVE_WAIT:-3}}"

# measure LAUNCHER FILE WORD...: one launch. The file has its name when the launch is whole.
measure() {{
  launcher=$1 file=$2
  shift 2
  [ ! -e "$file" ] || return 0
  echo "$file" >&2
  $launcher "$RDMABENCH" "$@" --format json --output "$file.part" || {{
    echo "$file: the launch failed; mend that and run this script again" >&2
    exit 1
  }}
  mv "$file.part" "$file"
}}

# one LAUNCHER SERVER FOLDER NUMBER OPTIONS
one() {{
)";

constexpr const char* kTail = R"(}}
one_a() {{ one "$LAUNCHER_A" "$SERVER_A" "$DIR_A" "$1" "$OPTIONS_A"; }}
one_b() {{ one "$LAUNCHER_B" "$SERVER_B" "$DIR_B" "$1" "$OPTIONS_B"; }}

# A B B A: what changes slowly meets both networks alike.
launch=1
while [ "$launch" -le {launches} ]; do
  number=$(printf %02d "$launch")
  if [ $((launch % 2)) -eq 1 ]; then
    one_a "$number"
    one_b "$number"
  else
    one_b "$number"
    one_a "$number"
  fi
  launch=$((launch + 1))
done
end_servers

{decide_command}
)";

}  // namespace

std::string folder_of(const std::string& name) {
  std::string folder;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) != 0) {
      folder += static_cast<char>(std::tolower(byte));
    } else if (!folder.empty() && folder.back() != '-') {
      folder += '-';
    }
  }
  while (folder.ends_with('-')) folder.pop_back();
  return folder;
}

std::string to_script(const MeasuringPlan& plan, const ScriptNames& names) {
  std::string text = fmt::format(
      kHead, fmt::arg("a", in_comment(names.a)), fmt::arg("b", in_comment(names.b)),
      fmt::arg("launches", plan.launches), fmt::arg("plan_command", in_comment(names.plan_command)),
      fmt::arg("folder_a", names.folder_a), fmt::arg("folder_b", names.folder_b));
  if (!plan.latency_sizes.empty()) {
    text += fmt::format(
        "  measure \"$1\" \"$3/lat-$4.json\" lat \"$2\" --op {} --size {} --iterations {} $5\n",
        plan.operation, size_list(plan.latency_sizes), plan.samples);
  }
  if (!plan.bandwidth_sizes.empty()) {
    text += fmt::format(
        "  measure \"$1\" \"$3/bw-$4.json\" bw \"$2\" --op {} --size {} --duration \"$BW_TIME\" "
        "$5\n",
        plan.operation, size_list(plan.bandwidth_sizes));
  }
  return text + fmt::format(kTail, fmt::arg("launches", plan.launches),
                            fmt::arg("decide_command", names.decide_command));
}

}  // namespace rdmabench::analysis
