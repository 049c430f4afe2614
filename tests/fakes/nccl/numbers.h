// NCCL's element types and reductions, on host memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake_nccl {

/// 0 for a type that NCCL does not have.
std::size_t size_of(int type);

/// How values are combined: NCCL's built-in operations by their numbers, or a sum of products.
struct Combine {
  int op = 0;           ///< ncclSum .. ncclAvg
  bool scaled = false;  ///< premul-sum: every input times its own rank's scalar
  double factor = 1;    ///< for floating types
  std::uint64_t whole_factor = 1;
};

/// Reads a scalar of that type, as ncclRedOpCreatePreMulSum takes it.
Combine premul(int type, const void* scalar);

/// Brings an input into the sum's form, in place: what a rank does before it sends.
void prepare(int type, const Combine& combine, int ranks, unsigned char* data, std::size_t count);

/// total = total (op) more
void combine(int type, const Combine& combine, unsigned char* total, const unsigned char* more,
             std::size_t count);

/// What remains to be done to the total: avg of whole numbers.
void finish(int type, const Combine& combine, int ranks, unsigned char* total, std::size_t count);

}  // namespace fake_nccl
