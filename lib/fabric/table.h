// The figures of a table, by metric and size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rdmabench/fabric/matrix.h"
#include "rdmabench/fabric/run.h"

namespace rdmabench::fabric {

/// All pairs of one metric and size on all rails, confirming measurements left out.
struct Summary {
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  std::size_t cells = 0;   ///< with a value
  std::size_t failed = 0;  ///< without a value
  double typical = 0;      ///< median
  double tail = 0;         ///< the 5 % worst: p5 of bandwidth, p95 of latency
  double worst = 0;
  double best = 0;
  std::vector<std::size_t> worst_cells{};  ///< indices into Matrix::measurements, the worst first
};

/// By metric and size in the order of the plan; at most `most` worst cells of each.
std::vector<Summary> summarize(const Matrix& matrix, std::size_t most = 5);

/// "node 3 (host-c)"; the rank alone where its host is not known.
std::string node_name(const Matrix& matrix, std::uint32_t rank);

}  // namespace rdmabench::fabric
