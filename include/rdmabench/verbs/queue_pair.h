// Queue pairs: creation, and the way to RTS.
#pragma once

#include <cstdint>
#include <string_view>

#include "rdmabench/verbs/gid.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::verbs {

/// "RC", "UC", "UD", "XRC send", "XRC receive".
std::string_view name(ibv_qp_type type) noexcept;

struct QueuePairSpec {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_cq* send_completions = nullptr;
  ibv_cq* receive_completions = nullptr;
  ibv_srq* shared_receives = nullptr;  ///< takes the place of a receive queue of its own
  ibv_xrcd* xrc_domain = nullptr;      ///< IBV_QPT_XRC_RECV only
  std::uint32_t sends = 1;             ///< work requests that may be outstanding
  std::uint32_t receives = 1;          ///< likewise; unused with `shared_receives`
  std::uint32_t segments = 1;          ///< scatter/gather entries of a send; a receive has one
  std::uint32_t inline_bytes = 0;      ///< largest message to be copied into the work request
};

struct SizedQueuePair {
  QueuePair queue_pair;
  std::uint32_t inline_bytes;  ///< what the device gives: more or less than was asked for
};

/// No verb tells how much inline data a device takes, so the amount asked for is halved until
/// creation succeeds. Throws Error(failed). Source: ibv_create_qp(3), ibv_create_qp_ex(3).
SizedQueuePair create_queue_pair(ibv_pd& domain, const QueuePairSpec& spec);

/// What packets carry, and how long a queue pair insists. Encoded as in the InfiniBand Architecture
/// Specification, 9.7.5.2.8 and 9.7.6.1.3.
struct PathAttributes {
  std::uint16_t partition_index = 0;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;
  std::uint8_t timeout = 14;  ///< 67 ms without an acknowledgement before the first retry
  /// With that timeout, a second or more until a dead peer shows. Not 7, the most: Soft-RoCE takes
  /// 7 for "for ever", as it is for rnr_retries (Linux, drivers/infiniband/sw/rxe/rxe_comp.c).
  std::uint8_t retries = 6;
  std::uint8_t rnr_retries = 7;  ///< for ever: a slow receiver is no error
  std::uint8_t rnr_timer = 12;   ///< the peer asks again 0.64 ms after a receive was missing
};

/// What the peer may do to a queue pair's memory, beside sending to it.
struct RemoteAccess {
  bool reads_and_writes = true;
  bool atomics = false;
};

/// RESET to INIT; receives may be posted from here on. `q_key` is for UD only, and the access for
/// all others. Throws Error(failed). Source: ibv_modify_qp(3).
void initialize(ibv_qp& queue_pair, std::uint8_t port, std::uint16_t partition_index = 0,
                RemoteAccess access = {}, std::uint32_t q_key = 0);

/// The encoding of an MTU in bytes. Throws Error(usage) for one that is none.
ibv_mtu encode_mtu(std::uint32_t bytes);

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
  PathAttributes path{};
};

/// INIT to RTR to RTS, with the attributes that the queue pair's type has; a UD queue pair takes
/// its port and packet sequence number only. Throws Error(failed) that says which step and what to
/// check, Error(usage) for an MTU that is none. Source: ibv_modify_qp(3).
void connect(ibv_qp& queue_pair, const Connection& connection);

/// How the datagrams of a UD queue pair get there. Throws Error(failed). Source: ibv_create_ah(3).
AddressHandle create_address_handle(ibv_pd& domain, const Connection& connection);

}  // namespace rdmabench::verbs
