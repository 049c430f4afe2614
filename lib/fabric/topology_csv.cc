#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "topology_formats.h"
#include "topology_lines.h"

namespace rdmabench::inline v1::fabric {
namespace {

/// A cloud's interface may tell the topmost level first. Then what is above has one value below,
/// and what is below several above. Of two levels that may be leaves of one name, one in each
/// pod.
void check_order(const TopologyDraft& draft, const std::vector<std::string>& heading,
                 const std::vector<std::vector<std::string>>& rows, std::size_t level) {
  constexpr std::size_t kFewest = 4;                   // columns
  std::map<std::string, std::set<std::string>> above;  // by what is below
  std::map<std::string, std::set<std::string>> below;  // by what is above
  for (const std::vector<std::string>& cells : rows) {
    if (cells[level].empty() || cells[level + 1].empty()) continue;
    above[cells[level]].insert(cells[level + 1]);
    below[cells[level + 1]].insert(cells[level]);
  }
  const auto one = [](const auto& entry) { return entry.second.size() == 1; };
  if (heading.size() < kFewest || std::all_of(above.begin(), above.end(), one) ||
      !std::all_of(below.begin(), below.end(), one)) {
    return;
  }
  draft.refuse(
      fmt::format("each '{}' has one '{}', and not the other way round: the columns go from "
                  "the node up",
                  heading[level + 1], heading[level]));
}

/// Of an inventory's columns some say how a node is connected, and are no level of switches.
void check_levels(const TopologyDraft& draft, const std::vector<std::string>& heading) {
  constexpr std::array<std::string_view, 9> kNone{"type", "speed", "vlan", "vlans", "port",
                                                  "mtu",  "ip",    "mac",  "serial"};
  for (std::size_t level = 1; level < heading.size(); ++level) {
    if (std::ranges::find(kNone, lower(heading[level])) != kNone.end()) {
      draft.refuse(
          fmt::format("'{}' is no level of switches: after the node's column those of its "
                      "switches stand, from the node up, and no others",
                      heading[level]));
    }
  }
}

}  // namespace

void CsvReader::read(TopologyDraft& draft) {
  constexpr std::size_t kMostLevels = 32;
  const std::vector<std::string> heading = csv_cells(draft.line());
  if (heading.size() < 2) draft.refuse("a heading without a level above the nodes");
  if (heading.size() > kMostLevels) draft.refuse(fmt::format("more than {} cells", kMostLevels));
  check_levels(draft, heading);
  const std::size_t head = draft.at;
  std::vector<std::vector<std::string>> rows;
  while (++draft.at < draft.lines.size()) {
    if (draft.lines[draft.at].empty() || draft.lines[draft.at].front() == '#') continue;
    const std::vector<std::string> cells = csv_cells(draft.line());
    if (cells.size() != heading.size()) {
      draft.refuse(fmt::format("{} cells, but the heading has {}", cells.size(), heading.size()));
    }
    add_row(draft, heading, cells);
    rows.push_back(cells);
  }
  draft.at = head;
  for (std::size_t level = 1; level + 1 < heading.size(); ++level) {
    check_order(draft, heading, rows, level);
  }
}

/// A switch is told by its cell and all above it: "leaf 0" may be in each pod.
void CsvReader::add_row(TopologyDraft& draft, const std::vector<std::string>& heading,
                        const std::vector<std::string>& cells) {
  std::vector<std::uint32_t> way;  // from the top
  std::string key;
  std::vector<std::string> longer;  // names of the last one, the shortest first
  for (std::size_t level = cells.size(); level-- > 1;) {
    if (cells[level].empty()) continue;  // no such level above this node
    const std::string name = fmt::format("{} {}", heading[level], cells[level]);
    key += fmt::format("{} {}\n", level, cells[level]);
    std::vector<std::string> names{name};
    for (const std::string& above : longer) names.push_back(above + ' ' + name);
    way.push_back(draft.point(key, name, false, {names.begin() + 1, names.end()}));
    longer = std::move(names);
  }
  const std::string& node = cells.front();
  const std::string leaf = longer.empty() ? "no switch" : longer.back();
  way.push_back(draft.point("0 " + node, node, true));
  const auto [row, added] = rows_.try_emplace(
      way.back(), key, fmt::format("{} in line {} of {}", leaf, draft.at + 1, draft.file));
  if (!added && row->second.first != key) {
    draft.refuse(fmt::format("{} is under {}, but under {}", node, leaf, row->second.second));
  }
  for (std::size_t i = way.size() - 1; i > 0; --i) draft.link(way[i], "", way[i - 1], "");
}

}  // namespace rdmabench::inline v1::fabric
