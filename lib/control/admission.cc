#include "admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "frame.h"
#include "handshake.h"
#include "launch.h"
#include "tcp.h"
#include "wait.h"

namespace rdmabench::inline v1::control {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMaxHost = 256;       // bytes; gethostname(2) gives at most 64
constexpr std::uint32_t kMaxChannels = 16;  // of a rank
constexpr std::size_t kMaxPending = 1024;   // connections beyond those of the ranks
constexpr std::chrono::seconds kHelloLimit{10};
constexpr std::chrono::milliseconds kSendLimit{500};
constexpr std::chrono::milliseconds kNoRoomPause{50};
// Names are worth little time: an answer that takes longer is the last that is asked for.
constexpr std::chrono::milliseconds kSlowAnswer{500};
constexpr std::chrono::seconds kNamesAfterEnd{1};   // of those that did not come, all together
constexpr std::chrono::seconds kAttempt{10};        // to connect to one address and be admitted
constexpr std::chrono::seconds kConnectAttempt{5};  // a lost SYN is sent again after 1 s
constexpr std::chrono::milliseconds kJoinRetryPause{50};
constexpr std::chrono::milliseconds kLeastAttempt{30};
constexpr std::uint64_t kListenerKey = 0;
constexpr std::string_view kTooLate = "this run has already started, or is another run";

}  // namespace

void walk(MessageFields& fields, RankHello& hello) {
  fields.text("run_id", hello.run_id, kMaxRunId);
  fields.number("rank", 0, kMaxRanks - 1, hello.rank);
  fields.number("size", 1, kMaxRanks, hello.size);
  hello.host = ascii_only(hello.host, kMaxHost - 3);
  fields.text("host", hello.host, kMaxHost);
  hello.host = ascii_only(hello.host);
  fields.number("process", hello.process);
  fields.number("channel", 0, kMaxChannels - 1, hello.channel);
}

