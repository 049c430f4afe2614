// fabric: measures every pair of many nodes against one another, and says which node, direction,
// rail or route is at fault.
//
// The measuring itself is run/'s. Here is who measures whom and when (schedule.h), who does it
// (agent.h), who says so (coordinator.h), what came of it (this file, and stream.h on disk) and
// what that means (attribution.h). Values and files alone: nothing here prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/report/fact.h"

namespace rdmabench::fabric {

inline constexpr std::uint32_t kMaxNodes = 4096;
inline constexpr std::uint32_t kMaxRails = 64;
inline constexpr std::size_t kMaxSizes = 64;  ///< of each metric

enum class Metric : std::uint8_t { bandwidth, latency };

/// "bandwidth", "latency".
std::string_view name(Metric metric) noexcept;

/// A process that measures: one rank. Its index in Matrix::nodes is its rank.
struct Node {
  std::uint32_t rank = 0;
  std::string host{};
  std::vector<std::string> rails{};  ///< devices, by the index that Measurement::rail has
  report::Facts environment{};       ///< in its own words
};

/// One ordered pair on one rail, once.
struct Measurement {
  std::uint32_t round = 0;  ///< from 0, counted over the whole run, confirming rounds included
  /// "round-robin" (of full and of random), "one-to-many", "many-to-one", "bisection", "confirm"
  std::string pattern{};
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint32_t rail = 0;
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  double value = 0;   ///< bits per second, or nanoseconds (p50); 0 where `error` says why
  double p99_ns = 0;  ///< of latency; 0 = there is none that the samples support
  std::string error{};
  bool confirming = false;
  std::vector<std::string> notes{};
};

/// A node that is out of the run: dead, hung or never there.
struct LostNode {
  std::uint32_t rank = 0;
  std::uint32_t round = 0;  ///< in which it was missed; rounds before it stand
  std::string reason{};     ///< a clause: "no answer within 20 s"
};

/// What is measured, by whatever node.
struct FabricPlan {
  std::string pattern = "full";  ///< as on the command line, see schedule.h
  std::uint32_t rounds = 0;      ///< 0 = all that the pattern has
  std::uint64_t seed = 1;
  std::vector<std::uint64_t> bandwidth_sizes{std::uint64_t{1} << 20};  ///< bytes; may be empty
  std::vector<std::uint64_t> latency_sizes{8};                         ///< bytes; may be empty
  std::string operation = "write";                                     ///< as on the command line
  std::string backend = "auto";
  std::string transport = "auto";
  std::string provider{};
  std::vector<std::string> rails{};  ///< devices, the same on every node; none = one, each chooses
  double duration_s = 0.1;           ///< timed, of each cell; 0 = `iterations` say
  std::uint64_t iterations = 0;
  double timeout_s = 10;  ///< of every wait of a measurement
};

/// Everything that a run over many nodes found.
struct Matrix {
  FabricPlan plan{};
  std::vector<Node> nodes{};  ///< by rank; those that never came have no host
  std::vector<Measurement> measurements{};
  std::vector<LostNode> lost{};
};

}  // namespace rdmabench::fabric
