// fabric: measures every pair of many nodes, and finds which node, direction, rail or route is at
// fault.
//
// run.h runs it on every node, and writes and reads results as text; this file has the plan and the
// results; attribution.h judges them. Nothing here prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/report/conditions.h"

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
  /// By rail, the network device of an Ethernet port; "" = another, or unknown.
  std::vector<std::string> interfaces{};
  report::Facts environment{};  ///< as the node reports it
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
  double value = 0;  ///< bits per second, or nanoseconds (p50); 0 where `error` says why
  double low = 0;    ///< of its 95 % confidence interval; 0 where there is none
  double high = 0;
  double p99_ns = 0;  ///< of latency; 0 = too few samples for one
  double p99_low_ns = 0;
  double p99_high_ns = 0;  ///< 0 where the samples do not bound it
  std::string error{};
  std::string over{};  ///< what was taken, for people: "ofi, provider tcp, device lo"; "" = unknown
  double line_bits_per_s = 0;  ///< payload that the link can carry, by both ends; 0 = unknown
  std::string line_origin{};   ///< how that was computed, or why it could not be
  bool confirming = false;
  std::vector<std::string> notes{};
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
};

}  // namespace rdmabench::fabric
