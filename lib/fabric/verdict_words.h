// What a verdict says besides its findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {

/// "node 3 (host-c)"; the rank alone where its host is not known.
std::string node_name(const Matrix& matrix, std::uint32_t rank);

struct SlowPair {
  const Measurement* pair = nullptr;
  std::string why{};
};

/// Of each metric and size that was judged: the worst pair where it looks slow and is in no
/// finding, and why it is not one. The matrix must outlive them.
std::vector<SlowPair> slow_pairs(const Matrix& matrix, const Attribution& verdict);

}  // namespace rdmabench::inline v1::fabric
