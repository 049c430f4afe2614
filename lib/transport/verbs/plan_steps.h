// Steps of make_plan(): messages that are copied into the work request, and on-demand paging.
#pragma once

#include "rdmabench/transport/verbs/core.h"

namespace rdmabench::inline v1::transport::verbs {

/// How many bytes the device is to be asked for: none where nothing would be copied, and then the
/// plan says why.
void plan_inline(Plan& plan, const EndpointRequest& request, ibv_context& context);

/// A device pages on demand for some operations of some transports. Throws Error(unavailable) that
/// names those it lacks; where it has none at all, registration says so.
void check_on_demand(const EndpointRequest& request, const Plan& plan, ibv_context& context);

}  // namespace rdmabench::inline v1::transport::verbs
