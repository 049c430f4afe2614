// Latencies of one's own, and the statistics alone: a program that links rdmabench::measure and
// nothing of RDMA. It times a function by itself until the result is stable enough, and checks what
// the statistics say of samples whose distribution is known.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <vector>

#include <rdmabench/measure/clock.h>
#include <rdmabench/measure/histogram.h>
#include <rdmabench/measure/statistics.h>
#include <rdmabench/measure/stop.h>

namespace measure = rdmabench::measure;

namespace {

std::uint64_t next(std::uint64_t& state) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return state >> 33U;
}

/// What is to be measured.
void work() {
  static std::uint64_t state = 1;
  for (int i = 0; i < 100; ++i) next(state);
}

/// 5000 calls, or as a rule of stability says: measure::StopRule::stable().
measure::LatencySummary time_calls() {
  measure::Stopper stopper(measure::StopRule::iterations(5000));
  measure::LatencyRecorder recorder;
  std::vector<measure::Ticks> intervals;
  while (const std::uint64_t count = stopper.next_epoch()) {
    intervals.resize(count);
    const measure::Ticks begin = measure::RawClock::stamp();  // its ticks are nanoseconds
    measure::Ticks last = begin;
    for (measure::Ticks& interval : intervals) {
      work();
      const measure::Ticks now = measure::RawClock::stamp();
      interval = now - last;
      last = now;
    }
    recorder.add(intervals);
    stopper.add(count, static_cast<double>(last - begin),
                static_cast<double>(measure::median(intervals)));
  }
  return recorder.summary(1.0);
}

bool holds(const char* what, const measure::Estimate& estimate, double truth) {
  std::printf("%s %.0f [%.0f, %.0f] of %llu samples\n", what, estimate.value, estimate.low,
              estimate.high, static_cast<unsigned long long>(estimate.count));
  return estimate.covers && estimate.low <= truth && truth <= estimate.high;
}

}  // namespace

int main() try {
  const measure::LatencySummary calls = time_calls();
  std::printf("%llu calls: p50 %.0f ns [%.0f, %.0f], p99 %.0f ns, slowest %.0f ns\n",
              static_cast<unsigned long long>(calls.count), calls.p50_ns, calls.median_low_ns,
              calls.median_high_ns, calls.p99_ns, calls.max_ns);
  if (calls.count != 5000 || !calls.supports(99.0) || calls.supports(99.9)) return 1;
  if (!(calls.min_ns <= calls.p50_ns && calls.p50_ns <= calls.p99_ns)) return 1;

  // Two threads' samples from 1000 to 1999, each value as likely as another.
  std::vector<std::uint64_t> samples;
  measure::Histogram first, second;
  std::uint64_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    samples.push_back(1000 + next(state) % 1000);
    (i % 2 == 0 ? first : second).record(samples.back());
  }
  if (!holds("median", measure::estimate_percentile(samples, 50, 0.999), 1500)) return 1;
  if (!holds("p99", measure::estimate_percentile(samples, 99, 0.999), 1990)) return 1;
  if (!holds("mean", measure::estimate_mean(samples, 0.999), 1499.5)) return 1;

  first.merge(second);
  const double exact = static_cast<double>(measure::percentile(samples, 90));
  const double merged = static_cast<double>(first.percentile(90));
  const double error = measure::Histogram::kRelativeError * exact;
  const bool near = exact - error <= merged && merged <= exact + error;
  return first.count() == 2000 && near ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
