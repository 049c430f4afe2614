#include "fabric/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <numeric>

#include "fabric/plan.h"
#include "json_fields.h"
#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::fabric {
namespace {

using std::chrono::nanoseconds;

// The kernel's cache of counters may have to grow old for a second.
constexpr auto kCounterLimit = std::chrono::seconds(2);

double thread_cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / kNsPerMs;
}

double seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// Identifies an ordered pair in a round.
std::uint64_t key_of(std::uint32_t round, std::uint32_t sender, std::uint32_t receiver) {
  static_assert(kMaxNodes <= 4096);
  return (std::uint64_t{round} << 24) | (std::uint64_t{sender} << 12) | receiver;
}

/// Whether the two are the same cell of an order.
bool same_cell(const Measurement& a, const Measurement& b) {
  return a.receiver == b.receiver && a.rail == b.rail && a.metric == b.metric &&
         a.size_bytes == b.size_bytes;
}

}  // namespace

/// The task of one sender in a step, and the results received so far.
struct Coordinator::Work {
  std::uint32_t sender = 0;
  std::vector<std::uint32_t> targets{};
  std::vector<Measurement> cells{};
  std::vector<bool> filled{};
  std::size_t next = 0;  ///< where to look first: results mostly come in order
  bool done = false;
};

Coordinator::Coordinator(control::Ranks& agents, const FabricPlan& plan, AdmittedAgents admitted,
                         Recorder& recorder, const CoordinatorOptions& options)
    : agents_(agents),
      recorder_(recorder),
      options_(options),
      members_(std::move(admitted.members)),
      here_(members_.size(), true),
      asked_(members_.size(), false),
      alive_(static_cast<std::uint32_t>(members_.size())),
      beat_(Deadline::after(options.answer_limit)) {
  if (options_.step_limit == nanoseconds(0)) options_.step_limit = step_limit(plan);
  matrix_.plan = plan;
  for (const Member& member : members_) matrix_.nodes.push_back(member.node);
  for (const LostNode& lost : admitted.lost) lose(lost.rank, lost.reason);
}

Coordinator::~Coordinator() = default;

void Coordinator::resume(std::vector<Measurement> earlier) {
  std::map<std::uint64_t, std::size_t> good;
  for (const Measurement& one : earlier) {
    if (one.confirming || !one.error.empty()) continue;
    const std::uint64_t key = key_of(one.round, one.sender, one.receiver);
    if (++good[key] == cells_of(matrix_.plan)) finished_.insert(key);
  }
  // Pairs that are measured again would be there twice; confirming rounds are planned again.
  std::erase_if(earlier, [&](const Measurement& one) {
    return one.confirming || !finished_.contains(key_of(one.round, one.sender, one.receiver));
  });
  matrix_.measurements = std::move(earlier);
}

Step Coordinator::still_to_do(const Step& step) const {
  Step left;
  for (const Pair& pair : step) {
    if (!here_.at(pair.sender) || !here_.at(pair.receiver)) continue;
    if (finished_.contains(key_of(round_, pair.sender, pair.receiver))) continue;
    left.push_back(pair);
  }
  return left;
}

void Coordinator::measure(const Round& round, std::uint32_t number, bool confirming) {
  const double cpu_before = thread_cpu_ms();
  round_ = number;
  for (const Step& step : round.steps) {
    for (Measurement& one : run_and_repeat(still_to_do(step))) {
      one.round = number;
      one.pattern = round.pattern;
      one.confirming = confirming;
      recorder_.add(one);
      matrix_.measurements.push_back(std::move(one));
    }
  }
  recorder_.end_round();
  costs_.push_back({.round = number, .own_ms = thread_cpu_ms() - cpu_before});
}

std::vector<Measurement> Coordinator::run_and_repeat(const Step& step) {
  const std::uint32_t before = alive_;
  std::vector<Measurement> found = run_step(step);
  if (alive_ == before) return found;
  // Nodes that waited for a lost node may have failed with other partners too.
  const auto failed_here = [this](const Measurement& one) {
    return !one.error.empty() && here_[one.sender] && here_[one.receiver];
  };
  Step again;
  for (const Pair& pair : step) {
    const bool failed = std::any_of(found.begin(), found.end(), [&](const Measurement& one) {
      return one.sender == pair.sender && one.receiver == pair.receiver && failed_here(one);
    });
    if (failed) again.push_back(pair);
  }
  std::erase_if(found, [&](const Measurement& one) {
    return std::any_of(again.begin(), again.end(), [&](const Pair& pair) {
      return one.sender == pair.sender && one.receiver == pair.receiver;
    });
  });
  for (Measurement& one : run_step(again)) found.push_back(std::move(one));
  return found;
}

std::vector<Measurement> Coordinator::run_step(const Step& step) {
  if (step.empty()) return {};
  give_out(step);
  await_results();
  ask_those_of_failures();
  std::vector<Measurement> found;
  for (Work& work : works_) {
    std::move(work.cells.begin(), work.cells.end(), std::back_inserter(found));
  }
  works_.clear();
  return found;
}

