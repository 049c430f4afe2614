// A queue pair: the work requests and the counts of one queue pair, or of one peer of a UD queue
// pair.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

namespace rdmabench::transport::verbs {

/// What the data path edits, in place. It points into itself once it is built, so it stays put.
struct SendQueue {
  ibv_qp* queue_pair = nullptr;
  std::uint64_t posted = 0;
  std::uint64_t limit = 0;      ///< posted may grow up to here: what has completed, and the depth
  std::uint64_t signal_at = 0;  ///< the number of the next post that asks for a completion
  std::uint64_t tag = 0;        ///< of the wr_ids of its sends: its index in the upper half
  ibv_send_wr request{};        ///< of post()
  ibv_send_wr signalled{};      ///< the same, but that it always asks for a completion
  ibv_sge piece{};              ///< of both, where messages have one

  std::vector<ibv_send_wr> list;  ///< of post_list(): a chain, as long as the longest burst
  std::vector<ibv_sge> pieces;    ///< of `list`, and of both where messages have several
  std::uint32_t chained = 0;      ///< members of the list that are linked now
};

/// A receive that can be posted.
struct ReceiveSlot {
  std::uint64_t address;
  void* queue;  ///< ibv_qp or ibv_srq
};

}  // namespace rdmabench::transport::verbs
