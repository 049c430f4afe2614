// A fabric's nodes and what failed, as tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/listed.h"
#include "fabric_document.h"
#include "launches.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr std::size_t kMostErrors = 200;  // that are not alike
constexpr std::size_t kMostHosts = 12;    // that are named for one value
constexpr std::size_t kMostPaths = 8;
constexpr std::size_t kMostInText = 4;  // rows

/// What all pairs gave in one metric and size on all rails, confirming tests left out.
struct Slice {
  std::vector<const PairMeasurement*> pairs{};  ///< the worst first
  std::size_t failed = 0;
  double typical = NAN;
  double tail = NAN;  ///< of the 5 % worst
};
using Slices = std::map<std::pair<Metric, std::uint64_t>, Slice>;

Slices slices_of(const Document& document) {
  Slices slices;
  const Json& plan = object_of(json_of(document), "plan");
  const auto planned = [&](Metric metric, std::string_view key) {
    for (const Json& size : list_of(plan, key)) {  // the run may have ended before
      if (size.is_number_unsigned()) slices[{metric, size.get<std::uint64_t>()}];
    }
  };
  planned(Metric::bandwidth, "bandwidth_sizes_bytes");
  planned(Metric::latency, "latency_sizes_bytes");
  for (const PairMeasurement& pair : document.pairs) {
    if (pair.confirming) continue;
    Slice& slice = slices[{pair.metric, pair.size_bytes}];
    pair.error.empty() ? slice.pairs.push_back(&pair) : void(++slice.failed);
  }
  for (auto& [of, slice] : slices) {
    if (slice.pairs.empty()) continue;
    const bool latency = of.first == Metric::latency;
    std::sort(slice.pairs.begin(), slice.pairs.end(), [latency](const auto* a, const auto* b) {
      return latency ? a->value > b->value : a->value < b->value;
    });
    std::vector<double> values;
    for (const PairMeasurement* const pair : slice.pairs) values.push_back(pair->value);
    constexpr double kTail = 5;  // per cent
    slice.typical = typical_of(object_of(json_of(document), "verdict"), of.first, of.second);
    if (std::isnan(slice.typical)) slice.typical = measure::median(values);
    slice.tail = measure::percentile(values, latency ? 100 - kTail : kTail);
  }
  return slices;
}

Section figures(const Slices& slices, Metric metric) {
  const bool latency = metric == Metric::latency;
  Scale scale = latency ? kTimeScale : kRateScale;
  scale.decimals = 2;
  Section section{latency ? "Latency of all pairs" : "Bandwidth of all pairs"};
  section.columns = {{"size", true},
                     {"pairs", true},
                     {"failed", true},
                     {"typical", true, scale},
                     {latency ? "p95" : "p5", true, scale},
                     {"worst", true, scale},
                     {"best", true, scale}};
  for (const auto& [of, slice] : slices) {
    if (of.first != metric) continue;
    const bool none = slice.pairs.empty();
    section.rows.push_back(
        {{size_text(double(of.second)), fmt::format("{}", slice.pairs.size()),
          fmt::format("{}", slice.failed), Cell(slice.typical, scale), Cell(slice.tail, scale),
          Cell(none ? NAN : slice.pairs.front()->value, scale),
          Cell(none ? NAN : slice.pairs.back()->value, scale)}});
  }
  return section;
}

/// With why the slow ones are no findings.
Section worst_pairs(const Document& document, const FabricNames& names, const Slices& slices) {
  Section section{"Worst pairs"};
  section.columns = {
      {"metric"},      {"size", true},      {"sender"}, {"receiver"}, {"rail", false, {}, kLastOut},
      {"value", true}, {"of typical", true}};
  constexpr std::size_t kFewSizes = 2;  // of which several pairs each can be read
  const std::size_t most = slices.size() <= kFewSizes ? 5 : 1;
  for (const auto& [of, slice] : slices) {
    for (std::size_t i = 0; i < std::min(most, slice.pairs.size()); ++i) {
      const PairMeasurement& pair = *slice.pairs[i];
      section.rows.push_back({{std::string(name(pair.metric)), size_text(double(pair.size_bytes)),
                               names.numbered(pair.sender), names.numbered(pair.receiver),
                               names.rail(pair.sender, pair.rail),
                               pair.latency() ? time_text(pair.value) : rate_text(pair.value),
                               whole_percent(pair.latency() ? slice.typical / pair.value
                                                            : pair.value / slice.typical) +
                                   " %"}});
    }
  }
  std::vector<std::string> sentences;
  for (const Json& one : list_of(object_of(json_of(document), "verdict"), "slow_pairs")) {
    sentences.push_back(
        fmt::format("{} of {}, {} to {}, is not a finding: {}", text_of(one, "metric"),
                    size_text(number_of(one, "size_bytes")), names.numbered(rank_in(one, "sender")),
                    names.numbered(rank_in(one, "receiver")), text_of(one, "why_no_finding")));
  }
  for (std::string& sentence : folded(sentences)) section.words.emplace_back(std::move(sentence));
  return section;
}

