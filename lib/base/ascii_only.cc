#include "rdmabench/base/error.h"

namespace rdmabench {

std::string ascii_only(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (out.size() >= limit) return out.substr(0, limit) + "...";
    const std::size_t next =
        text[i] == '\n' ? text.find_first_not_of(" \r\n", i) : std::string_view::npos;
    if (out.empty() || next == std::string_view::npos) {
      out += text[i] < ' ' || text[i] > '~' ? '?' : text[i];
      continue;
    }
    out += "; ";
    i = next - 1;
  }
  return out.size() > limit ? out.substr(0, limit) + "..." : out;
}

}  // namespace rdmabench
