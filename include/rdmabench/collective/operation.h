// collective: operations among all ranks of a job, over a library that does them (NCCL, MPI).
//
// It knows control (who the ranks are), measure and report, and nothing of a single wire: what a
// library sends underneath is the library's affair. What is here is the words for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rdmabench::collective {

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

/// A floating-point type is.
constexpr bool is_signed(DataType type) noexcept {
  return type != DataType::uint8 && type != DataType::uint32 && type != DataType::uint64;
}

/// 1, 2, 4 or 8.
constexpr std::uint32_t bytes_of(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      return 1;
    case DataType::half:
    case DataType::bfloat16:
      return 2;
    case DataType::int32:
    case DataType::uint32:
    case DataType::float32:
      return 4;
    case DataType::int64:
    case DataType::uint64:
    case DataType::float64:
      return 8;
  }
  return 0;
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

}  // namespace rdmabench::collective
