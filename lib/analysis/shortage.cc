#include "analysis/shortage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::analysis {
namespace {

constexpr double kSamplesBeyond = 10;          // that a percentile rests on
constexpr double kLargestPercentile = 0.9999;  // of documents

/// Whether a launch has a percentile at or above the quantile, at the sizes beside the message's.
bool carries(const LinkSample& sample, double size_bytes, double quantile) {
  const std::span<const Tail> tails = tails_beside(sample, size_bytes);
  return std::all_of(tails.begin(), tails.end(), [quantile](const Tail& tail) {
    return !tail.percentiles.empty() && tail.percentiles.back().percent / 100 >= quantile;
  });
}

std::string bytes_text(double bytes) {
  return fmt::format("{:.0f}", bytes);
}

const Curve& curve_of(const LinkSamples& samples, TimeSource source) {
  const bool latency = source == TimeSource::latency || samples.bandwidth.empty();
  return latency && !samples.latency.empty() ? *samples.latency[0].latency_ns
                                             : *samples.bandwidth[0].bits_per_s;
}

/// In words, one item for each kind.
std::vector<std::string> texts_of(const Shortage& lack, const LinkSamples& samples,
                                  TimeSource source) {
  std::vector<std::string> texts;
  if (lack.largest_bytes > 0) {
    const Curve& curve = curve_of(samples, source);
    const std::string range =
        lack.smallest_bytes == lack.largest_bytes
            ? fmt::format("a message of {}", bytes_text(lack.largest_bytes))
            : fmt::format("messages of {} to {}", bytes_text(lack.smallest_bytes),
                          bytes_text(lack.largest_bytes));
    texts.push_back(fmt::format("{} bytes, where {} to {} bytes were measured", range,
                                bytes_text(curve.smallest()), bytes_text(curve.largest())));
  }
  if (lack.latency || lack.samples > 0) {
    texts.push_back(fmt::format("{}{:.0f} samples of a latency of each size, for the slowest link",
                                lack.latency ? "any measured latency, which takes " : "",
                                lack.samples));
  }
  if (lack.beyond_percentiles) {
    texts.push_back(fmt::format(
        "a percentile above the {:g}th, which the slowest of so many links is and no document has",
        100 * kLargestPercentile));
  }
  return texts;
}

/// The sizes of what was measured and of what is missing, as the option takes them.
std::string sizes_of(const Curve& curve, const Shortage& lack) {
  const double least =
      lack.largest_bytes > 0 ? std::min(curve.smallest(), lack.smallest_bytes) : curve.smallest();
  const double most = std::max(curve.largest(), lack.largest_bytes);
  const auto below = std::bit_floor(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(least)));
  const auto above = std::bit_ceil(static_cast<std::uint64_t>(std::ceil(most)));
  return fmt::format("{}:{}", format_size(below), format_size(above));
}

/// The commands that measure what is missing.
std::string commands_for(const Shortage& lack, const LinkSamples& samples, TimeSource source) {
  const bool latency = lack.latency || lack.samples > 0 ||
                       (lack.largest_bytes > 0 && source != TimeSource::bandwidth);
  const bool bandwidth = lack.largest_bytes > 0 && source != TimeSource::latency;
  const std::string sizes = sizes_of(curve_of(samples, source), lack);
  std::vector<std::string> commands;
  if (latency) {
    const std::string count =
        lack.samples > 0 ? fmt::format(" -n {:.0f}", lack.samples) : std::string();
    commands.push_back(fmt::format("rdmabench lat HOST --op {} -s {}{} --format json --output FILE",
                                   samples.operation, sizes, count));
  }
  if (bandwidth) {
    commands.push_back(fmt::format("rdmabench bw HOST --op {} -s {} --format json --output FILE",
                                   samples.operation, sizes));
  }
  return commands.empty() ? "" : fmt::format("'{}'", fmt::join(commands, "' and '"));
}

struct NamedSamples {
  const std::string& name;
  const LinkSamples& samples;
};

std::vector<NamedSamples> sides_of(const Projection& projection) {
  std::vector<NamedSamples> sides{{projection.options.a_name, projection.a}};
  if (projection.b) sides.push_back({projection.options.b_name, *projection.b});
  return sides;
}

struct Lacking {
  std::vector<std::string> what;      ///< "ib: a message of ..."
  std::vector<std::string> commands;  ///< each once
  Shortage all;
};

/// What these values of the axis lack on both sides.
Lacking find_lacking(const Projection& projection, const std::vector<double>& values) {
  const ProjectionOptions& options = projection.options;
  Lacking lacking;
  for (const NamedSamples& side : sides_of(projection)) {
    Shortage lack;
    for (const double value : values) {
      lack.add(find_shortage(job_at(options, value), side.samples, projection.source,
                             options.extrapolate));
    }
    if (!lack.any()) continue;
    lacking.all.add(lack);
    const std::string words =
        fmt::format("{}", fmt::join(texts_of(lack, side.samples, projection.source), "; and "));
    lacking.what.push_back(fmt::format("{} lacks {}", side.name, words));
    const std::string commands = commands_for(lack, side.samples, projection.source);
    const bool is_new = std::find(lacking.commands.begin(), lacking.commands.end(), commands) ==
                        lacking.commands.end();
    if (!commands.empty() && is_new) lacking.commands.push_back(commands);
  }
  return lacking;
}

