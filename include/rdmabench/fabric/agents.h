// The agents as the coordinator sees them: whoever takes its messages and answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/control/readiness.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::fabric {

/// Thread rule: one thread.
class Agents {
 public:
  struct Event {
    std::uint32_t rank = 0;
    bool ended = false;  ///< nothing more will come; `text` is the reason
    control::MessageType type = control::MessageType::bye;
    std::string text{};  ///< the payload
  };

  virtual ~Agents() = default;
  Agents() = default;
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  /// Never waits for long; what fails comes back as an event.
  virtual void send(std::uint32_t rank, control::MessageType type, std::string_view payload) = 0;

  /// Appends what has come; returns as soon as there is something, or at the deadline.
  virtual void wait(Deadline deadline, std::vector<Event>& events) = 0;

  /// Tells the agent why, and is done with it.
  virtual void drop(std::uint32_t rank, std::string_view reason) = 0;
};

/// An agent that is in, and where others reach its servers.
struct Member {
  Node node{};
  std::string address{};               ///< numeric
  std::vector<std::uint16_t> ports{};  ///< one for each rail
};

/// What came of letting them in.
struct Admission {
  std::vector<Member> members{};  ///< by rank; one that is lost has no ports
  std::vector<LostNode> lost{};
};

/// Agents at the other end of control channels, all served by one thread.
class ControlAgents final : public Agents {
 public:
  /// `listener` has to outlive it. `token` tells this run's agents from whoever else knocks.
  ControlAgents(control::Listener& listener, std::string token, std::uint32_t size);
  ~ControlAgents() override;

  /// Lets every rank in, tells it the plan and waits until it is warm. Ranks that do not come in
  /// time, cannot do what the plan says or say what makes no sense are lost, with the reason. The
  /// rest goes on; whoever comes later is sent away.
  Admission admit(const FabricPlan& plan, Deadline deadline);

  void send(std::uint32_t rank, control::MessageType type, std::string_view payload) override;
  void wait(Deadline deadline, std::vector<Event>& events) override;
  void drop(std::uint32_t rank, std::string_view reason) override;

 private:
  struct Peer;

  std::optional<control::Channel> next_connection();
  void accept();
  void serve(std::uint64_t key, const FabricPlan& plan);
  void handle(std::uint64_t key, Peer& peer, const control::Message& message,
              const FabricPlan& plan);
  void take_seat(std::uint64_t key, Peer& peer, std::string_view hello, const FabricPlan& plan);
  void collect(std::uint64_t key, std::vector<Event>& events);
  Peer* peer_of(std::uint32_t rank);
  bool complete() const;
  std::string reachable() const;
  Admission result(const std::string& given) const;

  control::Listener& listener_;
  std::string token_;
  control::Readiness readiness_;
  std::map<std::uint64_t, Peer> peers_;  ///< by a number of the connection, never used twice
  std::uint64_t next_key_;
  std::vector<std::uint64_t> seats_;   ///< by rank: the connection; 0 = not there
  std::vector<std::string> refusals_;  ///< by rank: why it is not in
  std::vector<Event> undelivered_;
};

}  // namespace rdmabench::fabric
