#include "strangers.h"

#include <string_view>
#include <utility>

#include "rdmabench/base/error.h"
#include "rdmabench/base/log.h"

namespace rdmabench::control {
namespace {

void tell(const Error& error) {
  log_line([&] { return std::string(error.what()); });
}

}  // namespace

void Strangers::refuse(Map::iterator stranger, RefusalReason reason) {
  try {
    stranger->second.handshake.refuse(stranger->second.channel, reason);
  } catch (const Error& error) {
    tell(error);
  }
  all_.erase(stranger);
}

std::optional<std::chrono::nanoseconds> Strangers::make_room() {
  std::map<std::string_view, std::pair<std::size_t, Map::iterator>> addresses;
  auto crowded = all_.size() >= kMost ? all_.begin() : all_.end();
  for (auto at = all_.begin(); at != all_.end() && crowded == all_.end(); ++at) {
    auto& [count, oldest] =
        addresses.try_emplace(at->second.channel.peer_ip(), 0, at).first->second;
    if (++count >= kMostOfAddress) crowded = oldest;
  }
  if (crowded == all_.end()) return std::nullopt;
  if (!crowded->second.grace.passed()) return crowded->second.grace.left();
  refuse(crowded, RefusalReason::busy);
  return std::nullopt;
}

std::uint64_t Strangers::add(Channel channel) {
  all_.try_emplace(next_, Stranger{std::move(channel), Handshake(authentication_),
                                   Deadline::after(kGrace), Deadline::after(kLimit)});
  return next_++;
}

std::optional<Channel> Strangers::proceed(std::uint64_t key) {
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

std::optional<std::chrono::nanoseconds> Strangers::expire() {
  while (!all_.empty() && all_.begin()->second.limit.passed()) {
    refuse(all_.begin(), RefusalReason::late);
  }
  if (all_.empty()) return std::nullopt;
  return all_.begin()->second.limit.left();
}

}  // namespace rdmabench::control
