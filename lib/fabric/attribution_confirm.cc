// Plans the confirming rounds: matchings as in the screening, in which suspects are paired with
// known-good nodes.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::uint32_t kTurns = 4;  // of the square test, then again
// A confirmed route has so many while others are tested: what these tell of dips may leave it in
// doubt again.
constexpr std::uint32_t kSureTurns = 6;

using NodePair = std::pair<std::uint32_t, std::uint32_t>;  // the lower rank first

NodePair unordered(std::uint32_t a, std::uint32_t b) {
  return {std::min(a, b), std::max(a, b)};
}

class Planner {
 public:
  Planner(const Attribution& attribution, const Matrix& matrix, const ConfirmationOptions& options)
      : attribution_(attribution), matrix_(matrix), options_(options) {}

  std::vector<Confirmation> run() {
    look_at_matrix();
    collect();
    const std::uint32_t left = options_.max_rounds - std::min(options_.max_rounds, spent_);
    const std::uint32_t rounds = std::min(options_.rounds, left);
    if (good_.empty() && fair_.empty()) return {};
    if (suspects_.empty() && !routes_open_ && elements_.empty() && !rail_open_) return {};
    random_.seed(options_.seed + spent_);
    for (round_ = 0; round_ < rounds; ++round_) plan_round();
    return std::move(plan_);
  }

 private:
  struct Route {
    std::uint32_t a;
    std::uint32_t b;
    std::uint32_t turns = 0;  // of the square test that it had
    std::size_t slow = 0;     // cells, in both directions and over all rails
    bool open = false;        // some cell is not confirmed
  };
  /// A suspect link, cable or switch.
  struct Element {
    std::vector<NodePair> pairs;  // senders and receivers over it
    std::set<NodePair> crossing;  // the same
    bool beside = false;          // next: the square test
  };

  void look_at_matrix() {
    std::set<std::uint32_t> rounds;
    std::set<std::uint32_t> rails;
    for (const Measurement& cell : matrix_.measurements) {
      rails.insert(cell.rail);
      seen_.insert(unordered(cell.sender, cell.receiver));
      if (!cell.confirming) continue;
      rounds.insert(cell.round);
      confirmed_with_.insert(unordered(cell.sender, cell.receiver));
      again_[unordered(cell.sender, cell.receiver)].insert(cell.round);
    }
    rails_.assign(rails.begin(), rails.end());
    spent_ = static_cast<std::uint32_t>(rounds.size());
  }

  void collect() {
    std::set<std::uint32_t> accused;
    std::set<std::uint32_t> ends;  // of routes alone
    for (const LostNode& node : matrix_.lost) lost_.insert(node.rank);
    std::set<std::uint32_t> suspects;
    std::map<NodePair, std::size_t> routes;  // the place in routes_
    for (const auto* list : {&attribution_.findings, &attribution_.leads}) {
      for (const Finding& finding : *list) {
        if (finding.part == Part::rail) {
          rail_open_ = rail_open_ || !finding.confirmed;
          continue;
        }
        if (!finding.element.empty()) {
          if (finding.confirmed) continue;
          elements_.push_back({finding.pairs, {finding.pairs.begin(), finding.pairs.end()}});
          continue;
        }
        if (finding.b) {
          ends.insert({finding.a, *finding.b});
        } else {
          accused.insert(finding.a);
        }
        if (lost_.count(finding.a) != 0) continue;
        if (!finding.b) {
          if (!finding.confirmed && suspects.insert(finding.a).second)
            suspects_.push_back(finding.a);
        } else if (lost_.count(*finding.b) == 0) {
          const NodePair pair = unordered(finding.a, *finding.b);
          const auto place = routes.try_emplace(pair, routes_.size()).first->second;
          if (place == routes_.size()) {
            routes_.push_back({finding.a, *finding.b, turns_of(pair)});
          }
          routes_[place].slow += finding.rail ? 1 : rails_.size();
          routes_[place].open |= !finding.confirmed;
        }
      }
    }
    routes_open_ = std::ranges::any_of(routes_, &Route::open);
    std::erase_if(routes_, [](const Route& one) { return !one.open && one.turns >= kSureTurns; });
    keep_likely_routes();
    std::set<std::uint32_t> known;
    for (const NodeSummary& node : attribution_.nodes) {
      if (node.verdict != Verdict::good) accused.insert(node.rank);
      known.insert(node.rank);
    }
    for (const std::uint32_t rank : known) {
      if (accused.count(rank) != 0) continue;
      (ends.count(rank) == 0 ? good_ : fair_).push_back(rank);
    }
  }

