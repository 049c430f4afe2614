// Where every rank is, told beside the measurement: so that the one that hangs has a name.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/collective/call.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/readiness.h"

namespace rdmabench::collective {

enum class Phase : std::uint8_t {
  joining,
  opening,    ///< the library, which joins the ranks its own way
  idle,       ///< waiting for what comes next
  preparing,  ///< buffers and communicators of a row
  filling,    ///< inputs
  running,    ///< timed operations
  checking,   ///< results
  closing,
};
inline constexpr std::size_t kPhases = 8;
std::string_view name(Phase phase) noexcept;

/// What a rank is at. A value.
struct RankState {
  Phase phase = Phase::joining;
  Operation operation = Operation::all_reduce;
  std::uint32_t row = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t iteration = 0;  ///< of the row, warm-up and all
};

/// The same, kept by the thread that measures and read by another. Stores are relaxed: it costs the
/// loop a move to memory.
class LiveRankState {
 public:
  void enter(Phase phase) noexcept { phase_.store(phase, std::memory_order_relaxed); }
  void begin_row(std::uint32_t row, Operation operation, std::uint64_t size_bytes) noexcept;
  void at(std::uint64_t iteration) noexcept {
    iteration_.store(iteration, std::memory_order_relaxed);
  }
  RankState read() const noexcept;

 private:
  std::atomic<Phase> phase_{Phase::joining};
  std::atomic<Operation> operation_{Operation::all_reduce};
  std::atomic<std::uint32_t> row_{0};
  std::atomic<std::uint64_t> size_{0};
  std::atomic<std::uint64_t> iteration_{0};
};

/// One rank as people know it.
struct RankIdentity {
  std::uint32_t rank = 0;
  std::string host{};
  std::uint64_t process = 0;  ///< its number there
};
/// "rank 3 (n7, process 1234)"
std::string to_text(const RankIdentity& identity);

/// What rank 0 last heard of a rank.
struct RankStatus {
  RankIdentity identity{};
  RankState where{};
  std::chrono::nanoseconds age{0};  ///< of the last word
  std::string gone{};               ///< why its connection ended; "" while it has not
};

/// Who holds the others up, as a sentence without an end: those that are gone; else those that have
/// been silent for longer than `silence`; else those that are behind the foremost; else that all
/// are at the same place, so that it is the library or the network between them. Pure.
struct Blame {
  std::vector<std::uint32_t> ranks{};  ///< empty where nobody can be named
  std::string text{};
};
Blame who_hangs(const std::vector<RankStatus>& statuses, std::chrono::nanoseconds silence);

struct HeartbeatOptions {
  std::chrono::nanoseconds interval = std::chrono::milliseconds(250);
  /// Called on this object's thread when a guarded call has passed its deadline, or the run was
  /// ended while in one; once at most. It should end the process: the thread that measures cannot
  /// be reached. Until it returns, what the run has found so far is this thread's alone: see Guard.
  std::function<void(const std::string& reason)> on_stuck{};
  /// For how long a thread that comes back from its call after all waits for on_stuck ...
  std::chrono::nanoseconds ending_limit = std::chrono::seconds(30);
  /// ... and what it then calls, to end the process without touching the results.
  std::function<void()> on_ending_stuck{};
};

/// A thread that tells rank 0 where this rank is (or, on rank 0, hears it from all), until it is
/// destroyed. A rank whose process is stopped tells nothing; one that waits within a library tells
/// where.
class Heartbeat {
 public:
  /// `channels` are, on rank 0, those of ranks 1, 2, ... in order, and elsewhere that to rank 0.
  /// `location` has to outlive it.
  Heartbeat(std::vector<RankIdentity> identities, std::vector<control::Channel> channels,
            bool leads, const LiveRankState& state, HeartbeatOptions options);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Whether a rank's connection has ended, or rank 0 has ended the run: nothing that is waited for
  /// may ever come.
  const std::atomic<bool>& over() const noexcept { return over_; }
  /// Why; "" while it is not.
  std::string reason() const;

  /// From now on the end of a connection is no failure.
  void expect_end() noexcept { expected_ = true; }

  /// Tells rank 0 now where this rank is, and not only when it is time again. Does not wait for it.
  void beat() noexcept { readiness_.wake(); }

  /// Rank 0: waits until a rank that says nothing has been silent for long enough, and judges.
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
