// Compares a node with its peers, and nodes with each other.
#include "peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_values.h"
#include "base/listed.h"
#include "base/nesting.h"
#include "base/refuse.h"
#include "checks/text.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::size_t kFewestPeers = 2;
constexpr std::size_t kMostKeys = 256;  // of one object

/// The most common observation, with the number of hosts that agree and of all hosts.
struct Majority {
  std::string value;
  std::size_t agree = 0;
  std::size_t told = 0;

  /// `told` counts hosts.
  bool clear() const { return told >= kFewestPeers && 2 * agree > told; }
};

using Key = std::pair<std::string, std::string>;                   // check and subject
using Counts = std::map<Key, std::map<std::string, std::size_t>>;  // of hosts, by what they have

/// Each observation of a document counts once.
void count(Counts& counts, const Peer& peer) {
  std::set<Key> seen;
  for (const Peer::Observation& one : peer.observations) {
    const Key key{one.id, one.subject};
    if (!one.observed.empty() && seen.insert(key).second) ++counts[key][one.observed];
  }
}

std::string observed_by(const Peer& node, std::string_view id) {
  const auto found = std::ranges::find(node.observations, id, &Peer::Observation::id);
  return found == node.observations.end() ? "" : found->observed;
}

/// By which nodes are told apart: as they are bought.
std::string model_of(const Peer& node) {
  const std::string product = observed_by(node, "software.product");
  return product.empty() ? observed_by(node, "cpu.model") : product;
}

/// Over all hosts but `own`: the node's own document does not count, each host counts once, and one
/// of another model does not, where both are known.
Counts counts_of(std::span<const Peer> peers, const Peer& own) {
  const std::string model = model_of(own);
  Counts counts;
  std::set<std::string> hosts;
  for (const Peer& peer : peers) {
    if (peer.host.empty() || peer.host == own.host) continue;  // no host: it may be this node
    refuse_if(!hosts.insert(peer.host).second,
              fmt::format("two documents of the peer '{}'", report::terminal_safe(peer.host)),
              "Give one of each host; hosts are told apart by their names.");
    const std::string other = model_of(peer);
    if (model.empty() || other.empty() || model == other) count(counts, peer);
  }
  return counts;
}

/// Without one host, which has `own`.
Majority majority(const std::map<std::string, std::size_t>& values, std::string_view own) {
  Majority most;
  for (const auto& [value, hosts] : values) {
    const std::size_t others = hosts - (value == own ? 1 : 0);
    most.told += others;
    if (others > most.agree) {
      most.value = value;
      most.agree = others;
    }
  }
  return most;
}

/// Checks of how many or how much a node has, and which share of it may be missing unnoticed: the
/// kernel keeps a little memory for itself, not everywhere the same.
struct Amount {
  std::string_view id;
  double tolerance = 0;
};
constexpr std::array kAmounts{Amount{"device.count"}, Amount{"device.ports"}, Amount{"gpu.count"},
                              Amount{"gpu.nvlink"}, Amount{"numa.memory", 0.03}};

const Amount* amount_of(std::string_view id) {
  const auto* const found = std::ranges::find(kAmounts, id, &Amount::id);
  return found == kAmounts.end() ? nullptr : found;
}

/// "8 ports in use" is 8, "node0 512 GiB, node1 512 GiB" is 1024.
double amount_in(const std::string& observed) {
  const std::vector<std::string> words = words_of(observed);
  double sum = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with("GiB")) sum += leading_number(words[i - 1]).value_or(0);
  }
  return sum > 0 ? sum : leading_number(observed).value_or(0);
}

/// PASS: as most have.
Status compared(const std::string& id, const std::string& observed, const std::string& most) {
  if (observed == most) return Status::pass;
  const Amount* const amount = amount_of(id);
  if (amount == nullptr) return Status::warn;
  const double own = amount_in(observed);
  const double usual = amount_in(most);
  if (own < usual * (1 - amount->tolerance)) return Status::fail;
  return own > usual * (1 + amount->tolerance) ? Status::warn : Status::pass;
}

bool is_compared(std::string_view id) {
  const CheckInfo* const check = find_check(id);
  return check != nullptr && (check->compares || amount_of(id) != nullptr);
}

/// With the hosts that `counts` has beside the finding's own.
void compare(Finding& finding, Counts& counts) {
  if (finding.observed.empty() || !is_compared(finding.id)) return;
  const Majority most = majority(counts[{finding.id, finding.subject}], finding.observed);
  if (!most.clear()) return;
  const Status status = compared(finding.id, finding.observed, most.value);
  const bool alike = status == Status::pass;
  if (finding.status != Status::skip && (alike || finding.status != Status::pass)) return;
  finding.status = status;
  finding.reason.clear();
  finding.expected = fmt::format("{}, as {} of {} peers have", report::terminal_safe(most.value),
                                 most.agree, most.told);
  finding.source = Source::peers;
  if (!alike) finding.remedy = find_check(finding.id)->remedy;
}

/// The nodes of one model.
void compare_kind(std::span<const Peer> nodes, const std::vector<std::size_t>& kind,
                  NodeComparison& comparison) {
  Counts counts;
  for (const std::size_t node : kind) count(counts, nodes[node]);
  for (const std::size_t node : kind) {
    std::set<Key> seen;
    for (const Peer::Observation& one : nodes[node].observations) {
      if (one.observed.empty() || !seen.insert({one.id, one.subject}).second) continue;
      Finding finding;
      finding.id = one.id;
      finding.subject = one.subject;
      finding.observed = one.observed;
      finding.status = Status::skip;
      compare(finding, counts);
      if (finding.status == Status::skip) continue;
      auto& list = finding.status == Status::pass ? comparison.alike : comparison.differences;
      list.push_back({node, std::move(finding)});
    }
  }
}

