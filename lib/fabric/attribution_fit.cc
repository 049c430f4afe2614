#include "attribution_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <span>

#include "measure/ranks.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr int kSweeps = 12;
constexpr double kStill = 1e-7;      // a sweep that moves every effect less than this is the last
constexpr double kBiweight = 4.685;  // 95 % efficient for normal noise: Mosteller and Tukey, 10
constexpr std::size_t kFewestDegrees = 3;
constexpr std::size_t kFewCells = 3;  // of a port

using Indices = std::vector<std::uint32_t>;

/// The cells of each port in one array: those of `port` are `begin[port]` to `begin[port + 1]`.
struct Groups {
  Indices begin;
  Indices cells;

  std::span<const std::uint32_t> of(std::size_t port) const {
    return std::span(cells).subspan(begin[port], begin[port + 1] - begin[port]);
  }
};

std::uint32_t end_of(const Cell& cell, Direction direction) {
  return direction == Direction::sending ? cell.sender : cell.receiver;
}

Groups group(const Slice& slice, Direction direction) {
  Groups groups;
  groups.begin.assign(std::size_t{slice.rails} * slice.nodes + 1, 0);
  const auto port = [&](const Cell& cell) {
    return slice.port(cell.rail, end_of(cell, direction));
  };
  for (const Cell& cell : slice.screening) ++groups.begin[port(cell) + 1];
  for (std::size_t i = 1; i < groups.begin.size(); ++i) groups.begin[i] += groups.begin[i - 1];
  groups.cells.resize(slice.screening.size());
  Indices next(groups.begin.begin(), groups.begin.end() - 1);
  for (std::size_t i = 0; i < slice.screening.size(); ++i) {
    groups.cells[next[port(slice.screening[i])]++] = static_cast<std::uint32_t>(i);
  }
  return groups;
}

class Polish {
 public:
  Polish(const Slice& slice, const std::vector<Pin>& pins)
      : slice_(slice),
        groups_{group(slice, Direction::sending), group(slice, Direction::receiving)} {
    const std::size_t ports = std::size_t{slice.rails} * slice.nodes;
    fit_.typical.assign(slice.rails, 0);
    fit_.cells.assign(slice.rails, 0);
    fit_.sending.resize(ports);
    fit_.receiving.resize(ports);
    for (const Direction direction : kDirections) count(direction);
    for (const Pin& pin : pins) {
      for (std::uint32_t rail = 0; rail < slice.rails; ++rail) {
        if (pin.rail && *pin.rail != rail) continue;
        effects(pin.direction)[slice.port(rail, pin.node)].pinned = true;
      }
    }
  }

  Fit run() {
    start();
    for (int i = 0; i < kSweeps && sweep(false) > kStill; ++i) {
    }
    fit_.sigma = polish_scale();
    if (std::isfinite(fit_.sigma)) {
      for (int i = 0; i < kSweeps && sweep(true) > kStill; ++i) {
      }
      fit_.sigma = refined_scale();
    }
    scales();
    return std::move(fit_);
  }

 private:
  std::vector<Effect>& effects(Direction direction) {
    return direction == Direction::sending ? fit_.sending : fit_.receiving;
  }
  const Groups& groups(Direction direction) const {
    return groups_[direction == Direction::sending ? 0 : 1];
  }

  void count(Direction direction) {
    std::vector<std::uint32_t> partners;
    for (std::size_t port = 0; port < effects(direction).size(); ++port) {
      partners.clear();
      for (const std::uint32_t i : groups(direction).of(port)) {
        const Cell& cell = slice_.screening[i];
        partners.push_back(direction == Direction::sending ? cell.receiver : cell.sender);
      }
      Effect& effect = effects(direction)[port];
      effect.cells = static_cast<std::uint32_t>(partners.size());
      std::sort(partners.begin(), partners.end());
      effect.partners = static_cast<std::uint32_t>(std::unique(partners.begin(), partners.end()) -
                                                   partners.begin());
    }
  }

