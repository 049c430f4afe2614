#include "number_column.h"

#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::report {

std::string rate_text(double bits_per_s) {
  if (!std::isfinite(bits_per_s)) return "-";
  return bits_per_s >= 1e9   ? fmt::format("{:.4g} Gb/s", bits_per_s / 1e9)
         : bits_per_s >= 1e6 ? fmt::format("{:.4g} Mb/s", bits_per_s / 1e6)
                             : fmt::format("{:.4g} kb/s", bits_per_s / 1e3);
}

std::string time_text(double ns) {
  if (!std::isfinite(ns)) return "-";
  return ns < 1e6   ? fmt::format("{:.4g} us", ns / 1e3)
         : ns < 1e9 ? fmt::format("{:.4g} ms", ns / 1e6)
                    : fmt::format("{:.4g} s", ns / 1e9);
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
  return number >= 1e9   ? fmt::format("{:.4g} G", number / 1e9)
         : number >= 1e6 ? fmt::format("{:.4g} M", number / 1e6)
         : number >= 1e3 ? fmt::format("{:.4g} k", number / 1e3)
                         : fmt::format("{:.4g}", number);
}

std::string percent_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.4g} %", ratio * 100) : "-";
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
