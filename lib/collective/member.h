// How every rank, rank 0 included, carries out a command.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "collective/check.h"
#include "collective/stretches.h"
#include "commands.h"
#include "division.h"
#include "health/run_watch.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {

/// Thread rule: one thread.
class Member {
 public:
  Member(RankGroup& group, Engine& engine, const MemberOptions& options);

  /// Opens the library together with the other ranks, and counts the ranks of each machine. Throws
  /// Error.
  void open();

  /// Carries the command out and returns the answer. After an Error the rank must give up.
  /// `starts`, on rank 0 only: when each rank begins an epoch, by that rank's clock.
  using Starts = std::function<std::vector<std::uint64_t>()>;
  std::string execute(const RankCommand& order, const Starts& starts);

  /// Result of the last RankCommand::clocks; only on rank 0.
  const std::vector<ClockOffset>& clocks() const noexcept { return clocks_; }

 private:
  void load_library();
  void open_library(Exchange& exchange);
  void join_group(const std::vector<std::uint32_t>& group_of);
  void prepare(const RankCommand& order);
  Epoch run(const RankCommand& order, const Starts& starts);
  void fill(std::uint64_t operations, std::uint64_t first_iteration);
  void check_all(std::uint64_t operations, std::uint64_t first_iteration, Checked& checked);
  std::uint64_t last_in(std::uint32_t slot, std::uint64_t operations) const;
  void check_slot(std::uint32_t slot, std::uint64_t filled, std::uint64_t last, bool results,
                  Checked& checked);
  void add_guard(std::uint32_t slot);
  void write_guards(std::uint32_t first, std::uint32_t count);
  void write_all(Deadline deadline);
  void find_all(std::vector<bool>& different, Deadline deadline);
  std::optional<Wrong> read_result(std::uint32_t slot, Checker& checker);
  std::optional<Wrong> read_guard(std::uint32_t slot);
  /// Inputs also differ between rows, so that a stale result of the row before is wrong.
  std::uint64_t in_run(std::uint64_t iteration) const noexcept {
    return (std::uint64_t{row_.row} << 40U) + iteration;
  }
  report::Facts facts() const;
  std::string end();
  /// `timeout`, plus a second for each 100 MB to generate or read.
  Deadline deadline(std::uint64_t bytes = 0) const;

  RankGroup& group_;
  Engine& engine_;
  const MemberOptions& options_;
  Team team_;  // of the group
  std::optional<GroupExchange> exchange_;
  bool yields_ = false;
  std::optional<health::RunWatch> watch_;
  std::vector<ClockOffset> clocks_;
  RankCommand row_;
  Layout layout_;
  std::vector<Segment> segments_;
  std::vector<std::optional<PreviousResult>>
      held_;  // by slot: the last known content of its buffer
  Stretches stretches_;
  std::vector<std::byte> staging_;
};

}  // namespace rdmabench::inline v1::collective