std::string reason_of(const Error& error) {
  std::string text = error.what();
  if (!error.remedy().empty() && text.ends_with(error.remedy())) {
    text.resize(text.size() - error.remedy().size());
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

Admission::Admission(Listener& listener, AdmissionRules rules)
    : listener_(listener),
      rules_(std::move(rules)),
      next_key_(kListenerKey + 1),
      ranks_(rules_.size),
      open_(rules_.first_rank) {
  for (Rank& rank : ranks_) rank.seat.channels.resize(rules_.channels);
  raise_descriptor_limit();  // where it stays too low, first_refusal_ says so
  readiness_.watch(listener_, kListenerKey);
  listener_.on_refused([this](const RefusedPeer& refused) { note_refused(refused); });
}

void Admission::note_refused(const RefusedPeer& refused) {
  constexpr std::size_t kMostAddresses = 4096;  // strangers may come from any number
  constexpr std::size_t kMostTold = 8;
  // A token that is another one says more than what else came from there, such as a probe.
  const auto known = refused_.find(refused.ip);
  if (known != refused_.end() && refused.other_secret) {
    known->second = refused;
  } else if (known == refused_.end() && refused_.size() < kMostAddresses) {
    refused_.emplace(refused.ip, refused);
  }
  if (rules_.on_refused && refused_.size() <= kMostTold) rules_.on_refused(refused);
  if (!first_refusal_.empty()) return;
  first_refusal_ = fmt::format("{}: {}", refused.ip, refused.why);
}

/// By the rank itself, or by the launcher; "" = not known.
std::string Admission::host_of(std::uint32_t rank, Deadline by) {
  if (const RankHello& told = ranks_[rank].seat.hello; !told.host.empty()) return told.host;
  std::optional<std::string>& host = ranks_[rank].host;
  if (!host && rules_.host_of && !launcher_is_slow_ && !by.passed()) {
    const Deadline soon = Deadline::after(kSlowAnswer);
    host = ascii_only(rules_.host_of(rank), kMaxHost);
    launcher_is_slow_ = soon.passed();
  }
  return host.value_or("");
}

std::vector<std::string> Admission::missing(Deadline by) {
  std::vector<std::string> names;
  for (std::uint32_t rank = rules_.first_rank; rank < rules_.size; ++rank) {
    if (settled(ranks_[rank])) continue;
    std::string host = host_of(rank, by);
    names.push_back(host.empty() ? fmt::format("rank {}", rank) : std::move(host));
  }
  return names;
}

/// What came from the host, by any of its addresses; nullptr for nothing.
const RefusedPeer* Admission::refused_of(const std::string& host, Deadline by) {
  if (host.empty() || refused_.empty()) return nullptr;  // a look-up may take seconds
  const auto [known, fresh] = refused_hosts_.try_emplace(host, nullptr);
  if (!fresh || resolver_is_slow_ || by.passed()) return known->second;
  const Deadline soon = Deadline::after(kSlowAnswer);
  for (const Endpoint& endpoint : LookUp(host, 0).endpoints) {
    const auto found = refused_.find(endpoint.address());
    if (found == refused_.end()) continue;
    known->second = &found->second;
    break;
  }
  resolver_is_slow_ = soon.passed();
  return known->second;
}

/// A connection for which the process has no room now stays queued: the next wait returns it again.
void Admission::accept() {
  try {
    std::optional<Channel> channel = listener_.accept(Deadline::after({}));
    if (!channel) return;
    // Without a word: a rank whose connection breaks tries again.
    if (pending_.size() >= ranks_.size() * rules_.channels + kMaxPending) {
      pending_.erase(pending_.begin());
    }
    readiness_.watch(*channel, next_key_);
    pending_.emplace(next_key_++, Pending{std::move(*channel), Deadline::after(kHelloLimit)});
  } catch (const std::exception& error) {  // no memory, too
    if (first_refusal_.empty()) first_refusal_ = ascii_only(error.what());
    std::this_thread::sleep_for(kNoRoomPause);
  }
}

/// Throws Error(failed) when it is not to be admitted.
RankHello Admission::read_hello(const Message& message) {
  if (message.type != AdmissionMessage::hello) {
    throw Error(Fault::failed, "the connection did not begin with a hello message",
                "Install the same rdmabench everywhere. Is this the port of 'rdmabench serve'?");
  }
  RankHello hello = parse<RankHello>(message.payload);
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
  const Seat& seat = ranks_[hello.rank].seat;
  if (const auto& there = seat.channels[hello.channel]) {
    throw Error(Fault::failed,
                fmt::format("rank {} came already, from {} ({})", hello.rank, seat.hello.host,
                            there->peer_ip()),
                "Two processes have one rank, or another job uses this address.");
  }
  return hello;
}

void Admission::take_hello(std::uint64_t key, Channel& channel) {
  try {
    const std::optional<Message> message = channel.receive_ready("hello");
    if (!message) return;
    RankHello hello = read_hello(*message);
    // A welcome to a connection that the rank has closed would be sent all the same.
    if (channel.interrupted())
      throw Error(Fault::failed, "the rank closed its connection before it was admitted");
    channel.send(AdmissionMessage::welcome, rules_.run_id, Deadline::after(kSendLimit));
    // Only now: a rank that was not made welcome has not come, and may try again.
    const Place place{hello.rank, hello.channel};
    if (place.channel != 0) {
      readiness_.watch_end(channel, key);  // what is said there is for the run
    } else if (rules_.greeting) {
      channel.send(rules_.greeting->type, rules_.greeting->payload, Deadline::after(kSendLimit));
    }
    Rank& rank = ranks_[place.rank];
    rank.seat.hello = std::move(hello);
    rank.seat.channels[place.channel] = std::move(channel);
    rank.refused.clear();  // of who had its seat before
    rank.left.clear();
    places_.emplace(key, place);
  } catch (const Error& error) {
    const std::string reason = ascii_only(error.what());
    if (first_refusal_.empty()) first_refusal_ = reason;
    channel.abort(reason);
  }
  pending_.erase(key);
}

/// What a rank says is final; one that only leaves may come again.
void Admission::take(std::uint64_t key, Place place) {
  Rank& rank = ranks_[place.rank];
  std::optional<Channel>& channel = rank.seat.channels[place.channel];
  bool said = false;
  try {
    if (place.channel != 0) throw Error(Fault::failed, "it closed one of its connections");
    while (std::optional<Message> message = channel->receive_ready("answer")) {
      said = true;
      std::string payload = channel->expect(std::move(*message), rules_.ready);
      if (rank.ready) throw Error(Fault::failed, "it did not wait for the other ranks");
      if (rules_.on_ready) rules_.on_ready(place.rank, std::move(payload));
      rank.ready = true;
      said = false;
    }
    return;
  } catch (const std::exception& error) {
    std::string reason = ascii_only(error.what());
    channel->abort(reason);
    (said ? rank.refused : rank.left) = std::move(reason);
  }
  rank.ready = false;
  channel.reset();
  places_.erase(key);
}

void Admission::turn(Deadline deadline) {
  const Deadline sweep =
      Deadline::after(std::min<nanoseconds>(deadline.left(), std::chrono::seconds(1)));
  for (const std::uint64_t key : readiness_.wait(sweep)) {
    if (key == kListenerKey) {
      accept();
    } else if (const auto admitted = places_.find(key); admitted != places_.end()) {
      take(key, admitted->second);
    } else if (const auto found = pending_.find(key); found != pending_.end()) {
      take_hello(key, found->second.channel);
    }
  }
  while (!pending_.empty() && pending_.begin()->second.hello_by.passed()) {
    pending_.begin()->second.channel.abort("no hello in time");  // all have the same limit
    pending_.erase(pending_.begin());
  }
}

bool Admission::settled(const Rank& rank) const {
  const auto& channels = rank.seat.channels;
  return !rank.refused.empty() ||
         (rank.ready && std::all_of(channels.begin(), channels.end(),
                                    [](const auto& channel) { return channel.has_value(); }));
}

bool Admission::complete() {
  if (open_ < rules_.size && !settled(ranks_[open_])) return false;  // mostly so: no need to search
  open_ = rules_.first_rank;
  while (open_ < rules_.size && settled(ranks_[open_])) ++open_;
  return open_ == rules_.size;
}

std::string Admission::why_absent(const Rank& rank, const std::string& given, Deadline by) {
  const std::string& host = rank.seat.hello.host;
  if (!rank.refused.empty()) return rank.refused;
  if (!rank.left.empty()) return rank.left;
  if (rank.seat.channels.front()) return "it came, but was not ready " + given;
  if (const RefusedPeer* const refused = refused_of(host, by)) {
    const std::string copy = listener_.authentication().copy_line(this_host());
    const std::string why = refused->other_secret && !copy.empty()
                                ? fmt::format("came with another token; on {} run: {}", host, copy)
                                : "came and was refused: " + refused->why;
    return fmt::format("{} ({}) {}", host, refused->ip, why);
  }
  return (host.empty() ? "it" : host) + " never came " + given +
         (first_refusal_.empty() ? "" : "; connections were refused, the first: " + first_refusal_);
}

std::vector<Seat> Admission::admit(Deadline deadline) {
  const std::string given =
      fmt::format("within {:.3g} s", std::chrono::duration<double>(deadline.left()).count());
  constexpr std::chrono::seconds kBetweenWords{1};
  Deadline next_word = Deadline::after(kBetweenWords);
  while (!complete() && !deadline.passed()) {
    turn(deadline);
    if (!rules_.on_wait || !next_word.passed()) continue;
    next_word = Deadline::after(kBetweenWords);
    rules_.on_wait(missing(deadline));
  }
  for (auto& [key, pending] : pending_) pending.channel.abort(kTooLate);
  // Where a rank of another machine reached this one. One of this machine is seen under the address
  // that it dialled, which others may not reach (that of a bridge, for example).
  std::string here;
  for (const Rank& rank : ranks_) {
    if (!rank.ready) continue;
    const Channel& channel = *rank.seat.channels.front();
    const bool far = channel.peer_ip() != channel.local_ip();
    if (far || here.empty()) here = channel.local_ip();
    if (far) break;
  }
  const Deadline names_by = Deadline::after(kNamesAfterEnd);
  std::vector<Seat> seats;
  for (Rank& rank : ranks_) {
    Seat& seat = rank.seat;
    const std::optional<Channel>& channel = seat.channels.front();
    const bool near = !channel || channel->peer_ip() == channel->local_ip();
    seat.address = near ? here : channel->peer_ip();
    if (seats.size() >= rules_.first_rank && (!rank.ready || !settled(rank))) {
      seat.hello.host = host_of(static_cast<std::uint32_t>(seats.size()), names_by);
      seat.absent = why_absent(rank, given, names_by);
      for (std::optional<Channel>& one : seat.channels) {
        if (one) one->abort(seat.absent);
      }
      seat.channels.clear();
    }
    seats.push_back(std::move(seat));
  }
  return seats;
}

void refuse_late(Listener& listener) try {
  if (std::optional<Channel> channel = listener.accept(Deadline::after({}))) {
    channel->abort(kTooLate);
  }
} catch (const std::exception&) {  // no room for it now: it stays queued
  std::this_thread::sleep_for(kNoRoomPause);
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
    const bool again = address.after_another || (!refused && (broke || address.may_be_starting));
    if (again && deadline.left() > kJoinRetryPause + kLeastAttempt) {
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

}  // namespace rdmabench::inline v1::control
