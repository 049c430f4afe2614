#include "tool_text.h"

#include <algorithm>

namespace rdmabench::report {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view beginning_of(std::string_view text) noexcept {
  constexpr std::size_t kFar = std::size_t{1} << 20;
  return text.substr(0, kFar);
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kBlank), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::string_view without_tag(std::string_view line) {
  if (const std::size_t tag = line.find("<stdout>:"); tag != std::string_view::npos) {
    return line.substr(tag + 9);
  }
  const std::size_t colon = line.find(": ");
  const std::size_t blank = line.find(' ');
  if (line.empty() || line[0] == '#' || line[0] == ' ' || colon == std::string_view::npos ||
      blank < colon) {
    return line;
  }
  return line.substr(colon + 1);
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
