// What the nodes tell of themselves: whether they have RDMA, and in what they differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/peers.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {

/// A fact of a node's environment: how many of its ports an endpoint of RDMA could be opened on.
inline constexpr std::string_view kRdmaPorts = "rdma_ports_active";
/// Facts of a node's environment that begin so are what its doctor observed.
inline constexpr std::string_view kObserved = "doctor.";

/// What was measured without RDMA, and nobody asked for that.
struct NotRdma {
  std::vector<std::uint32_t> nodes{};  ///< that have no port for it
  bool devices = false;                ///< one of them has a device
  std::string over{};                  ///< Measurement::over of such a node
};

/// Nothing where a provider was named, nodes did not tell, each has RDMA, or what those without a
/// port measured was not over sockets. Pure.
std::optional<NotRdma> not_rdma(const Matrix& matrix);

/// The nodes compared with each other; NodeDifference::node is a rank. Pure.
health::NodeComparison compared(const Matrix& matrix);

}  // namespace rdmabench::inline v1::fabric
