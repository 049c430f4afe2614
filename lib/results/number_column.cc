#include "number_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::report {

std::string column_text(double value, int decimals, int digits) {
  if (!std::isfinite(value)) return "-";
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);  // 9.996 is 1.00e+01
  const int before_point = std::atoi(rounded.c_str() + rounded.find('e') + 1) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(digits - before_point, 0, decimals));
}

std::string digits_text(double value, int digits) {
  constexpr int kAnyDecimals = 12;
  std::string text = column_text(value, kAnyDecimals, digits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string rate_text(double bits_per_s) {
  return rate_text(bits_per_s, kDigits);
}

std::string rate_text(double bits_per_s, int digits) {
  if (!std::isfinite(bits_per_s)) return "-";
  return bits_per_s >= 1e13  ? digits_text(bits_per_s / 1e12, digits) + " Tb/s"
         : bits_per_s >= 1e9 ? digits_text(bits_per_s / 1e9, digits) + " Gb/s"
         : bits_per_s >= 1e6 ? digits_text(bits_per_s / 1e6, digits) + " Mb/s"
                             : digits_text(bits_per_s / 1e3, digits) + " kb/s";
}

std::string time_text(double ns) {
  return time_text(ns, kDigits);
}

std::string time_text(double ns, int digits) {
  if (!std::isfinite(ns)) return "-";
  return ns < 1e6   ? digits_text(ns / 1e3, digits) + " us"
         : ns < 1e9 ? digits_text(ns / 1e6, digits) + " ms"
                    : digits_text(ns / 1e9, digits) + " s";
}

std::string size_text(double bytes) {
  const bool whole = std::isfinite(bytes) && bytes >= 0 && bytes < 0x1p63;
  return whole ? format_size(static_cast<std::uint64_t>(bytes)) : "-";
}

std::string whole_text(double number) {
  return std::isfinite(number) ? fmt::format("{:.0f}", number) : "-";
}

std::string amount_text(double number) {
  if (!std::isfinite(number)) return "-";
  return number >= 1e9   ? digits_text(number / 1e9) + " G"
         : number >= 1e6 ? digits_text(number / 1e6) + " M"
         : number >= 1e3 ? digits_text(number / 1e3) + " k"
                         : digits_text(number);
}

std::string percent_text(double ratio) {
  return std::isfinite(ratio) ? digits_text(ratio * 100) + " %" : "-";
}

std::string per_second(double number) {
  return std::isfinite(number) ? amount_text(number) + "/s" : "-";
}

std::string bytes_per_second(double number) {
  if (!std::isfinite(number)) return "-";
  const std::string text = amount_text(number);
  return text + (text.find(' ') == std::string::npos ? " B/s" : "B/s");
}

}  // namespace rdmabench::inline v1::report
