// Why nothing fits a request.
#pragma once

#include "rdmabench/base/error.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::transport::ofi {

/// For a request that find_fits() has nothing for: Error(unavailable) that says
/// which requirement removed which provider, or that libfabric has no such
/// provider or device here, and what it has.
Error explain_no_fit(const EndpointRequest& request);

}  // namespace rdmabench::transport::ofi
