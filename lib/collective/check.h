// Compares a rank's result with the expected one, and classifies a wrong one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "collective/inputs.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {

/// The result that a buffer held before this one.
struct PreviousResult {
  Call call{};
  std::uint64_t iteration = 0;
  std::uint64_t offset = 0;  ///< where in the buffer it began, bytes
};

/// Checks results piece by piece. Thread rule: one thread.
class Checker {
 public:
  /// Begins the result of `iteration`, `offset` bytes into its buffer; `before` is the buffer's
  /// previous result, if known.
  Checker(const Call& call, Team team, std::uint64_t iteration, std::uint64_t offset,
          std::optional<PreviousResult> before);

  /// The next bytes of the result, in order; whole elements.
  void add(const Segment& segment, std::uint64_t offset_in_segment,
           std::span<const std::byte> actual);

  std::uint64_t wrong_elements() const noexcept { return wrong_elements_; }
  const std::optional<Wrong>& first() const noexcept { return first_; }

 private:
  bool same(const std::byte* expected, const std::byte* actual) const noexcept;
  /// `offset`: where the wrong stretch begins in the result.
  std::string classify(const Segment& segment, std::uint64_t element, std::uint64_t offset,
                       std::span<const std::byte> run, std::span<const std::byte> expected) const;
  bool is_stale(std::uint64_t offset, std::span<const std::byte> run) const;

  Call call_;
  Team team_;
  std::uint64_t iteration_;
  std::uint64_t offset_;
  std::optional<PreviousResult> before_;
  std::uint32_t tolerance_;
  std::uint64_t wrong_elements_ = 0;
  std::optional<Wrong> first_;
};

/// The guard bytes behind a result of this rank: they show writes past its end. Never below 0x80
/// and different for each rank, so that a neighbour's guard copied over it is seen.
void make_guard(std::uint32_t rank, std::span<std::byte> out);

/// The part of the guard that was overwritten, from the first changed byte to the last; none if
/// unchanged. `begins_at` is where the guard begins, in bytes from the beginning of the result.
std::optional<Wrong> check_guard(std::uint32_t rank, std::uint64_t begins_at,
                                 std::span<const std::byte> actual);

}  // namespace rdmabench::inline v1::collective
