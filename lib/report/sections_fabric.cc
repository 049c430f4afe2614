// A fabric's nodes and what failed, as tables.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sections.h"

namespace rdmabench::report {
namespace {

constexpr std::size_t kMostErrors = 200;  // a dead switch gives a million alike
constexpr std::size_t kMostHosts = 12;    // that are named for one value

double worst(const NodeMedian& node) {
  const double sender = relative(node.latency, node.as_sender, node.typical);
  const double receiver = relative(node.latency, node.as_receiver, node.typical);
  return sender == 0 ? receiver : receiver == 0 ? sender : std::min(sender, receiver);
}

std::string share_text(double share) {
  return share > 0 ? fmt::format("{:.0f} %", share * 100) : "-";
}

Section every_node(const Document& document, const FabricNames& names) {
  std::vector<NodeMedian> nodes = node_medians(document);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const NodeMedian& a, const NodeMedian& b) { return worst(a) < worst(b); });
  std::map<std::string, std::string> verdicts;
  const auto key = [](double rank, std::string_view metric, double size) {
    return fmt::format("{} {} {}", rank, metric, size);
  };
  for (const Json& one : list_of(object_of(document.body, "verdict"), "nodes")) {
    verdicts[key(number_of(one, "rank"), text_of(one, "metric"), number_of(one, "size_bytes"))] =
        text_of(one, "verdict");
  }
  Section section{"Each node's medians over its partners, the worst first; 100 % is typical",
                  true,
                  {},
                  {{"node"},
                   {"rail"},
                   {"metric"},
                   {"size", true},
                   {"as sender", true},
                   {"of typical", true},
                   {"as receiver", true},
                   {"of typical", true},
                   {"verdict"}}};
  for (const NodeMedian& node : nodes) {
    const auto text = [&](double value) {
      return value <= 0 ? "-" : node.latency ? time_text(value) : rate_text(value);
    };
    const std::string metric = node.latency ? "latency" : "bandwidth";
    const auto size = double(node.size_bytes);
    section.rows.push_back(
        {{names.host(node.rank), rail_of(document, node.rank, node.rail), metric, size_text(size),
          text(node.as_sender), share_text(relative(node.latency, node.as_sender, node.typical)),
          text(node.as_receiver),
          share_text(relative(node.latency, node.as_receiver, node.typical)),
          verdicts[key(node.rank, metric, size)]}});
  }
  return section;
}

Section failed(const Document& document, const FabricNames& names) {
  Section section{
      "Measurements that failed",
      false,
      {},
      {{"sender"}, {"receiver"}, {"rail"}, {"metric"}, {"size", true}, {"round", true}, {"why"}}};
  for (const PairMeasurement& pair : document.pairs) {
    if (pair.error.empty()) continue;
    if (section.rows.size() == kMostErrors) {
      ++section.left_out;
      continue;
    }
    section.rows.push_back(
        {{names.host(pair.sender), names.host(pair.receiver),
          rail_of(document, pair.sender, pair.rail), pair.latency() ? "latency" : "bandwidth",
          size_text(double(pair.size_bytes)), fmt::format("{}", pair.round), pair.error}});
  }
  return section;
}

/// Of many nodes what the majority has, and who has something else.
Section facts_of_nodes(const Document& document, const FabricNames& names) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> facts;
  std::size_t number = 0;
  for (const Json& node : list_of(document.body, "nodes")) {
    const std::string host = names.host(number++);
    for (const Json& fact : list_of(node, "environment")) {
      const std::string name = text_of(fact, "name");
      if (!is_own_fact(name)) facts[name][any_text_of(fact, "value")].push_back(host);
    }
  }
  Section section{
      "Facts of the nodes", false, {}, {{"fact"}, {"most have"}, {"others"}, {"alike?"}}};
  for (const auto& [name, values] : facts) {
    const auto most = std::max_element(values.begin(), values.end(), [](auto& a, auto& b) {
      return a.second.size() < b.second.size();
    });
    Cell others;
    for (auto one = values.begin(); one != values.end(); ++one) {
      if (one == most) continue;
      std::string text = one->first + ':';
      for (std::size_t i = 0; i < std::min(kMostHosts, one->second.size()); ++i) {
        text += (i == 0 ? " " : ", ") + one->second[i];
      }
      if (one->second.size() > kMostHosts) {
        text += fmt::format(" and {} more", one->second.size() - kMostHosts);
      }
      others.items.push_back(std::move(text));
    }
    const bool differs = values.size() > 1;
    section.open |= differs;
    section.rows.push_back({{name, fmt::format("{} ({})", most->first, most->second.size()),
                             std::move(others), differs ? "differs" : ""},
                            differs});
  }
  std::stable_partition(section.rows.begin(), section.rows.end(),
                        [](const TableRow& row) { return row.differs; });
  return section;
}

}  // namespace

std::vector<Section> fabric_sections(const Document& document) {
  const FabricNames names(document);
  Section withdrawn{"Suspicions that further tests did not bear out", false};
  for (const Json& one : list_of(object_of(document.body, "verdict"), "withdrawn")) {
    withdrawn.words.emplace_back(fmt::format("{} {}: {}", text_of(one, "part"),
                                             suspect_of(names, one), text_of(one, "text")));
  }
  return {std::move(withdrawn), every_node(document, names), failed(document, names)};
}

std::vector<Section> fabric_details(const Document& document) {
  return {facts_table("The plan of this run", object_of(document.body, "plan")),
          facts_of_nodes(document, FabricNames(document))};
}

}  // namespace rdmabench::report
