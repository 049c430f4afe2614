// fabric: measures every pair of many nodes, and finds which node, direction, rail or route is at
// fault.
//
// run.h runs it on every node, and writes and reads results as text; this file has the plan, the
// results and what judges them. Nothing here prints.
//
// The model is additive on the log scale, per metric, size and rail:
//   log value = typical(rail) + sender + receiver + noise
// It is fitted by median polish (Tukey, Exploratory Data Analysis, 1977, chapter 11; Mosteller and
// Tukey, Data Analysis and Regression, 1977, chapter 9) over the cells that there are, and refined
// with Tukey's biweight. A slow sender or receiver is a low effect, a slow rail a low typical
// value, a slow route a low cell between ends that are otherwise clean. docs/attribution.md has
// the rules, their limits, and how often they are right on synthetic fabrics.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/results/result.h"

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
      rails{};  ///< devices, the same on every node; none = one, chosen by each node
  /// Timed, of each cell; 0 = `iterations` say. A round takes it for each size of each metric in
  /// each direction, and the set-up of queue pairs; confirming suspects adds rounds.
  double duration_s = 0.1;
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
  bool allow_tcp = false;          ///< likewise
};

/// The part at fault. A node is its sending and its receiving together.
enum class Part : std::uint8_t {
  node,
  sender,
  receiver,
  rail,
  route,
  between,       ///< two leaves that a topology does not join, in one direction
  link,          ///< of a topology, in one direction
  cable,         ///< a link in both directions
  switch_point,  ///< "switch"
};

/// The judgement of a node, by metric and size.
enum class Verdict : std::uint8_t {
  good,
  suspect,              ///< slow in the screening rounds; no confirming test has decided yet
  slow,                 ///< confirmed
  failing,              ///< its measurements failed, with several partners
  lost,                 ///< it left the run, or never came
  ambiguous,            ///< about half of the nodes are like it and half are not
  not_enough_evidence,  ///< too few partners: never judged
};

/// "node", "sender", ... and "good", "suspect", ..., "not-enough-evidence".
std::string_view name(Part part) noexcept;
std::string_view name(Verdict verdict) noexcept;

/// One thing at fault, in one metric and size.
struct Finding {
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  Part part = Part::node;
  std::uint32_t a = 0;                ///< the node; the sender of a route; the number of a rail
  std::optional<std::uint32_t> b;     ///< the receiver of a route
  std::optional<std::uint32_t> rail;  ///< none = every rail alike
  std::string element;                ///< of a topology's part: its name; `a` is 0
  /// Of those: the measured pairs that cross it; not in the JSON.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  /// Measured over typical, in the metric's own direction: 0.5 is half the bandwidth, 2 twice the
  /// latency. 0 where measurements failed instead.
  double ratio = 1;
  double score = 0;        ///< robust standard deviations from typical, at most 1e6
  bool confirmed = false;  ///< by measurements of their own; failures by several partners
  std::vector<std::string> evidence;
  std::string text;  ///< the finding and the next step, in sentences
};

/// The first step for an operator, in the words of doctor's action_of(): "run
/// doctor" on the nodes, "replace cable", "change setting" or "ask vendor". The text says how.
std::string_view action_of(const Finding& finding) noexcept;

/// The typical value, to which all ratios refer.
struct Typical {
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  double value = 0;         ///< bits per second or nanoseconds
  double noise = 0;         ///< robust relative standard deviation of a cell about the model
  std::uint32_t cells = 0;  ///< measured, screening and confirming
  std::uint32_t failed = 0;
};

struct RailSummary {
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  std::uint32_t rail = 0;
  double ratio = 1;  ///< over the typical value of all rails
};

struct NodeSummary {
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  std::uint32_t rank = 0;
  double sender_ratio = 0;  ///< over typical, over all rails; 0 = never measured
  double receiver_ratio = 0;
  std::uint32_t partners = 0;  ///< distinct ones with a value, of the direction that has fewer
  Verdict verdict = Verdict::not_enough_evidence;
};

/// The links between switches of a topology, and from its parts to what is above, each with two
/// directions.
struct Crossed {
  std::uint32_t directions = 0;
  std::uint32_t crossed = 0;       ///< by measured pairs
  std::uint32_t fewest_pairs = 0;  ///< over one of the crossed
  std::uint32_t leaves = 0;        ///< switches to which two nodes or more are linked
  std::uint32_t within = 0;        ///< of them, with a measured pair of their own nodes
};

