// Parts of a text. The text must outlive the views of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmabench::inline v1 {

inline constexpr std::string_view kBlanks = " \t\r\n";

/// Without blanks at either end.
inline std::string_view trimmed(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// The parts between the `at`, one more than there are of them.
inline std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Each without its line end. The last may lack one.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

/// The words between blanks.
inline std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.empty()) return words;
    words.push_back(text.substr(0, text.find_first_of(kBlanks)));
    text.remove_prefix(words.back().size());
  }
}

/// The value of the first line "KEY : value" or "KEY value", without blanks and colon; "" if none.
inline std::string value_after(std::string_view text, std::string_view key) {
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with(key)) continue;
    const std::string_view rest = line.substr(key.size());
    if (!rest.empty() && rest.find_first_of(" \t:=") != 0) continue;  // a longer key
    return std::string(
        trimmed(rest.substr(std::min(rest.find_first_not_of(" \t:="), rest.size()))));
  }
  return "";
}

/// The word in brackets of "always [madvise] never"; "" if none.
inline std::string chosen_word(std::string_view text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  return std::string(text.substr(begin + 1, end - begin - 1));
}

/// The text with other words in place of some characters.
inline std::string replaced(std::string_view text,
                            std::initializer_list<std::pair<char, std::string_view>> words) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    const auto* const found =
        std::find_if(words.begin(), words.end(), [c](const auto& one) { return one.first == c; });
    if (found == words.end()) {
      out += c;
    } else {
      out += found->second;
    }
  }
  return out;
}

// ASCII letters, whatever the locale.

inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

inline std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

/// A time in UTC, as `format` of strftime(3) says.
inline std::string utc_text(std::time_t at, const char* format) {
  std::tm parts{};
  gmtime_r(&at, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace rdmabench::inline v1
