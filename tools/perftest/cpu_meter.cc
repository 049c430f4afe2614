#include "cpu_meter.h"

#include <fstream>
#include <limits>

namespace rdmabench::inline v1::tools::perftest {

CpuMeter::Ticks CpuMeter::read() const {
  constexpr int kIdle = 3;
  constexpr int kColumns = 8;  // up to steal; guests' time is in the first two already
  std::ifstream file(file_);
  std::string word;
  file >> word;  // "cpu": the sum of all
  Ticks ticks;
  std::uint64_t column = 0;
  for (int i = 0; i < kColumns && file >> column; ++i) {
    ticks.all += column;
    if (i == kIdle) ticks.idle = column;
  }
  return ticks;
}

void CpuMeter::add(std::uint64_t size_bytes, Time now) {
  constexpr auto kInterval = std::chrono::milliseconds(100);
  const auto [at, is_new] = spans_.try_emplace(size_bytes);
  Span& span = at->second;
  if (!is_new && now < span.due) return;
  span.due = now + kInterval;
  span.last = read();
  if (is_new) span.first = span.last;
}

double CpuMeter::percent(std::uint64_t size_bytes) const {
  const auto found = spans_.find(size_bytes);
  const Ticks first = found == spans_.end() ? Ticks() : found->second.first;
  const Ticks last = found == spans_.end() ? Ticks() : found->second.last;
  if (last.all <= first.all) return std::numeric_limits<double>::quiet_NaN();
  const auto all = static_cast<double>(last.all - first.all);
  return 100 * (1 - static_cast<double>(last.idle - first.idle) / all);
}

}  // namespace rdmabench::inline v1::tools::perftest
