// What each rank puts in, and what must come out: bit for bit, whatever order a library adds in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rdmabench/collective/call.h"

namespace rdmabench::collective {

/// Inputs repeat after so many elements: a prime, so that data which lands a power of two too far
/// is seen, and few, so that a result of any size is known at the cost of a few thousand elements.
inline constexpr std::uint64_t kPeriod = 4093;

/// One number of one element, in the type's own bytes (little-endian, as every machine here).
///
/// Of an operation that reduces, inputs are small numbers such that every partial sum or product is
/// a number of the type: a sum of few ranks' integers (the others add 0), a product of a few 2 and
/// signs. So the result does not depend on the order, nor on a wider type within the library. How
/// many ranks add at one element follows from the type: 4 in f8e5m2, which has the integers to 8.
/// An average is of a sum that the number of ranks divides. Of other operations inputs are any
/// bits. Each iteration has its own, so that a result of the last one is wrong.
///
/// Fills `out`, whose size is a multiple of the element's, with the input of `rank` from element
/// `first` of its send buffer on.
void make_input(const Call& call, std::uint32_t ranks, std::uint32_t rank, std::uint64_t iteration,
                std::uint64_t first, std::span<std::byte> out);

/// The reduced elements of all ranks' inputs from element `first` on.
void make_reduced(const Call& call, std::uint32_t ranks, std::uint64_t iteration,
                  std::uint64_t first, std::span<std::byte> out);

/// By how many units in the last place a result may differ: 0, but 2 of an average of
/// floating-point numbers among ranks whose number is no power of two, because a library may
/// multiply each input by 1/n, which is no number of the type. nccl-tests allows the same.
std::uint32_t tolerance_ulp(const Call& call, std::uint32_t ranks) noexcept;

/// A stretch of a rank's result and where it comes from.
struct Segment {
  std::uint64_t offset = 0;  ///< bytes, from the beginning of the result
  std::uint64_t bytes = 0;
  bool reduced = false;
  std::uint32_t source = 0;  ///< rank whose input it is, unless it is reduced
  std::uint64_t first = 0;   ///< element of the source's send buffer, or of the reduced whole
};

/// The whole result of this rank in order; empty where it has none.
std::vector<Segment> segments(const Call& call, Team team);

/// The first `out.size()` bytes of the segment; at most kPeriod elements are computed anew.
void make_expected(const Call& call, std::uint32_t ranks, std::uint64_t iteration,
                   const Segment& segment, std::span<std::byte> out);

/// The bytes of this rank's result from byte `offset` on, whatever that is in its elements; false
/// where it has not so many.
bool make_result(const Call& call, Team team, std::uint64_t iteration, std::uint64_t offset,
                 std::span<std::byte> out);

}  // namespace rdmabench::collective
