// What carried the bytes, by the devices' own counters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "collective/document.h"
#include "rdmabench/collective/run.h"
#include "report/carried.h"
#include "results/facts.h"
#include "results/not_rdma.h"
#include "run/requirements.h"

namespace rdmabench::inline v1::collective {
namespace {

struct NodeBytes {
  double needed = 0;  ///< that have to leave it
  report::CountedBytes sent;
};

/// How many ranks of the group run on each node.
std::map<std::string, double> ranks_of_nodes(const Run& run, const Row& row) {
  std::map<std::string, double> ranks;
  for (const std::uint32_t rank : row.ranks) ++ranks[run.ranks[rank].identity.host];
  return ranks;
}

/// Times the size: what has to leave each of `nodes` nodes, by the least traffic of any algorithm
/// on hosts (an all-reduce within the switches sends half as much, hence kCarriedShare). Operations
/// with a root send nothing from some nodes; of a ring only the last rank of a node sends out of
/// it.
double least_sent(Operation operation, double nodes) {
  const double share = (nodes - 1) / nodes;
  if (operation == Operation::all_reduce) return 2 * share;
  return operation == Operation::all_gather || operation == Operation::reduce_scatter ? share : 0;
}

/// Of one operation, by this node with `here` ranks.
double bytes_out(const Row& row, double nodes, double here) {
  const auto size = static_cast<double>(row.size_bytes);
  const auto ranks = static_cast<double>(row.ranks.size());
  // Each rank sends each other one an equal part of the size.
  if (row.call.operation == Operation::all_to_all) return here * size * (ranks - here) / ranks;
  if (row.call.operation == Operation::send_receive) return size;
  return size * least_sent(row.call.operation, nodes);
}

std::map<std::string, NodeBytes> bytes_of_nodes(const Run& run) {
  std::map<std::string, NodeBytes> nodes;
  for (const Row& row : run.rows) {
    if (!row.skipped.empty()) continue;
    const std::map<std::string, double> ranks = ranks_of_nodes(run, row);
    const auto count = static_cast<double>(ranks.size());
    const auto operations = static_cast<double>((row.iterations + row.warmup) * row.batch);
    for (const auto& [host, here] : ranks) {
      if (count > 1) nodes[host].needed += operations * bytes_out(row, count, here);
    }
  }
  for (const RankReport& rank : run.ranks) {
    report::add_counted(nodes[rank.identity.host].sent, rank.counters, report::Flow::sent);
  }
  return nodes;
}

/// Where no finding from the `before`-th on says PASS or FAIL, nothing was proved: all FAIL.
void fail_if_none_is_known(std::vector<RequirementFinding>& findings, std::size_t before) {
  const auto first = findings.begin() + static_cast<std::ptrdiff_t>(before);
  if (std::all_of(first, findings.end(),
                  [](const RequirementFinding& one) { return one.status == Status::open; })) {
    std::for_each(first, findings.end(),
                  [](RequirementFinding& one) { one.status = Status::fail; });
  }
}

/// Of device=NAME: whether it sent `share` of what each node had to send.
void prove_device(const RequirementFinding& asked, const std::string& device, double share,
                  const std::map<std::string, NodeBytes>& nodes,
                  std::vector<RequirementFinding>& findings) {
  const std::size_t before = findings.size();
  for (const auto& [host, node] : nodes) {
    if (node.needed <= 0) continue;
    const double needed = node.needed * share;
    RequirementFinding& finding = findings.emplace_back(asked);
    finding.subject = host;
    report::judge_carried(
        finding, node.sent, device, needed, report::Flow::sent,
        fmt::format("the rows need {} or more to leave the node", report::megabytes(needed)));
  }
  if (findings.size() != before) return fail_if_none_is_known(findings, before);
  RequirementFinding& finding = findings.emplace_back(asked);
  finding.status = Status::fail;
  finding.text =
      "no bytes had to leave a node, so this cannot be checked: measure all-reduce, all-gather, "
      "reduce-scatter, all-to-all or send-receive between nodes";
}

/// Of each rank, by what its own library logged. A rank may reach no other through a NIC.
template <class Judge>
void prove_ranks(const RequirementFinding& asked, const Run& run,
                 std::vector<RequirementFinding>& findings, Judge judge) {
  const std::size_t before = findings.size();
  for (const RankReport& rank : run.ranks) {
    RequirementFinding& finding = findings.emplace_back(asked);
    finding.subject = fmt::format("rank {} ({})", rank.identity.rank, rank.identity.host);
    judge(rank.facts, finding);
  }
  fail_if_none_is_known(findings, before);
}

/// A connection that is not direct is copied through host memory.
void judge_gpudirect(const report::Facts& facts, RequirementFinding& finding) {
  const auto direct = report::value_of<bool>(facts, "gpudirect");
  if (!direct) {
    finding.text = report::text_of(facts, "gpudirect_unknown",
                                   "the library does not say how it reaches the network");
    return;
  }
  finding.status = *direct ? Status::pass : Status::fail;
  finding.text =
      fmt::format("{} its connections through a NIC are direct: {}", *direct ? "all" : "not all",
                  report::text_of(facts, "routes", "unknown"));
}

/// That a network was loaded is not enough: a connection must use it.
void judge_network(const report::Facts& facts, const std::string& wanted,
                   RequirementFinding& finding) {
  const auto network = report::value_of<std::string>(facts, "network");
  if (!network) {
    finding.text =
        report::text_of(facts, "network_unknown", "the library does not name its network");
    return;
  }
  finding.text = "the library says " + *network;
  if (*network != wanted) {
    finding.status = Status::fail;
  } else if (report::value_of<bool>(facts, "gpudirect")) {
    finding.status = Status::pass;
    finding.text += "; its connections: " + report::text_of(facts, "routes", "unknown");
  } else {
    finding.text += fmt::format(
        ", but {}; its connections: {}",
        report::text_of(facts, "gpudirect_unknown", "not how this rank reaches the others"),
        report::text_of(facts, "routes", "unknown"));
  }
}

/// By the library's log.
bool goes_over_sockets(const report::Facts& facts) {
  return report::text_of(facts, "routes").find("NET/Socket") != std::string::npos;
}

}  // namespace

std::string not_rdma(const Run& run) {
  if (!report::text_of(run.config, "network").empty()) return "";  // it was asked for
  std::map<std::string, bool> lacks;                               // by node
  bool sockets =
      std::ranges::any_of(run.rows, [](const Row& row) { return goes_over_sockets(row.facts); });
  for (const RankReport& rank : run.ranks) {
    lacks[rank.identity.host] |=
        report::value_of<std::uint64_t>(rank.facts, "rdma_devices") == std::uint64_t{0};
    sockets = sockets || goes_over_sockets(rank.facts);
  }
  if (!sockets || lacks.size() < 2) return "";
  const auto without = static_cast<std::size_t>(
      std::ranges::count_if(lacks, [](const auto& node) { return node.second; }));
  return fmt::format("NOT RDMA: measured over {}, NET/Socket, {}", run.backend,
                     report::without_rdma(without, lacks.size()));
}

std::vector<run::Requirement> parse_required(std::string_view text) {
  constexpr std::array<run::RequirementWord, 3> kWords{
      {{"device", true}, {"network", true}, {"gpudirect"}}};
  return run::parse_requirements(text, kWords);
}

std::vector<RequirementFinding> prove(const Run& run,
                                      const std::vector<run::Requirement>& required) {
  const auto devices = static_cast<double>(
      std::count_if(required.begin(), required.end(),
                    [](const run::Requirement& one) { return one.name == "device"; }));
  const std::map<std::string, NodeBytes> nodes = bytes_of_nodes(run);
  std::vector<RequirementFinding> findings;
  for (const run::Requirement& one : required) {
    const RequirementFinding asked{.required = to_text(one)};
    if (one.name == "device") {
      prove_device(asked, one.value, 1 / devices, nodes, findings);
    } else {
      prove_ranks(asked, run, findings,
                  [&](const report::Facts& facts, RequirementFinding& finding) {
                    one.name == "network" ? judge_network(facts, one.value, finding)
                                          : judge_gpudirect(facts, finding);
                  });
    }
  }
  return findings;
}

}  // namespace rdmabench::inline v1::collective