std::string kinds_text(const std::map<std::string, std::vector<std::size_t>>& kinds) {
  constexpr std::size_t kMostKinds = 8;
  std::vector<std::string> names;
  bool any = false;
  for (const auto& [model, nodes] : kinds) {
    const bool enough = nodes.size() > kFewestPeers;
    any = any || enough;
    names.push_back(fmt::format("{} {}{}", nodes.size(),
                                model.empty() ? "of an unknown model" : "of " + model,
                                enough ? "" : " (too few to compare)"));
  }
  if (!any) return "";
  return names.size() == 1
             ? fmt::format("The nodes were compared with each other: {}.", names[0])
             : fmt::format("Nodes of {} models were compared, each with others of its own: {}.",
                           names.size(), listed(names, kMostKinds));
}

}  // namespace

Peer read_peer(std::string_view text, std::string_view origin) {
  const std::string excess = json_excess(text, {.keys = kMostKeys});
  refuse_if(!excess.empty(), fmt::format("{}: {}", origin, excess));
  const auto document = nlohmann::ordered_json::parse(text, nullptr, false);
  refuse_if(text_of(document, "schema") != "rdmabench-doctor/1",
            fmt::format("{} is not a document of rdmabench-doctor/1", origin),
            "Peers are what 'rdmabench doctor --format json' writes.");
  Peer peer;
  peer.host = text_of(document, "host");
  refuse_if(!document.contains("findings") || !document["findings"].is_array(),
            fmt::format("{} has no list of findings", origin));
  for (const auto& finding : document["findings"]) {
    if (!finding.is_object()) continue;
    peer.observations.push_back(
        {text_of(finding, "id"), text_of(finding, "subject"), text_of(finding, "observed")});
    const std::string status = text_of(finding, "status");
    if (status == name(Status::fail) || status == name(Status::error)) ++peer.failed;
  }
  return peer;
}

void compare_with_peers(Diagnosis& diagnosis, std::span<const Peer> peers) {
  Peer own{.host = diagnosis.host, .observations = {}};
  for (const Finding& one : diagnosis.findings) {
    own.observations.push_back({one.id, one.subject, one.observed});
  }
  Counts counts = counts_of(peers, own);
  count(counts, own);
  for (Finding& finding : diagnosis.findings) compare(finding, counts);
}

NodeComparison compare_nodes(std::span<const Peer> nodes) {
  std::map<std::string, std::vector<std::size_t>> kinds;
  std::set<std::string> hosts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string& host = nodes[i].host;
    if (!host.empty() && hosts.insert(host).second) kinds[model_of(nodes[i])].push_back(i);
  }
  NodeComparison comparison{.differences = {}, .alike = {}, .words = kinds_text(kinds)};
  for (const auto& [model, members] : kinds) {
    compare_kind(nodes, members, comparison);
  }
  std::ranges::stable_sort(comparison.differences, [](const auto& a, const auto& b) {
    const auto order = [](const NodeDifference& one) {
      return std::pair(one.finding.status != Status::fail, one.node);
    };
    return order(a) < order(b);
  });
  return comparison;
}

std::vector<Peer::Observation> compared_observations(const FileTree& tree) {
  DoctorOptions options;
  for (const CheckInfo& check : checks()) {
    const bool of_process = check.group() == "env" || check.group() == "limit";
    if (!of_process && is_compared(check.id)) options.only.emplace_back(check.id);
  }
  // By check: what was observed, and where.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> seen;
  for (const Finding& finding : diagnose(tree, "/", options).findings) {
    if (finding.observed.empty() || !is_compared(finding.id)) continue;
    seen[finding.id][finding.observed].push_back(finding.subject);
  }
  std::vector<Peer::Observation> list;
  for (const auto& [id, values] : seen) {
    const auto most =
        std::ranges::max_element(values, {}, [](const auto& one) { return one.second.size(); });
    std::string text = most->first;
    for (const auto& [other, subjects] : values) {
      if (other != most->first) text += fmt::format("; {} on {}", other, fmt::join(subjects, ", "));
    }
    list.push_back({id, "node", std::move(text)});
  }
  return list;
}

void compare_with_earlier(Diagnosis& diagnosis, const Peer& earlier) {
  refuse_if(earlier.host != diagnosis.host,
            fmt::format("the earlier document is of '{}', not of '{}'",
                        report::terminal_safe(earlier.host), report::terminal_safe(diagnosis.host)),
            "Give one that doctor wrote on this node; --peers takes those of others.");
  for (Finding& finding : diagnosis.findings) {
    if (finding.id != "address.gid" && finding.id != "address.roce_v2" &&
        finding.id != "address.gid_index") {
      continue;
    }
    if (finding.status != Status::pass && finding.status != Status::skip) continue;
    for (const Peer::Observation& one : earlier.observations) {
      if (one.id != finding.id || one.subject != finding.subject || one.observed.empty() ||
          finding.observed.empty() || one.observed == finding.observed) {
        continue;
      }
      finding.status = Status::warn;
      finding.reason.clear();
      finding.expected = report::terminal_safe(one.observed);
      finding.source = Source::earlier;
      finding.remedy =
          "The order in which a port gets its addresses decides the index. Give the new index to "
          "whatever names one (NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX, --gid-index), or let it choose.";
    }
  }
}

}  // namespace rdmabench::inline v1::health
