#include "pending_handshakes.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/network.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/log.h"

namespace rdmabench::control {
namespace {

constexpr std::size_t kHandshakeBytes = 4096;

void tell(const Error& error) {
  log_line([&] { return std::string(error.what()); });
}

}  // namespace

void PendingHandshakes::refuse(PendingHandshake& pending, RefusalReason reason) {
  try {
    pending.handshake.refuse(pending.channel, reason);
  } catch (const Error& error) {
    tell(error);
  }
}

std::optional<std::uint64_t> PendingHandshakes::add(Channel channel) {
  PendingHandshake pending{std::move(channel),
                           {},
                           Handshake(authentication_, decoder_ ? &*decoder_ : nullptr),
                           Deadline::after(kGrace),
                           Deadline::after(kLimit)};
  pending.host = host_of(pending.channel.peer_ip(), pending.channel.local_ip());
  std::map<std::string_view, std::size_t> counts;
  std::string_view crowded = pending.host;
  for (const auto& [key, other] : all_) {
    if (++counts[other.host] > counts[crowded] && all_.size() >= kMax) crowded = other.host;
  }
  if (counts[pending.host] >= kMaxPerAddress) crowded = pending.host;
  if (counts[pending.host] >= kMaxPerAddress || all_.size() >= kMax) {
    const auto oldest = std::find_if(
        all_.begin(), all_.end(), [&](const auto& other) { return other.second.host == crowded; });
    if (!oldest->second.grace.passed()) {
      // What it has sent is read, or closing would reset the connection before it has its answer.
      std::array<char, kHandshakeBytes> sent;
      static_cast<void>(recv(pending.channel.handle(), sent.data(), sent.size(), MSG_DONTWAIT));
      refuse(pending, RefusalReason::busy);
      return std::nullopt;
    }
    refuse(oldest->second, RefusalReason::busy);
    all_.erase(oldest);
  }
  all_.try_emplace(next_, std::move(pending));
  return next_++;
}

bool PendingHandshakes::drop_oldest() {
  if (all_.empty()) return false;
  refuse(all_.begin()->second, RefusalReason::busy);
  all_.erase(all_.begin());
  return true;
}

std::optional<Channel> PendingHandshakes::proceed(std::uint64_t key) {
  const auto found = all_.find(key);
  if (found == all_.end()) return std::nullopt;
  std::optional<Channel> known;
  try {
    if (!found->second.handshake.proceed(found->second.channel)) return std::nullopt;
    known = std::move(found->second.channel);
  } catch (const Error& error) {
    tell(error);
  }
  all_.erase(found);
  return known;
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
    refuse(all_.begin()->second, RefusalReason::late);
    all_.erase(all_.begin());
  }
  if (all_.empty()) return std::nullopt;
  return all_.begin()->second.limit.left();
}

}  // namespace rdmabench::control
