#include "fabric/agents.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "fabric/plan.h"
#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::fabric {
namespace {

constexpr int kMaxAtOnce = 16;  // messages of one agent before it is another's turn
constexpr auto kAgentSendLimit = std::chrono::milliseconds(500);
constexpr auto kSweep = std::chrono::seconds(1);
constexpr auto kBeat = std::chrono::seconds(10);  // agents that wait for the others hear from us

}  // namespace

struct ControlAgents::Peer {
  std::uint32_t rank;
  control::Channel channel;
  Member member{};
  bool ready = false;
};

ControlAgents::ControlAgents(control::Listener& listener, std::string run_id, std::uint32_t size)
    : size_(size),
      admission_(listener, readiness_, {.run_id = std::move(run_id), .size = size}),
      key_of_rank_(size, 0),
      refusals_(size),
      departures_(size) {}

ControlAgents::~ControlAgents() = default;

ControlAgents::Peer* ControlAgents::peer_of(std::uint32_t rank) {
  const auto found = peers_.find(key_of_rank_[rank]);
  return found == peers_.end() ? nullptr : &found->second;
}

void ControlAgents::join(control::Admission::Joined joined, const FabricPlan& plan) {
  const std::uint32_t rank = joined.hello.rank;
  key_of_rank_[rank] = joined.key;
  refusals_[rank].clear();  // of who had its seat before
  departures_[rank].clear();
  Peer peer{.rank = rank, .channel = std::move(joined.channel)};
  peer.member.node.rank = rank;
  peer.member.node.host = std::move(joined.hello.host);
  peers_.emplace(joined.key, std::move(peer));
  send(rank, FabricMessage::plan, plan_text(plan));
}

void ControlAgents::take_ready(Peer& peer, control::Message message, const FabricPlan& plan) {
  const std::string payload = peer.channel.expect(std::move(message), FabricMessage::ready);
  if (peer.ready) return;  // the answer to a beat
  Ready ready = parse_ready(payload);
  if (ready.ports.size() != rails_of(plan)) {
    throw Error(Fault::failed, fmt::format("it serves {} rails where the plan has {}",
                                           ready.ports.size(), rails_of(plan)));
  }
  peer.member.node.rails = std::move(ready.rails);
  peer.member.node.interfaces = std::move(ready.interfaces);
  peer.member.node.environment = std::move(ready.environment);
  peer.member.ports = std::move(ready.ports);
  peer.ready = true;
}

void ControlAgents::serve(std::uint64_t key, const FabricPlan& plan) {
  const auto found = peers_.find(key);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  bool said = false;  // a message that decides; who only leaves may come again
  try {
    for (int i = 0; i < kMaxAtOnce; ++i) {
      std::optional<control::Message> message = peer.channel.receive_ready("next message");
      if (!message) return;
      said = true;
      take_ready(peer, std::move(*message), plan);
      said = false;
    }
  } catch (const std::exception& error) {
    std::string reason = ascii_only(error.what());
    peer.channel.abort(reason);
    (said ? refusals_ : departures_)[peer.rank] = std::move(reason);
    admission_.vacate(peer.rank);
    peers_.erase(found);
  }
}

bool ControlAgents::complete() const {
  for (std::size_t rank = 0; rank < size_; ++rank) {
    const auto found = peers_.find(key_of_rank_[rank]);
    const bool ready = found != peers_.end() && found->second.ready;
    if (!ready && refusals_[rank].empty()) return false;
  }
  return true;
}