/// "ofi, provider tcp, device lo", by which the pairs were measured; several with their numbers of
/// measurements, the most frequent first.
std::string paths_of(const Document& document) {
  std::map<std::string, std::size_t> counts;
  for (const PairMeasurement& pair : document.pairs) {
    if (!pair.over.empty()) ++counts[pair.over];
  }
  if (counts.empty()) return text_of(object_of(json_of(document), "plan"), "backend");
  if (counts.size() == 1) return counts.begin()->first;
  std::vector<std::pair<std::string, std::size_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [path, count] : order) words.push_back(fmt::format("{} ({})", path, count));
  return listed(words, kMostPaths);
}

/// Ranks on one host measure memory and processors, and no cable.
std::string shared_hosts(const std::map<std::string, std::size_t>& hosts, std::size_t ranks) {
  constexpr std::string_view kCause =
      "The launcher was probably not told to start one process on each node: mpirun --map-by node "
      "(or ppr:1:node), srun --ntasks-per-node=1.";
  if (hosts.size() == 1) {
    return fmt::format(
        "All {} ranks run on one host, {}: this is the host with itself, not a network. {}", ranks,
        hosts.begin()->first, kCause);
  }
  std::vector<std::string> crowded;
  for (const auto& [host, count] : hosts) {
    if (count > 1) crowded.push_back(fmt::format("{} ({})", host, count));
  }
  return fmt::format(
      "{} ranks share {} hosts, so some pairs are a host with itself; hosts with several ranks: "
      "{}. {}",
      ranks, hosts.size(), listed(crowded, kMostHosts), kCause);
}

/// Which links of a topology were crossed.
std::string crossed_text(const Json& links) {
  const double directions = number_of(links, "directions");
  const double crossed = number_of(links, "crossed");
  std::string text = "No pair could cross a link between switches";
  if (directions > 0 && std::isfinite(crossed)) {
    text = fmt::format("{} of {} directions of links between switches were crossed", crossed,
                       directions);
  }
  const double fewest = number_of(links, "fewest_pairs");
  if (crossed > 0 && std::isfinite(fewest)) {
    text += fmt::format(", each by {} pair{} or more", fewest, fewest == 1 ? "" : "s");
  }
  const double leaves = number_of(links, "leaves");
  const double within = number_of(links, "within");
  if (!std::isfinite(leaves) || !std::isfinite(within)) return text + ".";
  return fmt::format("{}; of {} leaves {} had pairs within them.", text, leaves, within);
}

Section about(const Document& document) {
  const Json& plan = object_of(json_of(document), "plan");
  const Json& nodes = list_of(json_of(document), "nodes");
  std::set<std::uint32_t> rounds;
  std::set<std::uint32_t> confirming;
  for (const PairMeasurement& pair : document.pairs) {
    (pair.confirming ? confirming : rounds).insert(pair.round);
  }
  std::map<std::string, std::size_t> hosts;
  std::size_t ranks = 0;
  for (const Json& node : nodes) {
    const std::string host = text_of(node, "host");
    if (!host.empty() && ++ranks > 0) ++hosts[host];
  }
  const std::string rails = any_text_of(plan, "rails");
  Section section{"What was measured"};
  section.words.emplace_back(fmt::format(
      "Fabric of {} {}: {}, {} round{}{}; {} over {}{}", nodes.size(),
      hosts.size() == 1 && ranks > 1 ? "ranks on one host" : "nodes", text_of(plan, "pattern"),
      rounds.size(), rounds.size() == 1 ? "" : "s",
      confirming.empty() ? "" : fmt::format(" and {} to confirm", confirming.size()),
      text_of(plan, "operation"), paths_of(document), rails.empty() ? "" : "; rails " + rails));
  const Json& verdict = object_of(json_of(document), "verdict");
  if (const std::string compared = text_of(verdict, "compared"); !compared.empty()) {
    section.words.emplace_back(compared);
  }
  if (hosts.size() < ranks) {
    section.words.emplace_back(Status::warn, shared_hosts(hosts, ranks));
  }
  const Json& links = object_of(verdict, "links");
  if (!links.empty()) section.words.emplace_back(crossed_text(links));
  return section;
}

double worst(const NodeMedian& node) {
  const double sender = node.relative(node.as_sender);
  const double receiver = node.relative(node.as_receiver);
  return sender == 0 ? receiver : receiver == 0 ? sender : std::min(sender, receiver);
}

