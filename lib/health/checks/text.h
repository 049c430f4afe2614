// Parses texts of the kernel. Private to this room; every function accepts any bytes.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"
#include "base/text.h"

namespace rdmabench::inline v1::health {

/// Up to the first line end, without blanks around it.
inline std::string one_line(std::string_view text) {
  return std::string(trimmed(text.substr(0, text.find('\n'))));
}

// Copies of the parts, because the text is often a temporary.

inline std::vector<std::string> lines_of(std::string_view text) {
  const std::vector<std::string_view> lines = rdmabench::lines_of(text);
  return {lines.begin(), lines.end()};
}

inline std::vector<std::string> words_of(std::string_view text) {
  const std::vector<std::string_view> words = rdmabench::words_of(text);
  return {words.begin(), words.end()};
}

/// "0x10de" and "10de".
inline std::optional<std::uint64_t> hex_number(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return parse_number<std::uint64_t>(text, 16);
}

/// The leading number: 400 of "400 Gb/sec (4X NDR)".
inline std::optional<double> leading_number(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || !(value >= 0 && value < 1e18)) return std::nullopt;
  return value;
}

}  // namespace rdmabench::inline v1::health
