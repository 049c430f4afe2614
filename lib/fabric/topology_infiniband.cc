#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/number.h"
#include "base/refuse.h"
#include "topology_formats.h"
#include "topology_lines.h"

namespace rdmabench::inline v1::fabric {
namespace {

std::uint64_t number(const TopologyDraft& draft, const std::string& hex) {
  if (const auto value = parse_number<std::uint64_t>(hex, 16)) return *value;
  draft.refuse(fmt::format("invalid GUID '{}'", hex));
}

}  // namespace

/// Switch and Ca headings, each with the lines of its ports below.
void SubnetReader::read_links(TopologyDraft& draft) {
  const LinePattern head(
      R"re(^(Switch|Ca|Rt)[[:space:]]+[0-9]+[[:space:]]+"([^"]+)"[[:space:]]+#[[:space:]]+"([^"]*)")re");
  // [port], [ext port], (GUID), "other end", [its port], (its GUID)
  const LinePattern port(
      R"re(^\[([0-9]+)\](\[ext [0-9]+\])?(\(([0-9a-fA-F]+)\))?[[:space:]]+"([^"]+)"\[([0-9]+)\](\(([0-9a-fA-F]+)\))?)re");
  struct Cable {
    std::string from, from_port, from_guid, to, to_port, to_guid;
    std::size_t line;
  };
  std::vector<Cable> cables;
  std::vector<std::string> switches;
  std::string from;
  LinePattern::Parts part;
  for (draft.at = 0; draft.at < draft.lines.size(); ++draft.at) {
    const std::string& text = draft.line();
    if (head.match(text, part)) {
      from = part[2];
      const std::string name = part[3].empty() ? from : part[3];
      const bool host = part[1] != "Switch";
      // Those that nobody manages all have the description of their kind.
      std::vector<std::string> longer;
      if (!host && from.starts_with("S-")) {
        switches.push_back(from);
        longer.push_back(fmt::format("{} 0x{}", name, from.substr(2)));
      }
      draft.point(from, name, host, std::move(longer));
    } else if (text.starts_with("Switch") || text.starts_with("Ca") || text.starts_with("Rt")) {
      draft.refuse(fmt::format("invalid heading of a switch, adapter or router '{}'", text));
    } else if (!text.empty() && text.front() == '[') {
      if (from.empty() || !port.match(text, part)) {
        draft.refuse(fmt::format("invalid port of a switch or adapter '{}'", text));
      }
      cables.push_back({from, part[1], part[4], part[5], part[6], part[8], draft.at});
    }
  }
  if (cables.empty()) draft.refuse("no link is in it: none of its ports is connected");
  for (const Cable& cable : cables) {
    draft.at = cable.line;
    const auto here = draft.find(cable.from);
    const auto there = draft.find(cable.to);
    if (!there) draft.refuse(fmt::format("{} has no heading of its own", cable.to));
    port_link_[{*here, cable.from_port}] = port_link_[{*there, cable.to_port}] =
        draft.link(*here, cable.from_port, *there, cable.to_port);
    if (!cable.from_guid.empty()) port_guid_[number(draft, cable.from_guid)] = *here;
    if (!cable.to_guid.empty()) port_guid_[number(draft, cable.to_guid)] = *there;
  }
  for (const std::string& key : switches) {  // "S-0000000000200005" is the switch's GUID
    port_guid_[number(draft, key.substr(2))] = *draft.find(key);
  }
}

void SubnetReader::read_forwarding(TopologyDraft& draft) {
  const LinePattern head("^Unicast lids .* guid 0x([0-9a-fA-F]+) ");
  const LinePattern pattern("^0x[0-9a-fA-F]+ ([0-9]+) : \\(.*portguid 0x([0-9a-fA-F]+): ");
  std::optional<std::uint64_t> from;
  LinePattern::Parts part;
  for (draft.at = 0; draft.at < draft.lines.size(); ++draft.at) {
    const std::string& entry = draft.line();
    if (head.match(entry, part)) {
      from = number(draft, part[1]);
    } else if (from && pattern.match(entry, part)) {
      // "033" is the port that ibnetdiscover calls 33
      const std::string text = part[1];
      const std::size_t digits = std::min(text.find_first_not_of('0'), text.size() - 1);
      if (forwarding_.size() >= 64 * kMostParts) draft.refuse("more than 64000000 entries");
      forwarding_.push_back({*from, text.substr(digits), number(draft, part[2])});
    }
  }
  if (!from) draft.refuse("no switch with a GUID");
}

void SubnetReader::resolve_forwarding(TopologyDraft& draft) const {
  for (const auto& [from, port, to] : forwarding_) {
    const auto here = port_guid_.find(from);
    const auto there = port_guid_.find(to);
    refuse_if(here == port_guid_.end(),
              fmt::format("forwarding tables of a switch 0x{:016x}, which no file links", from),
              "Give ibnetdiscover's output of the same subnet too.");
    if (there == port_guid_.end() || !draft[there->second].host) continue;
    const auto link = port_link_.find({here->second, port});
    if (link != port_link_.end()) draft.forward(here->second, there->second, link->second);
  }
}

}  // namespace rdmabench::inline v1::fabric
