#include "rdmabench/workload/pump.h"

#include <cmath>

namespace rdmabench::inline v1::workload {

Gaps::Gaps(ArrivalProcess arrivals, std::uint64_t gap_q16) : table_{gap_q16} {
  if (arrivals == ArrivalProcess::constant) return;
  constexpr std::size_t kCount = 1024;
  table_.resize(kCount);
  double sum = 0;
  const auto part = [](std::size_t i) {  // the middle of the i-th of equally likely parts
    return -std::log1p(-(static_cast<double>(i) + 0.5) / kCount);
  };
  for (std::size_t i = 0; i < kCount; ++i) sum += part(i);
  mask_ = kCount - 1;
  for (std::size_t i = 0; i < kCount; ++i) {
    table_[i] = static_cast<std::uint64_t>(part(i) * kCount / sum * static_cast<double>(gap_q16));
  }
}

}  // namespace rdmabench::inline v1::workload
