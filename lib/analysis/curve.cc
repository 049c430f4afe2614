#include "analysis/projection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr const char* kKinds =
    "Projections take 'lat' of send, write or their -imm, 'bw' one way, and 'coll send-receive'.";

bool is_ring(const Launch& launch) {
  return !launch.rows.empty() && launch.rows[0].kind == "longest_of_all_ranks";
}

bool is_latency(const Launch& launch) {
  return launch.test == "latency" || is_ring(launch);
}

/// Rows with the cost of one message: no round trips, no sums of both directions. Of collectives
/// that in which each rank sends to the next, which is a step of a ring.
bool is_usable(const Launch& launch, const Row& row) {
  if (is_ring(launch)) return row.operation.starts_with("send-receive ");
  return is_latency(launch) ? row.kind == "half_round_trip"
                            : launch.test == "bandwidth" && row.kind == "one_way";
}

std::string only_operation(const std::vector<Launch>& launches) {
  std::set<std::string> names;
  for (const Launch& launch : launches) {
    for (const Row& row : launch.rows) {
      if (is_usable(launch, row)) names.insert(row.operation);
    }
  }
  if (names.size() == 1) return *names.begin();
  refuse_if(names.empty(), "no curve to project from", kKinds);
  throw Error(Fault::usage,
              fmt::format("the documents hold several operations: {}", fmt::join(names, ", ")),
              "Choose one by `operation`.");
}

std::vector<const Row*> rows_of(const Launch& launch, const std::string& operation) {
  std::vector<const Row*> rows;
  for (const Row& row : launch.rows) {
    if (row.operation == operation && is_usable(launch, row)) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row* x, const Row* y) { return x->size_bytes < y->size_bytes; });
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i]->size_bytes != rows[i - 1]->size_bytes) continue;
    throw Error(
        Fault::usage,
        fmt::format("{} has {} of {} bytes twice", launch.source, operation, rows[i]->size_bytes),
        "One launch has one value for each size.");
  }
  return rows;
}

/// Null where the tool prints none.
const Percentile* median_of(const Row& row) {
  const auto found = std::find_if(row.percentiles.begin(), row.percentiles.end(),
                                  [](const Percentile& one) { return one.percent == 50; });
  return found == row.percentiles.end() ? nullptr : &*found;
}

/// Nanoseconds: the median, else the mean, or what the rate of an operation makes of it.
std::optional<double> latency_of(const Row& row) {
  if (const Percentile* const median = median_of(row)) return median->value_ns;
  if (row.mean_ns || !row.bits_per_s) return row.mean_ns;
  return static_cast<double>(row.size_bytes) * kBitsPerByte * kNsPerSecond / *row.bits_per_s;
}

double value_of(const Launch& launch, const Row& row) {
  const std::optional<double> value = is_latency(launch) ? latency_of(row) : row.bits_per_s;
  if (value && *value > 0 && std::isfinite(*value)) return *value;
  throw Error(Fault::usage,
              fmt::format("{} has no value for {} of {} bytes", launch.source, row.operation,
                          row.size_bytes),
              "Measure it again, or leave that launch out.");
}

using Sizes = std::set<std::uint64_t>;

/// The sizes in all launches of one test; `all` gets every size.
Sizes common_sizes(const std::vector<const Launch*>& launches, const std::string& operation,
                   Sizes& all) {
  std::optional<Sizes> common;
  for (const Launch* launch : launches) {
    Sizes own;
    for (const Row* row : rows_of(*launch, operation)) own.insert(row->size_bytes);
    all.insert(own.begin(), own.end());
    if (!common) {
      common = std::move(own);
      continue;
    }
    Sizes kept;
    std::set_intersection(common->begin(), common->end(), own.begin(), own.end(),
                          std::inserter(kept, kept.end()));
    common = std::move(kept);
  }
  return common.value_or(Sizes{});
}

LinkSample sample_of(const Launch& launch, const std::string& operation, const Sizes& sizes) {
  LinkSample sample;
  sample.source = launch.source;
  Points points;
  for (const Row* row : rows_of(launch, operation)) {
    if (!sizes.contains(row->size_bytes)) continue;
    const auto size = static_cast<double>(row->size_bytes);
    points.emplace_back(size, value_of(launch, *row));
    if (!is_latency(launch)) continue;
    Tail tail{size, row->samples, {}};
    std::copy_if(row->percentiles.begin(), row->percentiles.end(),
                 std::back_inserter(tail.percentiles),
                 [](const Percentile& one) { return one.supported && one.value_ns > 0; });
    sample.tails.push_back(std::move(tail));
  }
  (is_latency(launch) ? sample.latency_ns : sample.bits_per_s) = Curve(std::move(points));
  return sample;
}

