#include "refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace rdmabench::inline v1::control {

std::string to_text(const RefusedPeer& refused) {
  if (refused.count <= 1) return fmt::format("{}: refused: {}", refused.peer, refused.why);
  return fmt::format("{}: refused: {} more clients: {}", refused.ip, refused.count, refused.why);
}

void Refusals::on_refused(std::function<void(const RefusedPeer&)> tell) {
  tell_rest();
  counted_.clear();
  next_.reset();
  tell_ = std::move(tell);
}

void Refusals::tell(RefusedPeer& refused) noexcept {
  try {
    if (tell_) tell_(refused);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for it, say
  }
  refused.count = 0;
}

void Refusals::add(RefusedPeer refused, RefusalReason reason, Clock::time_point now) noexcept try {
  if (!tell_) return;
  tell_due(now);
  const std::pair key(refused.ip, reason);
  const auto known = counted_.find(key);
  if (known == counted_.end()) {
    if (counted_.size() == kMost) return;
    const Clock::time_point due = now + kFirst;
    next_ = std::min(due, next_.value_or(due));
    return tell(
        counted_.try_emplace(key, Counted{std::move(refused), due, kFirst}).first->second.last);
  }
  refused.count += known->second.last.count;
  known->second.last = std::move(refused);
} catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory: it is not told
}

std::optional<Refusals::Clock::time_point> Refusals::tell_due(Clock::time_point now) noexcept {
  if (next_ && now < *next_) return next_;
  next_.reset();
  for (auto one = counted_.begin(); one != counted_.end();) {
    auto& [last, due, wait] = one->second;
    if (due <= now && last.count == 0) {
      one = counted_.erase(one);
      continue;
    }
    if (due <= now) {
      tell(last);
      wait = std::min<Clock::duration>(2 * wait, kLongest);
      due = now + wait;
    }
    next_ = std::min(due, next_.value_or(due));
    ++one;
  }
  return next_;
}

void Refusals::tell_rest() noexcept {
  for (auto& [key, counted] : counted_) {
    if (counted.last.count > 0) tell(counted.last);
  }
}

}  // namespace rdmabench::inline v1::control
