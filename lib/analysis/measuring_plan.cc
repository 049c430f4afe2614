#include "analysis/measuring_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "analysis/shortage.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::analysis {
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
  const std::uint32_t needed = proved ? have : have + judgement.more.value_or(kMostPlanned);
  plan.launches = std::clamp(needed, kFewestLaunches, kMostPlanned);
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

}  // namespace rdmabench::analysis
