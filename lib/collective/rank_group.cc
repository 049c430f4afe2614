#include "rdmabench/collective/rank_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "collective/heartbeat.h"
#include "commands.h"
#include "control/admission.h"
#include "control/launch.h"
#include "packing.h"
#include "rdmabench/measure/clock.h"

namespace rdmabench::inline v1::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMaxClockText = 32;  // bytes
constexpr milliseconds kLook(20);          // interval of looks whether the run is over
constexpr char kGood = '+';
constexpr char kBad = '-';  // marks a failed answer; followed by the digit of its Fault

// A rank's connections to rank 0.
constexpr std::uint32_t kMain = 0;
constexpr std::uint32_t kHeartbeat = 1;

}  // namespace

RankIdentity this_rank(std::uint32_t rank) {
  return {
      .rank = rank, .host = control::this_host(), .process = static_cast<std::uint64_t>(getpid())};
}

RankGroup::RankGroup(Team team, std::vector<RankIdentity> identities,
                     control::Authentication authentication)
    : team_(team),
      identities_(std::move(identities)),
      authentication_(std::move(authentication)),
      state_(std::make_unique<LiveRankState>()) {}

RankGroup::~RankGroup() = default;

void RankGroup::begin_heartbeat(std::vector<control::Channel> heartbeats,
                                const HeartbeatOptions& options) {
  heartbeat_ =
      std::make_unique<Heartbeat>(identities_, std::move(heartbeats), leads(), *state_, options);
}

std::unique_ptr<RankGroup> RankGroup::lead(control::Listener& listener,
                                           const control::BootstrapAddress& address,
                                           std::uint32_t size, RankIdentity self,
                                           const HeartbeatOptions& options, Deadline deadline) {
  control::Admission admission(listener, {.run_id = address.run_id,
                                          .size = size,
                                          .channels = 2,
                                          .first_rank = 1,
                                          .ready = GroupMessage::answer,
                                          .on_ready = [](std::uint32_t, const std::string& answer) {
                                            if (answer == std::string{kGood}) return;
                                            throw Error(Fault::failed, "it has failed: " + answer);
                                          }});
  std::vector<std::uint32_t> missing;
  std::string why;
  std::vector<RankIdentity> identities{std::move(self)};
  std::vector<control::Channel> channels;
  std::vector<control::Channel> heartbeats;
  std::vector<std::string> addresses;
  for (control::Seat& seat : admission.admit(deadline)) {
    addresses.push_back(std::move(seat.address));
    if (addresses.size() == 1) continue;  // this one
    const auto rank = static_cast<std::uint32_t>(identities.size());
    identities.push_back({rank, std::move(seat.hello.host), seat.hello.process});
    if (seat.absent.empty()) {
      channels.push_back(std::move(*seat.channels[kMain]));
      heartbeats.push_back(std::move(*seat.channels[kHeartbeat]));
    } else {
      if (missing.empty()) why = std::move(seat.absent);
      missing.push_back(rank);
    }
  }
  if (!missing.empty()) {
    throw Error(Fault::failed,
                fmt::format("rank {} did not connect to rank 0 in time ({})",
                            fmt::join(missing, ", "), why),
                "Is it running? Do firewalls let TCP through between the nodes?");
  }
  std::unique_ptr<RankGroup> group(new RankGroup({.rank = 0, .size = size}, std::move(identities),
                                                 address.authentication.derived(address.run_id)));
  group->channels_ = std::move(channels);
  group->addresses_ = std::move(addresses);
  group->begin_heartbeat(std::move(heartbeats), options);
  group->broadcast({}, deadline);  // all have answered
  return group;
}

std::unique_ptr<RankGroup> RankGroup::join(const control::BootstrapAddress& address, Team team,
                                           RankIdentity self, const HeartbeatOptions& options,
                                           Deadline deadline) {
  control::RankHello hello{.run_id = address.run_id,
                           .rank = team.rank,
                           .size = team.size,
                           .host = self.host,
                           .process = self.process,
                           .channel = kMain};
  control::Admitted admitted = control::join_rank_0(address, hello, deadline);
  std::unique_ptr<RankGroup> group(
      new RankGroup(team, {std::move(self)}, std::move(admitted.authentication)));
  group->channels_.push_back(std::move(admitted.channel));
  hello.channel = kHeartbeat;
  std::vector<control::Channel> heartbeats;
  heartbeats.push_back(control::join_rank_0(address, hello, deadline).channel);
  group->begin_heartbeat(std::move(heartbeats), options);
  group->barrier(deadline);
  return group;
}

control::Channel& RankGroup::channel(std::uint32_t rank) {
  return channels_[leads() ? rank - 1 : 0];
}

std::string RankGroup::identity(std::uint32_t rank) const {
  return leads() ? collective::to_text(identities_[rank]) : fmt::format("rank {}", rank);
}

void RankGroup::send(std::uint32_t rank, control::MessageType type, std::string_view text,
                     Deadline deadline) {
  try {
    channel(rank).send(type, text, deadline);
  } catch (const Error& error) {
    throw error.at(identity(rank));
  }
}

