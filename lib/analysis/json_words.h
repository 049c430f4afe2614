// Words of the documents.
#pragma once

#include <array>
#include <string>

#include "rdmabench/analysis/comparison.h"
#include "results/row.h"

namespace rdmabench::inline v1::analysis {

/// "better", "worse", "mixed", or null.
inline report::Json json_word(Direction direction) {
  constexpr std::array kWords{"", "better", "worse", "mixed"};
  return report::text_or_null(kWords[static_cast<std::size_t>(direction)]);
}

/// "DIFFERENT_BUT_IMMATERIAL", "EQUIVALENT", ...: tables use others.
inline report::Json json_word(Verdict verdict) {
  return verdict == Verdict::immaterial ? "DIFFERENT_BUT_IMMATERIAL" : name(verdict);
}

/// "noise", "margin", or null.
inline report::Json json_word(Obstacle obstacle) {
  return report::text_or_null(std::string(name(obstacle)));
}

}  // namespace rdmabench::inline v1::analysis
