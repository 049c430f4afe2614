#include "collective/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "collective/stretches.h"

namespace rdmabench::inline v1::collective {
namespace {

constexpr std::uint64_t kRightInARow = 8;  // correct elements that end a wrong stretch
constexpr std::size_t kTelling = 16;       // bytes: fewer may match by chance

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte one) { return one == std::byte{0}; });
}

bool are_same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

Checker::Checker(const Call& call, Team team, std::uint64_t iteration, std::uint64_t offset,
                 std::optional<PreviousResult> before)
    : call_(call),
      team_(team),
      iteration_(iteration),
      offset_(offset),
      before_(before),
      tolerance_(tolerance_ulp(call, team.size)) {}

bool Checker::same(const std::byte* expected, const std::byte* actual) const noexcept {
  return is_near(expected, actual, bytes_of(call_.type), tolerance_);
}

bool Checker::is_stale(std::uint64_t offset, std::span<const std::byte> run) const {
  if (!before_ || offset_ + offset < before_->offset) return false;
  const std::uint64_t at = offset_ + offset - before_->offset;  // in the older result
  std::vector<std::byte> old(run.size());
  return make_result(before_->call, team_, before_->iteration, at, old) && are_same(run, old);
}

std::string Checker::classify(const Segment& segment, std::uint64_t element, std::uint64_t offset,
                              std::span<const std::byte> run,
                              std::span<const std::byte> expected) const {
  if (is_zero(run)) return "zero";
  std::vector<std::byte> other(run.size());
  if (run.size() >= kTelling) {
    Segment moved = segment;
    moved.first += element;
    if (is_stale(offset, run)) return "stale";
    for (std::uint32_t rank = 0; rank < team_.size; ++rank) {
      if (!segment.reduced && rank == segment.source) continue;
      make_input(call_, team_.size, rank, iteration_, moved.first, other);
      if (are_same(run, other)) return fmt::format("input of rank {}", rank);
    }
  }
  const std::size_t bytes = bytes_of(call_.type);
  if (run.size() == bytes &&
      std::popcount(bits_of(run.data(), bytes) ^ bits_of(expected.data(), bytes)) == 1) {
    return "bit flip";
  }
  return "other";
}

void Checker::add(const Segment& segment, std::uint64_t offset_in_segment,
                  std::span<const std::byte> actual) {
  const std::size_t bytes = bytes_of(call_.type);
  Segment here = segment;
  here.first += offset_in_segment / bytes;
  std::vector<std::byte> expected(actual.size());
  make_expected(call_, team_.size, iteration_, here, expected);
  if (std::memcmp(expected.data(), actual.data(), actual.size()) == 0) return;
  const std::uint64_t offset = segment.offset + offset_in_segment;
  const bool goes_on = first_ && first_->offset_bytes + first_->run_bytes == offset;
  std::optional<std::size_t> begin;  // start of the first wrong stretch
  std::optional<std::size_t> last;   // its last wrong element
  if (goes_on) begin = 0;
  bool closed = first_.has_value() && !goes_on;
  for (std::size_t at = 0; at < actual.size(); at += bytes) {
    if (same(expected.data() + at, actual.data() + at)) {
      if (begin && at - last.value_or(0) > kRightInARow * bytes) closed = true;
      continue;
    }
    ++wrong_elements_;
    if (closed) continue;
    if (!begin) begin = at;
    last = at;
  }
  if (!last) return;
  if (goes_on) {
    first_->run_bytes += *last + bytes;
    return;
  }
  const std::size_t length = *last + bytes - *begin;
  const std::span<const std::byte> run = actual.subspan(*begin, length);
  const std::span<const std::byte> should = std::span(expected).subspan(*begin, length);
  first_ = Wrong{
      .iteration = iteration_,
      .offset_bytes = offset + *begin,
      .run_bytes = length,
      .pattern = classify(here, *begin / bytes, offset + *begin, run, should),
      .expected = fmt::format("0x{:0{}x}", bits_of(should.data(), bytes), 2 * bytes),
      .actual = fmt::format("0x{:0{}x}", bits_of(run.data(), bytes), 2 * bytes),
  };
}

void make_guard(std::uint32_t rank, std::span<std::byte> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>(0x80U | (29 * rank + 7 * i));
  }
}

std::optional<Wrong> check_guard(std::uint32_t rank, std::uint64_t begins_at,
                                 std::span<const std::byte> actual) {
  std::vector<std::byte> expected(actual.size());
  make_guard(rank, expected);
  const auto [made, found] = std::mismatch(expected.begin(), expected.end(), actual.begin());
  if (made == expected.end()) return std::nullopt;
  const auto first = static_cast<std::size_t>(made - expected.begin());
  std::size_t last = actual.size() - 1;
  while (expected[last] == actual[last]) --last;
  return Wrong{.offset_bytes = begins_at + first,
               .run_bytes = last + 1 - first,
               .pattern = "past the end",
               .expected = fmt::format("0x{:02x}", static_cast<unsigned>(*made)),
               .actual = fmt::format("0x{:02x}", static_cast<unsigned>(*found))};
}

}  // namespace rdmabench::inline v1::collective