  /// How many turns of the square test a pair had: a-b, its ends with others, a-b and so on.
  std::uint32_t turns_of(const NodePair& pair) const {
    const auto same = again_.find(pair);
    if (same == again_.end()) return 0;
    const auto with_others = [&](std::uint32_t rank) {
      return std::any_of(again_.begin(), again_.end(), [&](const auto& other) {
        return other.first != pair && (other.first.first == rank || other.first.second == rank);
      });
    };
    const bool both = with_others(pair.first) && with_others(pair.second);
    return both ? static_cast<std::uint32_t>(same->second.size()) + 1 : 1;
  }

  /// Those first that were slow again, then those of which most cells are: a chance dip is one.
  void keep_likely_routes() {
    std::stable_sort(routes_.begin(), routes_.end(), [](const Route& one, const Route& other) {
      return std::pair(one.turns > 0, one.slow) > std::pair(other.turns > 0, other.slow);
    });
    if (routes_.size() > options_.routes) routes_.resize(options_.routes);
    for (const Route& route : routes_) confirmed_with_.insert(unordered(route.a, route.b));
  }

  void plan_round() {
    busy_.clear();
    std::shuffle(good_.begin(), good_.end(), random_);
    for (Element& element : elements_) cross(element);
    // Routes may share an end: of two alike the one goes first that had fewer turns.
    std::stable_sort(routes_.begin(), routes_.end(), [](const Route& one, const Route& other) {
      return std::pair(other.slow, one.turns) < std::pair(one.slow, other.turns);
    });
    for (Route& route : routes_) place(route);
    for (const std::uint32_t suspect : suspects_) {
      if (busy_.count(suspect) != 0) continue;
      if (const auto partner = free_good(suspect)) add(suspect, *partner, Purpose::suspect);
    }
    if (options_.controls || rail_open_) add_controls();
  }

  /// In turn pairs over one suspect link or switch, as many as leave the rest of the nodes to
  /// others, and the square test for them: both ends of such a pair with good nodes, over pairs
  /// that are known not to cross it.
  void cross(Element& element) {
    constexpr int kMostPairs = 4;  // of one element in one round
    std::shuffle(element.pairs.begin(), element.pairs.end(), random_);
    int taken = 0;
    for (const NodePair& pair : element.pairs) {
      if (taken >= kMostPairs) break;
      const std::uint32_t sender = pair.first;
      const std::uint32_t receiver = pair.second;
      if (busy_.count(sender) + busy_.count(receiver) != 0) continue;
      if (!element.beside) {
        add(sender, receiver, Purpose::again);
        ++taken;
        continue;
      }
      if (const auto d =
              free_beside(element, [&](std::uint32_t rank) { return NodePair(sender, rank); })) {
        add(sender, *d, Purpose::square);
        ++taken;
      }
      if (const auto c =
              free_beside(element, [&](std::uint32_t rank) { return NodePair(rank, receiver); })) {
        add(*c, receiver, Purpose::square);
        ++taken;
      }
    }
    element.beside = !element.beside;
  }

