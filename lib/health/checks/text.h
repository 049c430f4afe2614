// Parses texts of the kernel. Private to this room; every function accepts any bytes.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"

namespace rdmabench::health {

/// Without blanks at either end.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

/// Up to the first line end, without blanks around it.
inline std::string one_line(std::string_view text) {
  return std::string(trimmed(text.substr(0, text.find('\n'))));
}

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The words between blanks.
inline std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::vector<std::string> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    if (text.empty()) return words;
    const std::size_t end = std::min(text.find_first_of(kBlank), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

/// The value of the first line "KEY : value" or "KEY value", without blanks and colon; "" if none.
inline std::string value_after(std::string_view text, std::string_view key) {
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with(key)) continue;
    const std::string_view rest = std::string_view(line).substr(key.size());
    if (!rest.empty() && rest.find_first_of(" \t:=") != 0) continue;  // a longer key
    return std::string(
        trimmed(rest.substr(std::min(rest.find_first_not_of(" \t:="), rest.size()))));
  }
  return "";
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

/// The word in brackets of "always [madvise] never"; "" if none.
inline std::string chosen_word(std::string_view text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  return std::string(text.substr(begin + 1, end - begin - 1));
}

}  // namespace rdmabench::health
