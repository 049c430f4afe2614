#include "analysis/measuring_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <set>

#include "analysis/shortage.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::analysis {
namespace {

constexpr double kMostRails = 8;
constexpr std::uint64_t kMostForRails = std::uint64_t{64} << 20;
constexpr std::uint64_t kSmallest = 8;  ///< whose latency stands for that of every message

struct Span {
  double smallest = INFINITY;
  double largest = 0;
  void add(double bytes) {
    smallest = std::min(smallest, bytes);
    largest = std::max(largest, bytes);
  }
  bool empty() const { return largest <= 0; }
};

Span messages_of(const ProjectionOptions& options, double rails) {
  Span span;
  for (const double nodes : options.values) {
    if (nodes <= 1) continue;
    Job job = options.job;
    job.nodes = nodes;
    job.rails = rails;
    job.check();
    span.add(message_bytes(job));
  }
  return span;
}

/// Powers of two from at most the smallest to at least the largest.
void add_doublings(std::set<std::uint64_t>& sizes, const Span& span) {
  if (span.empty()) return;
  const auto first = static_cast<std::uint64_t>(std::max(1.0, std::floor(span.smallest)));
  const auto last = static_cast<std::uint64_t>(std::ceil(span.largest));
  for (std::uint64_t size = std::bit_floor(first); size <= std::bit_ceil(last); size *= 2) {
    sizes.insert(size);
  }
}

double links_of(const ProjectionOptions& options) {
  const double nodes = *std::max_element(options.values.begin(), options.values.end());
  return nodes * options.job.rails;
}

std::vector<std::uint64_t> listed(const std::set<std::uint64_t>& sizes) {
  return {sizes.begin(), sizes.end()};
}

// The script that measures two networks in turn.

/// In a comment: a name may not end it.
std::string in_comment(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' || c == '\r' ? ' ' : c;
  return out;
}

constexpr const char* kHead = R"(#!/bin/sh
# Measures A = {a} and B = {b} in turn, {launches} launches of each kind on each, and then decides.
# It measures for {duration}.
# Written by: {plan_command}
#
# On each network a server has to run: rdmabench serve. Then: SERVER_A=HOST SERVER_B=HOST sh THIS
# A file that is there already is not measured again: after a failure, run the script once more.
#
#   SERVER_A, SERVER_B    the server's host on each network; of several each has two rounds in turn,
#                         so that the launches are of several pairs of nodes
#   REST                  the pause after each round, as sleep takes it: 3h spreads them over hours
#   LAUNCHER              put before each client, for example: ssh node1, or
#                         srun -N1 -n1 --overlap -w node1
#   LAUNCHER_A, _B        the same for one network
#   SERVE_A, SERVE_B      put before a server that this script starts and ends, for example:
#                         ssh -tt node2, or srun -N1 -n1 --overlap -w node2   (or env, for this
#                         machine); of ssh -tt, so that the server ends with it
#   OPTIONS_A, OPTIONS_B  of lat and bw on that network, for example: --device mlx5_0
#   SERVE_OPTIONS         of the servers that this script starts
#   DIR_A, DIR_B          where the results go, on this machine
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
REST=${{REST:-0}}
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
  $1 "$RDMABENCH" serve $SERVE_OPTIONS </dev/null >&2 &
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
  measured=yes
  echo "$file" >&2
  $launcher "$RDMABENCH" "$@" --format json </dev/null >"$file.part" || {{
    echo "$file: the launch failed; mend that and run this script again" >&2
    exit 1
  }}
  mv "$file.part" "$file"
}}

