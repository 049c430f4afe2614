// Reading what other tools printed.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rdmabench::report {

/// The words of a line, parted by blanks and tabs.
std::vector<std::string_view> words_of(std::string_view line);

/// Without "[1,0]<stdout>:" of Open MPI, "0: " of srun -l, "node1: " of pdsh.
std::string_view without_tag(std::string_view line);

bool has(std::string_view line, std::string_view part);

/// What stands after `mark`, without blanks around it; "" where there is no mark.
std::string rest_after(std::string_view line, std::string_view mark);

/// The whole text as a number; none for anything else, and for what is not finite.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [tail, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || tail != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

}  // namespace rdmabench::report
