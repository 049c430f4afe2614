#include "confirm.h"

#include <algorithm>
#include <map>
#include <set>

namespace rdmabench::fabric {
namespace {

constexpr int kMostPlans = 16;  // each spends at least one of ConfirmationOptions::max_rounds

bool is_free(const Step& step, const Pair& pair) {
  return std::none_of(step.begin(), step.end(), [&](const Pair& other) {
    return other.sender == pair.sender || other.sender == pair.receiver ||
           other.receiver == pair.sender || other.receiver == pair.receiver;
  });
}

}  // namespace

std::vector<Round> rounds_of(const std::vector<Confirmation>& wanted) {
  std::map<std::uint32_t, Round> rounds;
  std::set<std::pair<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>> seen;
  for (const Confirmation& one : wanted) {
    if (!seen.insert({one.round, {one.sender, one.receiver}}).second) continue;  // another rail
    std::vector<Step>& steps = rounds[one.round].steps;
    const Pair pair{one.sender, one.receiver};
    auto step = std::find_if(steps.begin(), steps.end(),
                             [&](const Step& some) { return is_free(some, pair); });
    if (step == steps.end()) step = steps.insert(steps.end(), Step());
    step->push_back(pair);
  }
  std::vector<Round> found;
  for (auto& [number, round] : rounds) {
    round.pattern = "confirm";
    found.push_back(std::move(round));
  }
  return found;
}

Attribution confirm(Coordinator& coordinator, std::uint32_t& number,
                    const ConfirmationOptions& options, const Topology* topology,
                    const std::function<void()>& done, const std::stop_token& stop) {
  Attribution verdict = attribute(coordinator.matrix(), {}, topology);
  for (int i = 0; i < kMostPlans; ++i) {
    const std::size_t before = coordinator.matrix().measurements.size();
    for (const Round& round : rounds_of(confirmations(verdict, coordinator.matrix(), options))) {
      if (stop.stop_requested()) return verdict;
      coordinator.measure(round, number++, true);
      done();
    }
    if (coordinator.matrix().measurements.size() == before) break;  // nothing open, no nodes left
    verdict = attribute(coordinator.matrix(), {}, topology);
  }
  return verdict;
}

}  // namespace rdmabench::fabric
