// A fabric that exists only as numbers, with faults planted in it, and measured as a real one is:
// rounds of random perfect matchings in both directions, then the confirming rounds that are asked
// for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {

/// What noise does to a value. Skewed noise only ever slows: it is gamma of shape 2.
enum class Noise : std::uint8_t { normal, skewed };

/// How two slow parts of a path meet: as factors, or as the slowest of them.
enum class Combination : std::uint8_t { product, slowest };

inline constexpr double kDeepestDip = 0.5;
inline constexpr double kLeastDip = 0.85;

struct SyntheticSpec {
  std::uint32_t nodes = 16;
  std::uint32_t rails = 1;
  double cv = 0.01;   ///< standard deviation of a cell over its mean
  double spread = 0;  ///< standard deviation between healthy nodes, in each direction
  double dips = 0;    ///< share of cells that are slow by chance, at kDeepestDip to kLeastDip
  Noise noise = Noise::normal;
  Combination combination = Combination::product;
  Metric metric = Metric::bandwidth;
  std::uint64_t seed = 1;
};

class SyntheticFabric {
 public:
  explicit SyntheticFabric(const SyntheticSpec& spec);

  // Factors are below 1 and mean that much of the bandwidth, or that much more latency.
  void slow_sender(std::uint32_t node, double factor, std::optional<std::uint32_t> rail = {});
  void slow_receiver(std::uint32_t node, double factor, std::optional<std::uint32_t> rail = {});
  void slow_node(std::uint32_t node, double factor, std::optional<std::uint32_t> rail = {});
  void slow_rail(std::uint32_t rail, double factor);
  /// One direction of a pair, on one rail or on all. A factor above 1 is a lucky pair.
  void route(std::uint32_t sender, std::uint32_t receiver, double factor,
             std::optional<std::uint32_t> rail = {});

  /// Random perfect matchings (one node rests in each where their number is odd), chosen here so
  /// that faults may be planted on pairs that will be measured.
  using Matching = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  const std::vector<Matching>& choose(std::uint32_t rounds);

  /// Measures what was chosen.
  Matrix screen();
  /// Measures a plan and adds it to the matrix.
  void confirm(const std::vector<Confirmation>& plan, Matrix& matrix);
  /// Screens, and confirms until nothing is open.
  Attribution settle(Matrix& matrix);

  Measurement measure(std::uint32_t sender, std::uint32_t receiver, std::uint32_t rail);
  std::mt19937_64& random() noexcept { return random_; }

 private:
  double factor(std::uint32_t sender, std::uint32_t receiver, std::uint32_t rail) const;

  SyntheticSpec spec_;
  std::mt19937_64 random_;
  std::vector<double> sending_;  // by rail and node
  std::vector<double> receiving_;
  std::vector<double> rails_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> routes_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> turns_;  // those still to be had
  std::vector<Matching> matchings_;
};

/// A matrix of so many nodes, named n0, n1, ...
Matrix matrix_of(std::uint32_t nodes, std::uint32_t rails = 1);

}  // namespace rdmabench::inline v1::fabric
