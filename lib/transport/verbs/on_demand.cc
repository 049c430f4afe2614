#include "transport/verbs/on_demand.h"

#include <fmt/format.h>

#include "rdmabench/base/error.h"
#include "rdmabench/verbs/handles.h"
#include "transport/verbs/operation_needs.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

/// What the transport of a plan has of it.
std::uint32_t on_demand_of(Service service, const rdmabench::verbs::OnDemand& has) {
  switch (service) {
    case Service::rc:
      return has.rc;
    case Service::uc:
      return has.uc;
    case Service::ud:
      return has.ud;
    case Service::xrc:
      return has.xrc;
    case Service::dc:
      return has.dc;
    default:
      return 0;
  }
}

}  // namespace

void check_on_demand(const EndpointRequest& request, const Plan& plan, ibv_context& context) {
  if (!request.options.on_demand) return;
  const rdmabench::verbs::OnDemand has = rdmabench::verbs::query_on_demand(context);
  std::uint32_t wanted = 0;
  request.operations.any([&](OperationCode code) {
    wanted |= needs(code).on_demand;
    return false;
  });
  // Drivers do not tell of receives over UD (perftest, check_odp_support()).
  if (request.operations.any(is_two_sided) && !plan.datagrams()) {
    wanted |= plan.shared_receives ? IBV_ODP_SUPPORT_SRQ_RECV : IBV_ODP_SUPPORT_RECV;
  }
  const std::uint32_t lacking = wanted & ~on_demand_of(plan.service, has);
  if (!has.any || lacking == 0) return;
  throw Error(Fault::unavailable,
              fmt::format("on-demand paging for {} over {} on {}",
                          rdmabench::verbs::on_demand_operations(lacking), name(plan.service),
                          ibv_get_device_name(context.device)),
              fmt::format("The device pages on demand for {}: leave out `on_demand`, or take "
                          "another `operation` or `service`.",
                          to_text(has)));
}

}  // namespace rdmabench::inline v1::transport::verbs
