// The values of perftest's flags, read strictly: a tail that perftest drops is an error here.
#pragma once

#include <cstdint>

#include "flag_table.h"

namespace rdmabench::tools::perftest {

/// A whole number within bounds: "1000", "5k", "0x68". Throws Error(usage) that names the flag.
std::uint64_t whole(const Given& given, std::uint64_t min, std::uint64_t max);

/// A number above or equal to 0: "12.5". Throws Error(usage).
double real(const Given& given);

/// Bytes: "65536", "64K", "0x1000". Throws Error(usage).
std::uint64_t bytes(const Given& given);

template <class T>
T whole_as(const Given& given, std::uint64_t min, std::uint64_t max) {
  return static_cast<T>(whole(given, min, max));
}

/// A value that is none of the words it may be.
[[noreturn]] void refuse_word(const Given& given, std::string_view words);

}  // namespace rdmabench::tools::perftest
