// Agents without processes, links or sockets: each does what its part says.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fabric/agents.h"
#include "fabric/coordinator.h"
#include "fabric/plan.h"
#include "messages.h"

namespace rdmabench::inline v1::fabric {

/// What a simulated link gives: half of everything to one end, so that directions differ.
inline Measurement simulated(const Measurement& cell, std::uint32_t sender) {
  Measurement done = cell;
  done.value = cell.metric == Metric::latency ? 2000.0 + sender : 1e11 - 1e6 * cell.receiver;
  if (cell.metric == Metric::latency) done.p99_ns = 3 * done.value;
  return done;
}

/// All cells of an order, as a good agent measures them.
inline std::vector<Measurement> answers(const MeasureOrder& order, const FabricPlan& plan,
                                        std::uint32_t sender) {
  std::vector<Measurement> cells;
  for (const Target& target : order.targets) {
    for (const std::uint32_t rail : order.rails) {
      const auto add = [&](Metric metric, std::uint64_t size) {
        cells.push_back(simulated(
            {.receiver = target.rank, .rail = rail, .metric = metric, .size_bytes = size}, sender));
      };
      for (const std::uint64_t size : plan.latency_sizes) add(Metric::latency, size);
      for (const std::uint64_t size : plan.bandwidth_sizes) add(Metric::bandwidth, size);
    }
  }
  return cells;
}

class FakeAgents final : public control::Ranks {
 public:
  explicit FakeAgents(FabricPlan plan) : plan_(std::move(plan)) {}

  /// From the order of that number on, the rank says and does nothing any more.
  void hang(std::uint32_t rank, std::uint64_t from = 0) { hung_[rank] = from; }
  /// ... its connection ends.
  void die(std::uint32_t rank, std::uint64_t from = 0) { dies_[rank] = from; }
  /// ... it answers when it is asked whether it is there, but no order.
  void stick(std::uint32_t rank) { stuck_.insert(rank); }
  /// ... a route without a way.
  void cut(std::uint32_t sender, std::uint32_t receiver) { cut_.insert({sender, receiver}); }
  /// Answers orders by this instead.
  void lie(std::uint32_t rank, std::function<std::string(const MeasureOrder&)> answer) {
    lies_[rank] = std::move(answer);
  }
  /// Answers the goodbye by that.
  void tell(std::uint32_t rank, std::string bytes) { told_[rank] = std::move(bytes); }
  /// How long those who wait for a hung one take to notice.

  std::vector<std::pair<std::uint32_t, MeasureOrder>> orders;
  std::vector<std::pair<std::uint32_t, std::string>> dropped;
  std::set<std::uint32_t> sent_home;
  int asked = 0;

  void send(std::uint32_t rank, control::MessageType type, std::string_view payload) override {
    if (type == FabricMessage::bye) {
      sent_home.insert(rank);
      if (told_.contains(rank)) {
        post({.rank = rank, .type = FabricMessage::bye, .text = told_[rank]});
      }
      return post({.rank = rank, .ended = true, .text = "closed the connection"});
    }
    if (type == FabricMessage::order) last_order_ = parse<MeasureOrder>(payload).number;
    if (is_gone(rank)) return;
    if (const auto death = dies_.find(rank); death != dies_.end() && last_order_ >= death->second) {
      gone_.insert(rank);
      return post({.rank = rank, .ended = true, .text = "closed the connection"});
    }
    if (type == FabricMessage::ready) {
      ++asked;
      if (!is_hung(rank)) post({.rank = rank, .type = FabricMessage::ready});
    }
    if (type == FabricMessage::order) take_order(rank, parse<MeasureOrder>(payload));
  }

  void wait(Deadline deadline, std::vector<Event>& events) override {
    do {
      const auto now = Deadline::Clock::now();
      while (!queue_.empty() && queue_.begin()->first <= now) {
        events.push_back(std::move(queue_.begin()->second));
        queue_.erase(queue_.begin());
      }
      if (!events.empty() || deadline.passed()) return;
      auto nap = deadline.left();
      if (!queue_.empty()) {
        nap = std::min(nap, std::chrono::nanoseconds(queue_.begin()->first - now));
      }
      std::this_thread::sleep_for(nap);
    } while (true);
  }

  void drop(std::uint32_t rank, std::string_view reason) override {
    dropped.emplace_back(rank, reason);
    gone_.insert(rank);
  }

 private:
  bool is_gone(std::uint32_t rank) const { return gone_.contains(rank); }
  bool is_hung(std::uint32_t rank) const {
    const auto found = hung_.find(rank);
    return found != hung_.end() && last_order_ >= found->second;
  }

  void post(Event event, std::chrono::milliseconds after = {}) {
    queue_.emplace(Deadline::Clock::now() + after, std::move(event));
  }

  void take_order(std::uint32_t rank, const MeasureOrder& order) {
    orders.emplace_back(rank, order);
    if (is_hung(rank) || stuck_.contains(rank)) return;
    if (const auto liar = lies_.find(rank); liar != lies_.end()) {
      return post({.rank = rank, .type = FabricMessage::results, .text = liar->second(order)});
    }
    Results results{.number = order.number, .last = true, .cells = answers(order, plan_, rank)};
    bool waits = false;
    for (Measurement& cell : results.cells) {
      const bool silent = is_hung(cell.receiver);
      if (!silent && !is_gone(cell.receiver) && !cut_.contains({rank, cell.receiver})) continue;
      waits = waits || silent;
      cell.value = cell.p99_ns = 0;
      cell.error = silent ? "the peer said nothing" : "connection refused";
    }
    post({.rank = rank, .type = FabricMessage::results, .text = to_text(results)},
         waits ? patience_ : std::chrono::milliseconds(0));
  }

  FabricPlan plan_;
  std::multimap<Deadline::Clock::time_point, Event> queue_;
  std::map<std::uint32_t, std::uint64_t> hung_, dies_;
  std::set<std::uint32_t> stuck_, gone_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cut_;
  std::map<std::uint32_t, std::function<std::string(const MeasureOrder&)>> lies_;
  std::map<std::uint32_t, std::string> told_;
  std::chrono::milliseconds patience_{60};
  std::uint64_t last_order_ = 0;
};

inline AdmittedAgents everybody(std::uint32_t size, std::size_t rails = 1) {
  AdmittedAgents admitted;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    Member member;
    member.node = {.rank = rank, .host = "host" + std::to_string(rank), .rails = {"auto"}};
    member.address = "192.0.2.1";
    member.ports.assign(rails, 1000);
    admitted.members.push_back(member);
  }
  return admitted;
}

struct Kept final : Recorder {
  std::vector<Measurement> measurements;
  std::vector<LostNode> lost;
  int rounds = 0;

  void add(const Measurement& one) override { measurements.push_back(one); }
  void add(const LostNode& one) override { lost.push_back(one); }
  void end_round() override { ++rounds; }
};

}  // namespace rdmabench::inline v1::fabric
