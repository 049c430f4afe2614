// The rule for every error that bytes from a peer may cause.
#pragma once

#include <algorithm>
#include <string_view>

namespace rdmabench::fuzz {

/// One printable line that says something: it may end on a terminal or in a log.
inline bool is_good_text(std::string_view text) {
  return !text.empty() && text.size() < 700 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace rdmabench::fuzz
