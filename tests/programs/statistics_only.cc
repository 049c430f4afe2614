// A program with latencies of its own that wants the statistics alone. It loads no RDMA library.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <rdmabench/measure/histogram.h>
#include <rdmabench/measure/statistics.h>

namespace measure = rdmabench::measure;

int main() {
  std::vector<std::uint64_t> latencies_ns;
  measure::Histogram histogram;
  std::uint64_t random = 1;
  for (int i = 0; i < 2000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    latencies_ns.push_back(1000 + (random >> 33U) % 1000);  // uniform: the median is 1500
    histogram.record(latencies_ns.back());
  }
  const measure::Estimate median = measure::estimate_percentile(latencies_ns, 50, 0.999);
  const measure::Estimate p99 = measure::estimate_percentile(latencies_ns, 99, 0.999);
  const measure::Estimate mean = measure::estimate_mean(latencies_ns, 0.999);
  std::printf("median %.0f [%.0f, %.0f], p99 %.0f [%.0f, %.0f], mean %.0f [%.0f, %.0f] ns\n",
              median.value, median.low, median.high, p99.value, p99.low, p99.high, mean.value,
              mean.low, mean.high);
  const auto holds = [](const measure::Estimate& estimate, double truth) {
    return estimate.covers && estimate.low <= truth && truth <= estimate.high;
  };
  if (!holds(median, 1500) || !holds(p99, 1990) || !holds(mean, 1500)) return 1;
  std::uint64_t count = 0;
  for (const auto& bucket : histogram.buckets()) count += bucket.count;
  if (count != latencies_ns.size()) return 1;

  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const char* const library : {"libfabric", "libibverbs", "librdmacm"}) {
      if (line.find(library) == std::string::npos) continue;
      return std::fprintf(stderr, "loaded: %s\n", line.c_str()), 1;
    }
  }
}
