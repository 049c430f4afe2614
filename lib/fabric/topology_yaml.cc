#include "topology_yaml.h"

#include <string_view>

#include "base/text.h"

namespace rdmabench::inline v1::fabric {
namespace {

std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() > 1 && (text.front() == '"' || text.front() == '\'') &&
                      text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

std::vector<SlurmTopology> slurm_topologies(const std::vector<std::string>& lines) {
  std::vector<SlurmTopology> all;
  std::string* value = nullptr;  // with which the next line may go on
  bool in_list = false;          // of switches or blocks
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view text = lines[i];
    if (text.starts_with('#') || text == "---") continue;
    text = trimmed(text.substr(0, text.find(" #")));
    const bool item = text.starts_with("- ");
    if (item) text = trimmed(text.substr(2));
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
      if (!item && value != nullptr) value->append(text);
      continue;
    }
    const std::string_view key = text.substr(0, colon);
    const std::string_view told = without_quotes(trimmed(text.substr(colon + 1)));
    value = nullptr;
    const bool begins = key == "topology" || key == "cluster_default";
    if (all.empty() || (item && begins)) {
      all.emplace_back();
      in_list = false;
    }
    SlurmTopology& topology = all.back();
    if (key == "topology") topology.name = told;
    if (key == "cluster_default") topology.is_default = lower(told) == "true";
    const bool names = key == "switch" || (key == "block" && !told.empty());
    if (!names && key != "nodes" && key != "children") continue;
    // The keys of an item may stand in any order.
    if (item || !in_list) topology.switches.push_back({.line = i});
    in_list = true;
    SlurmSwitch& one = topology.switches.back();
    value = names ? &one.name : key == "nodes" ? &one.nodes : &one.switches;
    *value = told;
  }
  return all;
}

}  // namespace rdmabench::inline v1::fabric