  /// A good node that is free, and of which the screening measured that pair beside the element.
  template <class PairWith>
  std::optional<std::uint32_t> free_beside(const Element& element, PairWith&& pair_with) const {
    for (const std::uint32_t rank : good_) {
      const NodePair pair = pair_with(rank);
      if (busy_.count(pair.first) + busy_.count(pair.second) == 0 && pair.first != pair.second &&
          seen_.count(unordered(pair.first, pair.second)) != 0 && element.crossing.count(pair) == 0)
        return rank;
    }
    return std::nullopt;
  }

  /// The square test, one turn per round: a-b; a-d and c-b; twice a-b and c-d; and so on.
  void place(Route& route) {
    if (busy_.count(route.a) + busy_.count(route.b) != 0) return;
    if (route.turns % kTurns != 1) {
      add(route.a, route.b, Purpose::again);
      if (route.turns > 0) {
        if (const auto c = free_good({})) {
          busy_.insert(*c);
          const auto d = free_good(*c);
          busy_.erase(*c);
          if (d) add(*c, *d, Purpose::square);
        }
      }
    } else {
      const auto d = free_good(route.a);
      if (!d) return;
      add(route.a, *d, Purpose::square);
      if (const auto c = free_good(route.b)) add(*c, route.b, Purpose::square);
    }
    ++route.turns;
  }

  /// A good node that is free in this round: preferably one that the partner never met, else one it
  /// has not met in a confirming round. An end of a slow route is good over other routes, and is
  /// taken where there is no other: a disturbance of one round may make a slow route of every pair
  /// in it.
  std::optional<std::uint32_t> free_good(std::optional<std::uint32_t> partner) const {
    const auto found = free_one(good_, partner);
    return found ? found : free_one(fair_, partner);
  }

  std::optional<std::uint32_t> free_one(const std::vector<std::uint32_t>& ranks,
                                        std::optional<std::uint32_t> partner) const {
    std::optional<std::uint32_t> second;
    for (const std::uint32_t rank : ranks) {
      if (busy_.count(rank) != 0 || rank == partner) continue;
      if (!partner) return rank;
      const NodePair pair = unordered(rank, *partner);
      if (confirmed_with_.count(pair) != 0) continue;
      if (seen_.count(pair) == 0) return rank;
      if (!second) second = rank;
    }
    return second;
  }

  void add_controls() {
    std::optional<std::uint32_t> first;
    for (const std::uint32_t rank : good_) {
      if (busy_.count(rank) != 0) continue;
      if (first) {
        add(*first, rank, Purpose::control);
        first.reset();
      } else {
        first = rank;
      }
    }
  }

  void add(std::uint32_t a, std::uint32_t b, Purpose purpose) {
    busy_.insert({a, b});
    confirmed_with_.insert(unordered(a, b));
    for (const auto& [sender, receiver] : {std::pair(a, b), std::pair(b, a)}) {
      for (const std::uint32_t rail : rails_) {
        plan_.push_back({round_, sender, receiver, rail, purpose});
      }
    }
  }

  const Attribution& attribution_;
  const Matrix& matrix_;
  const ConfirmationOptions& options_;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> rails_;
  std::set<NodePair> seen_;
  std::set<NodePair> confirmed_with_;
  std::map<NodePair, std::set<std::uint32_t>> again_;  ///< confirming rounds by pair
  std::set<std::uint32_t> lost_;
  std::uint32_t spent_ = 0;
  std::vector<std::uint32_t> suspects_;
  std::vector<Route> routes_;
  bool routes_open_ = false;
  std::vector<Element> elements_;
  bool rail_open_ = false;
  std::vector<std::uint32_t> good_;
  std::vector<std::uint32_t> fair_;  ///< good but for a slow route
  std::set<std::uint32_t> busy_;
  std::uint32_t round_ = 0;
  std::vector<Confirmation> plan_;
};

}  // namespace

std::vector<Confirmation> confirmations(const Attribution& attribution, const Matrix& matrix,
                                        const ConfirmationOptions& options) {
  return Planner(attribution, matrix, options).run();
}

}  // namespace rdmabench::inline v1::fabric
