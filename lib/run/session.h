// One conversation between a client and a server: the control channel, the workers, and an epoch
// over them.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/run/backends.h"
#include "run/protocol.h"
#include "run/worker.h"

namespace rdmabench::run {

/// An epoch as both sides saw it, over all workers.
struct EpochOutcome {
  measure::Ticks begin = 0;   ///< of the worker that began first ...
  measure::Ticks end = 0;     ///< ... and of the one that ended last
  std::uint64_t max_lag = 0;  ///< open loop: ticks by which the latest post missed its time
  EpochReport target;         ///< what the target saw
};

/// An epoch that began and did not end well. Its fault is `failed`.
class EpochError : public Error {
 public:
  EpochError(workload::Outcome outcome, const std::string& text)
      : Error(Fault::failed, text), outcome_(outcome) {}

  workload::Outcome outcome() const noexcept { return outcome_; }

 private:
  workload::Outcome outcome_;
};

/// What the two sides have in common. Thread rule: one thread; it starts others for the workers.
class Session {
 public:
  Session(control::Channel channel, std::chrono::nanoseconds timeout)
      : channel_(std::move(channel)), timeout_(timeout) {}

  control::Channel& channel() { return channel_; }
  const SessionSpec& spec() const { return spec_; }
  std::size_t workers() const { return workers_.size(); }
  Worker& worker(std::size_t i = 0) { return *workers_[i]; }

  void agree(const SessionSpec& spec) { spec_ = spec; }

  /// Of every wait from here on.
  void set_timeout(std::chrono::nanoseconds timeout) { timeout_ = timeout; }

  /// Worker i is driven on processor cpus[i modulo their number]. The first one is driven by the
  /// caller's thread, which stays where it is.
  void set_cpus(std::vector<int> cpus) { cpus_ = std::move(cpus); }

  /// Where what was agreed on turned out not to work and another thing is to be tried: tells the
  /// peer so, waits until it has said the same, and closes all workers. The client's next message
  /// is then a request. Throws Error(failed) where the peer does not follow.
  void start_over(std::string_view reason);

  /// Whether the peer said that it leaves what was agreed on, be it to start over.
  bool peer_gave_up() const noexcept { return peer_gave_up_; }

  /// Opens one more worker. Its Error says on which side it was.
  void open(const Backend& backend, const transport::EndpointRequest& request,
            std::string_view choice);

  /// Those that the workers use, each once.
  std::vector<std::string> devices() const;
  /// Of every worker, in order.
  std::vector<std::string> addresses() const;
  /// Connects every worker. Throws Error(failed) for another number of addresses than there are
  /// workers.
  void connect(const std::vector<std::string>& peer_addresses);

  void send(control::MessageType type, std::string_view payload = {});

  /// Waits for that message, polling the workers meanwhile: providers whose progress is manual may
  /// still owe the peer data. Throws what control::Channel::receive() throws.
  std::string receive(control::MessageType type, std::string_view waiting_for);

  /// The same for whatever message comes next.
  control::Message receive(std::string_view waiting_for);

  /// How the workers' GPU memory is known to their devices, each way once: the facts memory_route.
  std::vector<std::string> memory_routes() const;

  /// How this side's GPU memory is registered, one fact for each; none where it has none: "memory",
  /// "memory_route", "memory_routes_refused", "gpu", "gpu_flush".
  report::Facts memory_facts() const;

  /// Readies every worker of this side for an epoch, before the two sides start it.
  void stage(workload::Side side, const EpochOrder& order);

  /// Runs the epoch that was staged last, each worker in its own thread. The initiator gives room
  /// for the intervals of all workers, one worker after the other. Throws EpochError for any
  /// outcome but ok; when the peer said why, in its words.
  EpochOutcome run(std::span<measure::Ticks> intervals);

 private:
  void wait_readable(const Deadline& deadline, std::string_view waiting_for);
  std::string take(control::MessageType type, const Deadline& deadline,
                   std::string_view waiting_for);
  std::vector<workload::EpochResult> run_workers(std::span<measure::Ticks> intervals);
  std::string reason_of_peer();  ///< its own words, or how the channel ended

  control::Channel channel_;
  std::chrono::nanoseconds timeout_;
  SessionSpec spec_;
  std::vector<int> cpus_;
  measure::Anchor anchor_ = measure::take_anchor();  ///< since then, for what a tick is worth
  bool peer_gave_up_ = false;  ///< an abort of the peer was taken from the channel
  std::vector<std::unique_ptr<Worker>> workers_;
  workload::LoopKey key_;     ///< of the epoch that was staged last ...
  workload::EpochPlan plan_;  ///< ... and its plan, as asked for
};

/// What the back end can reach the peer by, or its excuse. Throws Error(usage) for a name that it
/// does not know.
Offer make_offer(const Backend& backend, const transport::EndpointRequest& request);

}  // namespace rdmabench::run