  void start() {
    std::vector<std::vector<double>> by_rail(slice_.rails);
    for (const Cell& cell : slice_.screening) by_rail[cell.rail].push_back(cell.y);
    for (std::uint32_t rail = 0; rail < slice_.rails; ++rail) {
      fit_.cells[rail] = static_cast<std::uint32_t>(by_rail[rail].size());
      fit_.typical[rail] = measure::middle(by_rail[rail]);
    }
    update_residuals();
  }

  void update_residuals() {
    fit_.residuals.resize(slice_.screening.size());
    for (std::size_t i = 0; i < slice_.screening.size(); ++i) {
      const Cell& cell = slice_.screening[i];
      fit_.residuals[i] = cell.y - fit_.predicted(slice_, cell);
    }
  }

  /// Sets every effect from its cells, senders first. Returns the largest change.
  double sweep(bool weighted) {
    double furthest = 0;
    for (const Direction direction : kDirections) {
      for (std::size_t port = 0; port < effects(direction).size(); ++port) {
        Effect& effect = effects(direction)[port];
        if (effect.cells == 0 || effect.pinned) continue;
        const double step = weighted ? biweight_step(groups(direction).of(port))
                                     : median_step(groups(direction).of(port));
        effect.value += step;
        for (const std::uint32_t i : groups(direction).of(port)) fit_.residuals[i] -= step;
        furthest = std::max(furthest, std::abs(step));
      }
      centre(direction);
    }
    return furthest;
  }

  double median_step(std::span<const std::uint32_t> cells) {
    scratch_.clear();
    for (const std::uint32_t i : cells) scratch_.push_back(fit_.residuals[i]);
    // The upper median: if half of the cells are slow, that may be the partners' fault as well as
    // the node's; centring removes what this adds to all nodes.
    return measure::at_rank(scratch_, scratch_.size() / 2);
  }

  double biweight_step(std::span<const std::uint32_t> cells) const {
    double weights = 0;
    double sum = 0;
    for (const std::uint32_t i : cells) {
      const double u = fit_.residuals[i] / (kBiweight * fit_.sigma);
      if (std::abs(u) >= 1) continue;
      const double weight = (1 - u * u) * (1 - u * u);
      weights += weight;
      sum += weight * fit_.residuals[i];
    }
    return weights > 0 ? sum / weights : 0;
  }

  /// Makes the median node of each rail typical. Ends with too few partners do not count.
  void centre(Direction direction) {
    for (std::uint32_t rail = 0; rail < slice_.rails; ++rail) {
      scratch_.clear();
      for (std::uint32_t node = 0; node < slice_.nodes; ++node) {
        const Effect& effect = effects(direction)[slice_.port(rail, node)];
        if (effect.partners >= kMinPartners) scratch_.push_back(effect.value);
      }
      if (scratch_.empty()) continue;
      const double shift = measure::middle(scratch_);
      fit_.typical[rail] += shift;
      for (std::uint32_t node = 0; node < slice_.nodes; ++node) {
        Effect& effect = effects(direction)[slice_.port(rail, node)];
        if (effect.cells == 0) continue;
        if (!effect.pinned) {
          effect.value -= shift;
        } else {
          for (const std::uint32_t i : groups(direction).of(slice_.port(rail, node))) {
            fit_.residuals[i] -= shift;
          }
        }
      }
    }
  }

  std::size_t parameters() const {
    std::size_t count = 0;
    for (const auto* list : {&fit_.sending, &fit_.receiving}) {
      for (const Effect& effect : *list) count += effect.cells > 0 && !effect.pinned ? 1 : 0;
    }
    return count;
  }

