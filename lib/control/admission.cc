#include "admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/walk.h"
#include "frame.h"
#include "handshake.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/rendezvous.h"
#include "tcp.h"
#include "wait.h"

namespace rdmabench::control {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMaxHost = 256;       // bytes; gethostname(2) gives at most 64
constexpr std::uint32_t kMaxChannels = 16;  // of a rank
constexpr std::size_t kMaxPending = 1024;   // connections beyond those of the ranks
constexpr std::chrono::seconds kHelloLimit{10};
constexpr std::chrono::milliseconds kSendLimit{500};
constexpr std::chrono::milliseconds kNoRoomPause{50};
constexpr std::chrono::seconds kAttempt{10};        // to connect to one address and be admitted
constexpr std::chrono::seconds kConnectAttempt{5};  // a lost SYN is sent again after 1 s
constexpr std::chrono::milliseconds kJoinRetryPause{50};
constexpr std::chrono::milliseconds kLeastAttempt{30};

}  // namespace

void walk(MessageFields& fields, RankHello& hello) {
  fields.text("run_id", hello.run_id, kMaxRunId);
  fields.number("rank", 0, kMaxRanks - 1, hello.rank);
  fields.number("size", 1, kMaxRanks, hello.size);
  fields.text("host", hello.host, kMaxHost);
  fields.number("process", hello.process);
  fields.number("channel", 0, kMaxChannels - 1, hello.channel);
}

std::string to_text(RankHello hello) {
  hello.host = ascii_only(hello.host, kMaxHost - 3);
  return dump(write_fields(std::move(hello)));
}

RankHello parse_rank_hello(std::string_view text) {
  auto hello = read_fields<RankHello>(parse_object(text, "hello"));
  hello.host = ascii_only(hello.host);
  return hello;
}

std::string address_reached(const std::vector<const Channel*>& members) {
  for (const Channel* const member : members) {
    if (member->peer_ip() != member->local_ip()) return member->local_ip();
  }
  return "";
}

std::string address_of(const Channel& member, const std::string& here) {
  return member.peer_ip() == member.local_ip() && !here.empty() ? here : member.peer_ip();
}

