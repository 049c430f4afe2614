// Measurements that failed: which node, direction, rail or route is to blame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attribution_fit.h"

namespace rdmabench::fabric {

struct Failing {
  Part part = Part::node;
  std::uint32_t a = 0;
  std::optional<std::uint32_t> b;
  std::optional<std::uint32_t> rail;
  std::uint32_t failed = 0;
  std::uint32_t tried = 0;
  std::uint32_t partners = 0;  ///< distinct partners of failed measurements
  std::string error;           ///< the first error
};

/// Blames the node, direction or node's rail most of whose measurements failed, removes these
/// measurements and repeats; the remaining failures are blamed on routes.
std::vector<Failing> failing_parts(const Slice& slice, const AttributionOptions& options);

}  // namespace rdmabench::fabric
