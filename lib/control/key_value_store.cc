#include "key_value_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rdmabench/base/error.h"
#include "wait.h"

namespace rdmabench::control {
namespace {

constexpr std::size_t kNamed = 10;  // ranks in one error text

}  // namespace

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t named = std::min(ranks.size(), kNamed);
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i + 1 == ranks.size();
    if (i > 0) text += last ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (named < ranks.size()) text += fmt::format(" and {} more", ranks.size() - named);
  return text;
}

void KeyValueStore::join(std::uint32_t number, std::string who) {
  Rank& rank = ranks_[number] = Rank();
  rank.state = State::here;
  rank.who = std::move(who);
  if (left_ != number) return;
  left_.reset();
  for (std::uint32_t other = 0; other < ranks_.size(); ++other) {
    if (ranks_[other].state == State::left) left_ = other;
  }
}

void KeyValueStore::leave(std::uint32_t number) {
  ranks_[number].state = State::left;
  end_wait(number);
  if (!left_) left_ = number;
  const std::vector<std::uint32_t> waiting = waiting_;
  for (const std::uint32_t other : waiting) {
    const Wait& wait = *ranks_[other].wait;
    const auto* get = std::get_if<GetCall>(&wait.call);
    if (get == nullptr) {
      reply(other, {why_no_barrier(wait.given), ""});
    } else if (get->rank == number) {
      reply(other, {why_no_value(*get, wait.given), ""});
    }
  }
}

void KeyValueStore::call(std::uint32_t number, Call call) {
  if (ranks_[number].wait) {
    throw Error(Fault::failed,
                fmt::format("rank {} sent a call while its last one was unanswered", number));
  }
  if (auto* put_call = std::get_if<PutCall>(&call)) {
    put(number, std::move(*put_call));
  } else if (const auto* get_call = std::get_if<GetCall>(&call)) {
    get(number, *get_call);
  } else {
    barrier(number, std::get<BarrierCall>(call));
  }
}

void KeyValueStore::put(std::uint32_t number, PutCall call) {
  Rank& rank = ranks_[number];
  rank.bytes += call.key.size() + call.value.size();
  if (rank.values.size() >= kMaxKeys || rank.bytes > kMaxBytes) {
    throw Error(Fault::failed, fmt::format("rank {} put more than {} keys or {} bytes", number,
                                           kMaxKeys, kMaxBytes));
  }
  const auto [entry, is_new] = rank.values.try_emplace(call.key, std::move(call.value));
  if (!is_new) {
    reply(number, {fmt::format("rank {} put '{}' before", number, call.key), ""});
    return;
  }
  const std::vector<std::uint32_t> waiting = waiting_;
  for (const std::uint32_t other : waiting) {
    const auto* get = std::get_if<GetCall>(&ranks_[other].wait->call);
    if (get != nullptr && get->rank == number && get->key == call.key) {
      reply(other, {"", entry->second});
    }
  }
  reply(number, {});
}

void KeyValueStore::get(std::uint32_t number, const GetCall& call) {
  if (call.rank >= ranks_.size()) {
    throw Error(Fault::failed,
                fmt::format("rank {} asks for rank {} of {}", number, call.rank, ranks_.size()));
  }
  const Rank& owner = ranks_[call.rank];
  const auto found = owner.values.find(call.key);
  if (found != owner.values.end()) {
    reply(number, {"", found->second});
  } else if (owner.state == State::left || call.wait.count() == 0) {
    reply(number, {why_no_value(call, call.wait), ""});
  } else {
    ranks_[number].wait = Wait{call, Deadline::after(call.wait), call.wait};
    waiting_.push_back(number);
  }
}

void KeyValueStore::barrier(std::uint32_t number, const BarrierCall& call) {
  if (left_) {
    reply(number, {why_no_barrier(call.wait), ""});
    return;
  }
  ranks_[number].wait = Wait{call, Deadline::after(call.wait), call.wait};
  ranks_[number].gave_up = false;
  waiting_.push_back(number);
  if (++at_barrier_ < ranks_.size()) return;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) reply(rank, {});
}

void KeyValueStore::expire() {
  const std::vector<std::uint32_t> waiting = waiting_;
  for (const std::uint32_t number : waiting) {
    const Wait& wait = *ranks_[number].wait;
    if (!wait.until.passed()) continue;
    const auto* get = std::get_if<GetCall>(&wait.call);
    ranks_[number].gave_up = get == nullptr;
    reply(number,
          {get != nullptr ? why_no_value(*get, wait.given) : why_no_barrier(wait.given), ""});
  }
}

std::optional<std::chrono::nanoseconds> KeyValueStore::next_expiry() const {
  std::optional<std::chrono::nanoseconds> next;
  for (const std::uint32_t number : waiting_) {
    const std::chrono::nanoseconds left = ranks_[number].wait->until.left();
    next = next ? std::min(*next, left) : left;
  }
  return next;
}

std::vector<KeyValueStore::Reply> KeyValueStore::take_replies() {
  return std::exchange(replies_, {});
}

/// If it waits.
void KeyValueStore::end_wait(std::uint32_t number) {
  Rank& rank = ranks_[number];
  if (!rank.wait) return;
  if (at_barrier(rank)) --at_barrier_;
  rank.wait.reset();
  std::erase(waiting_, number);
}

void KeyValueStore::reply(std::uint32_t number, Answer answer) {
  end_wait(number);
  replies_.push_back({number, std::move(answer)});
}

bool KeyValueStore::at_barrier(const Rank& rank) const {
  return rank.wait && std::holds_alternative<BarrierCall>(rank.wait->call);
}

std::string KeyValueStore::name(std::uint32_t number) const {
  const std::string& who = ranks_[number].who;
  return who.empty() ? fmt::format("rank {}", number) : fmt::format("rank {} of {}", number, who);
}

std::string KeyValueStore::why_no_value(const GetCall& call,
                                        std::chrono::milliseconds given) const {
  const State state = ranks_[call.rank].state;
  if (state == State::absent) {
    return fmt::format("rank {} did not come within {}", call.rank, duration_text(given));
  }
  if (state == State::left) {
    return fmt::format("{} left without putting '{}'", name(call.rank), call.key);
  }
  return fmt::format("{} is here, but did not put '{}' within {}", name(call.rank), call.key,
                     duration_text(given));
}

std::string KeyValueStore::why_no_barrier(std::chrono::milliseconds given) const {
  if (left_) return fmt::format("{} left before the barrier", name(*left_));
  std::vector<std::uint32_t> absent;
  std::vector<std::uint32_t> busy;
  std::vector<std::uint32_t> gone;
  for (std::uint32_t number = 0; number < ranks_.size(); ++number) {
    const Rank& rank = ranks_[number];
    if (at_barrier(rank)) continue;
    (rank.state == State::absent ? absent : rank.gave_up ? gone : busy).push_back(number);
  }
  if (absent.empty() && busy.empty()) {
    return fmt::format("{} waited at the barrier for this one, and gave up", ranks_text(gone));
  }
  const std::string time = duration_text(given);
  std::string text;
  if (!absent.empty()) text = fmt::format("{} did not come within {}", ranks_text(absent), time);
  if (!busy.empty()) {
    if (!text.empty()) text += ", and ";
    text += fmt::format("{} did not reach the barrier within {}",
                        busy.size() == 1 ? name(busy.front()) : ranks_text(busy), time);
  }
  return text;
}

}  // namespace rdmabench::control
