// What a stamp, an interval and a recorded sample cost.
//
// The price of a sample in the loop is BM_Interval minus BM_Stamp of the same clock; the histogram
// and the recorder work between epochs.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/histogram.h"

namespace rdmabench::inline v1::measure {
namespace {

constexpr std::size_t kEpoch = 1 << 16;

void report_per_sample(benchmark::State& state, std::size_t samples_per_iteration) {
  const double samples =
      static_cast<double>(state.iterations()) * static_cast<double>(samples_per_iteration);
  state.counters["per_sample"] =
      benchmark::Counter(samples, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class Clock>
void BM_Stamp(benchmark::State& state) {
  Ticks last = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kEpoch; ++i) last = Clock::stamp();
    benchmark::DoNotOptimize(last);
  }
  report_per_sample(state, kEpoch);
}
BENCHMARK_TEMPLATE(BM_Stamp, TscClock);
BENCHMARK_TEMPLATE(BM_Stamp, RawClock);

template <class Clock>
void BM_Interval(benchmark::State& state) {
  std::vector<Ticks> intervals(kEpoch);
  for (auto _ : state) {
    Ticks* out = intervals.data();
    Ticks last = Clock::stamp();
    for (std::size_t i = 0; i < kEpoch; ++i) {
      const Ticks now = Clock::stamp();
      *out++ = now - last;
      last = now;
    }
    benchmark::DoNotOptimize(intervals.data());
    benchmark::ClobberMemory();
  }
  report_per_sample(state, kEpoch);
}
BENCHMARK_TEMPLATE(BM_Interval, TscClock);
BENCHMARK_TEMPLATE(BM_Interval, RawClock);

/// Skewed latencies around 5000 ticks.
std::vector<Ticks> latencies() {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> distribution(8.5, 0.3);
  std::vector<Ticks> ticks(kEpoch);
  for (Ticks& value : ticks) value = static_cast<Ticks>(distribution(random));
  return ticks;
}

void BM_HistogramRecord(benchmark::State& state) {
  const std::vector<Ticks> samples = latencies();
  Histogram histogram;
  for (auto _ : state) {
    for (const Ticks sample : samples) histogram.record(sample);
    benchmark::DoNotOptimize(histogram);
  }
  report_per_sample(state, kEpoch);
}
BENCHMARK(BM_HistogramRecord);

/// The argument is the recorder's limit of raw samples: 0 puts all into a histogram.
void BM_RecorderAdd(benchmark::State& state) {
  const std::vector<Ticks> samples = latencies();
  constexpr std::size_t kEpochs = 16;
  for (auto _ : state) {
    LatencyRecorder recorder(static_cast<std::size_t>(state.range(0)));
    for (std::size_t i = 0; i < kEpochs; ++i) recorder.add(samples);
    benchmark::DoNotOptimize(recorder);
  }
  report_per_sample(state, kEpoch * kEpochs);
}
BENCHMARK(BM_RecorderAdd)->Arg(0)->Arg(1 << 22);

void BM_RecorderSummary(benchmark::State& state) {
  LatencyRecorder recorder;
  recorder.add(latencies());
  for (auto _ : state) benchmark::DoNotOptimize(recorder.summary(0.5));
  report_per_sample(state, kEpoch);
}
BENCHMARK(BM_RecorderSummary)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rdmabench::inline v1::measure
