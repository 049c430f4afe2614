// What limits are set for, and in which units.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmabench::inline v1::report {

struct Unit {
  std::string_view text;
  double factor;
};

/// What a key of a document is in, by its name.
struct Measure {
  std::span<const Unit> units;
  std::string (*text)(double);
};

std::optional<Measure> measure_of(std::string_view key);

/// "bits_per_s" of "bw"; a key as it is.
std::string_view key_of(std::string_view quantity);

}  // namespace rdmabench::inline v1::report
