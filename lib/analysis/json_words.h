// Words of the documents.
#pragma once

#include "rdmabench/analysis/verdict.h"
#include "report/row.h"

namespace rdmabench::analysis {

/// "better", "worse", "mixed", or null.
inline report::Json json_word(Direction direction) {
  switch (direction) {
    case Direction::none:
      break;
    case Direction::better:
      return "better";
    case Direction::worse:
      return "worse";
    case Direction::mixed:
      return "mixed";
  }
  return nullptr;
}

/// "noise", "margin", or null.
inline report::Json json_word(Obstacle obstacle) {
  return report::text_or_null(std::string(name(obstacle)));
}

}  // namespace rdmabench::analysis
