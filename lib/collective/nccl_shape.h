// How NCCL would use the wire for one row: message size, messages in flight, queue pairs and
// clear-to-sends.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {

/// NCCL's settings that change it, with its defaults.
struct NcclSettings {
  std::uint64_t buffer_bytes = std::uint64_t{4} << 20;  ///< NCCL_BUFFSIZE
  std::uint32_t queue_pairs = 1;                        ///< NCCL_IB_QPS_PER_CONNECTION
};
/// `variable` returns the value of an environment variable, or null. What is no number in a
/// sensible range is left out.
NcclSettings nccl_settings(const std::function<const char*(const char* name)>& variable);

/// The row that the steps explain: the largest of all ranks that has a bus bandwidth and, where
/// NCCL told, is a ring or a tree; null without one.
const Row* explained_row(const Run& run);

/// The steps from `plain` to what NCCL does, each with one thing more changed. Algorithm, protocol
/// and channels are those of the row's facts; without them a ring, the protocol Simple and one
/// channel. Source: NCCL 2.30, src/enqueue.cc (calcCollChunking), src/include/collectives.h (slice
/// steps), src/transport/net.cc (sendProxyProgress), src/init.cc (computeBuffSizes).
std::vector<WireStep> nccl_steps(const Row& row, std::uint32_t ranks, const NcclSettings& settings,
                                 const WireShape& plain);

/// Data of what the row's protocol puts on the wire: half of LL is flags, 1 of 16 words of LL128.
double data_share(const Row& row);

}  // namespace rdmabench::inline v1::collective
