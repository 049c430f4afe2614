// The ranks' control plane: rank 0 has a connection to each other rank.
#pragma once

#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/engine.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::inline v1::collective {

class Heartbeat;

struct RankIdentity {
  std::uint32_t rank = 0;
  std::string host{};
  std::uint64_t process = 0;  ///< its number there
};
/// "rank 3 (n7, process 1234)"
std::string to_text(const RankIdentity& identity);

/// Which ranks hold the others up, as a sentence without a full stop: those that are gone; else
/// those that have been silent too long; else those that are behind the others; else none, because
/// all are at the same place and the library or the network hangs.
struct Blame {
  std::vector<std::uint32_t> ranks{};  ///< empty if none can be named
  std::string text{};
};
struct HeartbeatOptions {
  std::chrono::nanoseconds interval = std::chrono::milliseconds(250);
  /// Called on the heartbeat's thread when a guarded call has passed its deadline, or when the run
  /// ended during one; once at most. It should end the process: the thread that measures is inside
  /// the library. Until it returns, only this thread may use the results so far.
  std::function<void(const std::string& reason)> on_stuck{};
  /// How long a thread that returns from its call after all waits for on_stuck ...
  std::chrono::nanoseconds ending_limit = std::chrono::seconds(30);
  /// ... and what it calls then, to end the process without using the results.
  std::function<void()> on_ending_stuck{};
};

/// By how much a rank's clock is ahead of rank 0's, at one moment of rank 0's.
struct ClockOffset {
  std::int64_t offset_ns = 0;  ///< an integer: uptimes of machines may differ by years
  double error_ns = 0;         ///< bound: half of the shortest round trip that was seen
  std::uint64_t at_ns = 0;
};

/// How the ranks communicate between two measurements. Collective: all ranks make the same calls in
/// the same order; each waits until its deadline at most and ends at once when a rank is gone. A
/// rank that fails sends its error in place of its next answer; rank 0 then throws that error.
///
/// Every error is an Error(failed) that names the rank. Rank 0 trusts no rank: payloads have at
/// most 1 MiB and every field has bounds.
///
/// Thread rule: one thread.
class RankGroup final : public Exchange {
 public:
  /// Rank 0: admits the others at this listener, of which `address` tells them. Throws
  /// Error(failed) naming the ranks that have not come by the deadline.
  static std::unique_ptr<RankGroup> lead(control::Listener& listener,
                                         const control::BootstrapAddress& address,
                                         std::uint32_t size, RankIdentity self,
                                         const HeartbeatOptions& options, Deadline deadline);
  /// The others. Throws Error(failed): no rank 0 at any of the addresses.
  static std::unique_ptr<RankGroup> join(const control::BootstrapAddress& address, Team team,
                                         RankIdentity self, const HeartbeatOptions& options,
                                         Deadline deadline);
  ~RankGroup() override;

  Team team() const noexcept { return team_; }
  bool leads() const noexcept { return team_.rank == 0; }
  /// On rank 0 all, by rank; on other ranks only their own.
  const std::vector<RankIdentity>& identities() const noexcept { return identities_; }
  /// On rank 0: an IP address of each rank, by rank, at which the others reach it. Nothing on other
  /// ranks.
  const std::vector<std::string>& addresses() const noexcept { return addresses_; }
  /// Of further connections between the ranks.
  const control::Authentication& authentication() const noexcept { return authentication_; }
  LiveRankState& state() noexcept { return *state_; }
  Heartbeat& heartbeat() noexcept { return *heartbeat_; }

  /// Rank 0 gets the texts of all ranks, its own included; the others get nothing.
  std::vector<std::string> gather(std::string_view mine, Deadline deadline);
  std::string broadcast(std::string_view of_rank_0, Deadline deadline) override;
  std::vector<std::string> all_gather(std::string_view mine, Deadline deadline) override;
  void barrier(Deadline deadline);

  /// Compares every rank's CLOCK_MONOTONIC_RAW with rank 0's by `rounds` questions each, one rank
  /// after the other. Rank 0 gets the offsets by rank, the others nothing. Source: Cristian,
  /// Probabilistic clock synchronization (1989): the answer was given within the round trip.
  std::vector<ClockOffset> compare_clocks(std::uint32_t rounds, Deadline deadline);

  /// Ends the run for all. On rank 0: tells all others the reason. On another rank: tells rank 0
  /// the reason and returns its answer, "" if none came by the deadline; returns once rank 0 has
  /// closed the connection, or 2 s later. Rank 0's gather() then throws Error(fault).
  std::string give_up(const std::string& reason, Deadline deadline,
                      Fault fault = Fault::failed) noexcept;

 private:
  RankGroup(Team team, std::vector<RankIdentity> identities,
            control::Authentication authentication);

  void begin_heartbeat(std::vector<control::Channel> heartbeats, const HeartbeatOptions& options);
  std::string receive(std::uint32_t rank, control::MessageType type, Deadline deadline,
                      std::string_view waiting_for);
  void send(std::uint32_t rank, control::MessageType type, std::string_view text,
            Deadline deadline);
  control::Channel& channel(std::uint32_t rank);
  std::string identity(std::uint32_t rank) const;
  [[noreturn]] void throw_bad(std::uint32_t rank, std::string_view answer) const;
  void await_end_of_rank_0() noexcept;

  Team team_;
  std::vector<RankIdentity> identities_;
  control::Authentication authentication_;
  std::vector<control::Channel> channels_;  // rank 0: of ranks 1, 2, ...; else: to rank 0
  std::vector<std::string> addresses_;
  std::string verdict_;  // rank 0's reason, where it ended the run
  std::unique_ptr<LiveRankState> state_;
  std::unique_ptr<Heartbeat> heartbeat_;
};

/// Host name and process number of this process.
RankIdentity this_rank(std::uint32_t rank);

struct AssembledGroup {
  /// Kept only for MPI, which needs it to live; else null.
  std::unique_ptr<control::Rendezvous> rendezvous;
  std::unique_ptr<RankGroup> group;
  control::JobPosition place{};
};

/// Collective: finds this process's rank and connects the group. With a size of 1 in the options no
/// rank is needed.
///
/// Throws Error as make_rendezvous() and RankGroup do, and Error(usage) where the launcher's
/// variables say more than one rank and the rendezvous says one: every process would measure alone.
/// With a `broadcast` in the options they are not looked at.
AssembledGroup assemble(control::RendezvousOptions options, const HeartbeatOptions& heartbeat = {},
                        const std::function<const char*(const char*)>& environment = ::getenv);

}  // namespace rdmabench::inline v1::collective
