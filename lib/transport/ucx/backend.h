// How run/ finds the UCX back end: see run/backends.h for what each function is for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::ucx {

/// The transports and devices that UCX has here for the request, of which it will choose by itself.
/// Throws Error(unavailable) without UCX, for what UCX does not have, and where this side is a
/// server that may serve its peer only by the operator's leave. Thread rule: any thread.
std::string offer(const EndpointRequest& request);

/// Throws Error(unavailable) when the two sides have no transport in common.
Choice choose(const EndpointRequest& request, std::string_view client_offer,
              std::string_view server_offer);

/// One for each transport and device, in UCX's order. Throws Error(unavailable) without UCX.
std::vector<DeviceInfo> devices();

/// What an endpoint takes besides its messages: no less than it will be.
Footprint footprint(const EndpointRequest& request, std::string_view choice);

inline void begin() noexcept {}

inline bool hides_devices() noexcept {
  return false;
}

}  // namespace rdmabench::inline v1::transport::ucx
