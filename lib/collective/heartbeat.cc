#include "collective/heartbeat.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "commands.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::collective {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "joining", "opening the library", "waiting", "preparing", "filling", "running", "checking",
    "closing"};
constexpr auto kSendLimit = std::chrono::seconds(1);

std::string describe(const RankState& where) {
  if (where.phase == Phase::joining || where.phase == Phase::opening ||
      where.phase == Phase::closing) {
    return std::string(name(where.phase));
  }
  return fmt::format("{}, {} of {}, iteration {}", name(where.phase), name(where.operation),
                     format_size(where.size_bytes), where.iteration);
}

double seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// A rank's progress. While a row's results are gathered, all ranks count as equal.
auto progress(const RankState& where) {
  return std::tuple(where.phase > Phase::opening, where.row, where.iteration);
}

}  // namespace

std::string_view name(Phase phase) noexcept {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

void LiveRankState::begin_row(std::uint32_t row, Operation operation,
                              std::uint64_t size_bytes) noexcept {
  row_.store(row, std::memory_order_relaxed);
  operation_.store(operation, std::memory_order_relaxed);
  size_.store(size_bytes, std::memory_order_relaxed);
  iteration_.store(0, std::memory_order_relaxed);
}

RankState LiveRankState::read() const noexcept {
  return {.phase = phase_.load(std::memory_order_relaxed),
          .operation = operation_.load(std::memory_order_relaxed),
          .row = row_.load(std::memory_order_relaxed),
          .size_bytes = size_.load(std::memory_order_relaxed),
          .iteration = iteration_.load(std::memory_order_relaxed)};
}

std::string to_text(const RankIdentity& identity) {
  return fmt::format("rank {} ({}, process {})", identity.rank, identity.host, identity.process);
}

Blame who_hangs(const std::vector<RankStatus>& statuses, nanoseconds silence) {
  Blame blame;
  std::vector<std::string> texts;
  const auto add = [&](const RankStatus& status, const std::string& text) {
    blame.ranks.push_back(status.identity.rank);
    texts.push_back(fmt::format("{} {}", to_text(status.identity), text));
  };
  const auto finish = [&] {
    blame.text = fmt::format("{}", fmt::join(texts, "; "));
    return blame;
  };
  for (const RankStatus& status : statuses) {
    if (!status.gone.empty()) {
      add(status, fmt::format("is gone ({}); it was last {}", status.gone, describe(status.where)));
    }
  }
  if (!texts.empty()) return finish();
  for (const RankStatus& status : statuses) {
    if (status.age > silence) {
      add(status, fmt::format("hangs: it has been silent for {:.2f} s; it was last {}",
                              seconds(status.age), describe(status.where)));
    }
  }
  if (!texts.empty()) return finish();
  const auto [least, most] = std::minmax_element(statuses.begin(), statuses.end(),
                                                 [](const RankStatus& a, const RankStatus& b) {
                                                   return progress(a.where) < progress(b.where);
                                                 });
  if (least == statuses.end()) return blame;
  if (progress(least->where) == progress(most->where)) {
    blame.text = fmt::format(
        "all ranks are alive and at the same place ({}): the library or the network between them hangs",
        describe(least->where));
    return blame;
  }
  for (const RankStatus& status : statuses) {
    if (progress(status.where) != progress(least->where)) continue;
    add(status, fmt::format("is behind: it is {}, where {} is {}", describe(status.where),
                            to_text(most->identity), describe(most->where)));
  }
  return finish();
}

Heartbeat::Heartbeat(std::vector<RankIdentity> identities, std::vector<control::Channel> channels,
                     bool leads, const LiveRankState& state, HeartbeatOptions options)
    : identities_(std::move(identities)),
      leads_(leads),
      state_(state),
      options_(std::move(options)),
      star_({std::make_move_iterator(channels.begin()), std::make_move_iterator(channels.end())}),
      received_(channels.size()) {
  thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
  stop_ = true;
  star_.wake();
  thread_.join();
}

std::string Heartbeat::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void Heartbeat::end(const std::string& reason) {
  if (expected_) return;
  {
    const std::lock_guard lock(mutex_);
    if (reason_.empty()) reason_ = reason;
    over_ = true;
  }
  told_changed_.notify_all();
}

void Heartbeat::beat() {
  if (leads_) return;
  std::unique_lock lock(mutex_);
  const std::uint64_t own = ++asked_;
  star_.wake();
  told_changed_.wait_for(lock, kSendLimit, [&] { return told_ >= own || over_; });
}

void Heartbeat::run() {
  while (!stop_) {
    try {
      if (!leads_) send_state();
      receive(options_.interval);
    } catch (const std::exception& error) {
      end(error.what());
      std::this_thread::sleep_for(options_.interval);
    }
    watch_guard();
  }
}

void Heartbeat::send_state() {
  std::unique_lock lock(mutex_);
  const std::uint64_t asked = asked_;
  lock.unlock();
  if (!over_ && !expected_) star_.send(0, GroupMessage::heartbeat, to_text(state_.read()));
  lock.lock();
  told_ = asked;
  lock.unlock();
  told_changed_.notify_all();
}

void Heartbeat::receive(nanoseconds limit) {
  events_.clear();
  star_.wait(Deadline::after(limit), events_);
  for (const control::Ranks::Event& event : events_) take(event);
}

void Heartbeat::take(const control::Ranks::Event& event) {
  std::string gone = event.text;
  try {
    if (!event.ended) {
      if (event.type != GroupMessage::heartbeat) {
        throw Error(Fault::failed, "it sent something else than heartbeats");
      }
      const RankState where = parse<RankState>(event.text);
      const std::lock_guard lock(mutex_);
      received_[event.rank].where = where;
      received_[event.rank].when = steady_clock::now();
      return;
    }
  } catch (const std::exception& error) {
    gone = error.what();
    star_.drop(event.rank, gone);
  }
  gone = ascii_only(gone);
  {
    const std::lock_guard lock(mutex_);
    received_[event.rank].gone = gone;
  }
  end(leads_ ? fmt::format("{}: {}", to_text(identities_[event.rank + 1]), gone) : gone);
}

std::vector<RankStatus> Heartbeat::statuses() const {
  const std::lock_guard lock(mutex_);
  std::vector<RankStatus> statuses;
  statuses.push_back({.identity = identities_.front(), .where = state_.read()});
  for (std::size_t i = 0; i < received_.size(); ++i) {
    statuses.push_back({.identity = identities_[i + 1],
                        .where = received_[i].where,
                        .age = steady_clock::now() - received_[i].when,
                        .gone = received_[i].gone});
  }
  return statuses;
}

Blame Heartbeat::explain() {
  const Deadline deadline = Deadline::after(silence() + 2 * options_.interval);
  for (;;) {
    const std::vector<RankStatus> now = statuses();
    const bool sure = std::any_of(now.begin(), now.end(), [&](const RankStatus& status) {
      return !status.gone.empty() || status.age > silence();
    });
    if (sure || deadline.passed()) return who_hangs(now, silence());
    std::this_thread::sleep_for(options_.interval / 4);
  }
}

/// Claims the end of the run for this thread: the measuring thread then waits in its guard.
bool Heartbeat::claim_ending(std::string& what) {
  const std::lock_guard lock(mutex_);
  if (ending_ || !options_.on_stuck || !guard_) return false;
  if (over_ && !over_until_) over_until_ = Deadline::after(grace_);
  if (!guard_->passed() && !(over_until_ && over_until_->passed())) return false;
  ending_ = true;
  what = guarded_;
  return true;
}

/// Rank 0's judgement, which is also sent to the others.
std::string Heartbeat::verdict() {
  // This thread receives the heartbeats: receive the latest before judging.
  const Deadline listen = Deadline::after(silence() + options_.interval);
  while (!listen.passed() && reason().empty()) receive(options_.interval);
  return who_hangs(statuses(), silence()).text;
}

void Heartbeat::watch_guard() {
  std::string what;
  if (!claim_ending(what)) return;
  try {
    const std::string why = reason();
    std::string text = fmt::format("{} did not return in time", what);
    if (!why.empty()) text = fmt::format("{} was under way when the run ended: {}", what, why);
    if (leads_) text += ": " + verdict();
    for (std::uint32_t i = 0; leads_ && i < received_.size(); ++i) {
      star_.send(i, GroupMessage::abort, text);
    }
    options_.on_stuck(text);
  } catch (const std::exception& error) {
    end(error.what());  // on_stuck did not run: the measuring thread ends the run when its call
                        // returns
  }
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_changed_.notify_all();
}

void Heartbeat::wait_for_ending(std::unique_lock<std::mutex>& lock) {
  if (!ending_) return;
  if (ended_changed_.wait_for(lock, options_.ending_limit, [this] { return ended_; })) return;
  lock.unlock();
  if (options_.on_ending_stuck) options_.on_ending_stuck();
}

Heartbeat::Guard::Guard(Heartbeat& heartbeat, std::string what, Deadline deadline,
                        std::chrono::nanoseconds grace)
    : heartbeat_(heartbeat) {
  const std::lock_guard lock(heartbeat_.mutex_);
  heartbeat_.guarded_ = std::move(what);
  heartbeat_.guard_ = deadline;
  heartbeat_.grace_ = grace;
  heartbeat_.over_until_.reset();
}

Heartbeat::Guard::~Guard() {
  std::unique_lock lock(heartbeat_.mutex_);
  heartbeat_.guard_.reset();
  heartbeat_.wait_for_ending(lock);
}

}  // namespace rdmabench::inline v1::collective
