#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {

std::string ascii_only(std::string_view text, std::size_t limit) {
  std::string out;
  const std::size_t last = text.find_last_not_of(" \r\n");
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (out.size() >= limit) return out.substr(0, limit) + "...";
    if (text[i] == '\n' && !out.empty() && last != std::string_view::npos && i < last) {
      out += "; ";
      i = text.find_first_not_of(" \r\n", i) - 1;
    } else {
      out += text[i] < ' ' || text[i] > '~' ? '?' : text[i];
    }
  }
  return out.size() > limit ? out.substr(0, limit) + "..." : out;
}

}  // namespace rdmabench::inline v1