std::string remedy_of(const Lacking& lacking) {
  std::string text;
  if (!lacking.commands.empty()) {
    text = fmt::format("Measure it, five times each: {}.", fmt::join(lacking.commands, ", "));
  }
  std::vector<std::string> others;
  if (lacking.all.largest_bytes > 0) others.emplace_back("allow `extrapolate`");
  if (lacking.all.latency || lacking.all.samples > 0 || lacking.all.beyond_percentiles) {
    others.emplace_back(lacking.all.beyond_percentiles
                            ? "set `stragglers` to none or project fewer nodes"
                            : "set `stragglers` to none");
  }
  if (others.empty()) return text;
  const std::string rest = fmt::format("{}", fmt::join(others, " and "));
  return text.empty() ? fmt::format("The remedy is to {}.", rest)
                      : fmt::format("{} Or {}.", text, rest);
}

}  // namespace

double message_bytes(const Job& job) {
  const double bytes = job.parameters * job.bytes_per_element;
  const double one = job.parallel == Parallel::data ? bytes / std::ceil(bytes / job.bucket_bytes)
                                                    : bytes / job.layers;
  return one / job.rails / (job.algorithm == Algorithm::ring ? job.nodes : 1);
}

std::span<const Tail> tails_beside(const LinkSample& sample, double size_bytes) {
  const std::vector<Tail>& tails = sample.tails;
  auto last =
      std::lower_bound(tails.begin(), tails.end(), size_bytes,
                       [](const Tail& tail, double size) { return tail.size_bytes < size; });
  const bool exact = last != tails.end() && last->size_bytes == size_bytes;
  const auto first = last == tails.begin() || exact ? last : last - 1;
  if (last != tails.end()) ++last;
  return {first, last};
}

double samples_for(double quantile) {
  for (const double percentile : {0.9, 0.99, 0.999, kLargestPercentile}) {
    if (quantile <= percentile) return std::ceil(kSamplesBeyond / (1 - percentile) - 1e-6);
  }
  return 0;
}

double samples_for_links(double links) {
  const double quantile = slowest_quantile(links);
  if (const double samples = samples_for(quantile); samples > 0) return samples;
  throw Error(
      Fault::usage,
      fmt::format("the slowest of {:g} links is the {:.5g}th percentile of one, and documents go "
                  "up to the 99.99th",
                  links, 100 * quantile),
      "Leave the stragglers out by `stragglers` none, or take fewer nodes.");
}

bool Shortage::any() const {
  return largest_bytes > 0 || latency || samples > 0 || beyond_percentiles;
}

void Shortage::add(const Shortage& other) {
  if (other.largest_bytes > 0) {
    smallest_bytes =
        largest_bytes > 0 ? std::min(smallest_bytes, other.smallest_bytes) : other.smallest_bytes;
    largest_bytes = std::max(largest_bytes, other.largest_bytes);
  }
  latency |= other.latency;
  samples = std::max(samples, other.samples);
  beyond_percentiles |= other.beyond_percentiles;
}

Shortage find_shortage(const Job& job, const LinkSamples& samples, TimeSource source,
                       bool extrapolate) {
  Shortage lack;
  if (job.nodes <= 1) return lack;
  const double bytes = message_bytes(job);
  const bool measured =
      source == TimeSource::latency ? !samples.latency.empty() : !samples.bandwidth.empty();
  if (!extrapolate && measured && !curve_of(samples, source).covers(bytes)) {
    lack.smallest_bytes = lack.largest_bytes = bytes;
  }
  const double links = job.nodes * job.rails;
  if (job.stragglers == Stragglers::none || links <= 1) return lack;
  const double quantile = slowest_quantile(links);
  lack.beyond_percentiles = quantile > kLargestPercentile;
  lack.latency = samples.latency.empty();
  const bool carried =
      std::all_of(samples.latency.begin(), samples.latency.end(),
                  [&](const LinkSample& sample) { return carries(sample, bytes, quantile); });
  if (!carried || lack.latency) lack.samples = samples_for(quantile);
  return lack;
}

void refuse_all(const Projection& projection) {
  const Lacking lacking = find_lacking(projection, projection.options.values);
  if (lacking.what.empty()) throw Error(Fault::usage, projection.rows[0].refusal);
  throw Error(Fault::usage,
              fmt::format("nothing can be projected; {}", fmt::join(lacking.what, "; ")),
              remedy_of(lacking));
}

void refuse_rows(Projection& projection) {
  std::vector<double> refused;
  for (ProjectionRow& row : projection.rows) {
    if (row.a) continue;
    const Lacking lacking = find_lacking(projection, {row.value});
    if (lacking.what.empty()) continue;
    refused.push_back(row.value);
    row.refusal = fmt::format("{}", fmt::join(lacking.what, "; "));
  }
  if (refused.empty()) return;
  projection.notes.push_back(fmt::format("{} of {} values are refused. {}", refused.size(),
                                         projection.rows.size(),
                                         remedy_of(find_lacking(projection, refused))));
}

}  // namespace rdmabench::inline v1::analysis
