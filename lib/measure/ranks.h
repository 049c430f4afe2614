// Order statistics of samples that may be reordered, for callers that ask often.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rdmabench::inline v1::measure {

/// The sample that would be at `rank`, from 0, if they were sorted. There has to be one.
template <class T>
T at_rank(std::vector<T>& samples, std::size_t rank) {
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

/// The median as the mean of the two middle ones where their number is even; 0 of none.
inline double middle(std::vector<double>& samples) {
  if (samples.empty()) return 0;
  const std::size_t half = samples.size() / 2;
  const double upper = at_rank(samples, half);
  if (samples.size() % 2 == 1) return upper;
  return (upper + *std::max_element(samples.begin(), samples.begin() + std::ptrdiff_t(half))) / 2;
}

}  // namespace rdmabench::inline v1::measure
