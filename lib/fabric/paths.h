// What a pair of ranks crosses in a topology.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/schedule.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {

/// A link in one direction, and the share of the pair's shortest paths that take it: 1 by
/// forwarding tables, or where there is no other.
struct Crossing {
  std::uint32_t link = 0;
  bool forward = true;  ///< from the link's a to its b
  double share = 1;
};

inline constexpr double kWhole = 0.999;  ///< a share that is all of them

/// The topology must outlive it. Thread rule: one thread at a time.
///
/// Where a rail's nodes are in parts that nothing joins, the topmost switches of these parts (the
/// farthest from any host) are linked with one point more, "what is above": links like others.
class Paths {
 public:
  /// Finds the points of each rank's host, by its name up to the first dot, and of each rail among
  /// several adapters, by the device or network device in the adapter's name or else by their
  /// names' order. Throws Error(usage) for a host that the topology lacks, or adapters that cannot
  /// be told apart.
  Paths(const Topology& topology, const std::vector<Node>& nodes, std::uint32_t rails);
  Paths& operator=(Paths&&) = delete;

  /// In the order of the way where there is one path. Empty between ranks of one host, for a node
  /// that never came, and for points that are not connected.
  std::vector<Crossing> between(std::uint32_t sender, std::uint32_t receiver,
                                std::uint32_t rail) const;

  /// Both are known and on different points, and nothing connects these.
  bool is_cut(std::uint32_t sender, std::uint32_t receiver, std::uint32_t rail) const;
  /// The leaves of a pair whose way goes through what is above.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> apart(std::uint32_t sender,
                                                               std::uint32_t receiver,
                                                               std::uint32_t rail) const;

  /// With what joins the parts.
  const Topology& topology() const noexcept { return joined_ ? *joined_ : topology_; }
  bool between_switches(std::uint32_t link) const;
  /// The one switch of a path between two hosts of it; nothing for another path.
  std::optional<std::uint32_t> only_switch(const std::vector<Crossing>& path) const;
  /// Leaves: the switches to which two nodes or more have their link.
  const std::set<std::uint32_t>& leaves() const noexcept { return leaves_; }
  /// "leaf1 port 33 to spine1 port 1"
  std::string name(std::uint32_t link, bool forward) const;

 private:
  /// To one point: hops and number of shortest paths from each point.
  struct Tree {
    std::vector<std::uint32_t> hops;
    std::vector<double> ways;
  };

  void add_link(std::uint32_t link);
  void join(std::uint32_t rails);
  bool forwards(std::uint32_t point) const;
  std::uint32_t next_to(std::uint32_t host) const;
  std::uint32_t find_adapter(const Node& node, std::uint32_t rail, std::uint32_t rails) const;
  bool follow_tables(std::uint32_t from, std::uint32_t to, std::vector<Crossing>& out) const;
  const Tree& tree_to(std::uint32_t to) const;
  void shortest(std::uint32_t from, std::uint32_t to, std::vector<Crossing>& out) const;

  const Topology& topology_;
  std::optional<Topology> joined_;
  std::uint32_t above_ = ~0U;                      // the point that joins the parts
  std::vector<std::vector<std::uint32_t>> at_;     // by rank and rail: the point, or ~0
  std::vector<std::vector<std::uint32_t>> links_;  // by point
  std::set<std::uint32_t> leaves_;
  mutable std::map<std::uint32_t, Tree> trees_;  // by destination
};

/// So many of `all` rounds of pairs that each direction of a link between switches is crossed, and
/// each leaf has pairs within it, as many as can be had: round by round, of 512 at most, the one
/// that adds most to links and leaves that have fewer than 4. A link that a pair may take counts by
/// its share.
std::vector<Round> covering(std::vector<Round> all, std::uint32_t rounds, const Paths& paths,
                            std::uint32_t rails);

}  // namespace rdmabench::inline v1::fabric
