// How large JSON is in memory, and how long it takes to read, before it is read.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace rdmabench::inline v1 {

struct JsonLimits {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  int depth = 32;              ///< of lists and objects in one another; 64 at most
  std::size_t values = kNone;  ///< about so many
  /// Of one object. nlohmann's ordered object compares each of its keys with all before it, so that
  /// 100,000 of them take half a minute.
  std::size_t keys = kNone;
};

/// What this JSON has more of than it may: "lists and objects nested deeper than 32", "more than 5
/// values", "an object of more than 256 keys"; "" of one that may be read. One pass. nlohmann's
/// reader would tell its callback, but with a callback it looks at all members of a list after each
/// object in it: a message of 1 MiB takes minutes.
std::string json_excess(std::string_view text, const JsonLimits& limits);

}  // namespace rdmabench::inline v1
