// On-demand paging: of which operations and transports.
#pragma once

#include <infiniband/verbs.h>

#include "rdmabench/transport/verbs/plan.h"

namespace rdmabench::inline v1::transport::verbs {

/// A device pages on demand for some operations of some transports. Throws Error(unavailable) that
/// names those it lacks; where it has none at all, registration says so.
void check_on_demand(const EndpointRequest& request, const Plan& plan, ibv_context& context);

}  // namespace rdmabench::inline v1::transport::verbs