  /// A fit by medians has residuals of 0 at about as many cells as it has parameters: the scale is
  /// that of the others. Source: Maronna, Martin and Yohai, Robust Statistics, 2006, 4.4.
  double polish_scale() const {
    const std::size_t exact = parameters();
    if (fit_.residuals.size() < exact + kFewestDegrees) {
      return std::numeric_limits<double>::infinity();
    }
    std::vector<double> sizes;
    sizes.reserve(fit_.residuals.size());
    for (const double residual : fit_.residuals) sizes.push_back(std::abs(residual));
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(exact));
    return std::max(kNormalMad * measure::at_rank(sizes, (sizes.size() - 1) / 2), kFloor);
  }

  double refined_scale() const {
    const auto count = static_cast<double>(fit_.residuals.size());
    const auto used = static_cast<double>(parameters());
    return std::max(scale_about_zero(fit_.residuals) * std::sqrt(count / (count - used)), kFloor);
  }

  /// Spread of the effects of healthy ports and nodes: noise and real differences.
  void scales() {
    std::vector<double> ports;
    std::vector<double> nodes;
    for (const Direction direction : kDirections) {
      for (const Effect& effect : fit_.effects(direction)) {
        if (effect.partners < kMinPartners || effect.pinned) continue;
        ports.push_back(effect.value * std::sqrt(effect.cells));
      }
      for (std::uint32_t node = 0; node < slice_.nodes; ++node) {
        const Pooled all = pooled(slice_, fit_, direction, node);
        if (all.partners < kMinPartners || all.pinned) continue;
        nodes.push_back(all.value * std::sqrt(all.cells));
      }
    }
    fit_.port_scale = std::max(scale_about_zero(std::move(ports)), fit_.sigma);
    fit_.node_scale = std::max(scale_about_zero(std::move(nodes)), fit_.sigma);
  }

  const Slice& slice_;
  Groups groups_[2];
  Fit fit_;
  std::vector<double> scratch_;
};

}  // namespace

double scale_about_zero(std::vector<double> values) {
  constexpr int kPasses = 3;
  constexpr double kFar = 5;
  double scale = 0;
  std::vector<double> sizes;
  for (int pass = 0; pass < kPasses; ++pass) {
    sizes.clear();
    for (const double value : values) sizes.push_back(std::abs(value));
    scale = kNormalMad * measure::middle(sizes);
    std::erase_if(values, [&](double value) { return std::abs(value) > kFar * scale; });
  }
  if (values.empty()) return scale;
  return std::max(scale, -kNormalMad * measure::at_rank(values, values.size() / 4));
}

Pooled pooled(const Slice& slice, const Fit& fit, Direction direction, std::uint32_t node) {
  Pooled all;
  double sum = 0;
  for (std::uint32_t rail = 0; rail < slice.rails; ++rail) {
    const Effect& effect = fit.effects(direction)[slice.port(rail, node)];
    sum += effect.value * effect.cells;
    all.cells += effect.cells;
    all.pinned = all.pinned || effect.pinned;
    all.partners = std::max(all.partners, effect.partners);
  }
  if (all.cells > 0) all.value = sum / all.cells;
  return all;
}

bool has_few_cells(const Slice& slice) {
  return slice.screening.size() <= kFewCells * slice.nodes * slice.rails;
}

Fit fit(const Slice& slice, const std::vector<Pin>& pins) {
  if (!has_few_cells(slice) || slice.confirming.empty()) return Polish(slice, pins).run();
  // Of three cells one that dipped by chance is seen, two are not: what was measured again counts.
  Slice all = slice;
  std::set<std::array<std::uint32_t, 3>> known;
  const auto key = [](const Cell& cell) {
    return std::array{cell.rail, cell.sender, cell.receiver};
  };
  for (const Cell& cell : slice.screening) known.insert(key(cell));
  std::ranges::copy_if(slice.confirming, std::back_inserter(all.screening),
                       [&](const Cell& cell) { return known.contains(key(cell)); });
  merge_repeated(all.screening);
  Fit found = Polish(all, pins).run();
  std::ranges::transform(slice.screening, found.residuals.begin(),
                         [&](const Cell& cell) { return cell.y - found.predicted(slice, cell); });
  return found;
}

}  // namespace rdmabench::inline v1::fabric
