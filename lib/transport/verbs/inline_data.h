// Messages that are copied into the work request.
#pragma once

#include <infiniband/verbs.h>

#include "rdmabench/transport/verbs/plan.h"

namespace rdmabench::inline v1::transport::verbs {

/// How many bytes the device is to be asked for: none where nothing would be copied, and then the
/// plan says why.
void plan_inline(Plan& plan, const EndpointRequest& request, ibv_context& context);

}  // namespace rdmabench::inline v1::transport::verbs