void add_samples(const std::vector<const Launch*>& launches,
                 const std::map<const Launch*, std::size_t>& sessions, const char* test,
                 LinkSamples& samples, std::vector<LinkSample>& to) {
  if (launches.empty()) return;
  Sizes all;
  const Sizes common = common_sizes(launches, samples.operation, all);
  refuse_if(common.empty(),
            fmt::format("the {} launches of {} have no size in common", test, samples.operation),
            "Measure the same sizes in every launch.");
  std::vector<std::string> left_out;
  for (const std::uint64_t size : all) {
    if (!common.contains(size)) left_out.push_back(format_size(size));
  }
  if (!left_out.empty()) {
    samples.left_out[test] = fmt::format("{}", fmt::join(left_out, ", "));
  }
  for (const Launch* launch : launches) {
    to.push_back(sample_of(*launch, samples.operation, common));
    to.back().unit = fmt::format("{} {}", launch->pair, sessions.at(launch));
  }
}

void note_provenance(const Launch& launch, Provenance& of) {
  if (launch.time_s) {
    of.first_s = std::min(of.first_s.value_or(*launch.time_s), *launch.time_s);
    of.last_s = std::max(of.last_s.value_or(*launch.time_s), *launch.time_s);
  }
  const auto add = [](std::set<std::string>& to, const std::string& before, std::string value) {
    if (!value.empty()) to.insert(before + value);
  };
  for (const char* const side : {"client", "server"}) {
    add(of.releases, "rdmabench ",
        fact_of(launch, fmt::format("environment.{}.rdmabench_version", side)));
  }
  add(of.releases, "", fact_of(launch, "config.tool"));
  add(of.devices, "", fact_of(launch, "resolved.device"));
  if (launch.pair != " ") add(of.pairs, "", launch.pair);
}

}  // namespace

Curve::Curve(Points points) : points_(std::move(points)) {
  refuse_if(points_.empty(), "a curve without a size");
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const auto [size, value] = points_[i];
    const bool rising = i == 0 || size > points_[i - 1].first;
    refuse_if(!(size > 0) || !(value > 0) || !std::isfinite(value) || !rising,
              fmt::format("a curve with {:g} at {:g} bytes", value, size));
  }
}

bool Curve::covers(double size_bytes) const {
  constexpr double kRounding = 1e-9;
  return size_bytes >= smallest() * (1 - kRounding) && size_bytes <= largest() * (1 + kRounding);
}

double Curve::at(double size_bytes) const {
  if (size_bytes <= smallest()) return points_.front().second;
  if (size_bytes >= largest()) return points_.back().second;
  const auto above =
      std::upper_bound(points_.begin(), points_.end(), size_bytes,
                       [](double size, const auto& point) { return size < point.first; });
  const auto& [size1, value1] = *(above - 1);
  const auto& [size2, value2] = *above;
  const double share = std::log(size_bytes / size1) / std::log(size2 / size1);
  return value1 * std::pow(value2 / value1, share);
}

std::string_view name(TimeSource source) noexcept {
  constexpr std::array<std::string_view, 3> kWords{
      "latency", "bandwidth", "latency of the smallest size + size / bandwidth"};
  return kWords[static_cast<std::size_t>(source)];
}

LinkSamples collect_link(const std::vector<Launch>& launches, std::string operation) {
  LinkSamples samples;
  samples.operation = operation.empty() ? only_operation(launches) : std::move(operation);
  std::vector<const Launch*> latency;
  std::vector<const Launch*> bandwidth;
  for (const Launch& launch : launches) {
    if (launch.error) {
      throw Error(Fault::usage, fmt::format("{} ended early: {}", launch.source, *launch.error),
                  "Measure it again, or leave that launch out.");
    }
    if (rows_of(launch, samples.operation).empty()) continue;
    (is_latency(launch) ? latency : bandwidth).push_back(&launch);
    for (const Row* row : rows_of(launch, samples.operation)) {
      samples.has_means = samples.has_means || (is_latency(launch) && median_of(*row) == nullptr);
    }
    const std::set<std::string> own(launch.suspicions.begin(), launch.suspicions.end());
    for (const std::string& code : own) ++samples.suspected[code];
    samples.suspect_launches += own.empty() ? 0U : 1U;
    samples.unwatched_launches += launch.watched ? 0U : 1U;
    if (!launch.not_rdma.empty()) ++samples.not_rdma[launch.not_rdma];
    note_provenance(launch, samples.provenance);
    samples.remedies.insert(launch.remedies.begin(), launch.remedies.end());
  }
  refuse_if(latency.empty() && bandwidth.empty(),
            fmt::format("no curve of '{}'", samples.operation), kKinds);
  std::vector<const Launch*> both = latency;
  both.insert(both.end(), bandwidth.begin(), bandwidth.end());
  const auto sessions = sessions_of(both);
  add_samples(latency, sessions, "latency", samples, samples.latency);
  add_samples(bandwidth, sessions, "bandwidth", samples, samples.bandwidth);
  return samples;
}

}  // namespace rdmabench::inline v1::analysis
