#include "not_rdma.h"

#include <fmt/format.h>

#include "base/socket_provider.h"
#include "facts.h"

namespace rdmabench::inline v1::report {

std::string without_rdma(std::size_t without, std::size_t nodes) {
  return without > 0 ? fmt::format("no RDMA device on {} of {} nodes", without, nodes)
                     : "though no node is known to lack an RDMA device";
}

std::string not_rdma(const Report& report) {
  const Resolved& taken = report.resolved;
  if (!is_socket_provider(taken.provider)) return "";
  for (const char* const choice : {"provider", "ucx_tls"}) {
    if (!text_of(report.config, choice).empty()) return "";  // it was asked for
  }
  const Environment& sides = report.environment;
  const bool one_node = sides.server.empty() ||
                        text_of(sides.client, "hostname") == text_of(sides.server, "hostname");
  std::size_t nodes = 0;
  std::size_t without = 0;
  for (const Facts* const side : {&sides.client, &sides.server}) {
    if (side == &sides.server && one_node) continue;
    ++nodes;
    if (value_of<std::uint64_t>(*side, "rdma_devices") == std::uint64_t{0}) ++without;
  }
  return fmt::format("NOT RDMA: measured over {}, provider {}, device {}, {}", taken.backend,
                     taken.provider, taken.device, without_rdma(without, nodes));
}

}  // namespace rdmabench::inline v1::report
