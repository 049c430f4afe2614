// One operation with all that a back end has to know of it.
#pragma once

#include <cstdint>
#include <vector>

#include "rdmabench/collective/operation.h"

namespace rdmabench::collective {

/// Who takes part.
struct Team {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
};

/// A value, the same on every rank.
struct Call {
  Operation operation = Operation::all_reduce;
  DataType type = DataType::float32;
  Reduction reduction = Reduction::sum;  ///< where reduces(operation)
  std::uint32_t root = 0;                ///< where has_root(operation)
  /// Elements, as NCCL counts them: all_reduce, broadcast, reduce and send_receive: of the message;
  /// all_gather, gather: what each rank sends; reduce_scatter, scatter: what each rank receives;
  /// all_to_all: what each rank sends to each; all_to_all_v: the most that one sends to another.
  std::uint64_t count = 1;
  bool in_place = false;
};

/// How many elements `from` sends to `to` in an all_to_all_v of `call.count`: count, 3/4, 1/2 or
/// 1/4 of it (rounded up), so that ranks and pairs differ. 0 where call.count is 0.
std::uint64_t count_between(const Call& call, std::uint32_t from, std::uint32_t to) noexcept;

/// Elements to (from) each rank of an all_to_all_v, and where each part begins in the buffer, which
/// holds them one behind the other.
struct Parts {
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> offsets;  ///< elements
  std::uint64_t total = 0;             ///< elements
};
Parts parts_sent(const Call& call, Team team);
Parts parts_received(const Call& call, Team team);

/// Where a rank's input and result lie, in bytes. Out of place there are two buffers; in place one,
/// of buffer_bytes, where result and input may overlap.
struct Layout {
  std::uint64_t send_bytes = 0;      ///< of this rank's input; 0: it has none
  std::uint64_t receive_bytes = 0;   ///< of its result; 0: it gets none
  std::uint64_t send_offset = 0;     ///< of the input in its buffer; 0 unless in place
  std::uint64_t receive_offset = 0;  ///< of the result in its buffer; 0 unless in place
  bool in_place = false;

  /// Of the one buffer, in place.
  std::uint64_t buffer_bytes() const noexcept {
    const std::uint64_t sent = send_offset + send_bytes;
    const std::uint64_t received = receive_offset + receive_bytes;
    return sent > received ? sent : received;
  }
  /// From where on nothing of the buffer that holds the result is this call's.
  std::uint64_t result_buffer_bytes() const noexcept {
    return in_place ? buffer_bytes() : receive_offset + receive_bytes;
  }
};

/// By NCCL's rules: in place, an all_gather's input lies in the result at rank * count, a
/// reduce_scatter's result in the input at rank * count, a gather's at the root likewise, and so a
/// scatter's. A broadcast's result is there on the root too.
Layout nccl_layout(const Call& call, Team team);

/// What nccl-tests calls the size: of an all_gather, gather, reduce_scatter, scatter or all_to_all
/// the bytes of all ranks' parts, of all_to_all_v the most that a rank sends or receives, of the
/// others the message.
std::uint64_t size_bytes(const Call& call, std::uint32_t ranks);

/// The count whose size_bytes() comes nearest to `bytes` from below, and 1 at least.
std::uint64_t count_for(Operation operation, DataType type, std::uint64_t bytes,
                        std::uint32_t ranks);

/// Bus bandwidth over algorithm bandwidth: 2(n-1)/n of an all_reduce; (n-1)/n of all_gather,
/// reduce_scatter, all_to_all(_v), gather and scatter; 1 of the others. `ranks` > 1: with one rank
/// nothing crosses a bus, and there is none. Source: nccl-tests, doc/PERFORMANCE.md.
double bus_factor(Operation operation, std::uint32_t ranks) noexcept;

}  // namespace rdmabench::collective