/// One order for each sender, with all its targets.
void Coordinator::give_out(const Step& step) {
  const FabricPlan& plan = matrix_.plan;
  ++number_;
  works_.clear();
  open_ = 0;
  work_.assign(members_.size(), step.size());
  std::vector<std::uint32_t> senders_of(members_.size(), 0);
  std::vector<std::uint32_t> rails(rails_of(plan));
  std::iota(rails.begin(), rails.end(), 0U);
  for (const Pair& pair : step) {
    if (work_[pair.sender] == step.size()) {
      work_[pair.sender] = works_.size();
      works_.push_back({.sender = pair.sender});
    }
    Work& work = works_[work_[pair.sender]];
    work.targets.push_back(pair.receiver);
    ++senders_of[pair.receiver];
    for (const std::uint32_t rail : rails) {
      const auto expect = [&](Metric metric, std::uint64_t size) {
        work.cells.push_back({.sender = pair.sender,
                              .receiver = pair.receiver,
                              .rail = rail,
                              .metric = metric,
                              .size_bytes = size});
      };
      for (const std::uint64_t size : plan.latency_sizes) expect(Metric::latency, size);
      for (const std::uint64_t size : plan.bandwidth_sizes) expect(Metric::bandwidth, size);
    }
  }
  open_ = works_.size();
  for (Work& work : works_) {
    work.filled.assign(work.cells.size(), false);
    send_order(work, work.targets.size() == 1 ? senders_of[work.targets[0]] : 1, rails);
  }
}

void Coordinator::send_order(const Work& work, std::uint32_t senders,
                             const std::vector<std::uint32_t>& rails) {
  MeasureOrder order{.number = number_, .senders = senders, .rails = rails, .targets = {}};
  for (const std::uint32_t target : work.targets) {
    const Member& member = members_[target];
    order.targets.push_back({.rank = target, .address = member.address, .ports = member.ports});
  }
  agents_.send(work.sender, FabricMessage::order, to_text(order));
}

void Coordinator::await_results() {
  const Deadline limit = Deadline::after(options_.step_limit);
  while (open_ > 0) {
    take_next(Deadline::after(std::min(limit.left(), beat_.left())));
    if (beat_.passed()) beat();
    if (!limit.passed()) continue;
    drain();
    for (const Work& work : works_) {
      if (work.done) continue;
      lose(work.sender, fmt::format("it answers, but its measurement did not end within {:.3g} s",
                                    seconds(options_.step_limit)));
    }
  }
}

void Coordinator::ask(std::uint32_t rank) {
  asked_[rank] = true;
  agents_.send(rank, FabricMessage::ready, {});
}

/// A node that was asked at the last beat and has not answered since is lost; all others are asked
/// now. So a hung node delays a step by at most two beats.
void Coordinator::beat() {
  drain();
  beat_ = Deadline::after(options_.answer_limit);
  for (std::uint32_t rank = 0; rank < here_.size(); ++rank) {
    if (!here_[rank]) continue;
    if (asked_[rank]) {
      lose(rank, fmt::format("no answer within {:.3g} s", seconds(options_.answer_limit)));
    } else {
      ask(rank);
    }
  }
}

