#include "base/nesting.h"

namespace rdmabench {

bool json_exceeds(std::string_view text, int levels, std::size_t most) noexcept {
  int depth = 0;
  std::size_t values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > levels || ++values > most) return true;
    } else if (c == ',') {
      if (++values > most) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace rdmabench
