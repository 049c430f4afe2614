// The state of every rank, sent to rank 0 beside the measurement: so that a rank that hangs is
// named.
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

#include "control/readiness.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/collective/rank_group.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::collective {

/// The last heartbeat of a rank.
struct RankStatus {
  RankIdentity identity{};
  RankState where{};
  std::chrono::nanoseconds age{0};  ///< of that heartbeat
  std::string gone{};               ///< why its connection ended; "" while it has not
};

Blame who_hangs(const std::vector<RankStatus>& statuses, std::chrono::nanoseconds silence);

/// A thread that sends this rank's state to rank 0 (or, on rank 0, receives the states of all),
/// until it is destroyed. A rank whose process is stopped sends nothing; one that waits within a
/// library sends where.
class Heartbeat {
 public:
  /// `channels` are, on rank 0, those of ranks 1, 2, ... in order, and elsewhere that to rank 0.
  /// `location` has to outlive it.
  Heartbeat(std::vector<RankIdentity> identities, std::vector<control::Channel> channels,
            bool leads, const LiveRankState& state, HeartbeatOptions options);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Whether a rank's connection has ended, or rank 0 has ended the run: then no wait may ever end.
  const std::atomic<bool>& over() const noexcept { return over_; }
  /// Why; "" while it is not.
  std::string reason() const;

  /// From now on the end of a connection is not a failure.
  void expect_end() noexcept { expected_ = true; }

  /// Sends the state now, and not only at the next interval. Does not wait for that.
  void beat() noexcept { readiness_.wake(); }

  /// Rank 0: waits until a silent rank has been silent for long enough, then judges.
  Blame explain();

  /// While it lives, a call is under way that cannot be cut short from this thread. Who ends the
  /// run is decided once: either the guard goes in time and the run goes on, or on_stuck is called,
  /// and then the destructor does not return before on_stuck has, or HeartbeatOptions::ending_limit
  /// is over. So what on_stuck reads, only the guarded call itself must not write.
  class Guard {
   public:
    Guard(Heartbeat& heartbeat, std::string what, Deadline deadline);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Heartbeat& heartbeat_;
  };

 private:
  void run();
  void hear(std::size_t index);
  void tell();
  void end(const std::string& reason);
  void watch_guard();
  bool claim_ending(std::string& what);
  std::string verdict();
  void wait_for_ending(std::unique_lock<std::mutex>& lock);
  std::vector<RankStatus> statuses() const;
  std::chrono::nanoseconds silence() const { return 4 * options_.interval; }

  std::vector<RankIdentity> identities_;
  std::vector<std::optional<control::Channel>> channels_;  // none where it has ended
  bool leads_;
  const LiveRankState& state_;
  HeartbeatOptions options_;
  control::Readiness readiness_;
  std::atomic<bool> over_{false};
  std::atomic<bool> expected_{false};
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::string reason_;
  struct Heard {
    RankState where{};
    std::chrono::steady_clock::time_point when = std::chrono::steady_clock::now();
    std::string gone{};
  };
  std::vector<Heard> heard_;  // by channel
  std::string guarded_;
  std::optional<Deadline> guard_;
  bool ending_ = false;  // on_stuck is called, or about to be
  bool ended_ = false;   // ... and has returned
  std::condition_variable ended_changed_;
  std::thread thread_;
};

}  // namespace rdmabench::collective