/// Asks both ends of every failed measurement whether they are still there.
void Coordinator::ask_those_of_failures() {
  std::vector<std::uint32_t> ranks;
  for (const Work& work : works_) {
    for (const Measurement& cell : work.cells) {
      if (cell.error.empty()) continue;
      ranks.push_back(cell.sender);
      ranks.push_back(cell.receiver);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::erase_if(ranks, [this](std::uint32_t rank) { return !here_[rank]; });
  if (ranks.empty()) return;
  drain();
  for (const std::uint32_t rank : ranks) ask(rank);
  const Deadline limit = Deadline::after(options_.answer_limit);
  const auto silent = [this](std::uint32_t rank) { return here_[rank] && asked_[rank]; };
  while (std::any_of(ranks.begin(), ranks.end(), silent) && !limit.passed()) take_next(limit);
  drain();
  for (const std::uint32_t rank : ranks) {
    if (!silent(rank)) continue;
    lose(rank, fmt::format("no answer within {:.3g} s", seconds(options_.answer_limit)));
  }
}

void Coordinator::take_next(Deadline deadline) {
  events_.clear();
  agents_.wait(deadline, events_);
  for (const control::Ranks::Event& event : events_) take(event);
}

/// Takes all events that have arrived, so that no node is called silent whose answer is waiting.
/// Bounded, because a node may send without end.
void Coordinator::drain() {
  constexpr int kMostTurns = 256;
  for (int i = 0; i < kMostTurns; ++i) {
    take_next(Deadline::after(nanoseconds(0)));
    if (events_.empty()) return;
  }
}

void Coordinator::take(const control::Ranks::Event& event) {
  if (event.rank >= here_.size() || !here_[event.rank]) return;
  asked_[event.rank] = false;
  const bool gave_up = event.type == FabricMessage::abort;
  if (event.ended) {
    return lose(event.rank, (gave_up ? "it gave up: " : "") + ascii_only(event.text));
  }
  try {
    switch (event.type.as<FabricMessage>()) {
      case FabricMessage::ready:
        return;
      case FabricMessage::results:
        return take_results(event.rank, event.text);
      default:
        return lose(event.rank, fmt::format("it sent '{}' instead of a result",
                                            name_of(event.type.as<FabricMessage>())));
    }
  } catch (const std::exception& error) {
    lose(event.rank, fmt::format("invalid answer: {}", error.what()));
  }
}

void Coordinator::take_results(std::uint32_t rank, std::string_view text) {
  Results results = parse<Results>(text);
  const std::size_t index = work_.empty() ? works_.size() : work_[rank];
  if (index >= works_.size() || works_[index].done || results.number != number_) {
    throw Error(Fault::failed,
                fmt::format("results of order {}, which it does not have", results.number));
  }
  Work& work = works_[index];
  for (Measurement& cell : results.cells) {
    std::size_t tries = 0;
    while (tries < work.cells.size() && !same_cell(work.cells[work.next], cell)) {
      work.next = (work.next + 1) % work.cells.size();
      ++tries;
    }
    if (tries == work.cells.size() || work.filled[work.next]) {
      throw Error(Fault::failed,
                  fmt::format("{} of {} bytes to node {} on rail {} was not asked for",
                              name(cell.metric), cell.size_bytes, cell.receiver, cell.rail));
    }
    cell.sender = rank;
    cell.error = ascii_only(cell.error, kMaxText - 4);
    cell.over = ascii_only(cell.over, kMaxText - 4);
    cell.line_origin = ascii_only(cell.line_origin, kMaxText - 4);
    for (std::string& note : cell.notes) note = ascii_only(note, kMaxText - 4);
    work.filled[work.next] = true;
    work.cells[work.next] = std::move(cell);
  }
  if (results.last) close(work, "the sender gave no result");
}

void Coordinator::close(Work& work, const std::string& error) {
  for (std::size_t i = 0; i < work.cells.size(); ++i) {
    if (work.filled[i]) continue;
    const Measurement& cell = work.cells[i];
    work.cells[i] = {.sender = cell.sender,
                     .receiver = cell.receiver,
                     .rail = cell.rail,
                     .metric = cell.metric,
                     .size_bytes = cell.size_bytes,
                     .error = error};
  }
  if (!work.done) --open_;
  work.done = true;
}

void Coordinator::lose(std::uint32_t rank, const std::string& reason) {
  if (!here_[rank]) return;
  here_[rank] = false;
  --alive_;
  const LostNode lost{.rank = rank, .round = round_, .reason = reason.substr(0, kMaxText)};
  matrix_.lost.push_back(lost);
  recorder_.add(lost);
  agents_.drop(rank, reason);
  const std::size_t index = work_.empty() ? works_.size() : work_[rank];
  if (index < works_.size() && !works_[index].done) {
    std::vector<bool>& filled = works_[index].filled;
    filled.assign(filled.size(), false);  // a lost node's partial results are not trusted
    close(works_[index], fmt::format("the sender was lost: {}", reason).substr(0, kMaxText));
  }
}

void Coordinator::take_bytes(const control::Ranks::Event& event) {
  if (event.rank >= here_.size() || !here_[event.rank]) return;
  NodeBytes& node = matrix_.bytes[event.rank];
  if (!event.ended && event.type != FabricMessage::bye) return;  // the answer to a beat
  here_[event.rank] = false;                                     // nothing more is expected of it
  if (event.ended) return;
  try {
    node.devices = parse<std::vector<DeviceBytes>>(event.text);
  } catch (const std::exception&) {
    return;  // like one that tells nothing: its devices cannot be judged
  }
  node.told = true;
  for (DeviceBytes& one : node.devices) one.device = ascii_only(one.device, kMaxWord - 4);
}

void Coordinator::finish(bool ask, bool stopped) {
  const std::string_view word = stopped || !matrix_.lost.empty() ? kLast : "";
  for (std::uint32_t rank = 0; rank < here_.size(); ++rank) {
    if (here_[rank]) agents_.send(rank, FabricMessage::bye, word);
  }
  if (!ask) return;
  const std::vector<bool> there = here_;
  matrix_.bytes.resize(there.size());
  const Deadline limit = Deadline::after(options_.answer_limit + kCounterLimit);
  while (std::find(here_.begin(), here_.end(), true) != here_.end() && !limit.passed()) {
    events_.clear();
    agents_.wait(limit, events_);
    for (const control::Ranks::Event& event : events_) take_bytes(event);
  }
  for (std::uint32_t rank = 0; rank < there.size(); ++rank) matrix_.bytes[rank].rank = rank;
  std::erase_if(matrix_.bytes, [&](const NodeBytes& node) { return !there[node.rank]; });
}

}  // namespace rdmabench::inline v1::fabric
