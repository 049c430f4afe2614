// The loop back end as a row of the table.
#pragma once

#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::loop {

inline constexpr BackendRow kRow{.name = "loop",
                                 .needs = "",
                                 .services = {},
                                 .reaches_others = false,
                                 .has_own_option = [](const EndpointRequest&) { return false; }};

}  // namespace rdmabench::inline v1::transport::loop
