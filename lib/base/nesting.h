// How large JSON is in memory, before it is read.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

namespace rdmabench {

/// Whether this JSON has more than `levels` of objects and lists in one another, or more than about
/// `values` values. nlohmann's reader would tell its callback, but with a callback it looks at all
/// members of a list after each object in it: a message of 1 MiB takes minutes.
bool json_exceeds(std::string_view text, int levels,
                  std::size_t values = std::numeric_limits<std::size_t>::max()) noexcept;

}  // namespace rdmabench
