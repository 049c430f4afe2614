// The UCX back end, as a build knows it that may lack it.
#pragma once

#include <array>

#include "transport/own_options.h"

namespace rdmabench::inline v1::transport::ucx {

inline constexpr std::array kOwnServices{Service::am};

/// UCX chooses among the devices that verbs and libfabric measure: 'auto' would hide which it took.
inline constexpr BackendRow kRow{
    .name = "ucx",
    .needs = "UCX (libucp)",
    .services = kOwnServices,
    .reaches_others = true,
    .has_own_option = [](const EndpointRequest& request) { return !ucx_option(request).empty(); },
    .only_named = true};

}  // namespace rdmabench::inline v1::transport::ucx
