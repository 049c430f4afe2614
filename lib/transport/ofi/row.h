// The libfabric back end, as a build knows it that may lack it.
#pragma once

#include <array>

#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::ofi {

inline constexpr std::array kOwnServices{Service::rdm, Service::msg};

/// `local_ip` counts: it is here before that of the control channel takes its place.
inline bool has_own_option(const EndpointRequest& request) {
  return request.options.ofi != OfiOptions{} || !request.fabric.empty() ||
         !request.local_ip.empty();
}

inline constexpr BackendRow kRow{.name = "ofi",
                                 .needs = "libfabric",
                                 .services = kOwnServices,
                                 .reaches_others = true,
                                 .has_own_option = &has_own_option};

}  // namespace rdmabench::inline v1::transport::ofi
