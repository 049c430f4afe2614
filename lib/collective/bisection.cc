// Which node, or which boundary, makes all nodes together slow.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "division.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {
namespace {

using Nodes = std::vector<std::uint32_t>;

Nodes joined(Nodes a, const Nodes& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  return a;
}

std::pair<Nodes, Nodes> halves(const Nodes& nodes) {
  const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>((nodes.size() + 1) / 2);
  return {Nodes(nodes.begin(), middle), Nodes(middle, nodes.end())};
}

class Bisection {
 public:
  Bisection(const Pass& pass, const std::vector<std::string>& hosts, double share)
      : pass_(pass), share_(share) {
    const bool one_host = std::count(hosts.begin(), hosts.end(), hosts.front()) ==
                          static_cast<std::ptrdiff_t>(hosts.size());
    std::map<std::string, std::uint32_t> known;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      const std::string name = one_host ? fmt::format("rank {}", rank) : hosts[rank];
      const auto [node, fresh] = known.try_emplace(name, names_.size());
      if (fresh) names_.push_back(name);
      node_of_.push_back(node->second);
    }
    constexpr std::size_t kFewest = 4;
    if (names_.size() >= kFewest) return;
    throw Error(Fault::usage, fmt::format("{} nodes to bisect", names_.size()),
                "Groups of two nodes are the smallest, and are compared: start 4 or more.");
  }

