// Whether the devices carried what was measured, by their own counters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "fabric/plan.h"
#include "fabric/verdict_words.h"
#include "rdmabench/fabric/run.h"
#include "report/carried.h"

namespace rdmabench::inline v1::fabric {
namespace {

/// What a measurement may send on the control connection, many times over: with less payload than
/// that a device might have carried the control messages alone.
constexpr double kControlBytes = 64 * 1024;

/// The ranks of a host see the same devices.
struct Host {
  std::vector<std::uint32_t> ranks{};
  bool told = true;
  std::map<std::string, DeviceBytes> planned{};  ///< by device, of all ranks
  report::CountedBytes counted{};
};

std::map<std::string, Host> hosts_of(const Matrix& matrix) {
  std::map<std::string, Host> hosts;
  for (const NodeBytes& node : matrix.bytes) {
    Host& host = hosts[matrix.nodes.at(node.rank).host];
    host.ranks.push_back(node.rank);
    host.told = host.told && node.told;
    for (const DeviceBytes& one : node.devices) {
      if (one.measurements > 0) {
        DeviceBytes& all = host.planned[one.device];
        all.device = one.device;
        all.planned += one.planned;
        all.measurements += one.measurements;
      }
      if (one.counted) report::add_counted(host.counted, one.device, *one.counted, one.at_least);
    }
  }
  return hosts;
}

void judge(report::RequirementFinding& finding, const Host& host, const DeviceBytes& planned,
           report::Flow flow) {
  const bool too_few = planned.planned < kControlBytes * planned.measurements;
  report::judge_carried(
      finding, host.counted, planned.device, planned.planned, flow,
      fmt::format("the measurements {} {}{}", name(flow), report::megabytes(planned.planned),
                  too_few ? ": too little to distinguish from control messages; take larger sizes, "
                            "or more time"
                          : ""));
  // A device without counters may be one whose packets go over another: Soft-RoCE.
  if (too_few || !finding.counted) finding.status = Status::open;
}

}  // namespace

std::vector<report::RequirementFinding> prove(const Matrix& matrix) {
  std::vector<report::RequirementFinding> findings;
  for (const auto& [name, host] : hosts_of(matrix)) {
    const std::string node = host.ranks.size() == 1
                                 ? node_name(matrix, host.ranks.front())
                                 : fmt::format("nodes {} ({})", fmt::join(host.ranks, ", "), name);
    if (host.planned.empty() || !host.told) {
      findings.push_back({.subject = node,
                          .text = host.told ? "nothing was measured from it"
                                            : "it did not tell what its devices counted"});
      continue;
    }
    for (const auto& [device, planned] : host.planned) {
      judge(findings.emplace_back(
                report::RequirementFinding{.subject = fmt::format("{} of {}", device, node)}),
            host, planned, flow_of(matrix.plan));
    }
  }
  return findings;
}

}  // namespace rdmabench::inline v1::fabric
