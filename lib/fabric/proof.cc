// Whether the devices carried what was measured, by their own counters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "fabric/plan.h"
#include "fabric/table.h"
#include "rdmabench/fabric/run.h"
#include "report/carried.h"

namespace rdmabench::fabric {
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
        all.planned += one.planned;
        all.measurements += one.measurements;
      }
      if (!one.counted) continue;
      report::Counted& most =
          host.counted.try_emplace(one.device, report::Counted{.at_least = one.at_least})
              .first->second;
      most.bytes = std::max(most.bytes, *one.counted);
      most.at_least = most.at_least && one.at_least;
    }
  }
  return hosts;
}

void judge(Proof& proof, const Host& host, const DeviceBytes& planned, report::Flow flow) {
  const std::string needed = report::megabytes(planned.planned);
  const report::Carried one = report::carried(host.counted, proof.device, planned.planned, flow);
  proof.planned = planned.planned;
  proof.least = planned.planned * report::kCarriedShare;
  if (const auto found = host.counted.find(proof.device); found != host.counted.end()) {
    proof.counted = found->second.bytes;
  }
  proof.text = fmt::format("it {}, where the measurements {} {}", one.did, name(flow), needed);
  if (planned.planned < kControlBytes * planned.measurements) {
    proof.text +=
        ": too little to distinguish from control messages; take larger sizes, or more time";
  } else if (one.met) {
    proof.status = Status::pass;
  } else {
    // A device without counters may be one whose packets go over another: Soft-RoCE.
    if (one.counts && !one.at_least) proof.status = Status::fail;
    proof.text += "; " + one.instead;
  }
}

}  // namespace

std::vector<Proof> prove(const Matrix& matrix) {
  std::vector<Proof> proofs;
  for (const auto& [name, host] : hosts_of(matrix)) {
    Proof proof{.node = host.ranks.size() == 1
                            ? node_name(matrix, host.ranks.front())
                            : fmt::format("nodes {} ({})", fmt::join(host.ranks, ", "), name)};
    if (host.planned.empty() || !host.told) {
      proof.text =
          host.told ? "nothing was measured from it" : "it did not tell what its devices counted";
      proofs.push_back(std::move(proof));
      continue;
    }
    for (const auto& [device, planned] : host.planned) {
      Proof& one = proofs.emplace_back(proof);
      one.device = device;
      judge(one, host, planned, flow_of(matrix.plan));
    }
  }
  return proofs;
}

}  // namespace rdmabench::fabric
