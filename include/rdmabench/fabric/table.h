// A matrix for people and for spreadsheets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rdmabench/fabric/attribution.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::fabric {

/// All pairs of one metric and size on all rails, confirming measurements left out.
struct Summary {
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  std::size_t cells = 0;   ///< with a value
  std::size_t failed = 0;  ///< without
  double typical = 0;      ///< median
  double tail = 0;         ///< what 1 in 20 is worse than: p5 of bandwidth, p95 of latency
  double worst = 0;
  double best = 0;
  std::vector<std::size_t> worst_cells{};  ///< indices into Matrix::measurements, the worst first
};

/// By metric and size in the order of the plan; at most `most` worst cells of each.
std::vector<Summary> summarize(const Matrix& matrix, std::size_t most = 5);

/// "node 3 (host-c)"; the rank alone where its host is not known.
std::string node_name(const Matrix& matrix, std::uint32_t rank);

/// What was measured, a line for each metric and size, the worst pairs, what failed and who was
/// lost; then each finding with its evidence, and what cannot be judged. Bandwidth in Gb/s (10^9
/// bits), latency in microseconds. ASCII.
std::string to_table(const Matrix& matrix, const Attribution& verdict);

/// RFC 4180, one line for each measurement, with the names of the JSON.
std::string to_csv(const Matrix& matrix);

}  // namespace rdmabench::fabric
