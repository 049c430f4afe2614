// How deep JSON nests, before it is read.
#pragma once

#include <string_view>

namespace rdmabench {

/// Whether this JSON has more than `levels` of objects and lists in one another. nlohmann's reader
/// would tell its callback, but with a callback it looks at all members of a list after each object
/// in it: a message of 1 MiB takes minutes.
bool nests_deeper(std::string_view text, int levels) noexcept;

}  // namespace rdmabench
