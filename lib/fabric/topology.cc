#include "rdmabench/fabric/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "base/refuse.h"
#include "base/text.h"
#include "rdmabench/base/error.h"
#include "topology_lines.h"
#include "topology_yaml.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::size_t kMostParts = 1'000'000;  // points, and links
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

/// Adds texts to a topology. An error names the file and the line.
class TopologyReader {
 public:
  void add(const TopologyText& file) {
    name_ = file.name;
    const std::string_view mark = file.text.starts_with("\xEF\xBB\xBF") ? "\xEF\xBB\xBF" : "";
    lines_ = parts_of(std::string_view(file.text).substr(mark.size()), '\n');
    const auto any = [&](auto&& is) { return std::any_of(lines_.begin(), lines_.end(), is); };
    const auto first = std::find_if(lines_.begin(), lines_.end(), [](const std::string& line) {
      return !line.empty() && line.front() != '#';
    });
    at_ = static_cast<std::size_t>(first - lines_.begin());
    if (first == lines_.end()) refuse("it has no line but comments");
    if (first->front() == '{' || first->front() == '[') return read_lldp(file.text);
    if (any([](const std::string& line) { return line.rfind("Unicast lids", 0) == 0; })) {
      return read_forwarding();
    }
    if (any([](const std::string& line) { return line.rfind("switchguid=", 0) == 0; })) {
      return read_ibnetdiscover();
    }
    if (*first == "---" || first->starts_with("- ") || first->starts_with("topology:")) {
      return read_yaml();
    }
    const auto values = conf_values(*first);
    for (const char* key : {"switchname", "blockname", "blocksizes", "aggregatedblock"}) {
      if (values.contains(key)) return read_slurm();
    }
    const std::string head = lower(csv_cells(*first).front());
    if (head == "node" || head == "host" || head == "instance") return read_csv();
    refuse(
        "it is not ibnetdiscover's or dump_fts's output, Slurm's topology.conf or topology.yaml, what "
        "`scontrol show topology` prints, lldpctl's JSON, or a CSV whose heading begins with node, host or instance");
  }

  Topology take() {
    resolve_forwarding();
    tell_apart();
    return std::move(out_);
  }

 private:
  /// Of switches that share their name each gets its next longer one.
  void tell_apart() {
    for (bool changed = true; changed;) {
      std::map<std::string, std::size_t> counts;
      for (const TopologyPoint& point : out_.points) ++counts[point.name];
      changed = false;
      for (auto& [point, names] : longer_) {
        if (names.empty() || counts[out_.points[point].name] < 2) continue;
        out_.points[point].name = names.front();
        names.erase(names.begin());
        changed = true;
      }
    }
  }

  /// `what` may quote a line of thousands of characters.
  [[noreturn]] void refuse(const std::string& what) const {
    constexpr std::size_t kShown = 300;
    throw Error(Fault::usage,
                fmt::format("topology {}, line {}: {}{}", name_, at_ + 1, what.substr(0, kShown),
                            what.size() > kShown ? "..." : ""),
                "docs/fabric.md shows each format.");
  }

  std::uint32_t point(const std::string& key, const std::string& name, bool host,
                      std::vector<std::string> longer = {}) {
    const auto [found, added] = by_key_.try_emplace(key, out_.points.size());
    if (added) {
      if (out_.points.size() >= kMostParts) refuse("more than 1000000 switches and hosts");
      out_.points.push_back({name, host});
      if (!longer.empty()) longer_[found->second] = std::move(longer);
    }
    return found->second;
  }

  void link(std::uint32_t a, const std::string& a_port, std::uint32_t b,
            const std::string& b_port) {
    if (a == b) refuse(fmt::format("{} is linked with itself", out_.points[a].name));
    const bool swapped = b < a;
    const auto key = fmt::format("{}[{}]-{}[{}]", swapped ? b : a, swapped ? b_port : a_port,
                                 swapped ? a : b, swapped ? a_port : b_port);
    if (!seen_links_.try_emplace(key, out_.links.size()).second) return;  // from the other side
    if (out_.links.size() >= kMostParts) refuse("more than 1000000 links");
    port_link_[{a, a_port}] = port_link_[{b, b_port}] =
        static_cast<std::uint32_t>(out_.links.size());
    out_.links.push_back({a, b, a_port, b_port});
  }

