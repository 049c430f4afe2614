// How run/ finds the verbs back end: see transport/transport.h for what each function is for.
//
// Offers and choices are JSON texts. What the peer sends is bounded before it is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::verbs {

/// The active ports of this side and their GIDs, those that `request` allows. Throws
/// Error(unavailable) that says what is missing when none is left.
std::string offer(const EndpointRequest& request);

/// Chooses device, port, GID and path MTU for both sides by the route to the peer; runs on the
/// client. Throws Error(unavailable) with both sides' candidates when no pair can talk,
/// Error(usage) for an MTU that the ports do not take, Error(failed) for a malformed offer.
Choice choose(const EndpointRequest& request, std::string_view client_offer,
              std::string_view server_offer);

/// Every port of every device, whether it can be used or not.
std::vector<DeviceInfo> devices();

/// What an endpoint takes besides its messages: no less than it will be. Throws Error(failed) for
/// an invalid choice.
Footprint footprint(const EndpointRequest& request, std::string_view choice);

inline void begin() noexcept {}

/// Whether libibverbs lists no device though the kernel has some: see verbs/absence.h.
bool hides_devices();

}  // namespace rdmabench::inline v1::transport::verbs
