// Measurements that gave no value: whose fault that is, when only pairs can fail.
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
  std::uint32_t partners = 0;  ///< distinct ones with whom it failed
  std::string error;           ///< of the first
};

/// Blames the node, direction or node's rail most of whose measurements failed, takes those out and
/// goes on; what is left over are routes.
std::vector<Failing> failing_parts(const Slice& slice, const AttributionOptions& options);

}  // namespace rdmabench::fabric