  const std::string& line() const {
    constexpr std::size_t kLongest = 4096;
    if (lines_[at_].size() > kLongest) refuse("more than 4096 characters");
    if (lines_[at_].find('\0') != std::string::npos) refuse("a byte of 0");
    return lines_[at_];
  }

  /// Switch and Ca headings, each with the lines of its ports below.
  void read_ibnetdiscover() {
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
    std::string from;
    LinePattern::Parts part;
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      const std::string& text = line();
      if (head.match(text, part)) {
        from = part[2];
        const std::string name = part[3].empty() ? from : part[3];
        const bool host = part[1] != "Switch";
        // Those that nobody manages all have the description of their kind.
        std::vector<std::string> longer;
        if (!host && from.starts_with("S-"))
          longer = {fmt::format("{} 0x{}", name, from.substr(2))};
        point(from, name, host, std::move(longer));
      } else if (text.starts_with("Switch") || text.starts_with("Ca") || text.starts_with("Rt")) {
        refuse(fmt::format("invalid heading of a switch, adapter or router '{}'", text));
      } else if (!text.empty() && text.front() == '[') {
        if (from.empty() || !port.match(text, part)) {
          refuse(fmt::format("invalid port of a switch or adapter '{}'", text));
        }
        cables.push_back({from, part[1], part[4], part[5], part[6], part[8], at_});
      }
    }
    for (const Cable& cable : cables) {
      at_ = cable.line;
      const auto here = by_key_.find(cable.from);
      const auto there = by_key_.find(cable.to);
      if (there == by_key_.end()) refuse(fmt::format("{} has no heading of its own", cable.to));
      link(here->second, cable.from_port, there->second, cable.to_port);
      if (!cable.from_guid.empty()) port_guid_[number(cable.from_guid)] = here->second;
      if (!cable.to_guid.empty()) port_guid_[number(cable.to_guid)] = there->second;
    }
    for (const auto& [key, index] : by_key_) {  // "S-0000000000200005" is the switch's GUID
      if (key.rfind("S-", 0) == 0) port_guid_[number(key.substr(2))] = index;
    }
  }

  std::uint64_t number(const std::string& hex) const {
    if (const auto value = parse_number<std::uint64_t>(hex, 16)) return *value;
    refuse(fmt::format("invalid GUID '{}'", hex));
  }

  void read_forwarding() {
    const LinePattern head("^Unicast lids .* guid 0x([0-9a-fA-F]+) ");
    const LinePattern pattern("^0x[0-9a-fA-F]+ ([0-9]+) : \\(.*portguid 0x([0-9a-fA-F]+): ");
    std::optional<std::uint64_t> from;
    LinePattern::Parts part;
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      const std::string& entry = line();
      if (head.match(entry, part)) {
        from = number(part[1]);
      } else if (from && pattern.match(entry, part)) {
        // "033" is the port that ibnetdiscover calls 33
        const std::string text = part[1];
        const std::size_t digits = std::min(text.find_first_not_of('0'), text.size() - 1);
        if (forwarding_.size() >= 64 * kMostParts) refuse("more than 64000000 entries");
        forwarding_.push_back({*from, text.substr(digits), number(part[2])});
      }
    }
    if (!from) refuse("no switch with a GUID");
  }

  /// After all files, because the tables may come before the links.
  void resolve_forwarding() {
    for (const auto& [from, port, to] : forwarding_) {
      const auto here = port_guid_.find(from);
      const auto there = port_guid_.find(to);
      refuse_if(here == port_guid_.end(),
                fmt::format("forwarding tables of a switch 0x{:016x}, which no file links", from),
                "Give ibnetdiscover's output of the same subnet too.");
      if (there == port_guid_.end() || !out_.points[there->second].host) continue;
      const auto link = port_link_.find({here->second, port});
      if (link != port_link_.end()) {
        out_.forwarding[{here->second, there->second}] = link->second;
      }
    }
  }

  /// Slurm's "node[01-03,7]", which may have several brackets.
  std::vector<std::string> expanded(const std::string& text) const {
    constexpr std::ptrdiff_t kMostBrackets = 8;
    if (std::count(text.begin(), text.end(), '[') > kMostBrackets) {
      refuse(fmt::format("a name with more than {} brackets", kMostBrackets));
    }
    const std::size_t open = text.find('[');
    if (open == std::string::npos) return {text};
    const std::size_t close = text.find(']', open);
    if (close == std::string::npos) refuse(fmt::format("'{}' lacks a ]", text));
    const std::vector<std::string> tails = expanded(text.substr(close + 1));
    std::vector<std::string> names;
    for (const std::string& range : parts_of(text.substr(open + 1, close - open - 1), ',')) {
      const std::vector<std::string> ends = parts_of(range, '-');
      const auto is_number = [](const std::string& end) {
        return !end.empty() && end.size() <= 9 &&
               end.find_first_not_of("0123456789") == std::string::npos;
      };
      if (ends.size() > 2 || !is_number(ends.front()) || !is_number(ends.back())) {
        refuse(fmt::format("invalid range '{}'", range));
      }
      const unsigned long last = std::stoul(ends.back());
      if (std::stoul(ends.front()) > last) refuse(fmt::format("range '{}' runs backwards", range));
      for (unsigned long i = std::stoul(ends.front()); i <= last; ++i) {
        for (const std::string& tail : tails) {
          names.push_back(
              fmt::format("{}{:0{}}{}", text.substr(0, open), i, ends.front().size(), tail));
        }
        if (names.size() > kMostParts) refuse("more than 1000000 names");
      }
    }
    return names;
  }

  std::vector<std::string> names_of(const std::string& list) const {
    std::vector<std::string> names;
    if (list.empty()) return names;
    std::size_t from = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
      if (i < list.size() && list[i] == '[') ++depth;
      if (i < list.size() && list[i] == ']') --depth;
      if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
      for (std::string& name : expanded(list.substr(from, i - from))) {
        names.push_back(std::move(name));
      }
      if (names.size() > kMostParts) refuse("more than 1000000 names");
      from = i + 1;
    }
    return names;
  }

  void read_slurm() {
    std::string whole;
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      std::string line = lines_[at_].substr(0, lines_[at_].find('#'));
      const bool goes_on = !line.empty() && line.back() == '\\';
      if (goes_on) line.pop_back();
      whole += line;
      if (goes_on) continue;
      read_switches(std::exchange(whole, ""));
    }
  }

  /// A page may have put several of scontrol's lines into one.
  void read_switches(std::string line) {
    for (std::size_t next = 1; next != std::string::npos;) {
      next = line.size() > 1 ? std::min(line.find(" SwitchName=", 1), line.find(" BlockName=", 1))
                             : std::string::npos;
      read_switch(line.substr(0, next));
      if (next != std::string::npos) line.erase(0, next + 1);
    }
  }

  /// A switch of topology/tree, or a block of topology/block, which is a leaf. What scontrol says
  /// beyond that is passed over: the nodes below the switches that are below a switch, and blocks
  /// that Slurm puts together.
  void read_switch(const std::string& line) {
    std::map<std::string, std::string> values = conf_values(line);
    for (const auto& [key, value] : values) {
      constexpr std::array kKnown{"switchname", "nodes",          "switches", "linkspeed",
                                  "blockname",  "blocksizes",     "level",    "blockindex",
                                  "blocksize",  "aggregatedblock"};
      if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
        refuse(fmt::format("unknown key '{}'", key));
      }
      if (value.find('"') != std::string::npos) refuse(fmt::format("a quote within '{}'", value));
    }
    const bool block = values.contains("blockname");
    const bool only_sizes = values.contains("blocksizes") || values.contains("aggregatedblock");
    if (values.empty() || (!block && only_sizes)) return;
    if (!block && !values.contains("switchname")) refuse("a line without SwitchName or BlockName");
    if (values.contains("level") && values.contains("switches")) values.erase("nodes");
    add_switch("", {.name = values[block ? "blockname" : "switchname"],
                    .nodes = values["nodes"],
                    .switches = values["switches"]});
  }

  /// `of` tells switches of one name apart.
  void add_switch(const std::string& of, const SlurmSwitch& one) {
    const std::string key = fmt::format("switch {}{}", of, of.empty() ? "" : " ");
    std::vector<std::string> longer;
    if (!of.empty()) longer.push_back(fmt::format("{} {}", of, one.name));
    const std::uint32_t above = point(key + one.name, one.name, false, longer);
    for (const std::string& node : names_of(one.nodes)) {
      link(point("host " + node, node, true), "", above, "");
    }
    for (const std::string& below : names_of(one.switches)) {
      std::vector<std::string> names;
      if (!of.empty()) names.push_back(fmt::format("{} {}", of, below));
      link(point(key + below, below, false, std::move(names)), "", above, "");
    }
  }

  /// The cluster's default one first. Another one that has a node of those before it arranges the
  /// same nodes in another way, and is left out.
  void read_yaml() {
    std::vector<SlurmTopology> all = slurm_topologies(lines_);
    std::stable_partition(all.begin(), all.end(),
                          [](const SlurmTopology& one) { return one.is_default; });
    std::set<std::string> taken;
    bool any = false;
    for (const SlurmTopology& one : all) {
      std::set<std::string> nodes;
      for (const SlurmSwitch& item : one.switches) {
        at_ = item.line;
        if (item.name.empty()) refuse("a switch or block without a name");
        for (std::string& node : names_of(item.nodes)) nodes.insert(std::move(node));
      }
      const bool again = std::any_of(nodes.begin(), nodes.end(),
                                     [&](const std::string& node) { return taken.contains(node); });
      if (again) continue;
      taken.merge(nodes);
      for (const SlurmSwitch& item : one.switches) {
        at_ = item.line;
        add_switch(one.name, item);
        any = true;
      }
    }
    if (!any) refuse("no topology with switches or blocks");
  }

  void read_csv() {
    constexpr std::size_t kMostLevels = 32;
    const std::vector<std::string> heading = csv_cells(line());
    if (heading.size() < 2) refuse("a heading without a level above the nodes");
    if (heading.size() > kMostLevels) refuse(fmt::format("more than {} cells", kMostLevels));
    const std::size_t head = at_;
    std::vector<std::vector<std::string>> rows;
    while (++at_ < lines_.size()) {
      if (lines_[at_].empty() || lines_[at_].front() == '#') continue;
      const std::vector<std::string> cells = csv_cells(line());
      if (cells.size() != heading.size()) {
        refuse(fmt::format("{} cells, but the heading has {}", cells.size(), heading.size()));
      }
      add_row(heading, cells);
      rows.push_back(cells);
    }
    at_ = head;
    for (std::size_t level = 1; level + 1 < heading.size(); ++level) {
      check_order(heading, rows, level);
    }
  }

  /// A cloud's interface may tell the topmost level first. Then what is above has one value below,
  /// and what is below several above. Of two levels that may be leaves of one name, one in each
  /// pod.
  void check_order(const std::vector<std::string>& heading,
                   const std::vector<std::vector<std::string>>& rows, std::size_t level) const {
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
    refuse(
        fmt::format("each '{}' has one '{}', and not the other way round: the columns go from "
                    "the node up",
                    heading[level + 1], heading[level]));
  }

  /// A switch is told by its cell and all above it: "leaf 0" may be in each pod.
  void add_row(const std::vector<std::string>& heading, const std::vector<std::string>& cells) {
    std::vector<std::uint32_t> way;  // from the top
    std::string key;
    std::vector<std::string> longer;  // names of the last one, the shortest first
    for (std::size_t level = cells.size(); level-- > 1;) {
      if (cells[level].empty()) continue;  // no such level above this node
      const std::string name = fmt::format("{} {}", heading[level], cells[level]);
      key += fmt::format("{} {}\n", level, cells[level]);
      std::vector<std::string> names{name};
      for (const std::string& above : longer) names.push_back(above + ' ' + name);
      way.push_back(point(key, name, false, {names.begin() + 1, names.end()}));
      longer = std::move(names);
    }
    const std::string& node = cells.front();
    const std::string leaf = longer.empty() ? "no switch" : longer.back();
    way.push_back(point("0 " + node, node, true));
    const auto [row, added] = rows_.try_emplace(
        way.back(), key, fmt::format("{} in line {} of {}", leaf, at_ + 1, name_));
    if (!added && row->second.first != key) {
      refuse(fmt::format("{} is under {}, but under {}", node, leaf, row->second.second));
    }
    for (std::size_t i = way.size() - 1; i > 0; --i) link(way[i], "", way[i - 1], "");
  }

  /// One host's neighbours. Its name is the file's.
  void read_lldp(const std::string& text) {
    const std::string host = std::filesystem::path(name_).stem().string();
    try {
      const nlohmann::json json = nlohmann::json::parse(text);
      const nlohmann::json& lldp = json.at("lldp");
      if (lldp.is_object() && !lldp.contains("interface")) {  // no neighbour is known
        point("host " + host, host, true);
        return;
      }
      const nlohmann::json& found = lldp.at("interface");
      // One interface is an object, several are a list of objects.
      const nlohmann::json list = found.is_array() ? found : nlohmann::json::array({found});
      for (const nlohmann::json& item : list) {
        for (const auto& [interface, facts] : item.items()) {
          const auto& chassis = facts.at("chassis");
          if (chassis.empty()) refuse("an interface without a chassis");
          // Under its name; where it has none, its facts stand there themselves.
          const bool nameless = chassis.contains("id") && chassis.at("id").contains("value");
          const std::string neighbour =
              nameless ? chassis.at("id").at("value").get<std::string>() : chassis.begin().key();
          const nlohmann::json& known = nameless ? chassis : chassis.at(neighbour);
          const std::string id =
              known.contains("id") ? known.at("id").at("value").get<std::string>() : neighbour;
          // Another chassis may have the same name: a maker's.
          const bool same = chassis_.try_emplace(neighbour, id).first->second == id;
          const std::string full = fmt::format("{} {}", neighbour, id);
          const nlohmann::json& port = facts.at("port").at("id").at("value");
          const std::string name = fmt::format("{} {}", host, interface);
          link(point("host " + name, name, true), interface,
               point("switch " + (same ? neighbour : full), neighbour, false, {full}),
               port.get<std::string>());
        }
      }
    } catch (const nlohmann::json::exception& error) {
      refuse(fmt::format("not JSON of lldpctl: {}", error.what()));
    }
  }

  struct Entry {
    std::uint64_t from = 0;
    std::string port;
    std::uint64_t to = 0;
  };

  Topology out_;
  std::string name_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::map<std::string, std::uint32_t> by_key_;
  std::map<std::uint32_t, std::vector<std::string>> longer_;           // by point: for tell_apart()
  std::map<std::uint32_t, std::pair<std::string, std::string>> rows_;  // by host: key, for people
  std::map<std::string, std::string> chassis_;                         // by name: the id
  std::map<std::string, std::size_t> seen_links_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> port_link_;
  std::map<std::uint64_t, std::uint32_t> port_guid_;
  std::vector<Entry> forwarding_;
};

}  // namespace

Topology parse_topology(const std::vector<TopologyText>& texts) {
  TopologyReader reader;
  for (const TopologyText& text : texts) reader.add(text);
  return reader.take();
}

Topology read_topology(const std::vector<std::string>& paths) {
  std::vector<TopologyText> texts;
  for (const std::string& path : paths) texts.push_back({path, read_document(path, kMostBytes)});
  return parse_topology(texts);
}

}  // namespace rdmabench::inline v1::fabric
