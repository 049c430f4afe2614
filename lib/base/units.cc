#include "rdmabench/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

using Unit = std::pair<std::string_view, std::uint64_t>;

constexpr std::uint64_t kKibi = 1024;
constexpr std::array<Unit, 13> kSizeUnits{{{"", 1},
                                           {"B", 1},
                                           {"K", kKibi},
                                           {"KB", kKibi},
                                           {"KIB", kKibi},
                                           {"M", kKibi* kKibi},
                                           {"MB", kKibi* kKibi},
                                           {"MIB", kKibi* kKibi},
                                           {"G", kKibi* kKibi* kKibi},
                                           {"GB", kKibi* kKibi* kKibi},
                                           {"GIB", kKibi* kKibi* kKibi},
                                           {"T", kKibi* kKibi* kKibi* kKibi},
                                           {"TIB", kKibi* kKibi* kKibi* kKibi}}};
constexpr std::array<Unit, 4> kCountUnits{
    {{"", 1}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}}};
constexpr std::array<Unit, 7> kTimeUnits{{{"", 1000000000},
                                          {"S", 1000000000},
                                          {"MS", 1000000},
                                          {"US", 1000},
                                          {"NS", 1},
                                          {"M", 60000000000},
                                          {"H", 3600000000000}}};

/// A number followed by one of `units`, times that unit: decimals where that is whole.
std::uint64_t parse_number(std::string_view text, std::span<const Unit> units,
                           std::string_view noun, std::string_view example,
                           std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
  std::uint64_t number = 0;
  const auto [tail, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  refuse_if(status == std::errc::invalid_argument, fmt::format("invalid {} '{}'", noun, text),
            fmt::format("Write a number such as {}.", example));
  std::string suffix = upper(text.substr(static_cast<std::size_t>(tail - text.data())));
  std::string decimals;
  if (suffix.starts_with('.')) {
    const std::size_t end = std::min(suffix.find_first_not_of("0123456789", 1), suffix.size());
    decimals = suffix.substr(1, end - 1);
    if (!decimals.empty()) suffix.erase(0, end);
  }
  for (const auto& [name, factor] : units) {
    if (suffix != name) continue;
    std::uint64_t part = 0;
    std::uint64_t of = factor;
    for (const char digit : decimals) {
      of = of % 10 == 0 ? of / 10 : 0;
      refuse_if(of == 0 && digit != '0', fmt::format("{} '{}' has too many decimals", noun, text),
                fmt::format("Write a number such as {}.", example));
      part += of * static_cast<std::uint64_t>(digit - '0');
    }
    refuse_if(status == std::errc::result_out_of_range || number > (limit - part) / factor,
              fmt::format("{} '{}' is too large", noun, text),
              fmt::format("The limit is {}.", limit));
    return number * factor + part;
  }
  throw Error(Fault::usage, fmt::format("invalid {} '{}': unknown unit '{}'", noun, text, suffix),
              fmt::format("Write a number such as {}.", example));
}

void append_doublings(std::vector<std::uint64_t>& sizes, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t size = first; size < last; size *= 2) {
    sizes.push_back(size);
    if (size > last / 2) break;  // the next doubling would pass the last size, or 64 bits
  }
  sizes.push_back(last);
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
  return parse_number(text, kSizeUnits, "size", "8, 64K or 1M");
}

std::uint64_t parse_count(std::string_view text) {
  return parse_number(text, kCountUnits, "count", "1000 or 5k");
}

std::chrono::nanoseconds parse_duration(std::string_view text) {
  constexpr auto kLimit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return std::chrono::nanoseconds(static_cast<std::int64_t>(
      parse_number(text, kTimeUnits, "duration", "10s, 250ms or 2m", kLimit)));
}

std::vector<std::uint64_t> parse_size_list(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t colon = item.find(':');
    const std::uint64_t first = parse_size(item.substr(0, colon));
    const std::uint64_t last =
        colon == std::string_view::npos ? first : parse_size(item.substr(colon + 1));
    refuse_if(first == 0, fmt::format("invalid size list '{}': it has a size of 0", text),
              "Sizes must be at least 1.");
    refuse_if(first > last, fmt::format("invalid size range '{}': it descends", item),
              fmt::format("Write '{}:{}'.", format_size(last), format_size(first)));
    append_doublings(sizes, first, last);
  }
  return sizes;
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array<char, 4> kSuffixes{'K', 'M', 'G', 'T'};
  std::string suffix;
  for (const char next : kSuffixes) {
    if (bytes == 0 || bytes % kKibi != 0) break;
    bytes /= kKibi;
    suffix = next;
  }
  return fmt::format("{}{}", bytes, suffix);
}

}  // namespace rdmabench::inline v1
