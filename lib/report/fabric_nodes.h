// A fabric's pairs by node: what each gives as sender and as receiver.
#pragma once

#include <cstdint>
#include <vector>

#include "rdmabench/report/documents.h"

namespace rdmabench::report {

/// The medians over a node's partners, of one metric and size on one rail.
struct NodeMedian {
  std::uint32_t rank = 0;
  std::uint32_t rail = 0;
  bool latency = false;
  std::uint64_t size_bytes = 0;
  double as_sender = 0;  ///< bits per second or nanoseconds; 0 = it never was one
  double as_receiver = 0;
  double typical = 0;  ///< median of all the measurements of that metric, size and rail
};

/// Confirming tests left out: they choose their pairs. Ordered by metric, size, rail and rank.
std::vector<NodeMedian> node_medians(const Document& fabric);

/// 1 = as the typical one, 0.5 = half as good: of latency the smaller is the better.
double relative(bool latency, double value, double typical);

}  // namespace rdmabench::report
