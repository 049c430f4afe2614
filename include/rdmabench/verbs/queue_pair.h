// Reliable-connected queue pairs: creation, and the way to RTS.
#pragma once

#include <cstdint>

#include "rdmabench/verbs/gid.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::verbs {

struct QueuePairSize {
  std::uint32_t sends = 1;         ///< work requests that may be outstanding
  std::uint32_t receives = 1;      ///< likewise
  std::uint32_t inline_bytes = 0;  ///< largest message to be copied into the work request
};

struct SizedQueuePair {
  QueuePair queue_pair;
  std::uint32_t inline_bytes;  ///< what the device gives: more or less than was asked for
};

/// Creates an RC queue pair with one completion queue for both directions and one scatter/gather
/// entry per work request. No verb tells how much inline data a device takes, so the amount asked
/// for is halved until creation succeeds. Throws Error(failed). Source: ibv_create_qp(3).
SizedQueuePair create_queue_pair(ibv_pd& domain, ibv_cq& completions, QueuePairSize size);

/// RESET to INIT; receives may be posted from here on. The peer may write to and read from this
/// side's windows. Throws Error(failed). Source: ibv_modify_qp(3).
void initialize(ibv_qp& queue_pair, std::uint8_t port);

/// Where the other queue pair is, and how packets get there.
struct Connection {
  std::uint8_t port = 1;        ///< of this side
  std::uint32_t gid_index = 0;  ///< of this side; unused unless `global`
  bool global = false;          ///< with the global header; always on RoCE
  std::uint32_t mtu = 0;        ///< bytes: 256, 512, 1024, 2048 or 4096; the same on both sides
  std::uint32_t local_psn = 0;  ///< first packet sequence number of this side, 24 bits
  std::uint32_t remote_psn = 0;
  std::uint32_t remote_qpn = 0;  ///< 24 bits
  std::uint16_t remote_lid = 0;
  Gid remote_gid{};
  std::uint8_t reads_out = 0;  ///< reads that may be outstanding: at most the peer's `reads_in`
  std::uint8_t reads_in = 0;   ///< reads of the peer that this side answers at a time
};

/// INIT to RTR to RTS. Throws Error(failed) that says which step and what to check, Error(usage)
/// for an MTU that is none. Source: ibv_modify_qp(3).
void connect(ibv_qp& queue_pair, const Connection& connection);

}  // namespace rdmabench::verbs
