#include "collective/median_watch.h"

#include <cmath>

namespace rdmabench::collective {

bool MedianWatch::is_known(std::vector<double> samples, double precision) {
  constexpr double kNormal = 3.0233;  // quantile of 1 - 0.05 / 20 / 2
  next_look_ *= 2;
  if (samples.size() < kFewest) return false;
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const double rank = std::floor(count / 2 + 0.5 - kNormal * std::sqrt(count) / 2);
  const std::size_t below = rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1;
  low_ = samples[below];
  high_ = samples[samples.size() - 1 - below];
  return (high_ - low_) / 2 <= precision * samples[(samples.size() - 1) / 2];
}

}  // namespace rdmabench::collective
