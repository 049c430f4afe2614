#include "tool_text.h"

#include <algorithm>

namespace rdmabench::report {

std::string_view beginning_of(std::string_view text) noexcept {
  constexpr std::size_t kFar = std::size_t{1} << 20;
  return text.substr(0, kFar);
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
