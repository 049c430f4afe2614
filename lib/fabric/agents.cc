#include "rdmabench/fabric/agents.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/printable.h"
#include "rdmabench/fabric/plan.h"

namespace rdmabench::fabric {
namespace {

using control::MessageType;

constexpr std::uint64_t kListener = 1;       // the key of the listener; connections come after it
constexpr std::size_t kMaxStrangers = 1024;  // connections beyond the ranks
constexpr int kMaxAtOnce = 16;               // messages of one agent before it is another's turn
constexpr auto kHelloLimit = std::chrono::seconds(5);
constexpr auto kAgentSendLimit = std::chrono::milliseconds(500);
constexpr auto kSweep = std::chrono::seconds(1);
constexpr auto kBeat = std::chrono::seconds(10);  // agents that wait for the others hear from us

}  // namespace

struct ControlAgents::Peer {
  control::Channel channel;
  Deadline hello_by = Deadline::after(kHelloLimit);
  std::optional<std::uint32_t> rank{};
  bool warm = false;
  Member member{};
};

ControlAgents::ControlAgents(control::Listener& listener, std::string token, std::uint32_t size)
    : listener_(listener),
      token_(std::move(token)),
      next_key_(kListener + 1),
      seats_(size, 0),
      refusals_(size) {
  readiness_.watch(listener_, kListener);
}

ControlAgents::~ControlAgents() = default;

ControlAgents::Peer* ControlAgents::peer_of(std::uint32_t rank) {
  const auto found = peers_.find(seats_[rank]);
  return found == peers_.end() ? nullptr : &found->second;
}

/// A connection that the machine has no room for now is tried again with the next wait.
std::optional<control::Channel> ControlAgents::next_connection() {
  constexpr auto kBreather = std::chrono::milliseconds(50);
  try {
    return listener_.accept(Deadline::after({}));
  } catch (const Error&) {
    std::this_thread::sleep_for(kBreather);
    return std::nullopt;
  }
}

void ControlAgents::accept() {
  std::optional<control::Channel> channel = next_connection();
  if (!channel) return;
  if (peers_.size() >= seats_.size() + kMaxStrangers) {
    channel->abort("too many connections at once");
    return;
  }
  readiness_.watch(*channel, next_key_);
  peers_.emplace(next_key_++, Peer{.channel = std::move(*channel)});
}

void ControlAgents::take_seat(std::uint64_t key, Peer& peer, std::string_view text,
                              const FabricPlan& plan) {
  const AgentHello hello = parse_hello(text);
  if (hello.token != token_) throw Error(Fault::failed, "this is the coordinator of another run");
  if (hello.size != seats_.size() || hello.rank >= seats_.size()) {
    throw Error(Fault::failed, fmt::format("rank {} of {}, where the coordinator has {} ranks",
                                           hello.rank, hello.size, seats_.size()));
  }
  if (seats_[hello.rank] != 0) {
    throw Error(Fault::failed, fmt::format("there is a rank {} already", hello.rank));
  }
  seats_[hello.rank] = key;
  peer.rank = hello.rank;
  peer.member.node.rank = hello.rank;
  peer.member.node.host = control::printable(hello.host);
  peer.member.address = peer.channel.peer_ip();
  peer.channel.send(MessageType::hello, plan_text(plan), Deadline::after(kAgentSendLimit));
}

void ControlAgents::handle(std::uint64_t key, Peer& peer, const control::Message& message,
                           const FabricPlan& plan) {
  if (message.type == MessageType::abort) {
    throw Error(Fault::failed, control::printable(message.payload));
  }
  const bool known = peer.rank.has_value();
  if (message.type != (known ? MessageType::ready : MessageType::hello)) {
    throw Error(Fault::failed, fmt::format("it sent '{}' where '{}' was due", name_of(message.type),
                                           known ? "ready" : "hello"));
  }
  if (!known) return take_seat(key, peer, message.payload, plan);
  if (peer.warm) return;  // the answer to a beat
  Ready ready = parse_ready(message.payload);
  if (ready.ports.size() != rails_of(plan)) {
    throw Error(Fault::failed, fmt::format("it serves {} rails where the plan has {}",
                                           ready.ports.size(), rails_of(plan)));
  }
  peer.member.node.rails = std::move(ready.rails);
  peer.member.node.environment = std::move(ready.environment);
  peer.member.ports = std::move(ready.ports);
  peer.warm = true;
}

void ControlAgents::serve(std::uint64_t key, const FabricPlan& plan) {
  const auto found = peers_.find(key);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  try {
    for (int i = 0; i < kMaxAtOnce; ++i) {
      const std::optional<control::Message> message = peer.channel.receive_ready("next message");
      if (!message) return;
      handle(key, peer, *message, plan);
    }
  } catch (const std::exception& error) {
    const std::string reason = control::printable(error.what());
    if (peer.rank) refusals_[*peer.rank] = reason;
    peer.channel.abort(reason);
    peers_.erase(found);
  }
}

bool ControlAgents::complete() const {
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    const auto found = peers_.find(seats_[rank]);
    const bool in = found != peers_.end() && found->second.warm;
    if (!in && refusals_[rank].empty()) return false;
  }
  return true;
}