struct Attribution {
  std::vector<Typical> typical;         ///< by metric and size
  std::vector<RailSummary> rails;       ///< by metric, size and rail
  std::vector<NodeSummary> nodes;       ///< by metric, size and rank
  std::vector<Finding> findings;        ///< worst first; to be reported
  std::vector<Finding> leads;           ///< weaker, unconfirmed: worth a test, nothing to report
  std::vector<Finding> withdrawn;       ///< not confirmed by the confirming measurements
  std::vector<std::string> not_judged;  ///< what cannot be judged, and why: whole sentences
  std::optional<Crossed> crossed;       ///< with a topology
};

/// A switch, or an adapter of a host; a host with two adapters has two points.
struct TopologyPoint {
  std::string name{};  ///< as the file has it: "leaf1", "node01 mlx5_0"
  bool host = false;
};

/// A cable, or a level of a hierarchy above another.
struct TopologyLink {
  std::uint32_t a = 0;  ///< index of a point
  std::uint32_t b = 0;
  std::string a_port{};  ///< as the file has it; "" = unknown
  std::string b_port{};
};

struct Topology {
  std::vector<TopologyPoint> points{};
  std::vector<TopologyLink> links{};
  /// By switch and host: the link by which the switch sends to that host. Where there is no entry,
  /// every shortest path is taken to be possible.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> forwarding{};
};

/// One file's name, for errors and for the host of an LLDP file, and its text.
struct TopologyText {
  std::string name{};
  std::string text{};
};

/// Reads, told apart by their contents:
///   ibnetdiscover(8)'s output, and dump_fts(8)'s of the same subnet for the forwarding tables
///   Slurm's topology.conf(5), with SwitchName, Switches and Nodes; topology.yaml(5), tree, block
///   what `scontrol show topology` prints (scontrol(1))
///   `lldpctl -f json` (lldpcli(8)) of each host, in a file named HOST.json
///   CSV: a heading that begins with node, host or instance; then each node with its leaf, rack,
///   and so on, from the nearest level to the farthest
/// Several files add up to one topology. Pure. Throws Error(usage) that names the file, the line
/// and what was expected; at most 1,000,000 points and links.
Topology parse_topology(const std::vector<TopologyText>& texts);

/// Reads the files, of at most 256 MiB each. Throws Error(usage).
Topology read_topology(const std::vector<std::string>& paths);

/// Judges every metric and size of the matrix. Screening measurements make the suspects, confirming
/// ones decide. Patterns in which many flows share an end (one-to-many, many-to-one) are left out.
/// Throws Error(usage) for a value that is not a positive number where there is no error, a rank
/// or rail that the matrix has not, and a node that measures itself.
/// With a topology, links and switches are judged first, by the pairs that cross them, and the
/// nodes by what is left; then also throws Error(usage) for a host that it lacks. Pure; time grows
/// with the number of measurements. Thread rule: free.
Attribution attribute(const Matrix& matrix, const Topology* topology = nullptr);

/// The metrics and sizes of which the nodes were not judged: too few partners, a pattern in which
/// flows share an end, or about half of the nodes against the other half. No finding in one of
/// these means nothing.
std::vector<Typical> unjudged(const Attribution& attribution);

/// Why a pair is measured again.
enum class Purpose : std::uint8_t {
  suspect,  ///< a suspect against a known-good node
  again,    ///< the same pair: a bad route stays bad
  square,   ///< other pairs of a route's ends: they are clean if the route is to blame
  control,  ///< two known-good nodes, which keep the load of a screening round and its level
};

/// One ordered pair on one rail, to be measured like those of a screening round (all metrics and
/// sizes, the rails of a pair together), with Measurement::confirming set.
struct Confirmation {
  std::uint32_t round = 0;  ///< from 0 in this plan: within a round no node is in two pairs
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint32_t rail = 0;
  Purpose purpose = Purpose::suspect;
};

struct ConfirmationOptions {
  std::uint32_t rounds = 4;       ///< of one plan
  std::uint32_t max_rounds = 10;  ///< confirming rounds of the whole run; when spent, no plan
  std::uint32_t routes = 32;      ///< tested in one plan, the slowest first
  bool controls = true;
  std::uint64_t seed = 1;  ///< of the choice of partners
};

/// What to measure next, in both directions of each pair: every suspect with known-good partners,
/// others than before where there are any, pairs that cross a suspect link, and the square test for
/// routes (nccl issue 325: with
/// a->b slow, measure a->d, c->b and c->d, and a->b again). Ends of slow routes take the place of
/// known-good nodes where there are none left. Empty when nothing is open, nobody is good even so,
/// or `max_rounds` are spent. Measure, add to the matrix, attribute() again.
std::vector<Confirmation> confirmations(const Attribution& attribution, const Matrix& matrix,
                                        const ConfirmationOptions& options = {});

}  // namespace rdmabench::inline v1::fabric
