// How run/ finds the libfabric back end: see transport/transport.h for what
// each function is for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::ofi {

/// What libfabric has on this machine that fits the request, as text for
/// choose(). IP providers are bound to `request.local_ip`. Throws
/// Error(unavailable) when nothing fits: it says which requirement removed
/// which provider. Source: fi_getinfo(3). Thread rule: any thread.
std::string offer(const EndpointRequest& request);

/// Picks what both sides have: what --provider names, else the first of efa,
/// verbs;ofi_rxm, other RDMA fabrics, and the fastest of TCP. shm only by name,
/// and only between processes of one host, because a network is what the caller
/// came to measure. The client calls it. Throws Error(unavailable) when the two
/// sides have nothing in common, Error(failed) for an offer that is not one.
Choice choose(const EndpointRequest& request, std::string_view client_offer,
              std::string_view server_offer);

/// One for each provider and domain that can be used, in libfabric's order;
/// empty when there is none.
std::vector<DeviceInfo> devices();

/// What an endpoint takes besides its messages: no less than it will be. Throws Error(failed) for
/// an invalid choice.
Footprint footprint(const EndpointRequest& request, std::string_view choice);

/// Begins libfabric, where it is here: see rxm_receives(). For a process that has no other threads
/// yet.
void begin() noexcept;

inline bool hides_devices() noexcept {
  return false;
}

}  // namespace rdmabench::inline v1::transport::ofi