Admission ControlAgents::admit(const FabricPlan& plan, Deadline deadline) {
  const double given_s = std::chrono::duration<double>(deadline.left()).count();
  Deadline beat = Deadline::after(kBeat);
  while (!complete() && !deadline.passed()) {
    const Deadline sweep =
        Deadline::after(std::min<std::chrono::nanoseconds>(deadline.left(), kSweep));
    for (const std::uint64_t key : readiness_.wait(sweep)) {
      if (key == kListener) {
        accept();
      } else {
        serve(key, plan);
      }
    }
    std::erase_if(peers_, [](const auto& item) {
      return !item.second.rank && item.second.hello_by.passed();
    });
    if (!beat.passed()) continue;
    beat = Deadline::after(kBeat);
    for (std::uint32_t rank = 0; rank < seats_.size(); ++rank) {
      const Peer* const peer = peer_of(rank);
      if (peer != nullptr && peer->warm) send(rank, MessageType::ready, {});
    }
  }
  Admission admission = result(fmt::format("within {:.3g} s", given_s));
  for (const LostNode& lost : admission.lost) drop(lost.rank, lost.reason);
  std::erase_if(peers_, [](const auto& item) { return !item.second.rank; });
  return admission;
}

/// An agent of this machine is seen under whichever of our addresses it dialled, which others may
/// not reach (that of a bridge, say). Where an agent of another machine has come, what it dialled
/// is good.
std::string ControlAgents::reachable() const {
  for (const auto& [key, peer] : peers_) {
    if (peer.warm && peer.channel.peer_ip() != peer.channel.local_ip()) {
      return peer.channel.local_ip();
    }
  }
  return "";
}

Admission ControlAgents::result(const std::string& given) const {
  Admission admission;
  const std::string here = reachable();
  for (std::uint32_t rank = 0; rank < seats_.size(); ++rank) {
    const auto found = peers_.find(seats_[rank]);
    const bool there = found != peers_.end();
    Member member;
    member.node.rank = rank;
    if (there) {
      member = found->second.member;
      const control::Channel& channel = found->second.channel;
      if (channel.peer_ip() == channel.local_ip() && !here.empty()) member.address = here;
    }
    if (!there || !found->second.warm) {
      member.ports.clear();
      admission.lost.push_back({.rank = rank,
                                .round = 0,
                                .reason = !refusals_[rank].empty() ? refusals_[rank]
                                          : there ? "it came, but was not ready " + given
                                                  : "it never came " + given});
    }
    admission.members.push_back(std::move(member));
  }
  return admission;
}

void ControlAgents::send(std::uint32_t rank, MessageType type, std::string_view payload) {
  Peer* const peer = peer_of(rank);
  if (peer == nullptr) return;
  try {
    peer->channel.send(type, payload, Deadline::after(kAgentSendLimit));
  } catch (const std::exception& error) {
    undelivered_.push_back({.rank = rank, .ended = true, .text = error.what()});
    peers_.erase(seats_[rank]);
  }
}

void ControlAgents::collect(std::uint64_t key, std::vector<Event>& events) {
  const auto found = peers_.find(key);
  if (found == peers_.end() || !found->second.rank) return;
  const std::uint32_t rank = *found->second.rank;
  try {
    for (int i = 0; i < kMaxAtOnce; ++i) {
      std::optional<control::Message> message = found->second.channel.receive_ready("next message");
      if (!message) return;
      events.push_back({.rank = rank,
                        .ended = false,
                        .type = message->type,
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
    if (key != kListener) {
      collect(key, events);
    } else if (std::optional<control::Channel> late = next_connection()) {
      late->abort("this run has begun without you, or is not yours");
    }
  }
}

void ControlAgents::drop(std::uint32_t rank, std::string_view reason) {
  if (Peer* const peer = peer_of(rank)) {
    peer->channel.abort(reason);
    peers_.erase(seats_[rank]);
  }
}

}  // namespace rdmabench::fabric
