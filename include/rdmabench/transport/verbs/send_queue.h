// The send queue of a queue pair, or of one peer of a UD queue pair: its work requests and counts.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <vector>

#include "rdmabench/transport/operation.h"

namespace rdmabench::inline v1::transport::verbs {

/// The work requests of post<Op>(), built for messages of one length. A post changes addresses, id
/// and word; the first post of another length builds them anew.
struct Prepared {
  std::uint64_t bytes = ~std::uint64_t{0};  ///< no message's: nothing is built yet
  ibv_send_wr request{};
  ibv_send_wr signalled{};  ///< the same, but that it always asks for a completion
  ibv_sge piece{};          ///< of both, where messages have one
};

/// What the data path edits, in place. It points into itself once it is built, so it stays put.
struct SendQueue {
  ibv_qp* queue_pair = nullptr;
  std::uint64_t posted = 0;
  std::uint64_t limit = 0;      ///< posted may grow up to here: what has completed, and the depth
  std::uint64_t signal_at = 0;  ///< the number of the next post that asks for a completion
  std::uint64_t tag = 0;        ///< of the wr_ids of its sends: its index in the upper half
  std::array<Prepared, Operations::kCount> prepared;  ///< by operation

  std::vector<ibv_send_wr> list;          ///< of post_list(): a chain of at most post_list requests
  std::vector<std::uint64_t> list_bytes;  ///< what each was built for
  OperationCode list_operation = OperationCode::send;  ///< ... and all of them
  /// Members of the list that are linked now; none at first, which is the size of no list.
  std::uint32_t chained = ~std::uint32_t{0};
  std::vector<ibv_sge> pieces;  ///< of `list`, and of `prepared` where messages have several
};

/// A receive that can be posted.
struct ReceiveSlot {
  std::uint64_t address;
  void* queue;  ///< ibv_qp, ibv_srq or KeyedQueue
};

/// Where the receives of a queue pair lie in a memory region of its own.
struct KeyedQueue {
  ibv_qp* queue_pair;
  std::uint32_t local_key;
};

int post_to_keyed_queue(void* queue, ibv_recv_wr* request, ibv_recv_wr** refused) noexcept;

}  // namespace rdmabench::inline v1::transport::verbs
