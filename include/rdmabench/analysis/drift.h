// Whether the launches' values moved with time, and in which order they ran.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rdmabench::analysis {

/// One launch's value.
struct Timed {
  double time_s = 0;  ///< since any fixed moment
  double value = 0;   ///< a log
};

struct Drift {
  double p_value = 1;  ///< of "no trend"
  double change = 0;   ///< of the log over the longer side's time, by Theil and Sen's slope
};

/// A trend within the sides, whatever lies between them. Kendall's statistic is summed over the
/// two sides, each with its own variance, so a difference between A and B is no drift. The slope
/// is not carried over the time between the sides, of which no launch tells: a baseline may be
/// months old. Ties are allowed. Sources: Hirsch & Slack 1984 (seasonal Kendall test), Sen 1968.
Drift find_drift(std::span<const Timed> a, std::span<const Timed> b);

/// In which order the launches of two sides ran.
struct Order {
  bool known = false;        ///< every launch has a time, and there are some of both sides
  bool separate = false;     ///< all of one side ran before all of the other
  std::uint32_t blocks = 0;  ///< "AABBA" is three
  std::string pattern;       ///< "ABBA"; of launches in the same second A stands first
};

Order find_order(std::span<const double> a_times_s, std::span<const double> b_times_s);

}  // namespace rdmabench::analysis
