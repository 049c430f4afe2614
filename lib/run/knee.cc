#include "knee.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rdmabench::run {
namespace {

// Latency has taken off where the median is twice the least, or where the rate is
// no longer kept.
constexpr double kTakenOff = 2.0;
constexpr double kKept = 0.95;

}  // namespace

void mark_knee(std::span<report::LoadResult> rows) {
  if (rows.empty()) return;
  // The least, because the first row may have been disturbed.
  double light = HUGE_VAL;
  for (const report::LoadResult& row : rows) {
    light = std::min(light, row.latency.latency.p50_ns);
  }
  for (report::LoadResult& row : rows) {
    row.taken_off = row.latency.latency.p50_ns > kTakenOff * light ||
                    row.achieved_messages_per_s < kKept * row.offered_messages_per_s;
  }
  const auto is_off = [](const report::LoadResult& row) { return row.taken_off; };
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

}  // namespace rdmabench::run