/// Checks at intervals whether the run has ended: after the loss of a third rank the message would
/// never come.
std::string RankGroup::receive(std::uint32_t rank, control::MessageType type, Deadline deadline,
                               std::string_view waiting_for) {
  const auto given = std::chrono::ceil<milliseconds>(deadline.left());
  try {
    while (!deadline.passed() && !channel(rank).readable(std::min(
                                     kLook, std::chrono::ceil<milliseconds>(deadline.left())))) {
      // Messages sent before the end come first.
      if (heartbeat_->over() && !channel(rank).readable(kLook)) {
        throw Error(Fault::failed, heartbeat_->reason());
      }
    }
    if (deadline.passed() && !channel(rank).readable(milliseconds(0))) {
      throw Error(Fault::failed, fmt::format("no {} within {} ms", waiting_for, given.count()));
    }
    control::Message message = channel(rank).receive(deadline, waiting_for);
    if (message.type == GroupMessage::abort) {
      if (!leads()) verdict_ = ascii_only(message.payload);
      throw Error(Fault::failed, ascii_only(message.payload));
    }
    if (message.type != type) {
      throw Error(Fault::failed, fmt::format("it sent '{}' instead of '{}'",
                                             type.name_of_code(message.type.code()), waiting_for));
    }
    return std::move(message.payload);
  } catch (const Error& error) {
    throw error.at(identity(rank));
  }
}

std::vector<std::string> RankGroup::gather(std::string_view mine, Deadline deadline) {
  if (!leads()) {
    send(0, GroupMessage::answer, kGood + std::string(mine), deadline);
    return {};
  }
  std::vector<std::string> all{std::string(mine)};
  for (std::uint32_t rank = 1; rank < team_.size; ++rank) {
    std::string text = receive(rank, GroupMessage::answer, deadline, "answer");
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
              fmt::format("{}: {}", identity(rank), ascii_only(answer.substr(kHead))));
}

std::string RankGroup::broadcast(std::string_view of_rank_0, Deadline deadline) {
  if (!leads()) return receive(0, GroupMessage::word, deadline, "word");
  for (std::uint32_t rank = 1; rank < team_.size; ++rank) {
    send(rank, GroupMessage::word, of_rank_0, deadline);
  }
  return std::string(of_rank_0);
}

std::vector<std::string> RankGroup::all_gather(std::string_view mine, Deadline deadline) {
  const std::string all = pack(gather(mine, deadline));
  if (all.size() > control::kMaxPayload) {
    throw Error(Fault::failed, fmt::format("the ranks' answers have {} bytes together; {} fit",
                                           all.size(), control::kMaxPayload));
  }
  return unpack(broadcast(all, deadline), team_.size);
}

void RankGroup::barrier(Deadline deadline) {
  gather({}, deadline);
  broadcast({}, deadline);
}

std::vector<ClockOffset> RankGroup::compare_clocks(std::uint32_t rounds, Deadline deadline) {
  using measure::RawClock;
  if (!leads()) {
    while (!receive(0, GroupMessage::clock, deadline, "question").empty()) {
      send(0, GroupMessage::clock, std::to_string(RawClock::stamp()), deadline);
    }
    return {};
  }
  std::vector<ClockOffset> offsets(team_.size);
  for (std::uint32_t rank = 1; rank < team_.size; ++rank) {
    std::uint64_t shortest = ~std::uint64_t{0};
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint64_t asked = RawClock::stamp();
      send(rank, GroupMessage::clock, "?", deadline);
      const std::string text = receive(rank, GroupMessage::clock, deadline, "time");
      const std::uint64_t heard = RawClock::stamp();
      const auto there = parse_number<std::uint64_t>(text);
      if (!there) {
        throw Error(Fault::failed, fmt::format("{}: invalid time '{}'", identity(rank),
                                               ascii_only(text, kMaxClockText)));
      }
      if (heard - asked >= shortest) continue;
      shortest = heard - asked;
      const std::uint64_t middle = asked + shortest / 2;
      offsets[rank] = {.offset_ns = static_cast<std::int64_t>(*there - middle),
                       .error_ns = static_cast<double>(shortest) / 2 + 1,
                       .at_ns = middle};
    }
    send(rank, GroupMessage::clock, {}, deadline);
  }
  offsets.front().at_ns = RawClock::stamp();  // when all clocks have been compared
  return offsets;
}

std::string RankGroup::give_up(const std::string& reason, Deadline deadline, Fault fault) noexcept
    try {
  if (leads()) {
    for (control::Channel& channel : channels_) channel.abort(reason);
    return reason;
  }
  if (verdict_.empty()) {
    try {
      channels_.front().send(GroupMessage::answer,
                             kBad + std::to_string(static_cast<int>(fault)) + reason, deadline);
    } catch (const Error&) {
      // The connection has ended: its last message can still be read.
    }
  }
  while (verdict_.empty()) {
    const control::Message message = channels_.front().receive(deadline, "verdict");
    if (message.type == GroupMessage::abort) verdict_ = ascii_only(message.payload);
  }
  await_end_of_rank_0();
  return verdict_;
} catch (const std::exception&) {
  return "";
}

/// A launcher ends all ranks when the first one fails, and what rank 0 has written may then be
/// lost.
void RankGroup::await_end_of_rank_0() noexcept try {
  const Deadline limit = Deadline::after(std::chrono::seconds(2));
  for (;;) channels_.front().receive(limit, "end of rank 0");
} catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the end, or the limit
}

}  // namespace rdmabench::inline v1::collective
