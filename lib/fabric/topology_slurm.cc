#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/host_list.h"
#include "topology_formats.h"
#include "topology_lines.h"
#include "topology_yaml.h"

namespace rdmabench::inline v1::fabric {
namespace {

std::vector<std::string> names_of(const TopologyDraft& draft, const std::string& list) {
  if (list.empty()) return {};
  return host_names(list, kMostParts, [&](const std::string& what) { draft.refuse(what); });
}

/// Whether anything is below it. `of` tells switches of one name apart.
bool add_switch(TopologyDraft& draft, const std::string& of, const SlurmSwitch& one) {
  const std::string key = fmt::format("switch {}{}", of, of.empty() ? "" : " ");
  std::vector<std::string> longer;
  if (!of.empty()) longer.push_back(fmt::format("{} {}", of, one.name));
  const std::uint32_t above = draft.point(key + one.name, one.name, false, longer);
  for (const std::string& node : names_of(draft, one.nodes)) {
    draft.link(draft.point("host " + node, node, true), "", above, "");
  }
  for (const std::string& below : names_of(draft, one.switches)) {
    std::vector<std::string> names;
    if (!of.empty()) names.push_back(fmt::format("{} {}", of, below));
    draft.link(draft.point(key + below, below, false, std::move(names)), "", above, "");
  }
  return !one.nodes.empty() || !one.switches.empty();
}

/// A switch of topology/tree, or a block of topology/block, which is a leaf. What scontrol says
/// beyond that is passed over: the nodes below the switches that are below a switch, and blocks
/// that Slurm puts together. Whether anything is below a switch or in a block.
bool read_switch(TopologyDraft& draft, const std::string& line) {
  std::map<std::string, std::string> values = conf_values(line);
  for (const auto& [key, value] : values) {
    constexpr std::array kKnown{"switchname", "nodes",          "switches", "linkspeed",
                                "blockname",  "blocksizes",     "level",    "blockindex",
                                "blocksize",  "aggregatedblock"};
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
      draft.refuse(fmt::format("unknown key '{}'", key));
    }
    if (value.find('"') != std::string::npos)
      draft.refuse(fmt::format("a quote within '{}'", value));
  }
  const bool block = values.contains("blockname");
  const bool only_sizes = values.contains("blocksizes") || values.contains("aggregatedblock");
  if (values.empty() || (!block && only_sizes)) return false;
  if (!block && !values.contains("switchname"))
    draft.refuse("a line without SwitchName or BlockName");
  if (values.contains("level") && values.contains("switches")) values.erase("nodes");
  return add_switch(draft, "",
                    {.name = values[block ? "blockname" : "switchname"],
                     .nodes = values["nodes"],
                     .switches = values["switches"]});
}

/// A page may have put several of scontrol's lines into one.
bool read_switches(TopologyDraft& draft, std::string line) {
  bool any = false;
  for (std::size_t next = 1; next != std::string::npos;) {
    next = line.size() > 1 ? std::min(line.find(" SwitchName=", 1), line.find(" BlockName=", 1))
                           : std::string::npos;
    any = read_switch(draft, line.substr(0, next)) || any;
    if (next != std::string::npos) line.erase(0, next + 1);
  }
  return any;
}

}  // namespace

void read_slurm_conf(TopologyDraft& draft) {
  std::string whole;
  bool any = false;
  for (draft.at = 0; draft.at < draft.lines.size(); ++draft.at) {
    std::string line = draft.lines[draft.at].substr(0, draft.lines[draft.at].find('#'));
    const bool goes_on = !line.empty() && line.back() == '\\';
    if (goes_on) line.pop_back();
    whole += line;
    if (goes_on) continue;
    any = read_switches(draft, std::exchange(whole, "")) || any;
  }
  draft.at = 0;
  if (!any) draft.refuse("no link is in it: no switch or block has anything below it");
}

/// The cluster's default one first. Another one that has a node of those before it arranges the
/// same nodes in another way, and is left out.
void read_slurm_yaml(TopologyDraft& draft) {
  std::vector<SlurmTopology> all = slurm_topologies(draft.lines);
  std::stable_partition(all.begin(), all.end(),
                        [](const SlurmTopology& one) { return one.is_default; });
  std::set<std::string> taken;
  bool any = false;
  for (const SlurmTopology& one : all) {
    std::set<std::string> nodes;
    for (const SlurmSwitch& item : one.switches) {
      draft.at = item.line;
      if (item.name.empty()) draft.refuse("a switch or block without a name");
      for (std::string& node : names_of(draft, item.nodes)) nodes.insert(std::move(node));
    }
    const bool again = std::any_of(nodes.begin(), nodes.end(),
                                   [&](const std::string& node) { return taken.contains(node); });
    if (again) continue;
    taken.merge(nodes);
    for (const SlurmSwitch& item : one.switches) {
      draft.at = item.line;
      add_switch(draft, one.name, item);
      any = true;
    }
  }
  if (!any) draft.refuse("no topology with switches or blocks");
}

}  // namespace rdmabench::inline v1::fabric
