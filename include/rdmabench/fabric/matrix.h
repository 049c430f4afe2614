// fabric: measures every pair of many nodes, and finds which node, direction, rail or route is at
// fault.
//
// run.h runs it on every node, and writes and reads results as text; this file has the plan and the
// results; attribution.h judges them. Nothing here prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rdmabench/report/result.h"

namespace rdmabench::inline v1::fabric {

inline constexpr std::uint32_t kMaxNodes = 4096;
inline constexpr std::uint32_t kMaxRails = 64;
inline constexpr std::size_t kMaxSizes = 64;  ///< of each metric

using report::Metric;
/// One ordered pair on one rail, once.
using Measurement = report::PairMeasurement;

/// A process that measures: one rank. Its index in Matrix::nodes is its rank.
struct Node {
  std::uint32_t rank = 0;
  std::string host{};
  std::vector<std::string> rails{};  ///< devices, by the index that Measurement::rail has
  /// By rail, the network device of an Ethernet port; "" = another, or unknown.
  std::vector<std::string> interfaces{};
  report::Facts environment{};  ///< as the node reports it
};

/// A node that is out of the run: it died, hung or never came.
struct LostNode {
  std::uint32_t rank = 0;
  std::uint32_t round = 0;  ///< in which it was lost; results of earlier rounds stand
  std::string reason{};     ///< a clause: "no answer within 20 s"
};

/// What one device of a node carried over the whole run.
struct DeviceBytes {
  std::string device{};  ///< as the kernel names it, without a port
  /// Payload that the node's own measurements moved over it, by what their endpoints say.
  double planned = 0;
  std::uint32_t measurements = 0;   ///< whose payload that is
  std::optional<double> counted{};  ///< by its own counters; none = it has none of bytes
  bool at_least = false;            ///< a counter stands at its end, and may have missed more
};

/// The devices of a node, with run::Config::requirements: those that the measurements named, and
/// those that counted anything. Sent bytes; received ones of reads and atomics.
struct NodeBytes {
  std::uint32_t rank = 0;
  bool told = false;  ///< false: the node did not say what its devices counted
  std::vector<DeviceBytes> devices{};
};

/// What is measured, the same on every node.
struct FabricPlan {
  /// "full", "random", "one-to-many", "many-to-one" or "bisection"; docs/fabric.md describes them
  std::string pattern = "full";
  std::uint32_t rounds = 0;  ///< 0 = all that the pattern has
  std::uint64_t seed = 1;
  std::vector<std::uint64_t> bandwidth_sizes{std::uint64_t{1} << 20};  ///< bytes; may be empty
  std::vector<std::uint64_t> latency_sizes{8};                         ///< bytes; may be empty
  std::string operation = "write";                                     ///< as on the command line
  std::string backend = "auto";
  std::string transport = "auto";
  std::string provider{};
  std::vector<std::string>
      rails{};              ///< devices, the same on every node; none = one, chosen by each node
  double duration_s = 0.1;  ///< timed, of each cell; 0 = `iterations` say
  std::uint64_t iterations = 0;
  double timeout_s = 10;  ///< of every wait of a measurement

  bool operator==(const FabricPlan&) const = default;
};

/// Throws Error(usage) that names the value and its bounds: pattern, sizes, rails, times, names.
void check(const FabricPlan& plan);

/// Everything that a run over many nodes found.
struct Matrix {
  FabricPlan plan{};
  std::vector<Node> nodes{};  ///< by rank; those that never came have no host
  std::vector<Measurement> measurements{};
  std::vector<LostNode> lost{};
  std::vector<NodeBytes> bytes{};  ///< with requirements: of every node that was there at the end
  std::uint32_t launch = 0;        ///< of FabricOptions
};

}  // namespace rdmabench::inline v1::fabric
