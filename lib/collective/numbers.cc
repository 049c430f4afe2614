#include "collective/numbers.h"

#include <limits>
#include <utility>

#include "rdmabench/measure/histogram.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::collective {
namespace {

/// By how much one rank came last, in those samples where it did.
using Lags = std::vector<std::vector<double>>;

struct Arrived {
  std::vector<double> skews{};
  std::vector<double> after_last{};
  Lags lags{};  // by rank
};

std::int64_t difference(std::uint64_t a, std::uint64_t b) noexcept {
  return static_cast<std::int64_t>(a - b);
}

/// The error bound of a difference: the sum for the two least certain clocks.
double bound_of_difference(const std::vector<ClockLine>& clocks) {
  double first = 0;
  double second = 0;
  for (const ClockLine& clock : clocks) {  // rank 0's own error is 0
    const double error = clock.error_ns();
    if (error > first) {
      second = std::exchange(first, error);
    } else {
      second = std::max(second, error);
    }
  }
  return first + second;
}

Arrived arrivals_of(const std::vector<std::vector<Stamps>>& samples,
                    const std::vector<ClockLine>& clocks, double bound) {
  const std::size_t ranks = samples.size();
  Arrived all;
  all.lags.resize(ranks);
  const std::uint64_t epoch = clocks.front().points.front().at_ns;
  std::vector<double> came(ranks);
  std::vector<double> sorted(ranks);
  for (std::size_t i = 0; i < samples.front().size(); ++i) {
    double last_exit = -std::numeric_limits<double>::infinity();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      came[rank] = clocks[rank].since(epoch, samples[rank][i].enter_ns);
      last_exit = std::max(last_exit, clocks[rank].since(epoch, samples[rank][i].exit_ns));
    }
    sorted = came;
    std::sort(sorted.begin(), sorted.end());
    all.skews.push_back(sorted.back() - sorted.front());
    all.after_last.push_back(last_exit - sorted.back());
    const double lag = sorted.back() - sorted[(ranks - 1) / 2];
    if (lag <= bound) continue;
    const auto last = std::max_element(came.begin(), came.end()) - came.begin();
    all.lags[static_cast<std::size_t>(last)].push_back(lag);
  }
  return all;
}

Arrivals judge_arrivals(const Arrived& all, std::size_t samples, double bound) {
  Arrivals arrivals;
  arrivals.error_bound_ns = bound;
  arrivals.skew_p50_ns = measure::median(all.skews);
  arrivals.skew_max_ns = *std::max_element(all.skews.begin(), all.skews.end());
  arrivals.p50_after_last_ns = measure::median(all.after_last);
  const auto most =
      std::max_element(all.lags.begin(), all.lags.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const double share = static_cast<double>(most->size()) / static_cast<double>(samples);
  if (most->empty()) {
    arrivals.reason = "no rank came later than the clocks can tell";
  } else if (share < 0.5) {
    arrivals.reason = "no rank came last in half of the samples";
  } else {
    arrivals.late = Late{.rank = static_cast<std::uint32_t>(most - all.lags.begin()),
                         .share = share,
                         .by_ns = measure::median(*most),
                         .error_bound_ns = bound};
  }
  return arrivals;
}

}  // namespace

double ClockLine::since(std::uint64_t epoch_ns, std::uint64_t stamp_ns) const noexcept {
  // Integer differences modulo 2^64: only small ones are converted to double.
  const auto after_point = [stamp_ns](const ClockOffset& point) {
    return difference(stamp_ns, point.at_ns + static_cast<std::uint64_t>(point.offset_ns));
  };
  const auto next = std::find_if(points.begin(), points.end(),
                                 [&](const ClockOffset& point) { return after_point(point) < 0; });
  const ClockOffset& from = next == points.begin() ? *next : *(next - 1);
  const auto here = static_cast<double>(
      difference(stamp_ns - static_cast<std::uint64_t>(from.offset_ns), epoch_ns));
  if (next == points.begin() || next == points.end()) return here;
  const auto span = static_cast<double>(difference(next->at_ns, from.at_ns));
  if (span <= 0) return here;
  const auto change = static_cast<double>(difference(static_cast<std::uint64_t>(next->offset_ns),
                                                     static_cast<std::uint64_t>(from.offset_ns)));
  const double along = std::min(static_cast<double>(after_point(from)) / span, 1.0);
  return here - along * change;
}

double ClockLine::error_ns() const noexcept {
  double most = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ClockOffset& before = points[i == 0 ? 0 : i - 1];
    const auto span = static_cast<double>(difference(points[i].at_ns, before.at_ns));
    most = std::max(
        most, std::max(before.error_ns, points[i].error_ns) + kWander * std::max(span, 0.0) / 2);
  }
  return most;
}

double algorithm_bandwidth(const Call& call, std::uint32_t ranks, double time_ns) {
  return static_cast<double>(size_bytes(call, ranks)) / time_ns * 1e9;
}

std::optional<double> bus_bandwidth(const Call& call, std::uint32_t ranks, double time_ns) {
  if (ranks < 2) return std::nullopt;
  return algorithm_bandwidth(call, ranks, time_ns) * bus_factor(call.operation, ranks);
}

Numbers judge(const std::vector<std::vector<Stamps>>& samples, const std::vector<ClockLine>& clocks,
              std::uint32_t batch) {
  Numbers numbers;
  const std::size_t count = samples.front().size();
  std::vector<measure::Ticks> longest(count, 0);
  for (const std::vector<Stamps>& rank : samples) {
    std::vector<double> own;
    own.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t took = rank[i].exit_ns - rank[i].enter_ns;
      longest[i] = std::max(longest[i], took);
      own.push_back(static_cast<double>(took) / batch);
    }
    const auto [least, most] = std::minmax_element(own.begin(), own.end());
    numbers.ranks.push_back({.min_ns = *least, .p50_ns = measure::median(own), .max_ns = *most});
  }
  measure::LatencyRecorder recorder;
  recorder.add(longest);
  numbers.time = recorder.summary(1.0 / batch);
  if (samples.size() < 2) {
    numbers.arrivals.reason = "there is one rank";
    return numbers;
  }
  const double bound = bound_of_difference(clocks);
  const Arrived all = arrivals_of(samples, clocks, bound);
  numbers.arrivals = judge_arrivals(all, count, bound);
  for (std::size_t rank = 0; rank < samples.size(); ++rank) {
    numbers.ranks[rank].came_last = all.lags[rank].size();
  }
  return numbers;
}

bool MedianWatch::is_known(std::vector<double> samples, double precision) {
  next_look_ *= 2;
  if (samples.size() < kFewest) return false;
  std::sort(samples.begin(), samples.end());
  const measure::RankInterval ranks = measure::percentile_interval(samples.size(), 50, kLevel);
  low_ = samples[ranks.low];
  high_ = samples[ranks.high];
  return (high_ - low_) / 2 <= precision * samples[(samples.size() - 1) / 2];
}

}  // namespace rdmabench::inline v1::collective
