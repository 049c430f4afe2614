#include "rdmabench/collective/pulse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/fields.h"
#include "rdmabench/control/printable.h"

namespace rdmabench::collective {
namespace {

using control::MessageType;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "joining", "opening the library", "waiting", "preparing", "filling", "running", "checking",
    "closing"};
constexpr auto kSendLimit = std::chrono::seconds(1);

std::string to_text(const Whereabouts& where) {
  const nlohmann::ordered_json json = {{"phase", static_cast<unsigned>(where.phase)},
                                       {"operation", static_cast<unsigned>(where.operation)},
                                       {"row", where.row},
                                       {"size", where.size_bytes},
                                       {"iteration", where.iteration}};
  return json.dump();
}

Whereabouts parse_whereabouts(std::string_view text) {
  const nlohmann::json json = control::parse_object(text, "sign of life");
  return {
      .phase = static_cast<Phase>(control::get_uint(json, "phase", 0, kPhases - 1)),
      .operation = static_cast<Operation>(control::get_uint(json, "operation", 0, kOperations - 1)),
      .row = control::get_uint<std::uint32_t>(json, "row"),
      .size_bytes = control::get_uint<std::uint64_t>(json, "size"),
      .iteration = control::get_uint<std::uint64_t>(json, "iteration")};
}

std::string describe(const Whereabouts& where) {
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

/// How far it has come. While a row's results are gathered nobody is ahead of anybody.
auto progress(const Whereabouts& where) {
  return std::tuple(where.phase > Phase::opening, where.row, where.iteration);
}

}  // namespace

std::string_view name(Phase phase) noexcept {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

void Location::begin_row(std::uint32_t row, Operation operation,
                         std::uint64_t size_bytes) noexcept {
  row_.store(row, std::memory_order_relaxed);
  operation_.store(operation, std::memory_order_relaxed);
  size_.store(size_bytes, std::memory_order_relaxed);
  iteration_.store(0, std::memory_order_relaxed);
}

Whereabouts Location::read() const noexcept {
  return {.phase = phase_.load(std::memory_order_relaxed),
          .operation = operation_.load(std::memory_order_relaxed),
          .row = row_.load(std::memory_order_relaxed),
          .size_bytes = size_.load(std::memory_order_relaxed),
          .iteration = iteration_.load(std::memory_order_relaxed)};
}

std::string to_text(const Person& person) {
  return fmt::format("rank {} ({}, process {})", person.rank, person.host, person.process);
}

Blame who_hangs(const std::vector<Sign>& signs, nanoseconds silence) {
  Blame blame;
  std::vector<std::string> texts;
  const auto add = [&](const Sign& sign, const std::string& text) {
    blame.ranks.push_back(sign.person.rank);
    texts.push_back(fmt::format("{} {}", to_text(sign.person), text));
  };
  const auto finish = [&] {
    blame.text = fmt::format("{}", fmt::join(texts, "; "));
    return blame;
  };
  for (const Sign& sign : signs) {
    if (!sign.gone.empty()) {
      add(sign, fmt::format("is gone ({}); it was last {}", sign.gone, describe(sign.where)));
    }
  }
  if (!texts.empty()) return finish();
  for (const Sign& sign : signs) {
    if (sign.age > silence) {
      add(sign, fmt::format("hangs: it has been silent for {:.2f} s; it was last {}",
                            seconds(sign.age), describe(sign.where)));
    }
  }
  if (!texts.empty()) return finish();
  const auto [least, most] = std::minmax_element(
      signs.begin(), signs.end(),
      [](const Sign& a, const Sign& b) { return progress(a.where) < progress(b.where); });
  if (least == signs.end()) return blame;
  if (progress(least->where) == progress(most->where)) {
    blame.text = fmt::format(
        "all ranks are alive and at the same place ({}): the library or the network between them hangs",
        describe(least->where));
    return blame;
  }
  for (const Sign& sign : signs) {
    if (progress(sign.where) != progress(least->where)) continue;
    add(sign, fmt::format("is behind: it is {}, where {} is {}", describe(sign.where),
                          to_text(most->person), describe(most->where)));
  }
  return finish();
}

Pulse::Pulse(std::vector<Person> people, std::vector<control::Channel> channels, bool leads,
             const Location& location, PulseOptions options)
    : people_(std::move(people)),
      channels_(std::make_move_iterator(channels.begin()), std::make_move_iterator(channels.end())),
      leads_(leads),
      location_(location),
      options_(std::move(options)),
      heard_(channels_.size()) {
  for (std::size_t i = 0; i < channels_.size(); ++i) readiness_.watch(*channels_[i], i);
  thread_ = std::thread([this] { run(); });
}

Pulse::~Pulse() {
  stop_ = true;
  readiness_.wake();
  thread_.join();
}

std::string Pulse::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void Pulse::end(const std::string& reason) {
  if (expected_) return;
  const std::lock_guard lock(mutex_);
  if (reason_.empty()) reason_ = reason;
  over_ = true;
}

void Pulse::run() {
  while (!stop_) {
    try {
      if (!leads_) tell();
      for (const std::uint64_t key : readiness_.wait(Deadline::after(options_.interval))) {
        hear(static_cast<std::size_t>(key));
      }
    } catch (const std::exception& error) {
      end(error.what());
      std::this_thread::sleep_for(options_.interval);
    }
    watch_guard();
  }
}

void Pulse::tell() {
  if (over_ || expected_ || !channels_.front()) return;
  channels_.front()->send(MessageType::ready, to_text(location_.read()),
                          Deadline::after(kSendLimit));
}

/// A channel that has ended stays readable: it is let go, so that it is not asked again.
void Pulse::hear(std::size_t index) {
  if (!channels_[index]) return;
  const std::string gone = [&]() -> std::string {
    try {
      while (const auto message = channels_[index]->receive_ready("sign of life")) {
        if (message->type == MessageType::abort) return control::printable(message->payload);
        if (message->type == MessageType::bye) return "it has left";
        const Whereabouts where = parse_whereabouts(message->payload);
        const std::lock_guard lock(mutex_);
        heard_[index].where = where;
        heard_[index].when = steady_clock::now();
      }
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }();
  if (gone.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    heard_[index].gone = gone;
  }
  end(leads_ ? fmt::format("{}: {}", to_text(people_[index + 1]), gone) : gone);
  channels_[index].reset();
}

std::vector<Sign> Pulse::signs() const {
  const std::lock_guard lock(mutex_);
  std::vector<Sign> signs;
  signs.push_back({.person = people_.front(), .where = location_.read()});
  for (std::size_t i = 0; i < heard_.size(); ++i) {
    signs.push_back({.person = people_[i + 1],
                     .where = heard_[i].where,
                     .age = steady_clock::now() - heard_[i].when,
                     .gone = heard_[i].gone});
  }
  return signs;
}

Blame Pulse::explain() {
  const Deadline deadline = Deadline::after(silence() + 2 * options_.interval);
  for (;;) {
    const Blame blame = who_hangs(signs(), silence());
    const std::vector<Sign> now = signs();
    const bool sure = std::any_of(now.begin(), now.end(), [&](const Sign& sign) {
      return !sign.gone.empty() || sign.age > silence();
    });
    if (sure || deadline.passed()) return blame;
    std::this_thread::sleep_for(options_.interval / 4);
  }
}

/// From here on the ending is this thread's: the other one waits in its guard.
bool Pulse::claim_ending(std::string& what) {
  const std::lock_guard lock(mutex_);
  if (ending_ || !options_.on_stuck || !guard_ || !(guard_->passed() || over_)) return false;
  ending_ = true;
  what = guarded_;
  return true;
}

/// Rank 0's judgement, which the others are told as well.
std::string Pulse::verdict() {
  // This thread is the one that hears: listen on before judging.
  const Deadline listen = Deadline::after(silence() + options_.interval);
  while (!listen.passed() && reason().empty()) {
    for (const std::uint64_t key : readiness_.wait(Deadline::after(options_.interval))) {
      hear(static_cast<std::size_t>(key));
    }
  }
  return who_hangs(signs(), silence()).text;
}

void Pulse::watch_guard() {
  std::string what;
  if (!claim_ending(what)) return;
  try {
    const std::string why = reason();
    std::string text = fmt::format("{} did not return in time", what);
    if (!why.empty()) text = fmt::format("{} was under way when the run ended: {}", what, why);
    if (leads_) text += ": " + verdict();
    for (std::optional<control::Channel>& channel : channels_) {
      if (leads_ && channel) channel->abort(text);
    }
    options_.on_stuck(text);
  } catch (const std::exception& error) {
    end(error.what());  // nobody has ended the run: the thread that measures does when it is back
  }
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_changed_.notify_all();
}

void Pulse::wait_for_ending(std::unique_lock<std::mutex>& lock) {
  if (!ending_) return;
  if (ended_changed_.wait_for(lock, options_.ending_limit, [this] { return ended_; })) return;
  lock.unlock();
  if (options_.on_ending_stuck) options_.on_ending_stuck();
}

Pulse::Guard::Guard(Pulse& pulse, std::string what, Deadline deadline) : pulse_(pulse) {
  const std::lock_guard lock(pulse_.mutex_);
  pulse_.guarded_ = std::move(what);
  pulse_.guard_ = deadline;
}

Pulse::Guard::~Guard() {
  std::unique_lock lock(pulse_.mutex_);
  pulse_.guard_.reset();
  pulse_.wait_for_ending(lock);
}

}  // namespace rdmabench::collective
