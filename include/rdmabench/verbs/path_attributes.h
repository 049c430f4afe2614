// What the packets of a queue pair carry, and what an EFA device can do for one.
#pragma once

#include <cstdint>

namespace rdmabench::inline v1::verbs {

/// Header fields of packets, and retries. Encoded as in the InfiniBand Architecture
/// Specification, 9.7.5.2.8 and 9.7.6.1.3.
struct PathAttributes {
  std::uint16_t partition_index = 0;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;
  std::uint8_t timeout = 14;  ///< 67 ms without an acknowledgement before the first retry
  /// With that timeout a dead peer is detected after a second or more. Not the maximum 7, which
  /// Soft-RoCE treats as infinite, as in rnr_retries (Linux, drivers/infiniband/sw/rxe/rxe_comp.c).
  std::uint8_t retries = 6;
  std::uint8_t rnr_retries = 7;  ///< infinite: a slow receiver is not an error
  std::uint8_t rnr_timer = 12;   ///< the peer retries 0.64 ms after an RNR NAK
};

/// Capabilities of an EFA device besides sends.
struct ScalableLimits {
  bool reads = false;
  bool writes = false;
  bool rnr_retries = false;          ///< the number of RNR retries can be set; else infinite
  std::uint32_t inline_bytes = 0;    ///< of a send; reads and writes have no inline data
  std::uint32_t max_rdma_bytes = 0;  ///< of a read or a write
};

}  // namespace rdmabench::inline v1::verbs
