#include "load_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <variant>

#include "rdmabench/base/units.h"
#include "rdmabench/measure/histogram.h"
#include "rdmabench/measure/statistics.h"
#include "run/sinks.h"

namespace rdmabench::inline v1::run {
namespace {

constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 18;  // of one load on one worker
constexpr std::uint64_t kFewestMessages = 200;
constexpr std::chrono::nanoseconds kUsualTime = std::chrono::seconds(1);  // at one load

// Latency rises steeply where the median is twice the least, or the 99th percentile four times its
// lower quartile, because it differs from load to load by chance, or where the rate is no longer
// kept. docs/statistics.md says how often the knee is wrong by that.
constexpr double kSaturatedMedian = 2.0;
constexpr double kSaturatedTail = 4.0;
constexpr double kKept = 0.95;

constexpr double kSteady = 0.1;  // a capacity that changed by more makes shares of it doubtful

double achieved(std::uint64_t messages, double elapsed_ns) {
  return elapsed_ns > 0 ? static_cast<double>(messages) / elapsed_ns * kNsPerSecond : 0;
}

}  // namespace

void mark_knee(std::span<report::LoadResult> rows) {
  if (rows.empty()) return;
  // The least, because the first row may have been disturbed.
  double light = HUGE_VAL;
  std::vector<double> tails;
  for (const report::LoadResult& row : rows) {
    light = std::min(light, row.latency.latency.p50_ns);
    tails.push_back(row.latency.latency.p99_ns);
  }
  const double light_tail = measure::percentile(tails, 25);
  for (report::LoadResult& row : rows) {
    row.saturated = row.latency.latency.p50_ns > kSaturatedMedian * light ||
                    row.latency.latency.p99_ns > kSaturatedTail * light_tail ||
                    row.achieved_messages_per_s < kKept * row.offered_messages_per_s;
  }
  const auto is_off = [](const report::LoadResult& row) { return row.saturated; };
  const auto first_off = std::find_if(rows.begin(), rows.end(), is_off);
  if (first_off == rows.end()) return;
  if (first_off == rows.begin()) {
    rows.front().knee_reliable = std::all_of(rows.begin(), rows.end(), is_off);
    return;
  }
  report::LoadResult& knee = *std::prev(first_off);
  knee.knee = true;
  knee.knee_reliable = std::all_of(first_off, rows.end(), is_off);
}

double LoadCurve::capacity(std::uint64_t size) {
  std::uint64_t iterations = kFewestMessages;
  for (;;) {
    const std::uint64_t some = std::clamp<std::uint64_t>(epochs_.longest(), 1, iterations);
    const EpochOutcome outcome = epochs_.run(size, some, kUnreachableRate);
    const double elapsed_ns =
        static_cast<double>(outcome.end - outcome.begin) * epochs_.rate().ns_per_tick;
    epochs_.bound(some, std::chrono::nanoseconds(static_cast<std::int64_t>(elapsed_ns)));
    constexpr double kLongEnough = 5e7;  // ns
    if (elapsed_ns >= kLongEnough || iterations >= kMostMessages) {
      return achieved(some * session_.workers(), elapsed_ns);
    }
    iterations *= 4;
  }
}

report::LoadResult LoadCurve::run_load(std::uint64_t size, double offered) {
  using Kind = measure::StopRule::Kind;
  const auto workers = static_cast<double>(session_.workers());
  const bool timed = config_.stop.kind == Kind::duration;
  const auto time = static_cast<double>((timed ? config_.stop.time : kUsualTime).count());
  const double wanted = config_.stop.kind == Kind::iterations
                            ? static_cast<double>(config_.stop.count) / workers
                            : offered / workers * time / kNsPerSecond;
  auto left = static_cast<std::uint64_t>(std::max(wanted, double{kFewestMessages}));
  // Messages that come more slowly than capacity make an epoch longer than Epochs::bound() knows.
  const double longest_s = static_cast<double>(epochs_.longest_time().count()) / kNsPerSecond;
  const auto longest = static_cast<std::uint64_t>(
      std::clamp(longest_s * offered / workers, 1.0, double{kMostMessages}));

  report::LoadResult row;
  measure::LatencyRecorder recorder;
  std::uint64_t messages = 0;
  double elapsed_ns = 0;
  while (left > 0) {
    const std::uint64_t some = std::min(left, longest);
    const EpochOutcome outcome =
        epochs_.run(size, some, offered, /*verify=*/false, /*goes_on=*/messages > 0);
    const std::uint64_t all = some * session_.workers();
    recorder.add(epochs_.intervals(all));
    messages += all;
    elapsed_ns += static_cast<double>(outcome.end - outcome.begin) * epochs_.rate().ns_per_tick;
    row.max_lag_ns =
        std::max(row.max_lag_ns, static_cast<double>(outcome.max_lag) * epochs_.rate().ns_per_tick);
    left -= some;
  }
  const bool completes = transport::is_timed_by_completion(config_.traffic.operation) ||
                         transport::is_plain_write(config_.traffic.operation);
  row.offered_messages_per_s = offered;
  row.achieved_messages_per_s = achieved(messages, elapsed_ns);
  report::LatencyResult& latency = row.latency;
  latency.size_bytes = size;
  latency.iterations = messages;
  latency.operation = transport::name(config_.traffic.operation);
  latency.kind = completes ? "completion" : "round_trip";
  latency.signal = completes ? "completion" : std::string(signal_of(config_.traffic.operation));
  latency.completion =
      completes ? session_.worker().describe(size).completion : "receiver_confirmed";
  latency.latency = recorder.summary(epochs_.rate().ns_per_tick);
  latency.validated = config_.traffic.validate;
  return row;
}

void LoadCurve::run(std::size_t index, report::Report& report) {
  auto& rows = std::get<std::vector<report::LoadResult>>(report.results);
  const std::uint64_t size = config_.sizes[index];
  const std::size_t first = rows.size();
  const std::uint64_t warmup = epochs_.warm_up(size);
  const double most = capacity(size);
  const double given = rate_of(config_, size);
  const auto measure_at = [&](double offered) {
    report::LoadResult row = run_load(size, offered);
    row.load = offered / most;
    row.latency.warmup_iterations = warmup;
    rows.push_back(std::move(row));
    call(hooks_.on_progress, Progress{.size_index = index,
                                      .sizes = config_.sizes.size(),
                                      .size_bytes = size,
                                      .iterations = rows.back().latency.iterations,
                                      .load_index = rows.size() - first,
                                      .loads = given > 0 ? 1 : kLoads.size(),
                                      .messages_per_s = rows.back().achieved_messages_per_s});
    call(hooks_.on_load, report);
  };
  if (given > 0) {
    measure_at(given);
  } else {
    for (const double load : kLoads) measure_at(load * most);
    mark_knee(std::span(rows).subspan(first));
  }
  const double ratio = capacity(size) / most;
  for (report::LoadResult& row : std::span(rows).subspan(first)) {
    row.capacity_ratio = ratio;
    if (std::abs(ratio - 1) <= kSteady) continue;
    row.latency.notes.push_back(fmt::format(
        "The capacity was {:+.0f} % after the loads: what they are shares of has changed.",
        (ratio - 1) * 100));
  }
}

}  // namespace rdmabench::inline v1::run
