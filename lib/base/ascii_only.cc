#include "rdmabench/base/error.h"

#include <algorithm>

namespace rdmabench {

std::string ascii_only(std::string_view text, std::size_t limit) {
  std::string out(text.substr(0, limit));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (text.size() > limit) out += "...";
  return out;
}

}  // namespace rdmabench
