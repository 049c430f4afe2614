// Numbers in texts of the kernel and of users.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace rdmabench::inline v1 {

/// The whole text as a number; none for anything else, and for what is not finite. `base` is for
/// whole numbers.
template <class T>
std::optional<T> parse_number(std::string_view text, [[maybe_unused]] int base = 10) noexcept {
  T value{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<T>) {
    read = std::from_chars(text.data(), end, value);
    if (!std::isfinite(value)) return std::nullopt;
  } else {
    read = std::from_chars(text.data(), end, value, base);
  }
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

/// Calls `visit` with first and last of each range of the kernel's list "0-3,8". False at the first
/// that is not one.
template <class Visit>
bool for_each_range(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    const auto first = parse_number<std::uint64_t>(range.substr(0, range.find('-')));
    // npos + 1 is 0: all of it
    const auto last = parse_number<std::uint64_t>(range.substr(range.find('-') + 1));
    if (!first || !last || *last < *first) return false;
    visit(*first, *last);
    list.remove_prefix(std::min(range.size() + 1, list.size()));
  }
  return true;
}

/// How many numbers "0-3,8" has; 0 for a text that is not a list.
inline std::uint64_t list_count(std::string_view list) {
  std::uint64_t count = 0;
  const bool whole = for_each_range(
      list, [&](std::uint64_t first, std::uint64_t last) { count += last - first + 1; });
  return whole ? count : 0;
}

}  // namespace rdmabench::inline v1
