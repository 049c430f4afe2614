#include "collective/median_watch.h"

#include "rdmabench/measure/statistics.h"

namespace rdmabench::collective {

bool MedianWatch::is_known(std::vector<double> samples, double precision) {
  next_look_ *= 2;
  if (samples.size() < kFewest) return false;
  std::sort(samples.begin(), samples.end());
  const measure::RankInterval ranks = measure::percentile_interval(samples.size(), 50, kLevel);
  low_ = samples[ranks.low];
  high_ = samples[ranks.high];
  return (high_ - low_) / 2 <= precision * samples[(samples.size() - 1) / 2];
}

}  // namespace rdmabench::collective
