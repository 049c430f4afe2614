// Compares a node with its peers.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_values.h"
#include "base/nesting.h"
#include "base/refuse.h"
#include "rdmabench/health/doctor.h"
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

using Key = std::pair<std::string, std::string>;  // check and subject

/// Over all hosts but `own`: the node's own document does not count, and each host counts once.
std::map<Key, Majority> majorities(std::span<const Peer> peers, const std::string& own) {
  std::map<Key, std::map<std::string, std::size_t>> counts;
  std::set<std::string> hosts;
  for (const Peer& peer : peers) {
    if (peer.host.empty() || peer.host == own) continue;  // no host: it may be this node
    refuse_if(!hosts.insert(peer.host).second,
              fmt::format("two documents of the peer '{}'", report::terminal_safe(peer.host)),
              "Give one of each host; hosts are told apart by their names.");
    std::set<Key> seen;  // count each observation of a document once
    for (const Peer::Observation& one : peer.observations) {
      const Key key{one.id, one.subject};
      if (!one.observed.empty() && seen.insert(key).second) ++counts[key][one.observed];
    }
  }
  std::map<Key, Majority> found;
  for (const auto& [key, values] : counts) {
    Majority& most = found[key];
    for (const auto& [value, count] : values) {
      most.told += count;
      if (count > most.agree) {
        most.value = value;
        most.agree = count;
      }
    }
  }
  return found;
}

void compare(Finding& finding, const Majority& most) {
  const bool alike = finding.observed == most.value;
  const std::string expected = fmt::format(
      "{}, as {} of {} peers have", report::terminal_safe(most.value), most.agree, most.told);
  if (alike && finding.status == Status::skip) {
    finding.status = Status::pass;
    finding.reason.clear();
    finding.expected = expected;
    finding.source = Source::peers;
  } else if (!alike && (finding.status == Status::skip || finding.status == Status::pass)) {
    finding.status = Status::warn;
    finding.reason.clear();
    finding.expected = expected;
    finding.source = Source::peers;
    finding.remedy = find_check(finding.id)->remedy;
  }
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
  }
  return peer;
}

void compare_with_peers(Diagnosis& diagnosis, std::span<const Peer> peers) {
  const std::map<Key, Majority> known = majorities(peers, diagnosis.host);
  for (Finding& finding : diagnosis.findings) {
    const CheckInfo* const check = find_check(finding.id);
    if (check == nullptr || !check->compares || finding.observed.empty()) continue;
    const auto found = known.find({finding.id, finding.subject});
    if (found != known.end() && found->second.clear()) compare(finding, found->second);
  }
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
