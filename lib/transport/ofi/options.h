// The options of a real endpoint.
#pragma once

#include <rdma/fi_endpoint.h>

#include <string_view>

#include "transport/ofi/offload.h"

namespace rdmabench::transport::ofi {

/// By fi_getopt(3) and fi_setopt(3); they must not be called after the endpoint is closed. Which
/// options there are depends on the libfabric that this is built for: efa's came with 1.18,
/// FI_OPT_SHARED_MEMORY_PERMITTED with 1.21.
Options options_of(fid_ep& endpoint, std::string_view provider);

}  // namespace rdmabench::transport::ofi
