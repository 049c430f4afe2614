// Numbers under one heading of a table.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1::report {

inline constexpr int kSignificantDigits = 6;
inline constexpr double kMessagesPerMillion = 1e6;

/// What is left out first of a table that is too wide, as in TextTable::Column.
enum : int { kOnPages = -1, kLastOut = 1, kLateOut, kMiddleOut, kEarlyOut, kFirstOut };

/// "394.2 Gb/s", "1.91 us", "8", "64K".
std::string rate_text(double bits_per_s);
std::string time_text(double ns);
std::string size_text(double bytes);
std::string whole_text(double number);
/// "48.5 G", "1.5 M", "93 %": of a ratio of 0.93.
std::string amount_text(double number);
std::string percent_text(double ratio);
/// "1.5 M/s", "48.5 GB/s".
std::string per_second(double number);
std::string bytes_per_second(double number);

/// How the numbers of a column are told: on a page each with the unit that suits it, in a text
/// table all in the unit of its heading.
struct Scale {
  static constexpr int kOfClock = -1;  ///< decimals: as many as the clock can fill

  /// Where there is no unit, a text table has the page's words.
  constexpr Scale(std::string (*words)(double) = nullptr, std::string_view of = "", double one = 1,
                  int most = 0)
      : text(words), unit(of), per(one), decimals(most) {}

  std::string (*text)(double);
  std::string_view unit;
  double per;    ///< of the value: 1000 of nanoseconds for "us"
  int decimals;  ///< at most
};
inline constexpr Scale kTimeScale{time_text, "us", 1e3, 3};
inline constexpr Scale kRateScale{rate_text, "Gb/s", 1e9, 3};
inline constexpr Scale kGigabytesScale{bytes_per_second, "GB/s", 1e9, kSignificantDigits};
inline constexpr Scale kMessageScale{per_second, "Mmsg/s", 1e6, kSignificantDigits};

/// Numbers that share their decimals, so that the points stand in line: as many as leave the
/// largest six significant digits, and not more than `limit`.
class NumberColumn {
 public:
  explicit NumberColumn(int limit) : limit_(limit) {}

  /// What is not finite is "-".
  void add(double value) {
    values_.push_back(value);
    if (std::isfinite(value)) largest_ = std::max(largest_, std::abs(value));
  }

  std::string text(std::size_t row) const {
    if (!std::isfinite(values_[row])) return "-";
    const int before_point = largest_ < 10 ? 1 : 1 + static_cast<int>(std::log10(largest_));
    const int decimals = std::clamp(kSignificantDigits - before_point, 0, limit_);
    return fmt::format("{:.{}f}", values_[row], decimals);
  }

 private:
  int limit_;
  std::vector<double> values_;
  double largest_ = 0;
};

}  // namespace rdmabench::inline v1::report
