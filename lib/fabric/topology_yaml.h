// Slurm's topology.yaml(5).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rdmabench::inline v1::fabric {

/// A switch of a tree, or a block, and what is below it, as Slurm writes lists: "s[1-2],s7".
struct SlurmSwitch {
  std::string name{};
  std::string nodes{};
  std::string switches{};
  std::size_t line = 0;  ///< in which it begins, from 0
};

struct SlurmTopology {
  std::string name{};
  bool is_default = false;  ///< of the cluster
  std::vector<SlurmSwitch> switches{};
};

/// Each topology of the file, whose lines have no blanks around them. Of YAML it knows lists of
/// maps whose values are names. Keys of other kinds of topology are passed over.
std::vector<SlurmTopology> slurm_topologies(const std::vector<std::string>& lines);

}  // namespace rdmabench::inline v1::fabric
