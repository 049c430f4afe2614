// The agents as the coordinator sees them: it sends them messages and they answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "control/admission.h"
#include "control/readiness.h"
#include "messages.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::fabric {

/// Thread rule: one thread.
class Agents {
 public:
  struct Event {
    std::uint32_t rank = 0;
    bool ended = false;  ///< nothing more will come; `text` is the reason
    FabricMessage type = FabricMessage::bye;
    std::string text{};  ///< the payload
  };

  virtual ~Agents() = default;
  Agents() = default;
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  /// Never waits for long; what fails comes back as an event.
  virtual void send(std::uint32_t rank, FabricMessage type, std::string_view payload) = 0;

  /// Appends what has come; returns as soon as there is something, or at the deadline.
  virtual void wait(Deadline deadline, std::vector<Event>& events) = 0;

  /// Tells the agent why, and is done with it.
  virtual void drop(std::uint32_t rank, std::string_view reason) = 0;
};

/// An agent that was admitted, and where others reach its servers.
struct Member {
  Node node{};
  std::string address{};               ///< numeric
  std::vector<std::uint16_t> ports{};  ///< one for each rail
};

/// The agents that take part.
struct AdmittedAgents {
  std::vector<Member> members{};  ///< by rank; a lost one has no ports
  std::vector<LostNode> lost{};
};

/// Agents at the other end of control channels, all served by one thread.
class ControlAgents final : public Agents {
 public:
  /// `listener` has to outlive it. `run_id` is that of control::BootstrapAddress.
  ControlAgents(control::Listener& listener, std::string run_id, std::uint32_t size);
  ~ControlAgents() override;

  /// Admits every rank, sends it the plan and waits until it is ready. Ranks that do not come in
  /// time, cannot do what the plan says or send an invalid answer are lost, with the reason. The
  /// rest continues; ranks that come later are refused.
  AdmittedAgents admit(const FabricPlan& plan, Deadline deadline);

  void send(std::uint32_t rank, FabricMessage type, std::string_view payload) override;
  void wait(Deadline deadline, std::vector<Event>& events) override;
  void drop(std::uint32_t rank, std::string_view reason) override;

 private:
  struct Peer;

  void join(control::Admission::Joined joined, const FabricPlan& plan);
  void serve(std::uint64_t key, const FabricPlan& plan);
  void take_ready(Peer& peer, control::Message message, const FabricPlan& plan);
  void collect(std::uint64_t key, std::vector<Event>& events);
  Peer* peer_of(std::uint32_t rank);
  bool complete() const;
  AdmittedAgents result(const std::string& given) const;

  std::uint32_t size_;
  control::Readiness readiness_;
  control::Admission admission_;
  std::map<std::uint64_t, Peer> peers_;     ///< by the key of the connection, never used twice
  std::vector<std::uint64_t> key_of_rank_;  ///< 0 = not there
  std::vector<std::string> refusals_;       ///< by rank: why it does not take part
  std::vector<std::string> departures_;     ///< by rank: how the last one to leave ended
  std::vector<Event> undelivered_;
};

}  // namespace rdmabench::fabric
