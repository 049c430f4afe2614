// How run/ finds the loop back end: see transport/transport.h for what each function is for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::loop {

/// The identity of this process: two offers match only when both sides are the same process.
std::string offer(const EndpointRequest& request);

/// Throws Error(unavailable) when the two sides are different processes.
Choice choose(const EndpointRequest& request, std::string_view client_offer,
              std::string_view server_offer);

std::vector<DeviceInfo> devices();

/// What an endpoint takes besides its messages: no less than it will be. Throws Error(failed) for
/// an invalid choice.
Footprint footprint(const EndpointRequest& request, std::string_view choice);

inline void begin() noexcept {}

inline bool hides_devices() noexcept {
  return false;
}

}  // namespace rdmabench::inline v1::transport::loop
