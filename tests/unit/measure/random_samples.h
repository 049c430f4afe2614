// Random samples of the shapes that latencies take, the same in every run of the tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace rdmabench::inline v1::measure {

using Samples = std::vector<std::uint64_t>;

/// Every magnitude of 64 bits equally often.
inline Samples all_magnitudes(std::size_t count, std::mt19937_64& random) {
  Samples samples(count);
  for (auto& sample : samples) sample = random() >> (random() % 64);
  return samples;
}

inline std::vector<std::pair<std::string, Samples>> latency_shapes(std::size_t count) {
  std::mt19937_64 random(20240229);
  std::lognormal_distribution<double> skewed(std::log(5000.0), 0.7);
  Samples constant(count, 4321);
  Samples small(count);
  Samples flat(count);
  Samples tailed(count);
  Samples two_peaks(count);
  for (std::size_t i = 0; i < count; ++i) {
    small[i] = random() % 300;
    flat[i] = 1000 + random() % 9000;
    tailed[i] = static_cast<std::uint64_t>(skewed(random));
    two_peaks[i] = (random() % 3 == 0 ? 90000 : 5000) + random() % 100;
  }
  return {{"constant", constant},   {"small", small},
          {"flat", flat},           {"tailed", tailed},
          {"two peaks", two_peaks}, {"all magnitudes", all_magnitudes(count, random)}};
}

}  // namespace rdmabench::inline v1::measure