std::string reason_of(const Error& error) {
  std::string text = error.what();
  if (!error.remedy().empty() && text.ends_with(error.remedy())) {
    text.resize(text.size() - error.remedy().size());
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

Admission::Admission(Listener& listener, Readiness& readiness, AdmissionRules rules)
    : listener_(listener),
      readiness_(readiness),
      rules_(std::move(rules)),
      seats_(std::size_t{rules_.size - rules_.first_rank} * rules_.channels) {
  raise_descriptor_limit();  // where it stays too low, first_refusal() says so
  readiness_.watch(listener_, kListenerKey);
}

/// A connection for which the process has no room now stays queued: the next wait returns it again.
void Admission::accept() {
  try {
    std::optional<Channel> channel = listener_.accept(Deadline::after({}));
    if (!channel) return;
    if (!closed_.empty()) return channel->abort(closed_);
    // Without a word: a rank whose connection breaks tries again.
    if (pending_.size() >= seats_.size() + kMaxPending) {
      pending_.erase(pending_.begin());
    }
    readiness_.watch(*channel, next_key_);
    pending_.emplace(next_key_++, Pending{std::move(*channel), Deadline::after(kHelloLimit)});
  } catch (const std::exception& error) {  // no memory, too
    if (first_refusal_.empty()) first_refusal_ = ascii_only(error.what());
    std::this_thread::sleep_for(kNoRoomPause);
  }
}

std::string& Admission::seat_of(std::uint32_t rank, std::uint32_t channel) {
  return seats_[std::size_t{rank - rules_.first_rank} * rules_.channels + channel];
}

void Admission::vacate(std::uint32_t rank, std::uint32_t channel) noexcept {
  std::string& seat = seat_of(rank, channel);
  if (seat.empty()) return;
  seat.clear();
  --admitted_;
}

/// Throws Error(failed) when it is not to be admitted.
RankHello Admission::read_hello(const Message& message) {
  if (message.type != AdmissionMessage::hello) {
    throw Error(Fault::failed, "the connection did not begin with a hello message",
                "Install the same rdmabench everywhere. Is this the port of 'rdmabench serve'?");
  }
  RankHello hello = parse_rank_hello(message.payload);
  if (!hello.run_id.empty() && hello.run_id != rules_.run_id)
    throw Error(Fault::failed, "this is rank 0 of another run");
  if (hello.size != rules_.size) {
    throw Error(Fault::failed,
                fmt::format("rank {} expects {} ranks, rank 0 expects {}", hello.rank, hello.size,
                            rules_.size),
                "Does another job use this address?");
  }
  if (hello.rank < rules_.first_rank || hello.rank >= rules_.size ||
      hello.channel >= rules_.channels) {
    throw Error(Fault::failed,
                fmt::format("invalid rank {} of {} or connection {} of {}", hello.rank, rules_.size,
                            hello.channel, rules_.channels));
  }
  const std::string& seat = seat_of(hello.rank, hello.channel);
  if (!seat.empty()) {
    throw Error(Fault::failed, fmt::format("rank {} came already, from {}", hello.rank, seat),
                "Two processes have one rank, or another job uses this address.");
  }
  return hello;
}

std::optional<Admission::Joined> Admission::handle(std::uint64_t key) {
  if (key == kListenerKey) {
    accept();
    return std::nullopt;
  }
  const auto found = pending_.find(key);
  if (found == pending_.end()) return std::nullopt;
  Channel& channel = found->second.channel;
  std::optional<Joined> joined;
  try {
    const std::optional<Message> message = channel.receive_ready("hello");
    if (!message) return std::nullopt;
    RankHello hello = read_hello(*message);
    // A welcome to a connection that the rank has closed would be sent all the same.
    if (channel.interrupted())
      throw Error(Fault::failed, "the rank closed its connection before it was admitted");
    channel.send(AdmissionMessage::welcome, rules_.run_id, Deadline::after(kSendLimit));
    // Only now: a rank that was not made welcome has not come, and may try again.
    seat_of(hello.rank, hello.channel) = fmt::format("{} ({})", hello.host, channel.peer_ip());
    ++admitted_;
    joined.emplace(Joined{key, std::move(hello), std::move(channel)});
  } catch (const Error& error) {
    const std::string reason = ascii_only(error.what());
    if (first_refusal_.empty()) first_refusal_ = reason;
    channel.abort(reason);
  }
  pending_.erase(found);
  return joined;
}

void Admission::close(std::string reason) {
  closed_ = std::move(reason);
  for (auto& [key, pending] : pending_) pending.channel.abort(closed_);
  pending_.clear();
}

void Admission::expire() {
  for (auto& [key, pending] : pending_) {
    if (pending.hello_by.passed()) pending.channel.abort("no hello in time");
  }
  std::erase_if(pending_, [](const auto& item) { return item.second.hello_by.passed(); });
}

std::optional<nanoseconds> Admission::next_expiry() const {
  if (pending_.empty()) return std::nullopt;
  return pending_.begin()->second.hello_by.left();  // all have the same limit
}

Admitted join_rank_0(const BootstrapAddress& address, const RankHello& hello, Deadline deadline) {
  const nanoseconds given = deadline.left();
  for (;;) {
    std::string tried;
    bool refused = false;
    bool broke = false;
    for (const std::string& host : address.addresses) {
      const Deadline attempt = Deadline::after(std::min<nanoseconds>(kAttempt, deadline.left()));
      std::optional<Channel> channel;
      try {
        channel = Channel::connect(
            host, address.port,
            Deadline::after(std::min<nanoseconds>(kConnectAttempt, attempt.left())), {},
            address.authentication);
        channel->send(AdmissionMessage::hello, to_text(hello), attempt);
        const std::string run_id = channel->receive(AdmissionMessage::welcome, attempt, "welcome");
        return {std::move(*channel), address.authentication.derived(run_id)};
      } catch (const Error& error) {
        const bool answered = dynamic_cast<const Refusal*>(&error) != nullptr;
        refused = refused || answered;
        broke = broke ||
                ((channel || dynamic_cast<const BrokenHandshake*>(&error) != nullptr) && !answered);
        tried +=
            fmt::format("{}{} ({})", tried.empty() ? "" : "; ", host_and_port(host, address.port),
                        channel ? error.what() : reason_of(error));
      }
    }
    // An attempt without time would end as "timed out" and hide this reason.
    if (!refused && (broke || address.may_be_starting) &&
        deadline.left() > kJoinRetryPause + kLeastAttempt) {
      std::this_thread::sleep_for(kJoinRetryPause);
      continue;
    }
    throw Error(Fault::failed,
                refused || broke
                    ? fmt::format("rank {} was not admitted by rank 0 at {}", hello.rank, tried)
                    : fmt::format("rank {} did not reach rank 0 at {} within {}", hello.rank,
                                  tried.empty() ? "any address: it published none" : tried,
                                  duration_text(given)),
                "Is rank 0 started, is this its address, and does its firewall let the port in?");
  }
}

}  // namespace rdmabench::control
