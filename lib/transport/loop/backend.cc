#include "transport/loop/backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <random>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::transport::loop {

std::string offer(const EndpointRequest& /*request*/) {
  // A child of fork(2) has the number of its parent, and another pid.
  static const std::random_device::result_type number = std::random_device{}();
  return fmt::format("{}-{:08x}", getpid(), number);
}

Choice choose(const EndpointRequest& /*request*/, std::string_view client_offer,
              std::string_view server_offer) {
  if (client_offer != server_offer) {
    throw Error(
        Fault::unavailable, "the loop back end cannot reach another process",
        "Use `backend` ofi or verbs, or leave out the host: 'rdmabench lat --backend loop'.");
  }
  return {.client = "", .server = "", .reason = "both ends in this process"};
}

std::vector<DeviceInfo> devices() {
  return {{.backend = "loop",
           .name = "memory",
           .provider = "loop",
           .state = "active",
           .details = {{"reach", "this process"}}}};
}

Footprint footprint(const EndpointRequest& request, std::string_view /*choice*/) {
  constexpr std::uint64_t kEntry = 128;
  return {.memory = (std::uint64_t{request.depth} + request.receives) *
                    request.options.queue_pairs * kEntry};
}

}  // namespace rdmabench::inline v1::transport::loop
