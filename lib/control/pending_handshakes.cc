#include "pending_handshakes.h"

#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "rdmabench/base/error.h"
#include "rdmabench/base/log.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr std::size_t kHandshakeBytes = 4096;

/// For lack of memory a line may be lost, and no more.
template <class Line>
void tell(Line&& line) noexcept {
  try {
    log_line(line);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace

void PendingHandshakes::refuse(Channel& channel, RefusalReason reason) const noexcept {
  Handshake::tell(channel, authentication_.method(), reason);
  tell([&] { return Handshake::refusal_text(channel, reason); });
}

void PendingHandshakes::tell_of(const Channel& channel, const RefusedHandshake& refused) noexcept {
  try {
    refusals_.add({.ip = channel.peer_ip(),
                   .peer = channel.peer(),
                   .why = std::string(name_of(refused.reason())),
                   .other_secret = refused.reason() == RefusalReason::other_secret},
                  refused.reason(), Refusals::Clock::now());
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for it, say
  }
}

/// It is not counted any more, and closed with what is returned.
PendingHandshakes::Map::node_type PendingHandshakes::take(Map::iterator one) noexcept {
  const Hosts::iterator host = one->second.host;
  Keys& keys = host->second;
  auto* const end = keys.list.begin() + keys.count;
  auto* const at = std::find(keys.list.begin(), end, one->first);
  std::copy(at + 1, end, at);
  if (--keys.count == 0) hosts_.erase(host);
  return all_.extract(one);
}

/// Who has to go before one more of this host may wait: no host has more than half of all places.
/// Which host has most is looked for only when there are as many as may be.
std::optional<std::uint64_t> PendingHandshakes::in_the_way_of(const std::string& host) const {
  const auto own = hosts_.find(host);
  const std::size_t waiting = own == hosts_.end() ? 0 : own->second.count;
  if (waiting == kMaxPerHost) return own->second.list.front();  // a flood costs no getrlimit(2)
  const std::size_t places = Listener::max_pending();
  if (waiting > 0 && waiting >= places / 2) return own->second.list.front();
  if (all_.size() < places) return std::nullopt;
  const auto most = std::max_element(
      hosts_.begin(), hosts_.end(),
      [](const auto& a, const auto& b) { return a.second.count < b.second.count; });
  return most->second.list.front();
}

std::optional<std::uint64_t> PendingHandshakes::add(Channel channel, const std::string& host) {
  if (const auto key = in_the_way_of(host)) {
    const auto oldest = all_.find(*key);
    if (!oldest->second.grace.passed()) {
      // What it has sent is read, or closing would reset the connection before it has its answer.
      std::array<char, kHandshakeBytes> sent;
      static_cast<void>(recv(channel.handle(), sent.data(), sent.size(), MSG_DONTWAIT));
      refuse(channel, RefusalReason::busy);
      return std::nullopt;
    }
    refuse(oldest->second.channel, RefusalReason::busy);
    take(oldest);
  }
  const auto own = hosts_.try_emplace(host).first;
  try {
    all_.try_emplace(next_,
                     PendingHandshake{std::move(channel), own,
                                      Handshake(authentication_, decoder_ ? &*decoder_ : nullptr),
                                      Deadline::after(kGrace), Deadline::after(kLimit)});
  } catch (const std::exception&) {
    if (own->second.count == 0) hosts_.erase(own);
    throw;
  }
  own->second.list[own->second.count++] = next_;
  return next_++;
}

void PendingHandshakes::drop(std::uint64_t key) noexcept {
  if (const auto found = all_.find(key); found != all_.end()) take(found);
}

void PendingHandshakes::refuse_oldest(RefusalReason reason) noexcept {
  refuse(all_.begin()->second.channel, reason);
  take(all_.begin());
}

bool PendingHandshakes::drop_oldest() noexcept {
  if (all_.empty()) return false;
  refuse_oldest(RefusalReason::busy);
  return true;
}

std::optional<Channel> PendingHandshakes::proceed(std::uint64_t key) {
  const auto found = all_.find(key);
  if (found == all_.end()) return std::nullopt;
  try {
    if (!found->second.handshake.proceed(found->second.channel)) return std::nullopt;
    return std::move(take(found).mapped().channel);
  } catch (const std::exception& error) {  // it left, was refused, or there is no memory for it
    tell([&] { return std::string(error.what()); });
    const auto* const refused = dynamic_cast<const RefusedHandshake*>(&error);
    if (refused != nullptr) tell_of(found->second.channel, *refused);
    take(found);
    return std::nullopt;
  }
}

std::optional<Channel> PendingHandshakes::proceed_decoded() {
  decoder_->event().clear();
  for (;;) {
    const auto ready = std::find_if(all_.begin(), all_.end(),
                                    [](const auto& one) { return one.second.handshake.decoded(); });
    if (ready == all_.end()) return std::nullopt;
    if (std::optional<Channel> known = proceed(ready->first)) {
      decoder_->event().set();  // there may be more
      return known;
    }
  }
}

int PendingHandshakes::decoding(std::uint64_t key) const {
  const auto found = all_.find(key);
  const bool is = found != all_.end() && found->second.handshake.decoding();
  return is ? found->second.channel.handle() : -1;
}

std::optional<std::chrono::nanoseconds> PendingHandshakes::expire() {
  while (!all_.empty() && all_.begin()->second.limit.passed()) {
    refuse_oldest(RefusalReason::late);
  }
  const Refusals::Clock::time_point now = Refusals::Clock::now();
  std::optional<std::chrono::nanoseconds> next;
  if (const auto due = refusals_.tell_due(now)) next = *due - now;
  if (all_.empty()) return next;
  const std::chrono::nanoseconds left = all_.begin()->second.limit.left();
  return std::min(left, next.value_or(left));
}

}  // namespace rdmabench::inline v1::control
