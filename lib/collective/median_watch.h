// When a row's median is known, for a row that ends when it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rdmabench::collective {

/// Looks at the samples' median again and again, until its interval is narrow enough. Whoever looks
/// often and stops at the first narrow interval of 95 % has one that misses the median in more than
/// 5 % of rows. So a look comes only when the samples have doubled, at numbers that are known
/// beforehand, and each is at 99.75 %: of 20 looks, more than there can be, all intervals hold the
/// median in at least 95 % of rows, and therefore the last one, whichever that is. Like every
/// interval here it takes samples to be independent. Source: Bonferroni's inequality; the interval
/// as measure::median_interval(). A value; thread rule: one thread.
class MedianWatch {
 public:
  /// The fewest samples that have an interval at that level.
  static constexpr std::uint64_t kFewest = 10;
  /// That of each look's interval.
  static constexpr double kLevel = 0.9975;

  /// The first look is at so many samples, or kFewest.
  explicit MedianWatch(std::uint64_t first_look) noexcept
      : next_look_(std::max(first_look, kFewest)) {}

  /// At how many samples to look.
  std::uint64_t next_look() const noexcept { return next_look_; }

  /// Looks; `samples` are next_look(), in any order. Whether half of the interval is within
  /// `precision` of the median.
  bool is_known(std::vector<double> samples, double precision);

  /// The interval of the last look.
  double low() const noexcept { return low_; }
  double high() const noexcept { return high_; }

 private:
  std::uint64_t next_look_;
  double low_ = 0;
  double high_ = 0;
};

}  // namespace rdmabench::collective
