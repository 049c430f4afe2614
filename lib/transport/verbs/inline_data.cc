#include "transport/verbs/inline_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "rdmabench/verbs/device.h"

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

}  // namespace

void plan_inline(Plan& plan, const EndpointRequest& request, ibv_context& context) {
  plan.inline_bytes = wanted_inline(request);
  const std::string_view obstacle = inline_obstacle(request, context);
  if (plan.inline_bytes == 0 || obstacle.empty()) return;
  plan.inline_bytes = 0;
  plan.reduced.push_back(fmt::format("inline sends off: {}", obstacle));
}

}  // namespace rdmabench::inline v1::transport::verbs
