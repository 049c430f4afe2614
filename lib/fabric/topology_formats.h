// The readers of topology files, one for each format. Each adds what `draft.lines` say.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology_draft.h"

namespace rdmabench::inline v1::fabric {

/// A subnet of InfiniBand, as ibnetdiscover(8) and dump_fts(8) print it.
class SubnetReader {
 public:
  void read_links(TopologyDraft& draft);
  void read_forwarding(TopologyDraft& draft);
  /// After all files, because the tables may come before the links.
  void resolve_forwarding(TopologyDraft& draft) const;

 private:
  struct Entry {
    std::uint64_t from = 0;
    std::string port;
    std::uint64_t to = 0;
  };

  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> port_link_;
  std::map<std::uint64_t, std::uint32_t> port_guid_;
  std::vector<Entry> forwarding_;
};

/// Slurm's topology.conf(5), and what `scontrol show topology` prints.
void read_slurm_conf(TopologyDraft& draft);
/// Slurm's topology.yaml(5).
void read_slurm_yaml(TopologyDraft& draft);

/// A row for each node, with the switches above it.
class CsvReader {
 public:
  void read(TopologyDraft& draft);

 private:
  void add_row(TopologyDraft& draft, const std::vector<std::string>& heading,
               const std::vector<std::string>& cells);

  std::map<std::uint32_t, std::pair<std::string, std::string>> rows_;  // by host: key, for people
};

/// One host's neighbours, as lldpctl(8) writes them in JSON. The host's name is the file's.
class LldpReader {
 public:
  void read(TopologyDraft& draft, std::string_view text);

 private:
  std::map<std::string, std::string> chassis_;  // by name: the id
};

}  // namespace rdmabench::inline v1::fabric
