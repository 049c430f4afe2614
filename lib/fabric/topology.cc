#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "rdmabench/fabric/matrix.h"
#include "topology_formats.h"
#include "topology_lines.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

/// Finds the format of each text.
class TopologyReader {
 public:
  void add(const TopologyText& file) {
    draft_.file = file.name;
    const std::string_view mark = file.text.starts_with("\xEF\xBB\xBF") ? "\xEF\xBB\xBF" : "";
    const auto& lines = draft_.lines =
        parts_of(std::string_view(file.text).substr(mark.size()), '\n');
    const auto any = [&](std::string_view begin) {
      return std::any_of(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.starts_with(begin); });
    };
    const auto first = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
      return !line.empty() && line.front() != '#';
    });
    draft_.at = static_cast<std::size_t>(first - lines.begin());
    if (first == lines.end()) draft_.refuse("it has no line but comments");
    if (first->front() == '{' || first->front() == '[') return lldp_.read(draft_, file.text);
    if (any("Unicast lids")) return subnet_.read_forwarding(draft_);
    if (any("switchguid=") || any("caguid=")) return subnet_.read_links(draft_);
    if ((first->starts_with("CA ") || first->starts_with("SW ")) &&
        first->find(" 0x") != first->npos)
      draft_.refuse("it is ibnetdiscover's list of ports: give what it prints without -p");
    if (*first == "---" || first->starts_with("- ") || first->starts_with("topology:")) {
      return read_slurm_yaml(draft_);
    }
    const auto values = conf_values(*first);
    for (const char* key : {"switchname", "blockname", "blocksizes", "aggregatedblock"}) {
      if (values.contains(key)) return read_slurm_conf(draft_);
    }
    const std::string head = lower(csv_cells(*first).front());
    for (const char* host : {"node", "host", "hostname", "instance"}) {
      if (head == host) return csv_.read(draft_);
    }
    draft_.refuse(
        "it is not ibnetdiscover's or dump_fts's output, Slurm's topology.conf or topology.yaml, what "
        "`scontrol show topology` prints, lldpctl's JSON, or a CSV whose heading begins with node, host, hostname or instance");
  }

  Topology take() {
    subnet_.resolve_forwarding(draft_);
    return draft_.take();
  }

 private:
  TopologyDraft draft_;
  SubnetReader subnet_;
  CsvReader csv_;
  LldpReader lldp_;
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
