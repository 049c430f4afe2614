// The ranks' control plane: rank 0 in the middle, a channel to each other rank.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/collective/backend.h"
#include "rdmabench/collective/heartbeat.h"
#include "rdmabench/control/bootstrap_address.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::collective {

/// By how much a rank's clock is ahead of rank 0's, at one moment of rank 0's.
struct ClockOffset {
  std::int64_t offset_ns = 0;  ///< whole: machines may have been up for years, and apart by as much
  double error_ns = 0;         ///< bound: half of the shortest round trip that was seen
  std::uint64_t at_ns = 0;
};

/// Where the ranks meet between two measurements. Collective: all ranks make the same calls in the
/// same order; each waits until its deadline at most and ends at once when a rank is gone. What a
/// rank fails at, it says in the place of its next word; on rank 0 that is then the error.
///
/// Every error is an Error(failed) that names the rank. Rank 0 trusts no rank: a payload is cut at
/// 1 MiB and read by bounds.
///
/// Thread rule: one thread.
class RankGroup final : public Exchange {
 public:
  /// Rank 0: lets the others in by the invitation that was made for this listener. Throws
  /// Error(failed) naming the ranks that have not come by the deadline.
  static std::unique_ptr<RankGroup> lead(control::Listener& listener,
                                         const control::BootstrapAddress& bootstrap_address,
                                         std::uint32_t size, RankIdentity self,
                                         const HeartbeatOptions& options, Deadline deadline);
  /// The others. Throws Error(failed): no rank 0 at any of the addresses.
  static std::unique_ptr<RankGroup> join(const control::BootstrapAddress& bootstrap_address,
                                         Team team, RankIdentity self,
                                         const HeartbeatOptions& options, Deadline deadline);
  ~RankGroup() override;

  Team team() const noexcept { return team_; }
  bool leads() const noexcept { return team_.rank == 0; }
  /// On rank 0 all, by rank; elsewhere this one alone.
  const std::vector<RankIdentity>& identities() const noexcept { return identities_; }
  LiveRankState& state() noexcept { return *state_; }
  Heartbeat& heartbeat() noexcept { return *heartbeat_; }

  /// Rank 0 gets each rank's, by rank, its own included; the others nothing.
  std::vector<std::string> gather(std::string_view mine, Deadline deadline);
  std::string broadcast(std::string_view of_rank_0, Deadline deadline) override;
  std::vector<std::string> all_gather(std::string_view mine, Deadline deadline) override;
  void barrier(Deadline deadline);

  /// Compares every rank's CLOCK_MONOTONIC_RAW with rank 0's by `rounds` questions each, one rank
  /// after the other. Rank 0 gets them by rank; the others nothing. Source: Cristian, Probabilistic
  /// clock synchronization (1989): the answer was given within the round trip.
  std::vector<ClockOffset> compare_clocks(std::uint32_t rounds, Deadline deadline);

  /// Ends the run for all: rank 0 tells the others why; another rank tells rank 0 why, and returns
  /// what rank 0 answers to that by the deadline ("" for nothing). Rank 0's gather() then throws
  /// Error(fault).
  std::string give_up(const std::string& reason, Deadline deadline,
                      Fault fault = Fault::failed) noexcept;

 private:
  RankGroup(Team team, std::vector<RankIdentity> identities);

  void begin_heartbeat(std::vector<control::Channel> heartbeats, const HeartbeatOptions& options);
  std::string receive(std::uint32_t rank, control::MessageType type, Deadline deadline,
                      std::string_view waiting_for);
  void send(std::uint32_t rank, control::MessageType type, std::string_view text,
            Deadline deadline);
  control::Channel& channel(std::uint32_t rank);
  std::string identity(std::uint32_t rank) const;
  [[noreturn]] void throw_bad(std::uint32_t rank, std::string_view answer) const;

  Team team_;
  std::vector<RankIdentity> identities_;
  std::vector<control::Channel> channels_;  // rank 0: of ranks 1, 2, ...; else: to rank 0
  std::string verdict_;                     // rank 0's, where it ended the run
  std::unique_ptr<LiveRankState> state_;
  std::unique_ptr<Heartbeat> heartbeat_;
};

/// This process: its host's name and its number.
RankIdentity this_rank(std::uint32_t rank);

}  // namespace rdmabench::collective
