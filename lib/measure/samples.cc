#include "rdmabench/measure/histogram.h"

#include <algorithm>
#include <limits>

namespace rdmabench::inline v1::measure {
namespace {

/// `sample_at(i)` is the sample at index i of the sorted samples.
template <class SampleAt>
LatencySummary summarise(const Moments& moments, Ticks deviation, double percentile_error,
                         double ns_per_tick, SampleAt sample_at) {
  const std::uint64_t count = moments.count();
  const auto ns = [=](auto ticks) { return static_cast<double>(ticks) * ns_per_tick; };
  const auto percentile_ns = [&](double p) { return ns(sample_at(nearest_rank(count, p))); };
  const auto bound = [&](double p, double& low, double& high) {
    const RankInterval ranks = percentile_interval(count, p);
    low = ranks.low == 0 && !ranks.covers ? 0 : ns(sample_at(ranks.low));
    high = ranks.covers || ranks.high + 1 < count ? ns(sample_at(ranks.high))
                                                  : std::numeric_limits<double>::infinity();
  };
  LatencySummary summary;
  summary.count = count;
  summary.min_ns = ns(moments.min());
  summary.p50_ns = percentile_ns(50);
  summary.p90_ns = percentile_ns(90);
  summary.p99_ns = percentile_ns(99);
  summary.p999_ns = percentile_ns(99.9);
  summary.p9999_ns = percentile_ns(99.99);
  summary.max_ns = ns(moments.max());
  summary.mean_ns = ns(moments.mean());
  summary.stddev_ns = ns(moments.stddev());
  summary.mad_ns = ns(deviation);
  bound(50, summary.median_low_ns, summary.median_high_ns);
  bound(90, summary.p90_low_ns, summary.p90_high_ns);
  bound(99, summary.p99_low_ns, summary.p99_high_ns);
  bound(99.9, summary.p999_low_ns, summary.p999_high_ns);
  bound(99.99, summary.p9999_low_ns, summary.p9999_high_ns);
  summary.percentile_error = percentile_error;
  return summary;
}

}  // namespace

void LatencyRecorder::add(std::span<const Ticks> intervals) {
  if (!histogram_ && intervals.size() <= exact_limit_ - exact_.size()) {
    exact_.insert(exact_.end(), intervals.begin(), intervals.end());
    return;
  }
  if (!histogram_) {
    histogram_.emplace();
    for (const Ticks interval : exact_) histogram_->record(interval);
    std::vector<Ticks>().swap(exact_);
  }
  for (const Ticks interval : intervals) histogram_->record(interval);
}

LatencySummary LatencyRecorder::summary(double ns_per_tick) const {
  if (count() == 0) return {};
  if (histogram_) {
    return summarise(histogram_->moments(), histogram_->median_absolute_deviation(),
                     Histogram::kRelativeError, ns_per_tick,
                     [this](std::uint64_t index) { return histogram_->value_at(index); });
  }
  Moments moments;
  for (const Ticks interval : exact_) moments.add(interval);
  std::vector<Ticks> sorted = exact_;
  std::sort(sorted.begin(), sorted.end());
  return summarise(moments, median_absolute_deviation(std::span<const Ticks>(exact_)), 0.0,
                   ns_per_tick, [&](std::uint64_t index) { return sorted[index]; });
}

}  // namespace rdmabench::inline v1::measure
