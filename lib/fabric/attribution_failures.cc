#include "attribution_judge.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace rdmabench::inline v1::fabric {
namespace {

constexpr double kMost = 0.5;  // an end is blamed if at least this share of its measurements failed

/// A node in one direction or in both, on one rail or on all.
struct Scope {
  Part part = Part::node;
  std::uint32_t node = 0;
  std::optional<std::uint32_t> rail;

  bool holds(std::uint32_t sender, std::uint32_t receiver, std::uint32_t on) const {
    if (rail && *rail != on) return false;
    return (part != Part::receiver && sender == node) || (part != Part::sender && receiver == node);
  }
  auto key() const { return std::tuple(part, node, rail); }
  bool operator<(const Scope& other) const { return key() < other.key(); }
};

struct Count {
  std::uint32_t failed = 0;
  std::uint32_t tried = 0;
  std::map<std::uint32_t, std::uint32_t> partners;  // number of failures by partner

  double share() const { return tried == 0 ? 0 : static_cast<double>(failed) / tried; }
};

class Counts {
 public:
  /// Counts only ends with a failure.
  explicit Counts(const Slice& slice) {
    for (const FailedCell& cell : slice.failed) {
      change(cell.sender, cell.receiver, cell.rail, [](Count& count, std::uint32_t partner) {
        ++count.tried;
        ++count.failed;
        ++count.partners[partner];
      });
    }
    for (const auto* list : {&slice.screening, &slice.confirming}) {
      for (const Cell& cell : *list) {
        change(
            cell.sender, cell.receiver, cell.rail,
            [](Count& count, std::uint32_t) { ++count.tried; }, false);
      }
    }
  }

  void remove(const FailedCell& cell) {
    change(cell.sender, cell.receiver, cell.rail, [](Count& count, std::uint32_t partner) {
      --count.tried;
      --count.failed;
      if (--count.partners[partner] == 0) count.partners.erase(partner);
    });
  }

  /// The end with the most failures, then with the largest share of failures. At a tie a node comes
  /// before a direction, and all rails before one.
  std::optional<std::pair<Scope, Count>> worst() const {
    const std::pair<const Scope, Count>* most = nullptr;
    for (const auto& entry : counts_) {
      const Count& count = entry.second;
      if (count.partners.size() < kMinPartners || count.share() < kMost) continue;
      if (most != nullptr && std::tuple(count.failed, count.share()) <=
                                 std::tuple(most->second.failed, most->second.share())) {
        continue;
      }
      most = &entry;
    }
    if (most == nullptr) return {};
    return std::pair<Scope, Count>(*most);
  }

 private:
  template <class Change>
  void change(std::uint32_t sender, std::uint32_t receiver, std::uint32_t rail, Change apply,
              bool create = true) {
    const auto one = [&](Part part, std::uint32_t node, std::uint32_t partner) {
      for (const auto& on : {std::optional(rail), std::optional<std::uint32_t>()}) {
        const Scope scope{part, node, on};
        const auto found = counts_.find(scope);
        if (found != counts_.end()) {
          apply(found->second, partner);
        } else if (create) {
          apply(counts_[scope], partner);
        }
      }
    };
    one(Part::sender, sender, receiver);
    one(Part::receiver, receiver, sender);
    one(Part::node, sender, receiver);
    one(Part::node, receiver, sender);
  }

  std::map<Scope, Count> counts_;
};

/// Failed pairs that no end explains are routes.
void add_routes(const Slice& slice, const std::vector<FailedCell>& left,
                std::vector<Failing>& found) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Failing> routes;
  for (const FailedCell& cell : left) {
    Failing& route = routes[{cell.sender, cell.receiver, cell.rail}];
    if (route.failed == 0) {
      route = {Part::route, cell.sender, cell.receiver, cell.rail, 0, 0, 1, *cell.error};
    }
    ++route.failed;
    ++route.tried;
  }
  for (const auto* list : {&slice.screening, &slice.confirming}) {
    for (const Cell& cell : *list) {
      const auto route = routes.find({cell.sender, cell.receiver, cell.rail});
      if (route != routes.end()) ++route->second.tried;
    }
  }
  for (auto& [key, route] : routes) found.push_back(std::move(route));
}

}  // namespace

std::vector<Failing> failing_parts(const Slice& slice) {
  std::vector<Failing> found;
  std::vector<FailedCell> left = slice.failed;
  if (left.empty()) return found;
  Counts counts(slice);
  while (const auto worst = counts.worst()) {
    const auto& scope = worst->first;
    const auto& count = worst->second;
    const auto innocent = [&scope](const FailedCell& cell) {
      return !scope.holds(cell.sender, cell.receiver, cell.rail);
    };
    const auto blamed = std::stable_partition(left.begin(), left.end(), innocent);
    found.push_back({scope.part, scope.node, std::nullopt, scope.rail, count.failed, count.tried,
                     static_cast<std::uint32_t>(count.partners.size()), *blamed->error});
    for (auto cell = blamed; cell != left.end(); ++cell) counts.remove(*cell);
    left.erase(blamed, left.end());
  }
  add_routes(slice, left, found);
  return found;
}

}  // namespace rdmabench::inline v1::fabric
