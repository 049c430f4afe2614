#include "transport/verbs/plan_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/error.h"
#include "rdmabench/verbs/device.h"
#include "transport/verbs/operation_needs.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

constexpr std::uint32_t kDefaultInline = 220;  // what most adapters take in a small work request

/// Why nothing can be sent inline; "" where the device is to be asked.
std::string_view inline_obstacle(const EndpointRequest& request, ibv_context& context) {
  if (memory::parse_request(request.memory).kind == memory::Kind::cuda) {
    return "the processor cannot read GPU memory";
  }
  const std::string driver = rdmabench::verbs::driver_name(*context.device);
  // It finds inline data of ibv_wr_post(3) only where the request has IBV_SEND_INLINE too, which is
  // not a flag of that call (rdma-core, providers/rxe).
  if (driver == "rxe" && request.operations.any(is_extended)) {
    return "Soft-RoCE has none by ibv_wr_post(3)";
  }
  // Their libraries take any size and never look at IBV_SEND_INLINE (rdma-core 65, providers/mana
  // and vmw_pvrdma).
  if (driver == "mana" || driver == "pvrdma") return "the device's library ignores the request";
  return "";
}

/// Bytes sent inline, before the device has had its say.
std::uint32_t wanted_inline(const EndpointRequest& request) {
  std::uint64_t wanted = request.latency ? kDefaultInline : 0;
  if (request.options.inline_limit >= 0)
    wanted = static_cast<std::uint64_t>(request.options.inline_limit);
  return static_cast<std::uint32_t>(std::min(wanted, request.max_size));
}

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

void plan_inline(Plan& plan, const EndpointRequest& request, ibv_context& context) {
  plan.inline_bytes = wanted_inline(request);
  const std::string_view obstacle = inline_obstacle(request, context);
  if (plan.inline_bytes == 0 || obstacle.empty()) return;
  plan.inline_bytes = 0;
  plan.reduced.push_back(fmt::format("inline sends off: {}", obstacle));
}

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
