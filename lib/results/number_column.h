// Numbers as people read them, with three significant digits.
#pragma once

#include <string>
#include <string_view>

namespace rdmabench::inline v1::report {

inline constexpr int kDigits = 3;        ///< that count
inline constexpr int kMostDecimals = 6;  ///< of a number in a table
inline constexpr double kMessagesPerMillion = 1e6;

/// What is left out first of a table that is too wide, as in TextTable::Column.
enum : int { kOnPages = -1, kLastOut = 1, kLateOut, kMiddleOut, kEarlyOut, kFirstOut };

/// Three significant digits, and every digit before the point, without zeros at the end: "1.91",
/// "394", "85717", "0.5". "-" of what is not finite.
std::string digits_text(double value, int digits = kDigits);
/// The same with zeros at the end, and `decimals` at most: "0.50".
std::string column_text(double value, int decimals = kMostDecimals, int digits = kDigits);

/// "394 Gb/s", "1.91 us", "8", "64K".
std::string rate_text(double bits_per_s);
std::string rate_text(double bits_per_s, int digits);
std::string time_text(double ns);
std::string time_text(double ns, int digits);
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
inline constexpr Scale kRateScale{rate_text, "Gb/s", 1e9, kMostDecimals};
inline constexpr Scale kGigabytesScale{bytes_per_second, "GB/s", 1e9, kMostDecimals};
inline constexpr Scale kMessageScale{per_second, "Mmsg/s", 1e6, kMostDecimals};

}  // namespace rdmabench::inline v1::report
