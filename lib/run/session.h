// A session between a client and a server: the control channel, the workers, and an epoch
// over them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/run/worker.h"
#include "run/connection.h"
#include "run/growth.h"
#include "run/processors.h"
#include "run/protocol.h"

namespace rdmabench::inline v1::run {

/// A fact of verbs endpoints.
inline constexpr std::string_view kRelaxedOrdering = "relaxed_ordering";

/// An epoch as both sides saw it, over all workers.
struct EpochOutcome {
  measure::Ticks begin = 0;    ///< of the worker that began first ...
  measure::Ticks end = 0;      ///< ... and of the one that ended last
  std::uint64_t max_lag = 0;   ///< open loop: ticks by which the latest post missed its time
  EpochReport target{};        ///< what the target saw
  std::uint64_t messages = 0;  ///< of all workers
  bool whole = true;           ///< it ended; else one part of it did
  measure::Ticks rested = 0;   ///< of the whole epoch, in which a worker had nothing under way
  /// Of a stream: ticks for each of them, in parts of the epoch; none where it had too few.
  std::vector<double> parts{};
  /// For how long nothing arrived, of the worker that waited longest, where that is a pause.
  std::chrono::nanoseconds paused{0};
};

/// What binds the workers of a server while nothing arrives.
struct WhileIdle {
  const Polling& polling;
  std::chrono::nanoseconds limit;  ///< of a pause, where that is less than what ends the epoch
};

/// What was done of an epoch that grows since the last call; what came of the target is not known
/// yet. `pending` messages of all workers are agreed on beyond that. Returns how many more each
/// worker is to have; 0: no more.
using Grow = std::function<std::uint64_t(const EpochOutcome& part, std::uint64_t pending)>;

/// One side of a session. Thread rule: one thread; it starts others for the workers.
class Session : public Connection {
 public:
  Session(control::Channel channel, std::chrono::nanoseconds timeout)
      : Connection(std::move(channel), timeout) {}

  const SessionSpec& spec() const { return spec_; }
  std::size_t workers() const { return workers_.size(); }
  Worker& worker(std::size_t i = 0) { return *workers_[i]; }

  const SlotPlan& slots() const { return slots_; }
  void agree(const SessionSpec& spec) { spec_ = spec, slots_ = plan_slots(spec); }

  /// Worker i is driven on processor cpus[i modulo their number]. The first one is driven by the
  /// caller's thread, which stays where it is.
  void set_cpus(std::vector<int> cpus) { cpus_ = std::move(cpus); }

  /// The agreed memory route does not work and another is to be tried: tells the peer, waits until
  /// it has said the same, and closes all workers. The client's next message is then a request.
  /// Throws Error(failed) where the peer does not follow.
  void start_over(std::string_view reason);

  /// Opens one more worker. Its Error says on which side it was.
  void open(const Backend& backend, const transport::EndpointRequest& request,
            std::string_view choice);
  OpenOne opener();

  /// The devices that the workers use, each once.
  std::vector<std::string> devices() const;
  /// The routes by which the workers' GPU memory is registered in place, each once. Staged memory
  /// has no such route.
  std::vector<std::string> direct_routes() const;

  /// `staged` where the memory of any worker is, else `direct` where that of any is a GPU's.
  MemoryPath memory_path() const;

  /// How this side's GPU memory is registered, one fact for each; none where it has none: "memory",
  /// "memory_route", "memory_routes_refused", "gpu", "gpu_flush", kRelaxedOrdering of verbs.
  report::Facts memory_facts() const;

  /// Which of the peer's writes every worker of this side may see by polling memory.
  transport::WriteOrder write_order() const noexcept;
  /// The client's: what the server said of the writes that come to it.
  const transport::WriteOrder& peer_write_order() const noexcept { return peer_write_order_; }
  void set_peer_write_order(const transport::WriteOrder& order) { peer_write_order_ = order; }
  /// What messages of `size` post: the session's operation; in a latency test of write, write-imm
  /// where one side could not tell by its memory that a write is there.
  transport::OperationCode posted(std::uint64_t size) const noexcept;

  /// Readies every worker of this side for an epoch, before the two sides start it. An open loop
  /// may go on with the schedule of the epoch before, whose rate was the same: what that one was
  /// late for is late in this one. The time between them does not count.
  void prepare(workload::Side side, const EpochOrder& order, bool goes_on = false);

  /// Runs the epoch that was prepared last, each worker in its own thread. The initiator gives room
  /// for the intervals of all workers, one worker after the other. Throws EpochError for any
  /// outcome but ok; when the peer said why, in its words. Throws Error(failed) where a thread
  /// cannot be started; the workers did nothing then. `grow` is for the initiator of an epoch that
  /// grows, and what it throws ends the epoch: it is called by this thread, while messages flow.
  EpochOutcome run(std::span<measure::Ticks> intervals, const WhileIdle* idle = nullptr,
                   const Grow& grow = nullptr);

  /// How long a worker may see no completion in the epoch that was prepared last.
  std::chrono::nanoseconds patience() const;
  /// What an epoch may take of that where its target sees no completions: more is a pause.
  std::chrono::nanoseconds longest_epoch() const { return timeout() / 4; }

  /// Tells the peer why this side gives up, and the outcome where an epoch failed on this side.
  void give_up(const std::exception& error, std::string_view reason) noexcept;
  /// After peer_gave_up(): how the peer's side of an epoch ended; `ok` where it did not say so.
  workload::Outcome outcome_of_peer() noexcept;

 private:
  std::optional<Extension> take_more(Growth& growth);
  std::optional<std::uint64_t> more_of_client(Growth& growth, std::size_t worker, const Grow& grow,
                                              const Deadline& longest);
  std::optional<std::uint64_t> more_of_server(Growth& growth);
  void settle(Growth& growth);
  void skip_more() noexcept;
  std::vector<workload::EpochResult> run_workers(std::span<measure::Ticks> intervals,
                                                 const WhileIdle* idle, Growth& growth,
                                                 std::vector<std::chrono::nanoseconds>& paused);
  std::string reason_of_peer();  ///< its own words, or how the channel ended

  SessionSpec spec_;
  SlotPlan slots_;
  std::vector<int> cpus_;
  measure::Anchor anchor_ = measure::take_anchor();  ///< since then, for what a tick is worth
  std::vector<std::unique_ptr<Worker>> workers_;
  transport::WriteOrder peer_write_order_;
  /// The server of a duplex that grows has said that it soon needs more, since it got some last.
  bool answered_ = true;
  workload::LoopKey key_;             ///< of the epoch that was prepared last ...
  workload::EpochPlan plan_;          ///< ... and its plan, as asked for
  std::vector<std::int64_t> behind_;  ///< EpochResult::behind of each worker, of the last epoch
};

}  // namespace rdmabench::inline v1::run
