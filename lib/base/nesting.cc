#include "base/nesting.h"

#include <fmt/format.h>

#include <array>

namespace rdmabench::inline v1 {

std::string json_excess(std::string_view text, const JsonLimits& limits) {
  constexpr int kDeepest = 64;
  std::array<std::size_t, kDeepest + 1> keys{};  // by depth
  int depth = 0;
  std::size_t values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (c == '{' || c == '[') {
      if (++depth > limits.depth || depth > kDeepest) {
        return fmt::format("lists and objects nested deeper than {}", limits.depth);
      }
      keys.at(static_cast<std::size_t>(depth)) = 0;
    }
    if ((c == '{' || c == '[' || c == ',') && ++values > limits.values) {
      return fmt::format("more than {} values", limits.values);
    }
    if (c == ':' && ++keys.at(static_cast<std::size_t>(depth)) > limits.keys) {
      return fmt::format("an object of more than {} keys", limits.keys);
    }
  }
  return "";
}

}  // namespace rdmabench::inline v1
