// --run_infinitely: a row for each interval.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "report/perftest.h"

namespace rdmabench::inline v1::tools::perftest {

/// Collects epochs and makes a row of them at the end of the interval. It reads no clock: the
/// caller passes the time between epochs, so nothing is done during a measurement.
class IntervalRows {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `directions`: 2 if messages go both ways; the row counts both.
  IntervalRows(std::chrono::nanoseconds interval, int directions,
               const report::PerftestStyle& style, Time start);

  /// An epoch that ended at `now`: `iterations` is the total of the size so far, `messages_per_s`
  /// the epoch's, both of one direction. Returns the row that is due, if one is; the rate in it is
  /// that of the epochs' timed parts alone.
  std::optional<std::string> add(std::uint64_t size_bytes, std::uint64_t iterations,
                                 double messages_per_s, Time now);

 private:
  std::chrono::nanoseconds interval_;
  int directions_;
  report::PerftestStyle style_;
  Time due_;
  std::uint64_t seen_ = 0;      // iterations at the end of the last epoch
  std::uint64_t messages_ = 0;  // of this interval
  double seconds_ = 0;
  double fastest_ = 0;  // messages per second
};

}  // namespace rdmabench::inline v1::tools::perftest
