#include "rdmabench/collective/rank_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <list>
#include <nlohmann/json.hpp>
#include <utility>

#include "packing.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/fields.h"
#include "rdmabench/control/printable.h"
#include "rdmabench/control/readiness.h"
#include "rdmabench/measure/clock.h"

namespace rdmabench::collective {
namespace {

using control::MessageType;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMaxHelloWord = 256;
constexpr std::size_t kMaxStrangers = 64;  // connections that have not said who they are
constexpr milliseconds kLook(20);          // how often a wait looks whether the run is over
constexpr char kGood = '+';
constexpr char kBad = '-';  // then the digit of its Fault

struct GroupHello {
  std::string token{};
  RankIdentity identity{};
  std::uint32_t size = 0;
  bool heartbeat = false;
};

std::string to_text(const GroupHello& hello) {
  const nlohmann::ordered_json json = {{"token", hello.token},
                                       {"rank", hello.identity.rank},
                                       {"size", hello.size},
                                       {"host", hello.identity.host},
                                       {"process", hello.identity.process},
                                       {"pulse", hello.heartbeat}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

GroupHello parse_hello(std::string_view text) {
  const nlohmann::json json = control::parse_object(text, "hello");
  return {.token = control::get_string(json, "token", kMaxHelloWord),
          .identity = {.rank = control::get_uint<std::uint32_t>(json, "rank"),
                       .host = control::printable(control::get_string(json, "host", kMaxHelloWord)),
                       .process = control::get_uint<std::uint64_t>(json, "process")},
          .size = control::get_uint<std::uint32_t>(json, "size"),
          .heartbeat = control::get_bool(json, "pulse")};
}

/// The two channels of each rank, as they come in.
class Doorkeeper {
 public:
  Doorkeeper(control::Listener& listener, std::string token, std::uint32_t size)
      : listener_(listener), token_(std::move(token)), size_(size), seats_(2 * (size - 1)) {
    readiness_.watch(listener_, 0);
  }

  void admit(Deadline deadline) {
    while (seated_ < seats_.size()) {
      if (deadline.passed()) throw_missing();
      for (const std::uint64_t key : readiness_.wait(deadline)) {
        if (key == 0) {
          accept();
        } else {
          listen(key);
        }
      }
    }
  }

  std::vector<RankIdentity> identities{};
  control::Channel take(std::uint32_t rank, bool heartbeat) {
    return std::move(*seats_[2 * (rank - 1) + (heartbeat ? 1 : 0)]);
  }

 private:
  void accept() {
    std::optional<control::Channel> channel = listener_.accept(Deadline::after({}));
    if (!channel) return;
    if (strangers_.size() >= kMaxStrangers + seats_.size()) strangers_.pop_front();
    strangers_.emplace_back(next_key_++, std::move(*channel));
    readiness_.watch(strangers_.back().second, strangers_.back().first);
  }

  void listen(std::uint64_t key) {
    const auto found = std::find_if(strangers_.begin(), strangers_.end(),
                                    [&](const auto& one) { return one.first == key; });
    if (found == strangers_.end()) return;
    try {
      const auto message = found->second.receive_ready("hello");
      if (!message) return;
      if (message->type != MessageType::hello) throw Error(Fault::failed, "no hello");
      seat(parse_hello(message->payload), std::move(found->second));
    } catch (const std::exception& error) {
      if (refusal_.empty()) refusal_ = control::printable(error.what());
    }
    strangers_.erase(found);
  }

  void seat(const GroupHello& hello, control::Channel channel) {
    const auto refuse = [&](const std::string& why) {
      channel.abort(why);
      throw Error(Fault::failed, why);
    };
    if (hello.token != token_) refuse("this is rank 0 of another run");
    if (hello.size != size_ || hello.identity.rank == 0 || hello.identity.rank >= size_) {
      refuse(fmt::format("rank {} of {}, where rank 0 has {} ranks", hello.identity.rank,
                         hello.size, size_));
    }
    auto& place = seats_[2 * (hello.identity.rank - 1) + (hello.heartbeat ? 1 : 0)];
    if (place) refuse(fmt::format("there is a rank {} already", hello.identity.rank));
    place = std::move(channel);
    identities.resize(size_);
    identities[hello.identity.rank] = hello.identity;
    ++seated_;
  }

  [[noreturn]] void throw_missing() const {
    std::vector<std::uint32_t> missing;
    for (std::uint32_t rank = 1; rank < size_; ++rank) {
      if (!seats_[2 * (rank - 1)] || !seats_[2 * (rank - 1) + 1]) missing.push_back(rank);
    }
    throw Error(Fault::failed,
                fmt::format("rank {} did not come to rank 0 in time{}", fmt::join(missing, ", "),
                            refusal_.empty() ? "" : fmt::format(" ({})", refusal_)),
                "Is it running? Do firewalls let TCP through between the nodes?");
  }

  control::Listener& listener_;
  std::string token_;
  std::uint32_t size_;
  control::Readiness readiness_;
  std::vector<std::optional<control::Channel>> seats_;
  std::size_t seated_ = 0;
  std::list<std::pair<std::uint64_t, control::Channel>> strangers_;
  std::uint64_t next_key_ = 1;
  std::string refusal_;
};

std::optional<control::Channel> try_join(const std::string& address, std::uint16_t port,
                                         const GroupHello& hello, Deadline deadline,
                                         std::string& excuses) {
  try {
    control::Channel channel = control::Channel::connect(address, port, deadline);
    channel.send(MessageType::hello, to_text(hello), deadline);
    return channel;
  } catch (const Error& error) {
    excuses += fmt::format("\n  {}: {}", address, error.what());
    return std::nullopt;
  }
}

}  // namespace

RankIdentity this_rank(std::uint32_t rank) {
  std::array<char, 256> host{};
  const bool known = gethostname(host.data(), host.size() - 1) == 0;
  return {.rank = rank,
          .host = known ? host.data() : "unknown",
          .process = static_cast<std::uint64_t>(getpid())};
}

RankGroup::RankGroup(Team team, std::vector<RankIdentity> identities)
    : team_(team), identities_(std::move(identities)), state_(std::make_unique<LiveRankState>()) {}

RankGroup::~RankGroup() = default;

void RankGroup::begin_heartbeat(std::vector<control::Channel> heartbeats,
                                const HeartbeatOptions& options) {
  heartbeat_ =
      std::make_unique<Heartbeat>(identities_, std::move(heartbeats), leads(), *state_, options);
}

std::unique_ptr<RankGroup> RankGroup::lead(control::Listener& listener,
                                           const control::BootstrapAddress& bootstrap_address,
                                           std::uint32_t size, RankIdentity self,
                                           const HeartbeatOptions& options, Deadline deadline) {
  std::vector<RankIdentity> identities{self};
  std::vector<control::Channel> channels;
  std::vector<control::Channel> heartbeats;
  if (size > 1) {
    Doorkeeper door(listener, bootstrap_address.token, size);
    door.admit(deadline);
    identities = door.identities;
    identities.front() = std::move(self);
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      channels.push_back(door.take(rank, false));
      heartbeats.push_back(door.take(rank, true));
    }
  }
  std::unique_ptr<RankGroup> group(new RankGroup({.rank = 0, .size = size}, std::move(identities)));
  group->channels_ = std::move(channels);
  group->begin_heartbeat(std::move(heartbeats), options);
  group->barrier(deadline);
  return group;
}

std::unique_ptr<RankGroup> RankGroup::join(const control::BootstrapAddress& bootstrap_address,
                                           Team team, RankIdentity self,
                                           const HeartbeatOptions& options, Deadline deadline) {
  constexpr auto kEach = std::chrono::seconds(10);
  std::string excuses;
  for (const std::string& address : bootstrap_address.addresses) {
    const Deadline each = Deadline::after(std::min<nanoseconds>(kEach, deadline.left()));
    GroupHello hello{.token = bootstrap_address.token, .identity = self, .size = team.size};
    auto channel = try_join(address, bootstrap_address.port, hello, each, excuses);
    if (!channel) continue;
    hello.heartbeat = true;
    auto heartbeat = try_join(address, bootstrap_address.port, hello, each, excuses);
    if (!heartbeat) continue;
    std::unique_ptr<RankGroup> group(new RankGroup(team, {self}));
    group->channels_.push_back(std::move(*channel));
    std::vector<control::Channel> heartbeats;
    heartbeats.push_back(std::move(*heartbeat));
    group->begin_heartbeat(std::move(heartbeats), options);
    group->barrier(deadline);
    return group;
  }
  throw Error(Fault::failed,
              fmt::format("rank {} found no rank 0 at port {}:{}", team.rank,
                          bootstrap_address.port, excuses.empty() ? " it has no address" : excuses),
              "Do firewalls let TCP through between the nodes?");
}

control::Channel& RankGroup::channel(std::uint32_t rank) {
  return channels_[leads() ? rank - 1 : 0];
}

std::string RankGroup::identity(std::uint32_t rank) const {
  return leads() ? collective::to_text(identities_[rank]) : fmt::format("rank {}", rank);
}

void RankGroup::send(std::uint32_t rank, MessageType type, std::string_view text,
                     Deadline deadline) {
  try {
    channel(rank).send(type, text, deadline);
  } catch (const Error& error) {
    throw error.at(identity(rank));
  }
}

/// Looks up between two short waits: a third rank that is gone leaves this wait nothing to wait
/// for.
std::string RankGroup::receive(std::uint32_t rank, MessageType type, Deadline deadline,
                               std::string_view waiting_for) {
  try {
    while (!deadline.passed() && !channel(rank).readable(std::min(
                                     kLook, std::chrono::ceil<milliseconds>(deadline.left())))) {
      // What it said before it left comes first.
      if (heartbeat_->over() && !channel(rank).readable(kLook)) {
        throw Error(Fault::failed, heartbeat_->reason());
      }
    }
    control::Message message = channel(rank).receive(deadline, waiting_for);
    if (message.type == MessageType::abort) {
      if (!leads()) verdict_ = control::printable(message.payload);
      throw Error(Fault::failed, control::printable(message.payload));
    }
    if (message.type != type) {
      throw Error(Fault::failed, fmt::format("it sent '{}' where '{}' was due",
                                             control::name_of(message.type), waiting_for));
    }
    return std::move(message.payload);
  } catch (const Error& error) {
    throw error.at(identity(rank));
  }
}

std::vector<std::string> RankGroup::gather(std::string_view mine, Deadline deadline) {
  if (!leads()) {
    send(0, MessageType::result, kGood + std::string(mine), deadline);
    return {};
  }
  std::vector<std::string> all{std::string(mine)};
  for (std::uint32_t rank = 1; rank < team_.size; ++rank) {
    std::string text = receive(rank, MessageType::result, deadline, "answer");
    if (text.empty() || text.front() != kGood) throw_bad(rank, text);
    all.push_back(text.substr(1));
  }
  return all;
}

void RankGroup::throw_bad(std::uint32_t rank, std::string_view answer) const {
  constexpr std::size_t kHead = 2;
  if (answer.size() < kHead) {
    throw Error(Fault::failed, fmt::format("{}: an empty answer", identity(rank)));
  }
  const int digit = answer[1] - '0';
  const bool known =
      digit == static_cast<int>(Fault::usage) || digit == static_cast<int>(Fault::unavailable);
  throw Error(known ? static_cast<Fault>(digit) : Fault::failed,
              fmt::format("{}: {}", identity(rank), control::printable(answer.substr(kHead))));
}

std::string RankGroup::broadcast(std::string_view of_rank_0, Deadline deadline) {
  if (!leads()) return receive(0, MessageType::epoch, deadline, "word");
  for (std::uint32_t rank = 1; rank < team_.size; ++rank) {
    send(rank, MessageType::epoch, of_rank_0, deadline);
  }
  return std::string(of_rank_0);
}

std::vector<std::string> RankGroup::all_gather(std::string_view mine, Deadline deadline) {
  const std::vector<std::string> all = gather(mine, deadline);
  return unpack(broadcast(pack(all), deadline), team_.size);
}

void RankGroup::barrier(Deadline deadline) {
  gather({}, deadline);
  broadcast({}, deadline);
}

std::vector<ClockOffset> RankGroup::compare_clocks(std::uint32_t rounds, Deadline deadline) {
  using measure::RawClock;
  if (!leads()) {
    while (!receive(0, MessageType::ready, deadline, "question").empty()) {
      send(0, MessageType::ready, std::to_string(RawClock::stamp()), deadline);
    }
    return {};
  }
  std::vector<ClockOffset> offsets(team_.size);
  for (std::uint32_t rank = 1; rank < team_.size; ++rank) {
    std::uint64_t shortest = ~std::uint64_t{0};
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint64_t asked = RawClock::stamp();
      send(rank, MessageType::ready, "?", deadline);
      const std::string text = receive(rank, MessageType::ready, deadline, "time");
      const std::uint64_t heard = RawClock::stamp();
      std::uint64_t there = 0;
      const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), there);
      if (fault != std::errc{} || end != text.data() + text.size()) {
        throw Error(Fault::failed, fmt::format("{}: '{}' is no time", identity(rank),
                                               control::printable(text, kMaxHelloWord)));
      }
      if (heard - asked >= shortest) continue;
      shortest = heard - asked;
      const std::uint64_t middle = asked + shortest / 2;
      offsets[rank] = {.offset_ns = static_cast<std::int64_t>(there - middle),
                       .error_ns = static_cast<double>(shortest) / 2 + 1,
                       .at_ns = middle};
    }
    send(rank, MessageType::ready, {}, deadline);
  }
  offsets.front().at_ns = RawClock::stamp();  // when all are known
  return offsets;
}

std::string RankGroup::give_up(const std::string& reason, Deadline deadline, Fault fault) noexcept
    try {
  if (leads()) {
    for (control::Channel& channel : channels_) channel.abort(reason);
    return reason;
  }
  if (!verdict_.empty()) return verdict_;
  try {
    channels_.front().send(MessageType::result,
                           kBad + std::to_string(static_cast<int>(fault)) + reason, deadline);
  } catch (const Error&) {
    // It has said its word then: that is still to be read.
  }
  for (;;) {
    const control::Message message = channels_.front().receive(deadline, "verdict");
    if (message.type == MessageType::abort) return control::printable(message.payload);
  }
} catch (const std::exception&) {
  return "";
}

}  // namespace rdmabench::collective