AdmittedAgents ControlAgents::admit(const FabricPlan& plan, Deadline deadline) {
  const double given_s = std::chrono::duration<double>(deadline.left()).count();
  Deadline beat = Deadline::after(kBeat);
  while (!complete() && !deadline.passed()) {
    const Deadline sweep =
        Deadline::after(std::min<std::chrono::nanoseconds>(deadline.left(), kSweep));
    for (const std::uint64_t key : readiness_.wait(sweep)) {
      if (!admission_.owns(key)) {
        serve(key, plan);
      } else if (auto joined = admission_.handle(key)) {
        join(std::move(*joined), plan);
      }
    }
    admission_.expire();
    if (!beat.passed()) continue;
    beat = Deadline::after(kBeat);
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      const Peer* const peer = peer_of(rank);
      if (peer != nullptr && peer->ready) send(rank, FabricMessage::ready, {});
    }
  }
  undelivered_.clear();  // who left is lost, or came again
  AdmittedAgents admitted = result(fmt::format("within {:.3g} s", given_s));
  for (const LostNode& lost : admitted.lost) drop(lost.rank, lost.reason);
  admission_.close("this run has already started, or is another run");
  return admitted;
}

AdmittedAgents ControlAgents::result(const std::string& given) const {
  AdmittedAgents admitted;
  std::vector<const control::Channel*> ready;
  for (const auto& [key, peer] : peers_) {
    if (peer.ready) ready.push_back(&peer.channel);
  }
  const std::string here = control::address_reached(ready);
  const std::string& refusal = admission_.first_refusal();
  const std::string never =
      "it never came " + given +
      (refusal.empty() ? "" : "; connections were refused, the first: " + refusal);
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    const auto found = peers_.find(key_of_rank_[rank]);
    const bool there = found != peers_.end();
    Member member;
    member.node.rank = rank;
    if (there) {
      member = found->second.member;
      member.address = control::address_of(found->second.channel, here);
    }
    if (!there || !found->second.ready) {
      member.ports.clear();
      admitted.lost.push_back({.rank = rank,
                               .round = 0,
                               .reason = !refusals_[rank].empty()     ? refusals_[rank]
                                         : !departures_[rank].empty() ? departures_[rank]
                                         : there ? "it came, but was not ready " + given
                                                 : never});
    }
    admitted.members.push_back(std::move(member));
  }
  return admitted;
}

void ControlAgents::send(std::uint32_t rank, FabricMessage type, std::string_view payload) {
  Peer* const peer = peer_of(rank);
  if (peer == nullptr) return;
  try {
    peer->channel.send(type, payload, Deadline::after(kAgentSendLimit));
  } catch (const std::exception& error) {
    departures_[rank] = error.what();
    admission_.vacate(rank);
    undelivered_.push_back({.rank = rank, .ended = true, .text = error.what()});
    peers_.erase(key_of_rank_[rank]);
  }
}

void ControlAgents::collect(std::uint64_t key, std::vector<Event>& events) {
  const auto found = peers_.find(key);
  if (found == peers_.end()) return;
  const std::uint32_t rank = found->second.rank;
  try {
    for (int i = 0; i < kMaxAtOnce; ++i) {
      std::optional<control::Message> message = found->second.channel.receive_ready("next message");
      if (!message) return;
      events.push_back({.rank = rank,
                        .ended = false,
                        .type = message->type.as<FabricMessage>(),
                        .text = std::move(message->payload)});
    }
  } catch (const std::exception& error) {
    events.push_back({.rank = rank, .ended = true, .text = error.what()});
    peers_.erase(found);
  }
}

void ControlAgents::wait(Deadline deadline, std::vector<Event>& events) {
  if (!undelivered_.empty()) {
    events.insert(events.end(), undelivered_.begin(), undelivered_.end());
    undelivered_.clear();
    return;
  }
  for (const std::uint64_t key : readiness_.wait(deadline)) {
    if (admission_.owns(key)) {
      static_cast<void>(admission_.handle(key));  // refused: the run has begun
    } else {
      collect(key, events);
    }
  }
}

void ControlAgents::drop(std::uint32_t rank, std::string_view reason) {
  if (Peer* const peer = peer_of(rank)) {
    peer->channel.abort(reason);
    peers_.erase(key_of_rank_[rank]);
  }
}

}  // namespace rdmabench::fabric
