// Rank 0's part in measuring one call: how much of it in which epochs, and what the ranks'
// answers come to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/numbers.h"
#include "commands.h"
#include "member.h"
#include "rdmabench/collective/rank_group.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {

/// The ranks as rank 0 orders them: it is one of them. Thread rule: one thread.
class Ranks {
 public:
  Ranks(RankGroup& group, Member& member) : group_(group), member_(member) {}

  std::uint32_t size() const { return group_.team().size; }
  const RankIdentity& identity(std::uint32_t rank) const { return group_.identities()[rank]; }

  /// The answers of all, which have until the deadline. Throws Error(failed).
  std::vector<std::string> command(const RankCommand& order, Deadline deadline);

  /// Whether the last comparison of the clocks still tells them apart.
  bool clocks_hold() const noexcept;
  /// By rank: its clock against that of rank 0.
  const std::vector<ClockOffset>& compare_clocks(Deadline deadline);
  const std::vector<ClockOffset>& clocks() const noexcept { return clocks_; }

 private:
  std::vector<std::uint64_t> starts() const;

  RankGroup& group_;
  Member& member_;
  std::vector<ClockOffset> clocks_;  ///< as compared last
  ClockHold hold_;
};

/// One call by groups of ranks that run it at once. Thread rule: one thread.
class RowRun {
 public:
  /// `rows` are of the groups, in order; those that are `skipped` are not measured. `number` is the
  /// call's in the run.
  RowRun(Ranks& ranks, const CollectivePlan& plan, const Amount& amount, std::uint32_t number,
         std::vector<Row>& rows);

  /// Fills in the rows. Throws Error(failed).
  void measure();
  /// One more operation in each place, untimed: in place, the result of one is the input of the
  /// next. A RowRun of its own, after `measured`, of one sample of a batch in each place.
  void check_after(const RowRun& measured);

  std::uint32_t places() const noexcept { return slots_; }
  /// Whether an operation had the place of another one of its epoch.
  bool took_places_again() const noexcept { return taken_again_; }

 private:
  std::uint64_t most_bytes() const;
  void announce();
  void compare_clocks();
  void run_epoch(std::uint64_t samples, bool counts);
  void run_until_known();
  bool checks_each() const;
  std::uint64_t next_epoch(std::uint64_t most) const;
  void check(const Epoch& epoch, const Row& row, std::uint32_t rank,
             std::uint64_t ordered_ns) const;
  void take(const std::vector<std::string>& answers, std::uint64_t samples,
            std::uint64_t ordered_ns, bool counts);
  void evaluate(Row& row) const;
  report::Facts memory_facts() const;
  Deadline deadline() const;

  Ranks& ranks_;
  const CollectivePlan& plan_;
  Amount amount_;
  std::uint32_t number_;
  std::vector<Row>& rows_;
  std::uint64_t bytes_;  ///< of one operation, of the rank with most
  std::uint32_t slots_;
  std::uint64_t warmup_ = 0;  ///< samples so far
  std::uint64_t next_iteration_ = 0;
  bool converged_ = true;
  bool taken_again_ = false;
  std::vector<std::vector<Stamps>> samples_;  ///< by rank
  std::vector<double> longest_;       ///< longest of all ranks for each sample, ns, without warm-up
  std::optional<MedianWatch> known_;  ///< set if the median ended the row
  double last_ns_ = 0;                ///< of one sample in the last epoch
  double timed_ns_ = 0;
  std::vector<ClockLine> clocks_;  ///< by rank, for these rows
};

}  // namespace rdmabench::inline v1::collective
