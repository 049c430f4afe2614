// collective: operations among all ranks of a job, over a library that does them (NCCL, MPI).
//
// This header names the operations, types and reductions, and describes one call. How the library
// moves the data is not known here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/features.h"

namespace rdmabench::inline v1::collective {

/// What is done. Meaning and counts are NCCL's (its user guide, "Collective Operations").
enum class Operation : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  all_to_all_v,
  gather,
  scatter,
  send_receive,  ///< a ring: to rank + 1, from rank - 1
};
inline constexpr std::size_t kOperations = 10;

/// NCCL's, with its numbers.
enum class DataType : std::uint8_t {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  half,  ///< IEEE 754 binary16
  float32,
  float64,
  bfloat16,
  f8e4m3,  ///< OCP 8-bit floating point E4M3: no infinity, one NaN. Source: OCP OFP8 1.0
  f8e5m2,  ///< OCP 8-bit floating point E5M2
};
inline constexpr std::size_t kDataTypes = 12;

enum class Reduction : std::uint8_t {
  sum,
  prod,
  min,
  max,
  avg,     ///< the sum divided by the number of ranks
  mulsum,  ///< each rank's input times a scalar of its own, see mulsum_scalar(), then the sum
};
inline constexpr std::size_t kReductions = 6;

/// "all-reduce", "f8e4m3", "mulsum": as on the command line and in documents.
std::string_view name(Operation operation) noexcept;
std::string_view name(DataType type) noexcept;
std::string_view name(Reduction reduction) noexcept;

/// Takes name()'s words, and for types "float" and "double". Throws Error(usage) that lists them.
Operation parse_operation(std::string_view text);
DataType parse_type(std::string_view text);
Reduction parse_reduction(std::string_view text);

constexpr bool is_integer(DataType type) noexcept {
  return type <= DataType::uint64;
}

/// True for floating-point types.
constexpr bool is_signed(DataType type) noexcept {
  return type != DataType::uint8 && type != DataType::uint32 && type != DataType::uint64;
}

/// 1, 2, 4 or 8.
constexpr std::uint32_t bytes_of(DataType type) noexcept {
  constexpr std::array<std::uint8_t, kDataTypes> kBytes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return kBytes[static_cast<std::size_t>(type)];
}

/// all_reduce, reduce_scatter, reduce: the others ignore the reduction.
constexpr bool reduces(Operation operation) noexcept {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
         operation == Operation::reduce;
}

/// broadcast, reduce, gather, scatter.
constexpr bool has_root(Operation operation) noexcept {
  return operation == Operation::broadcast || operation == Operation::reduce ||
         operation == Operation::gather || operation == Operation::scatter;
}

/// By what `rank` multiplies its input under Reduction::mulsum: 1 or 2, exact in every type.
constexpr std::uint32_t mulsum_scalar(std::uint32_t rank) noexcept {
  return 1 + rank % 2;
}

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

/// Whether size_bytes() is that of the parts of all ranks together.
bool is_of_all_ranks(Operation operation) noexcept;

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

/// Bytes per second if one operation takes `time_ns`: its size divided by the time.
double algorithm_bandwidth(const Call& call, std::uint32_t ranks, double time_ns);

/// The same times bus_factor(); none with one rank.
std::optional<double> bus_bandwidth(const Call& call, std::uint32_t ranks, double time_ns);

}  // namespace rdmabench::inline v1::collective