  /// Every pair of quarters, of which each quarter is in three.
  Bisected run() {
    const std::size_t quarter = names_.size() / 4;
    size_ = 2 * quarter;
    std::array<Nodes, 4> parts;
    for (std::uint32_t node = 0; node < names_.size(); ++node) {
      if (node < 4 * quarter) parts[node / quarter].push_back(node);
    }
    std::array<std::array<Value, 4>, 4> values{};
    for (const auto& [a, b, c, d] : {std::array{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}}) {
      const std::vector<Value> pass =
          measure({joined(parts[a], parts[b]), joined(parts[c], parts[d])});
      values[a][b] = values[b][a] = pass[0];
      values[c][d] = values[d][c] = pass[1];
    }
    const auto good_with = [&](int a, int b) { return a != b && !is_bad(values[a][b]); };
    std::array<bool, 4> good{};
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) good[i] = good[i] || good_with(i, j);
      if (good[i]) good_ = joined(good_, parts[i]);
    }
    for (int i = 0; i < 4; ++i) {
      if (!good[i]) narrow(parts[i]);
    }
    follow({parts[0], parts[1]}, {parts[2], parts[3]}, [&](int left, int right) {
      return good[left] && good[right + 2] && !good_with(left, right + 2);
    });
    for (const auto& [a, b] : {std::pair{0, 1}, std::pair{2, 3}}) {
      if (good[a] && good[b] && !good_with(a, b)) between(parts[a], parts[b]);
    }
    for (auto node = static_cast<std::uint32_t>(4 * quarter); node < names_.size(); ++node) {
      if (bad_of({{node}}).front()) name({{node}});
    }
    if (found_.suspects.empty()) found_.text = "no part of the nodes is slower than the others";
    found_.text = fmt::format("{} (passes: {})", found_.text, passes_);
    return found_;
  }

 private:
  /// Bus bandwidth, by the interval around the median. Wrong results count as none.
  struct Value {
    double low = 0;
    double high = 0;
  };
  static Value value_of(const Row& row) {
    if (row.results.wrong_operations > 0 || !row.bus_bytes_per_s) return {};
    const measure::LatencySummary& time = row.numbers.time;
    const double scale = *row.bus_bytes_per_s * time.p50_ns;
    return {scale / time.median_high_ns, scale / time.median_low_ns};
  }
  /// Even at the upper end of its interval, against the lower end of the best.
  bool is_bad(const Value& value) const { return value.high < share_ * best_; }

  /// What each group reaches. The nodes in none are one more group, so that the network is shared
  /// as before.
  std::vector<Value> measure(const std::vector<Nodes>& groups) {
    constexpr std::uint32_t kNone = ~0U;
    std::vector<std::uint32_t> group_of_node(names_.size(), kNone);
    for (std::uint32_t group = 0; group < groups.size(); ++group) {
      for (const std::uint32_t node : groups[group]) group_of_node[node] = group;
    }
    std::vector<std::string> labels;
    for (const std::uint32_t node : node_of_) {
      labels.push_back(fmt::format("{}", group_of_node[node]));
    }
    const std::span<const Row> rows = pass_(divide(fmt::format("pass {}", ++passes_), labels));
    std::vector<Value> values;
    for (const Nodes& group : groups) {
      const Row* largest = nullptr;
      for (const Row& row : rows) {
        const bool of_group =
            std::binary_search(group.begin(), group.end(), node_of_[row.ranks.front()]);
        if (of_group && (largest == nullptr || row.size_bytes >= largest->size_bytes)) {
          largest = &row;
        }
      }
      values.push_back(largest == nullptr ? Value() : value_of(*largest));
      best_ = std::max(best_, values.back().low);
    }
    return values;
  }

  /// The nodes and good ones beside them, so that all groups have one size: a library may take
  /// another algorithm for another number of ranks. Nothing where there are too few.
  std::optional<Nodes> filled(Nodes nodes, Nodes& taken) const {
    for (auto one = good_.begin(); one != good_.end() && nodes.size() < size_; ++one) {
      if (std::binary_search(taken.begin(), taken.end(), *one)) continue;
      nodes = joined(std::move(nodes), {*one});
      taken = joined(std::move(taken), {*one});
    }
    return nodes.size() < size_ ? std::nullopt : std::optional(std::move(nodes));
  }

  /// Whether each part is slow beside good nodes: in one pass, or where these are too few in one
  /// each. A part for which they are too few counts as slow.
  std::vector<bool> bad_of(const std::vector<Nodes>& parts) {
    Nodes taken;
    for (const Nodes& part : parts) taken = joined(std::move(taken), part);
    std::vector<Nodes> groups;
    for (const Nodes& part : parts) {
      if (auto group = filled(part, taken)) groups.push_back(*std::move(group));
    }
    std::vector<bool> bad;
    if (groups.size() == parts.size()) {
      for (const Value& value : measure(groups)) bad.push_back(is_bad(value));
      return bad;
    }
    if (parts.size() == 1) return {true};
    for (const Nodes& part : parts) bad.push_back(bad_of({part}).front());
    return bad;
  }

  /// `nodes` are slow beside good ones.
  void narrow(const Nodes& nodes) {
    if (nodes.size() == 1) return name({nodes});
    const auto [first, second] = halves(nodes);
    const std::vector<bool> bad = bad_of({first, second});
    if (!bad[0]) good_ = joined(good_, first);
    if (!bad[1]) good_ = joined(good_, second);
    if (!bad[0] && !bad[1]) return between(first, second);
    if (bad[0]) narrow(first);
    if (bad[1]) narrow(second);
  }

  /// Both are good, and slow together.
  void between(const Nodes& left, const Nodes& right) {
    if (left.size() == 1 && right.size() == 1) return name({left, right});
    const auto parts_of = [](const Nodes& nodes) {
      const auto [first, second] = halves(nodes);
      return second.empty() ? std::vector<Nodes>{first} : std::vector<Nodes>{first, second};
    };
    const std::vector<Nodes> lefts = parts_of(left);
    const std::vector<Nodes> rights = parts_of(right);
    std::array<std::array<bool, 2>, 2> bad{};
    for (std::size_t shift = 0; shift < 2; ++shift) {
      std::vector<Nodes> pairs;
      std::vector<std::pair<std::size_t, std::size_t>> places;
      for (std::size_t l = 0; l < lefts.size(); ++l) {
        const std::size_t r = (l + shift) % 2;
        if (r >= rights.size()) continue;
        pairs.push_back(joined(lefts[l], rights[r]));
        places.emplace_back(l, r);
      }
      if (pairs.empty()) continue;
      const std::vector<bool> answers = bad_of(pairs);
      for (std::size_t i = 0; i < pairs.size(); ++i)
        bad[places[i].first][places[i].second] = answers[i];
    }
    if (!follow(lefts, rights, [&](int l, int r) { return bad[l][r]; })) name({left, right});
  }

  /// Continues with the bad pairs. If all pairs are bad, the fault is the boundary between the two
  /// sides. Returns false if no pair is bad.
  template <class Bad>
  bool follow(const std::vector<Nodes>& lefts, const std::vector<Nodes>& rights, Bad bad) {
    const auto all = [](const std::vector<Nodes>& parts) {
      Nodes nodes;
      for (const Nodes& part : parts) nodes = joined(std::move(nodes), part);
      return nodes;
    };
    const int count_left = static_cast<int>(lefts.size());
    const int count_right = static_cast<int>(rights.size());
    std::vector<std::pair<int, int>> pairs;
    for (int l = 0; l < count_left; ++l) {
      for (int r = 0; r < count_right; ++r) {
        if (bad(l, r)) pairs.emplace_back(l, r);
      }
    }
    if (pairs.empty()) return false;
    const int possible = count_left * count_right;
    if (possible > 1 && static_cast<int>(pairs.size()) > possible / 2) {
      name({all(lefts), all(rights)});
    } else if (pairs.size() == 2 && pairs[0].first == pairs[1].first) {
      between_or_name(lefts[pairs[0].first], all(rights));
    } else if (pairs.size() == 2 && pairs[0].second == pairs[1].second) {
      between_or_name(all(lefts), rights[pairs[0].second]);
    } else {
      for (const auto& [l, r] : pairs) between(lefts[l], rights[r]);
    }
    return true;
  }

  /// Where both together are more than a group, they are not narrowed.
  void between_or_name(const Nodes& left, const Nodes& right) {
    left.size() + right.size() > size_ ? name({left, right}) : between(left, right);
  }

  /// If it is slow a second time.
  void name(const std::vector<Nodes>& parts) {
    Nodes all;
    for (const Nodes& part : parts) all = joined(std::move(all), part);
    if (all.size() <= size_ && !bad_of({all}).front()) return;
    std::vector<std::vector<std::string>> named;
    std::vector<std::string> texts;
    for (const Nodes& part : parts) {
      std::vector<std::string>& names = named.emplace_back();
      for (const std::uint32_t node : part) names.push_back(names_[node]);
      texts.push_back(fmt::format("{}", fmt::join(names, ", ")));
    }
    found_.text += found_.text.empty() ? "" : "; ";
    found_.text += named.size() == 1
                       ? fmt::format("{} {} slow", texts[0], parts[0].size() == 1 ? "is" : "are")
                       : fmt::format("between {} and {} it is slow, and within each it is not",
                                     texts[0], texts[1]);
    found_.suspects.push_back(std::move(named));
  }

  const Pass& pass_;
  double share_;
  std::size_t size_ = 0;  // nodes of a group
  Nodes good_;
  std::vector<std::string> names_;      // of the nodes
  std::vector<std::uint32_t> node_of_;  // by rank
  std::uint32_t passes_ = 0;
  double best_ = 0;  // the largest lower end
  Bisected found_;
};

}  // namespace

void bisect(const Pass& pass, const std::vector<std::string>& hosts, double share, Run& run) {
  run.bisected = Bisection(pass, hosts, share).run();
}

}  // namespace rdmabench::inline v1::collective
