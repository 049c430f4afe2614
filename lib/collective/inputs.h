// What each rank puts in and the expected result, bit for bit, in whatever order a library reduces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rdmabench/collective/call.h"

namespace rdmabench::inline v1::collective {

/// The period of the inputs in elements: a prime, so that data misplaced by a power of two is
/// detected, and small, so that the expected result of any size is cheap to compute.
inline constexpr std::uint64_t kPeriod = 4093;

/// Writes the value in the bytes of the type, little-endian.
void encode(DataType type, double value, std::byte* at) noexcept;

/// Numbers are in the bytes of the type, little-endian.
///
/// Inputs of reductions are small numbers, so that every partial sum or product is exact: a sum of
/// integers of a few ranks (the others add 0), a product of a few 2 and signs. So the result
/// depends neither on the order nor on a wider type within the library. The type limits how many
/// ranks add to one element: 4 in f8e5m2, which is exact up to 8. The sum of an average is
/// divisible by the number of ranks. Inputs of other operations are arbitrary bits. They differ in
/// each iteration, so that a stale result is wrong.
///
/// Fills `out`, whose size is a multiple of the element's, with the input of `rank` from element
/// `first` of its send buffer on.
void make_input(const Call& call, std::uint32_t ranks, std::uint32_t rank, std::uint64_t iteration,
                std::uint64_t first, std::span<std::byte> out);

/// The reduced elements of all ranks' inputs from element `first` on.
void make_reduced(const Call& call, std::uint32_t ranks, std::uint64_t iteration,
                  std::uint64_t first, std::span<std::byte> out);

/// By how many units in the last place a result may differ: 0, but 2 for floating-point averages
/// where the number of ranks is not a power of two, because a library may multiply each input by
/// the rounded 1/n. nccl-tests allows the same.
std::uint32_t tolerance_ulp(const Call& call, std::uint32_t ranks) noexcept;

/// A part of a rank's result and its source.
struct Segment {
  std::uint64_t offset = 0;  ///< bytes, from the beginning of the result
  std::uint64_t bytes = 0;
  bool reduced = false;
  std::uint32_t source = 0;  ///< rank whose input it is, unless it is reduced
  std::uint64_t first = 0;   ///< element of the source's send buffer, or of the reduced whole
};

/// The whole result of this rank in order; empty where it has none.
std::vector<Segment> segments(const Call& call, Team team);

/// The first `out.size()` bytes of the segment; computes at most kPeriod elements.
void make_expected(const Call& call, std::uint32_t ranks, std::uint64_t iteration,
                   const Segment& segment, std::span<std::byte> out);

/// The bytes of this rank's result from byte `offset` on; false if the result ends before them.
bool make_result(const Call& call, Team team, std::uint64_t iteration, std::uint64_t offset,
                 std::span<std::byte> out);

}  // namespace rdmabench::inline v1::collective