# one LAUNCHER SERVER FOLDER NUMBER OPTIONS
one() {{
)";

constexpr const char* kTail = R"(}}
# turn HOST...: sets the one of this round.
turn() {{
  shift $(((launch - 1) / 2 % $#))
  host=$1
}}
one_a() {{
  turn $SERVER_A
  one "$LAUNCHER_A" "$host" "$DIR_A" "$1" "$OPTIONS_A"
}}
one_b() {{
  turn $SERVER_B
  one "$LAUNCHER_B" "$host" "$DIR_B" "$1" "$OPTIONS_B"
}}

# A B B A: what changes slowly meets both networks alike.
echo "measuring for {duration}" >&2
launch=1 measured=
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
  [ -z "$measured" ] || [ "$launch" -gt {launches} ] || sleep "$REST"
  measured=
done
end_servers

{decide_command}
)";

}  // namespace

std::string size_list(const std::vector<std::uint64_t>& sizes) {
  std::string list;
  for (const std::uint64_t size : sizes) list += (list.empty() ? "" : ",") + format_size(size);
  return list;
}

MeasuringPlan plan_measuring(const ProjectionOptions& options, const std::string& operation) {
  if (options.values.empty()) throw Error(Fault::usage, "a plan without a number of nodes");
  const Job& job = options.job;
  const TimeSource source = options.source.value_or(TimeSource::both);
  MeasuringPlan plan;
  if (!operation.empty()) plan.operation = operation;
  const Span given = messages_of(options, job.rails);
  std::set<std::uint64_t> wide;
  add_doublings(wide, given);
  const bool guessed = !options.origins.contains("rails");  // a decision tries other numbers
  for (double rails = 1; guessed && rails <= kMostRails; ++rails) {
    const Span span = messages_of(options, rails);
    if (span.largest <= kMostForRails) add_doublings(wide, span);
  }
  if (wide.empty()) wide.insert(kSmallest);  // a single node sends nothing
  std::set<std::uint64_t> latency{kSmallest};
  if (source == TimeSource::latency) latency.insert(wide.begin(), wide.end());
  if (job.stragglers != Stragglers::none) {
    add_doublings(latency, given);
    plan.samples = static_cast<std::uint64_t>(samples_for_links(links_of(options)));
    const double most = links_of(options) * (guessed ? kMostRails / job.rails : 1);
    if (slowest_quantile(most) <= 0.999)
      plan.samples = static_cast<std::uint64_t>(samples_for_links(most));
    plan.samples = std::max<std::uint64_t>(plan.samples, 1000);
  }
  if (source != TimeSource::latency) plan.bandwidth_sizes = listed(wide);
  if (source != TimeSource::bandwidth || job.stragglers != Stragglers::none) {
    plan.latency_sizes = listed(latency);
  }
  return plan;
}

double plan_launches(MeasuringPlan& plan, const std::vector<Launch>& pilot,
                     const ProjectionOptions& options) {
  // The pilot against itself: no difference, and the noise of two such sides.
  const LinkSamples samples = collect_link(pilot, plan.operation);
  const Projection projection = project(samples, samples, options);
  const ProjectionRow& row = projection.rows.back();
  if (!row.difference) throw Error(Fault::usage, "the pilot has too little data: " + row.refusal);
  if (!row.difference->estimate) {
    throw Error(Fault::usage, "the pilot has only one launch of a kind",
                "How much launches vary takes two at least; five are better.");
  }
  const Judgement& judgement = *row.difference;
  const std::uint32_t have = judgement.a_units;
  const bool proved =
      judgement.verdict == Verdict::equivalent || judgement.verdict == Verdict::immaterial;
  const std::uint32_t counted = have < kMinLaunches ? have : 0;  // else they are measured anew
  const std::uint32_t needed = proved ? have : counted + judgement.more.value_or(kMostPlanned);
  plan.launches = std::clamp(needed, kMinLaunches, kMostPlanned);
  return variation_of(judgement.deviation);
}

std::vector<std::string> missing_for(const ProjectionOptions& options, TimeSource source,
                                     const std::string& side, const LinkSamples& samples) {
  std::vector<std::string> missing;
  const bool stragglers = options.job.stragglers != Stragglers::none;
  const bool bandwidth = source != TimeSource::latency;
  if (bandwidth && samples.bandwidth.empty()) {
    missing.push_back(fmt::format("{}: there is no document of 'bw'", side));
  }
  if ((!bandwidth || source == TimeSource::both || stragglers) && samples.latency.empty()) {
    missing.push_back(fmt::format("{}: there is no document of 'lat'", side));
  }
  if (!missing.empty()) return missing;
  Shortage lack;
  for (const double value : options.values) {
    lack.add(find_shortage(job_at(options, value), samples, source, options.extrapolate));
  }
  if (lack.largest_bytes > 0) {
    const Curve& curve =
        bandwidth ? *samples.bandwidth[0].bits_per_s : *samples.latency[0].latency_ns;
    missing.push_back(fmt::format(
        "{}: the job sends messages of {:.0f} to {:.0f} bytes, and '{}' covers {:.0f} to {:.0f}",
        side, lack.smallest_bytes, lack.largest_bytes, bandwidth ? "bw" : "lat", curve.smallest(),
        curve.largest()));
  }
  if (lack.samples > 0 || lack.beyond_percentiles) {
    const double links = links_of(options);
    const Tail* fewest = nullptr;  // a latency was measured, or this was not reached
    for (const LinkSample& launch : samples.latency) {
      for (const Tail& tail : launch.tails) {
        if (fewest == nullptr || tail.samples < fewest->samples) fewest = &tail;
      }
    }
    missing.push_back(fmt::format(
        "{}: the slowest of {:g} links takes {:.0f} samples of each latency, and {:.0f} bytes have "
        "{}",
        side, links, samples_for_links(links), fewest->size_bytes, fewest->samples));
  }
  return missing;
}

std::vector<std::string> commands_of(const MeasuringPlan& plan) {
  std::vector<std::string> lines;
  if (!plan.latency_sizes.empty()) {
    lines.push_back(
        fmt::format("rdmabench lat HOST --op {} --size {} --iterations {} --format json "
                    "--output FOLDER/lat-NUMBER.json",
                    plan.operation, size_list(plan.latency_sizes), plan.samples));
  }
  if (!plan.bandwidth_sizes.empty()) {
    lines.push_back(
        fmt::format("rdmabench bw HOST --op {} --size {} --duration 1s --format json "
                    "--output FOLDER/bw-NUMBER.json",
                    plan.operation, size_list(plan.bandwidth_sizes)));
  }
  return lines;
}

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

std::string duration_text(const MeasuringPlan& plan) {
  // An iteration of a latency is there and back, and the warm-up takes as much again at most.
  constexpr double kLatency_s = 20e-6;
  constexpr double kBytesPerSecond = 25e9 / 8;
  constexpr double kStart_s = 2;  // of a client, with the look at the machine's noise
  constexpr double kBandwidth_s = 1.2;
  double launch = 0;
  for (const std::uint64_t size : plan.latency_sizes) {
    const double there = kLatency_s + static_cast<double>(size) / kBytesPerSecond;
    launch += 2 * there * static_cast<double>(plan.samples);
  }
  launch += kBandwidth_s * static_cast<double>(plan.bandwidth_sizes.size());
  for (const auto* kind : {&plan.latency_sizes, &plan.bandwidth_sizes}) {
    launch += kind->empty() ? 0 : kStart_s;
  }
  const double minutes = 2 * plan.launches * launch / 60;  // of two networks
  const double shown = minutes < 10 ? std::ceil(minutes) : 5 * std::ceil(minutes / 5);
  const std::string about = shown < 120 ? fmt::format("about {:.0f} min", shown)
                                        : fmt::format("about {:.1f} h", shown / 60);
  return fmt::format("{} over links of 25 Gb/s; REST=TIME adds a pause between its {} rounds",
                     about, plan.launches);
}

std::string to_script(const MeasuringPlan& plan, const ScriptNames& names) {
  std::string text =
      fmt::format(kHead, fmt::arg("a", in_comment(names.a)), fmt::arg("b", in_comment(names.b)),
                  fmt::arg("launches", plan.launches), fmt::arg("duration", duration_text(plan)),
                  fmt::arg("plan_command", in_comment(names.plan_command)),
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
                            fmt::arg("duration", duration_text(plan)),
                            fmt::arg("decide_command", names.decide_command));
}

}  // namespace rdmabench::inline v1::analysis
