#include "nodes.h"

#include <algorithm>
#include <string_view>

#include "base/socket_provider.h"
#include "rdmabench/fabric/run.h"
#include "results/facts.h"

namespace rdmabench::inline v1::fabric {
namespace {

/// Whether Measurement::over names a provider over the kernel's sockets. A node without a port of
/// verbs may have another network of RDMA, such as cxi's.
bool over_sockets(std::string_view over) {
  constexpr std::string_view kBefore = ", provider ";
  const std::size_t found = over.find(kBefore);
  if (found == std::string_view::npos) return false;
  const std::string_view rest = over.substr(found + kBefore.size());
  return is_socket_provider(rest.substr(0, rest.find(", ")));
}

}  // namespace

std::optional<NotRdma> not_rdma(const Matrix& matrix) {
  if (!matrix.plan.provider.empty()) return std::nullopt;
  NotRdma found;
  std::vector<bool> without(matrix.nodes.size(), false);
  for (const Node& node : matrix.nodes) {
    if (report::value_of<std::uint64_t>(node.environment, kRdmaPorts) != std::uint64_t{0}) continue;
    found.nodes.push_back(node.rank);
    without.at(node.rank) = true;
    const auto devices = report::value_of<std::uint64_t>(node.environment, "rdma_devices");
    found.devices = found.devices || devices.value_or(0) > 0;
  }
  const auto measured = std::ranges::find_if(matrix.measurements, [&](const Measurement& one) {
    return one.error.empty() && (without.at(one.sender) || without.at(one.receiver)) &&
           over_sockets(one.over);
  });
  if (measured == matrix.measurements.end()) return std::nullopt;
  found.over = measured->over;
  return found;
}

health::NodeComparison compared(const Matrix& matrix) {
  std::vector<health::Peer> nodes;
  for (const Node& node : matrix.nodes) {
    health::Peer& one = nodes.emplace_back(health::Peer{.host = node.host, .observations = {}});
    for (const report::Fact& fact : node.environment) {
      if (!fact.name.starts_with(kObserved)) continue;
      one.observations.push_back(
          {fact.name.substr(kObserved.size()), "node", report::text_of(fact)});
    }
  }
  return health::compare_nodes(nodes);
}

bool failed(const FabricResult& result, bool strict) {
  const Matrix& matrix = result.matrix;
  const auto went_wrong = [](const Measurement& one) { return !one.error.empty(); };
  const auto has_less = [](const health::NodeDifference& one) {
    return one.finding.status == Status::fail;
  };
  return std::ranges::any_of(matrix.measurements, went_wrong) || !matrix.lost.empty() ||
         !result.verdict.findings.empty() || (strict && !unjudged(result.verdict).empty()) ||
         std::ranges::any_of(compared(matrix).differences, has_less) ||
         (!matrix.allow_tcp && not_rdma(matrix).has_value());
}

}  // namespace rdmabench::inline v1::fabric