Section every_node(const Document& document, const FabricNames& names) {
  std::vector<NodeMedian> nodes = node_medians(document);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const NodeMedian& a, const NodeMedian& b) { return worst(a) < worst(b); });
  std::map<std::string, std::string> verdicts;
  const auto key = [](double rank, std::string_view metric, double size) {
    return fmt::format("{} {} {}", rank, metric, size);
  };
  const auto launches = double(launches_of(json_of(document)));
  for (const Json& one : list_of(object_of(json_of(document), "verdict"), "nodes")) {
    std::string& word =
        verdicts[key(number_of(one, "rank"), text_of(one, "metric"), number_of(one, "size_bytes"))];
    word = text_of(one, "verdict");
    if (number_of(one, "launches") < launches) {
      word += fmt::format(" ({} of {})", number_of(one, "launches"), launches);
    }
  }
  Section section{"Each node's medians over its partners, the worst first; 100 % is typical"};
  section.columns = {{"node"},
                     {"rail", false, {}, kLastOut},
                     {"metric"},
                     {"size", true},
                     {"sends", true, {}, kEarlyOut},
                     {"sends[%]", true},
                     {"receives", true, {}, kEarlyOut},
                     {"receives[%]", true},
                     {"verdict"}};
  for (const NodeMedian& node : nodes) {
    const bool latency = node.metric == Metric::latency;
    const auto text = [latency](double value) {
      return value <= 0 ? "-" : latency ? time_text(value) : rate_text(value);
    };
    const std::string metric(name(node.metric));
    const auto size = double(node.size_bytes);
    section.rows.push_back(
        {{names.numbered(node.rank), names.rail(node.rank, node.rail), metric, size_text(size),
          text(node.as_sender), whole_percent(node.relative(node.as_sender)),
          text(node.as_receiver), whole_percent(node.relative(node.as_receiver)),
          verdicts[key(node.rank, metric, size)]}});
  }
  section.most_in_text = kMostInText;
  return section;
}

/// One sentence for those with the same lost node, and for those with the same error.
Section failed(const Document& document, const FabricNames& names) {
  std::set<double> lost;
  for (const Json& one : list_of(json_of(document), "lost")) {
    const double rank = number_of(one, "rank");
    if (std::isfinite(rank)) lost.insert(rank);
  }
  std::vector<std::pair<const PairMeasurement*, std::size_t>> kinds;  // the first, and how many
  std::map<std::string, std::size_t> known;
  for (const PairMeasurement& pair : document.pairs) {
    if (pair.error.empty()) continue;
    const bool sender = lost.contains(pair.sender);
    const std::string kind = sender || lost.contains(pair.receiver)
                                 ? fmt::format("{}", sender ? pair.sender : pair.receiver)
                                 : without_numbers(pair.error);
    const auto [at, is_new] = known.try_emplace(kind, kinds.size());
    if (is_new) kinds.emplace_back(&pair, 0);
    ++kinds[at->second].second;
  }
  Section section{"Measurements that failed", false};
  for (const auto& [pair, count] : kinds) {
    if (section.words.size() == kMostErrors) {
      section.left_out = kinds.size() - kMostErrors;
      break;
    }
    section.words.emplace_back(fmt::format(
        "{} of {}, {} to {}, {}, round {}: {}{}", name(pair->metric),
        size_text(double(pair->size_bytes)), names.numbered(pair->sender),
        names.numbered(pair->receiver), names.rail(pair->sender, pair->rail), pair->round,
        pair->error, count > 1 ? fmt::format(" (and {} more like it)", count - 1) : ""));
  }
  section.most_in_text = kMostInText;
  return section;
}

/// Of many nodes what the majority has, and who has something else.
Section facts_of_nodes(const Document& document, const FabricNames& names) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> facts;
  std::size_t number = 0;
  for (const Json& node : list_of(json_of(document), "nodes")) {
    const std::string host = names.node(number++);
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
      others.items.push_back(fmt::format("{}: {}", one->first, listed(one->second, kMostHosts)));
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
  const Slices slices = slices_of(document);
  const auto who = [&names](const Json& one) { return Cell(suspect_of(names, one)); };
  Section withdrawn = table_of("Suspicions that were not confirmed when measured again",
                               {words_column("part", "part"),
                                {"who", false, who},
                                words_column("metric", "metric"),
                                number_column("size", "size_bytes", size_text),
                                words_column("why it was suspected", "text", kOnPages)},
                               list_of(object_of(json_of(document), "verdict"), "withdrawn"));
  withdrawn.open = false;
  withdrawn.most_in_text = kMostInText;
  return {about(document),
          std::move(withdrawn),
          figures(slices, Metric::bandwidth),
          figures(slices, Metric::latency),
          worst_pairs(document, names, slices),
          every_node(document, names),
          failed(document, names)};
}

std::vector<Section> fabric_details(const Document& document) {
  return {facts_table("The plan of this run", object_of(json_of(document), "plan")),
          facts_of_nodes(document, FabricNames(document))};
}

}  // namespace rdmabench::inline v1::report
