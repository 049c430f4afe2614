// NCCL's element types and reductions, on host memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake_nccl {

/// 0 for an unknown type.
std::size_t size_of(int type);

/// The reduction: NCCL's built-in operations by number, or a sum of products.
struct Combine {
  int op = 0;           ///< ncclSum .. ncclAvg
  bool scaled = false;  ///< premul-sum: every input times its own rank's scalar
  double factor = 1;    ///< for floating types
  std::uint64_t whole_factor = 1;
};

/// Reads a scalar of that type as ncclRedOpCreatePreMulSum does.
Combine premul(int type, const void* scalar);

/// Prepares an input in place before it is sent.
void prepare(int type, const Combine& combine, int ranks, unsigned char* data, std::size_t count);

/// total = total (op) more
void combine(int type, const Combine& combine, unsigned char* total, const unsigned char* more,
             std::size_t count);

/// The last step of the total: division for avg of integers.
void finish(int type, const Combine& combine, int ranks, unsigned char* total, std::size_t count);

}  // namespace fake_nccl
