#include "tool_text.h"

#include <algorithm>

namespace rdmabench::report {

std::string_view beginning_of(std::string_view text) noexcept {
  constexpr std::size_t kFar = std::size_t{1} << 20;
  return text.substr(0, kFar);
}

namespace {

/// Whether it begins as `pattern` does, where 0 stands for a digit and a for a letter.
bool is_like(std::string_view line, std::string_view pattern) noexcept {
  const auto alike = [](char c, char like) {
    if (like == '0') return c >= '0' && c <= '9';
    return like == 'a' ? (c | 0x20) >= 'a' && (c | 0x20) <= 'z' : c == like;
  };
  return line.size() >= pattern.size() &&
         std::equal(pattern.begin(), pattern.end(), line.begin(),
                    [alike](char like, char c) { return alike(c, like); });
}

/// After the next blank; "" where there is none.
std::string_view after_word(std::string_view line) noexcept {
  return line.substr(std::min(line.find(' '), line.size() - 1) + 1);
}

/// "node1 slurmstepd[7]: " after a time.
std::string_view without_host_and_program(std::string_view line) noexcept {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || line.starts_with('#') || line.starts_with(' ')) {
    return line;
  }
  const std::string_view words = line.substr(0, colon);
  return std::count(words.begin(), words.end(), ' ') == 1 ? line.substr(colon + 1) : line;
}

std::string_view without_one_tag(std::string_view line) noexcept {
  constexpr std::size_t kLongest = 256;
  const std::string_view beginning = line.substr(0, kLongest);
  if (const std::size_t tag = beginning.find("<stdout>:"); tag != std::string_view::npos) {
    return line.substr(tag + 9);
  }
  if (line.starts_with('[')) {
    const std::size_t end = beginning.find(']');
    // "[node01:12345] 7 more processes ..." are Open MPI's own words.
    const std::string_view name = line.substr(0, std::min(end, line.size()));
    const bool own = std::count(name.begin(), name.end(), ':') == 1 &&
                     parse_number<std::uint64_t>(name.substr(name.find(':') + 1));
    const bool tag = !own && end != std::string_view::npos && end + 1 < line.size() &&
                     (line[end + 1] == ' ' || line[end + 1] == ':');
    return tag ? line.substr(end + 1 + (line[end + 1] == ':' ? 1 : 0)) : line;
  }
  if (is_like(line, "0000-00-00T00:00:00")) return without_host_and_program(after_word(line));
  if (is_like(line, "0000-00-00 00:00:00")) {
    return without_host_and_program(after_word(after_word(line)));
  }
  if (is_like(line, "aaa 00 00:00:00 ") || is_like(line, "aaa  0 00:00:00 ")) {
    return without_host_and_program(line.substr(16));
  }
  const std::size_t colon = beginning.find(": ");
  if (line.empty() || line[0] == '#' || line[0] == ' ' || colon == std::string_view::npos ||
      line.find(' ') < colon) {
    return line;
  }
  return line.substr(colon + 1);
}

}  // namespace

std::string_view without_tag(std::string_view line) noexcept {
  for (int i = 0; i < 4; ++i) {  // "[pod/main] 2026-07-01T12:00:00Z 0: "
    // One blank stands between two tags; more of them begin what the tool printed.
    const bool blank = i > 0 && line.size() > 1 && line[0] == ' ' && line[1] != ' ';
    const std::string_view from = line.substr(blank ? 1 : 0);
    const std::string_view rest = without_one_tag(from);
    if (rest.size() == from.size()) break;
    line = rest;
  }
  return line;
}

std::string without_colours(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find("\x1b["), text.size());
    plain += text.substr(0, escape);
    text.remove_prefix(escape);
    if (text.empty()) break;
    const std::size_t end = text.find_first_not_of("0123456789;", 2);
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
  return plain;
}

bool has(std::string_view line, std::string_view part) noexcept {
  return line.find(part) != std::string_view::npos;
}

std::string rest_after(std::string_view line, std::string_view mark) {
  const std::size_t found = line.find(mark);
  if (found == std::string_view::npos) return "";
  line.remove_prefix(found + mark.size());
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t end = line.find_last_not_of(" \r\t");
  return end == std::string_view::npos || end < begin
             ? ""
             : std::string(line.substr(begin, end - begin + 1));
}

}  // namespace rdmabench::report
