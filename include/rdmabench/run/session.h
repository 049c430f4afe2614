// One conversation between a client and a server: the control channel, the link, and an epoch over
// both.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rdmabench/control/channel.h"
#include "rdmabench/run/link.h"
#include "rdmabench/run/protocol.h"

namespace rdmabench::run {

/// What the two sides have in common. Thread rule: one thread.
class Session {
 public:
  Session(control::Channel channel, std::chrono::nanoseconds timeout)
      : channel_(std::move(channel)), timeout_(timeout) {}

  control::Channel& channel() { return channel_; }
  Link& link() { return *link_; }
  const SessionSpec& spec() const { return spec_; }

  void agree(const SessionSpec& spec) { spec_ = spec; }

  /// Of every wait from here on.
  void set_timeout(std::chrono::nanoseconds timeout) { timeout_ = timeout; }

  void open(const Backend& backend, const transport::EndpointRequest& request,
            std::string_view choice) {
    link_ = backend.open(request, choice);
  }

  void send(control::MessageType type, std::string_view payload = {});

  /// Waits for that message, polling the link meanwhile: providers whose progress is manual may
  /// still owe the peer data. Throws what control::Channel::receive() throws.
  std::string receive(control::MessageType type, std::string_view waiting_for);

  /// The same for whatever message comes next.
  control::Message receive(std::string_view waiting_for);

  /// Readies this side for an epoch, before the two sides start it.
  void stage(workload::Side side, const EpochOrder& order);

  /// Runs what was staged. Throws Error(failed) for any outcome but ok; when the peer said why, in
  /// its words.
  workload::EpochResult run(workload::Side side, const EpochOrder& order,
                            std::span<measure::Ticks> intervals);

 private:
  void wait_readable(const Deadline& deadline);
  workload::LoopKey key(workload::Side side) const;
  workload::EpochPlan plan(const EpochOrder& order) const;

  control::Channel channel_;
  std::chrono::nanoseconds timeout_;
  SessionSpec spec_;
  std::unique_ptr<Link> link_;
};

/// What the back end can reach the peer by, or its excuse. Throws Error(usage) for a name that it
/// does not know.
Offer make_offer(const Backend& backend, const transport::EndpointRequest& request);

}  // namespace rdmabench::run
