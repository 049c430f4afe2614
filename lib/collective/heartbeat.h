// The state of every rank, sent to rank 0 during the measurement, so that a hung rank can be named.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "control/star.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/collective/rank_group.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::collective {

/// The last heartbeat of a rank.
struct RankStatus {
  RankIdentity identity{};
  RankState where{};
  std::chrono::nanoseconds age{0};  ///< since that heartbeat
  std::string gone{};               ///< why its connection ended; "" while it has not
};

Blame who_hangs(const std::vector<RankStatus>& statuses, std::chrono::nanoseconds silence);

/// A thread that sends this rank's state to rank 0 (on rank 0: receives all states) until it is
/// destroyed. A stopped process sends nothing; a rank that waits within a library sends where it
/// is.
class Heartbeat {
 public:
  /// `channels`: on rank 0 those to ranks 1, 2, ... in order, elsewhere the one to rank 0.
  /// `state` must outlive it.
  Heartbeat(std::vector<RankIdentity> identities, std::vector<control::Channel> channels,
            bool leads, const LiveRankState& state, HeartbeatOptions options);
  ~Heartbeat();
  Heartbeat& operator=(Heartbeat&&) = delete;

  /// Whether a rank's connection has ended or rank 0 has ended the run: then every wait must end.
  const std::atomic<bool>& over() const noexcept { return over_; }
  /// Why; "" while it is not.
  std::string reason() const;

  /// From now on the end of a connection is not a failure.
  void expect_end() noexcept { expected_ = true; }

  /// Sends the state at once, not only at the next interval, and waits until it was sent, for
  /// kSendLimit at most. On rank 0 it does nothing.
  void beat();

  /// Rank 0: waits until a silent rank counts as hung, then judges.
  Blame explain();

  /// While it lives, a call is under way that this thread cannot interrupt. Either the guard is
  /// destroyed in time and the run goes on, or on_stuck is called; then the destructor returns only
  /// after on_stuck has, or after HeartbeatOptions::ending_limit. What on_stuck reads may therefore
  /// be written by the guarded call only. `grace`: how long the call may go on after the run has
  /// ended; for one that sees over() by itself.
  class Guard {
   public:
    Guard(Heartbeat& heartbeat, std::string what, Deadline deadline,
          std::chrono::nanoseconds grace = {});
    ~Guard();
    Guard& operator=(Guard&&) = delete;

   private:
    Heartbeat& heartbeat_;
  };

 private:
  void run();
  void receive(std::chrono::nanoseconds limit);
  void take(const control::Ranks::Event& event);
  void send_state();
  void end(const std::string& reason);
  void watch_guard();
  bool claim_ending(std::string& what);
  std::string verdict();
  void wait_for_ending(std::unique_lock<std::mutex>& lock);
  std::vector<RankStatus> statuses() const;
  std::chrono::nanoseconds silence() const { return 4 * options_.interval; }

  std::vector<RankIdentity> identities_;
  bool leads_;
  const LiveRankState& state_;
  HeartbeatOptions options_;
  control::Star star_;  // rank i + 1 is its i
  std::vector<control::Ranks::Event> events_;
  std::atomic<bool> over_{false};
  std::atomic<bool> expected_{false};
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::string reason_;
  struct ReceivedState {
    RankState where{};
    std::chrono::steady_clock::time_point when = std::chrono::steady_clock::now();
    std::string gone{};
  };
  std::vector<ReceivedState> received_;  // by channel
  std::string guarded_;
  std::optional<Deadline> guard_;
  std::chrono::nanoseconds grace_{0};
  std::optional<Deadline> over_until_;  // the end of the grace
  bool ending_ = false;                 // on_stuck is or will be called
  bool ended_ = false;                  // on_stuck has returned
  std::condition_variable ended_changed_;
  std::uint64_t asked_ = 0;  // beats that were asked for
  std::uint64_t told_ = 0;   // ... and of those the last that was answered
  std::condition_variable told_changed_;
  std::thread thread_;
};

}  // namespace rdmabench::inline v1::collective
