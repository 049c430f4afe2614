// The parts of a table: figures by metric and size, and what was found, in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rdmabench/fabric/attribution.h"
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

/// "1 of 8 nodes lost: node 3 (c); among the other 7 nothing stands out"
std::string headline(const Matrix& matrix, const Attribution& verdict);

/// The headline, lost nodes, findings with their evidence, what was not confirmed, what could not
/// be judged, and why a pair that looks slow is not a finding. Findings alike are folded. Ends in a
/// newline.
std::string verdict_text(const Matrix& matrix, const Attribution& verdict,
                         const std::vector<Summary>& summaries);

/// Measurements that failed, those alike folded: with an end that was lost, or with the same error.
/// "" where none did.
std::string failures_text(const Matrix& matrix);

/// "ofi, provider tcp, device lo", by which the pairs were measured; several with their numbers of
/// measurements, the most frequent first. "" where no measurement says so.
std::string taken_paths(const Matrix& matrix);

}  // namespace rdmabench::fabric
