#include "synthetic_fabric.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace rdmabench::inline v1::fabric {
namespace {

constexpr double kTypicalBitsPerS = 392e9;
constexpr double kTypicalNs = 2100;
constexpr std::uint64_t kSize = 1 << 20;

void multiply(std::vector<double>& factors, std::uint32_t nodes, std::uint32_t node, double factor,
              std::optional<std::uint32_t> rail) {
  for (std::size_t i = node; i < factors.size(); i += nodes) {
    if (!rail || i / nodes == *rail) factors[i] *= factor;
  }
}

}  // namespace

Matrix matrix_of(std::uint32_t nodes, std::uint32_t rails) {
  Matrix matrix;
  for (std::uint32_t rank = 0; rank < nodes; ++rank) {
    Node node;
    node.rank = rank;
    node.host = "n" + std::to_string(rank);
    for (std::uint32_t rail = 0; rail < rails; ++rail) {
      node.rails.push_back("mlx5_" + std::to_string(rail));
    }
    matrix.nodes.push_back(std::move(node));
  }
  return matrix;
}

SyntheticFabric::SyntheticFabric(const SyntheticSpec& spec)
    : spec_(spec),
      random_(spec.seed),
      sending_(std::size_t{spec.nodes} * spec.rails, 1.0),
      receiving_(sending_),
      rails_(spec.rails, 1.0) {
  if (spec.spread <= 0) return;
  std::normal_distribution<> differences(0, spec.spread);
  for (std::uint32_t node = 0; node < spec.nodes; ++node) {
    slow_sender(node, std::exp(differences(random_)));
    slow_receiver(node, std::exp(differences(random_)));
  }
}

void SyntheticFabric::slow_sender(std::uint32_t node, double factor,
                                  std::optional<std::uint32_t> rail) {
  multiply(sending_, spec_.nodes, node, factor, rail);
}

void SyntheticFabric::slow_receiver(std::uint32_t node, double factor,
                                    std::optional<std::uint32_t> rail) {
  multiply(receiving_, spec_.nodes, node, factor, rail);
}

void SyntheticFabric::slow_node(std::uint32_t node, double factor,
                                std::optional<std::uint32_t> rail) {
  slow_sender(node, factor, rail);
  slow_receiver(node, factor, rail);
}

void SyntheticFabric::slow_rail(std::uint32_t rail, double factor) {
  rails_[rail] *= factor;
}

void SyntheticFabric::route(std::uint32_t sender, std::uint32_t receiver, double factor,
                            std::optional<std::uint32_t> rail) {
  auto& factors = routes_.try_emplace({sender, receiver}, spec_.rails, 1.0).first->second;
  for (std::uint32_t i = 0; i < spec_.rails; ++i) {
    if (!rail || *rail == i) factors[i] *= factor;
  }
}

const std::vector<SyntheticFabric::Matching>& SyntheticFabric::choose(std::uint32_t rounds) {
  // The circle method over nodes in random order: node 0 of the circle stays, the others turn.
  const std::uint32_t places = spec_.nodes + spec_.nodes % 2;  // an odd one's partner rests
  if (order_.empty()) {
    order_.resize(places);
    std::iota(order_.begin(), order_.end(), 0U);
    std::shuffle(order_.begin(), order_.end(), random_);
    turns_.resize(places - 1);
    std::iota(turns_.begin(), turns_.end(), 0U);
    std::shuffle(turns_.begin(), turns_.end(), random_);
  }
  for (; rounds > 0 && !turns_.empty(); --rounds) {
    const std::uint32_t turn = turns_.back();
    turns_.pop_back();
    const auto at = [&](std::uint32_t place) {
      return order_[place == 0 ? 0 : 1 + (place - 1 + turn) % (places - 1)];
    };
    Matching matching;
    for (std::uint32_t i = 0; i < places / 2; ++i) {
      const std::uint32_t a = at(i);
      const std::uint32_t b = at(places - 1 - i);
      if (a < spec_.nodes && b < spec_.nodes) matching.push_back({a, b});
    }
    matchings_.push_back(std::move(matching));
  }
  return matchings_;
}

double SyntheticFabric::factor(std::uint32_t sender, std::uint32_t receiver,
                               std::uint32_t rail) const {
  const double from = sending_[std::size_t{rail} * spec_.nodes + sender];
  const double to = receiving_[std::size_t{rail} * spec_.nodes + receiver];
  const auto found = routes_.find({sender, receiver});
  const double route = found == routes_.end() ? 1 : found->second[rail];
  if (spec_.combination == Combination::product) return from * to * route * rails_[rail];
  return route > 1 ? route : std::min({from, to, route, rails_[rail]});
}

Measurement SyntheticFabric::measure(std::uint32_t sender, std::uint32_t receiver,
                                     std::uint32_t rail) {
  double noise = 0;
  if (spec_.noise == Noise::normal) {
    noise = spec_.cv * std::normal_distribution<>()(random_);
  } else {
    // Variance 2 of gamma(2, 1).
    noise = -spec_.cv / std::sqrt(2.0) * std::gamma_distribution<>(2)(random_);
  }
  double better = factor(sender, receiver, rail) * std::exp(noise);
  if (spec_.dips > 0 && std::bernoulli_distribution(spec_.dips)(random_)) {
    better *= std::uniform_real_distribution<>(kDeepestDip, kLeastDip)(random_);
  }
  Measurement cell;
  cell.pattern = "random";
  cell.sender = sender;
  cell.receiver = receiver;
  cell.rail = rail;
  cell.metric = spec_.metric;
  cell.size_bytes = kSize;
  cell.value = spec_.metric == Metric::bandwidth ? kTypicalBitsPerS * better : kTypicalNs / better;
  return cell;
}

Matrix SyntheticFabric::screen() {
  Matrix matrix = matrix_of(spec_.nodes, spec_.rails);
  std::uint32_t round = 0;
  for (const Matching& matching : matchings_) {
    for (const auto& [a, b] : matching) {
      for (const auto& [sender, receiver] : {std::pair(a, b), std::pair(b, a)}) {
        for (std::uint32_t rail = 0; rail < spec_.rails; ++rail) {
          matrix.measurements.push_back(measure(sender, receiver, rail));
          matrix.measurements.back().round = round;
        }
      }
    }
    ++round;
  }
  return matrix;
}

void SyntheticFabric::confirm(const std::vector<Confirmation>& plan, Matrix& matrix) {
  std::uint32_t first = 0;
  for (const Measurement& cell : matrix.measurements) first = std::max(first, cell.round + 1);
  for (const Confirmation& item : plan) {
    Measurement cell = measure(item.sender, item.receiver, item.rail);
    cell.round = first + item.round;
    cell.pattern = "confirm";
    cell.confirming = true;
    matrix.measurements.push_back(std::move(cell));
  }
}

Attribution SyntheticFabric::settle(Matrix& matrix) {
  matrix = screen();
  Attribution attribution = attribute(matrix);
  for (;;) {
    const auto plan = confirmations(attribution, matrix);
    if (plan.empty()) return attribution;
    confirm(plan, matrix);
    attribution = attribute(matrix);
  }
}

}  // namespace rdmabench::inline v1::fabric
