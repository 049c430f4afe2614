// Nodes compared with each other, by what their doctors observed. Private to this project.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {

/// What one node has and most others of its model do not have.
struct NodeDifference {
  std::size_t node = 0;  ///< index of the node
  Finding finding;       ///< FAIL: it has fewer devices, ports, GPUs, links or memory; else WARN
};

struct NodeComparison {
  std::vector<NodeDifference> differences;  ///< FAIL first, then by node
  std::vector<NodeDifference> alike;        ///< PASS: as most others have
  /// Which nodes were compared with which: a sentence; "" where none could be.
  std::string words;
};

/// Compares each node with the others of its model (software.product, without it cpu.model) by the
/// rules of compare_with_peers(). Of several nodes with one host's name the first counts, and a
/// node without a name is left out. Pure.
NodeComparison compare_nodes(std::span<const Peer> nodes);

/// Of a node what others are compared with, an observation for each check: what most of its devices
/// have, then which devices have something else. Without the environment and limits of the process.
std::vector<Peer::Observation> compared_observations(const FileTree& tree);

}  // namespace rdmabench::inline v1::health
