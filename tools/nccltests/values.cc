#include "values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "rdmabench/base/error.h"

namespace rdmabench::tools::nccltests {

std::uint64_t whole(const Given& given, std::uint64_t min, std::uint64_t max) {
  std::uint64_t value = 0;
  const bool hex = given.text.rfind("0x", 0) == 0;
  const char* const begin = given.text.data() + (hex ? 2 : 0);
  const char* const end = given.text.data() + given.text.size();
  const auto [tail, status] = std::from_chars(begin, end, value, hex ? 16 : 10);
  if (status != std::errc() || tail != end || given.text.empty()) {
    throw Error(Fault::usage, fmt::format("{} '{}' is not a whole number", given.name, given.text),
                fmt::format("Give one from {} to {}.", min, max));
  }
  if (value < min || value > max) {
    throw Error(Fault::usage, fmt::format("{} {}", given.name, given.text),
                fmt::format("It may be {} to {}.", min, max));
  }
  return value;
}

std::uint64_t bytes(const Given& given) {
  constexpr double kMost = 1ULL << 50U;
  double value = 0;
  const char* const end = given.text.data() + given.text.size();
  const auto [tail, status] = std::from_chars(given.text.data(), end, value);
  double unit = 1;
  if (tail != end) {
    switch (*tail) {
      case 'k':
      case 'K':
        unit = 1ULL << 10U;
        break;
      case 'm':
      case 'M':
        unit = 1ULL << 20U;
        break;
      case 'g':
      case 'G':
        unit = 1ULL << 30U;
        break;
      default:
        unit = 0;
    }
  }
  const double all = value * unit;
  const bool whole_text = tail == end || tail + 1 == end;
  if (status != std::errc() || !whole_text || unit == 0 || !(all >= 0) || all > kMost ||
      all != std::floor(all)) {
    throw Error(Fault::usage, fmt::format("{} '{}' is no size", given.name, given.text),
                "Write bytes such as 8, 64K, 1.5M or 2G, by powers of 1024.");
  }
  return static_cast<std::uint64_t>(all);
}

void only_default(const Given& given, std::uint64_t usual, std::string_view remedy) {
  if (whole(given, 0, UINT32_MAX) == usual) return;
  throw Error(Fault::usage, fmt::format("{} {} is not taken here", given.name, given.text), remedy);
}

}  // namespace rdmabench::tools::nccltests
