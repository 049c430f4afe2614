// How run/ finds the verbs back end: see transport/transport.h for what each function is for.
//
// Offers and choices are JSON texts. What the peer sends is bounded before it is used.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rdmabench/transport/transport.h"
#include "rdmabench/transport/verbs/endpoint.h"

namespace rdmabench::transport::verbs {

/// The active ports of this side and their GIDs, those that `request` allows. Throws
/// Error(unavailable) that says what is missing when none is left.
std::string offer(const EndpointRequest& request);

/// Chooses device, port, GID and path MTU for both sides by the route to the peer; runs on the
/// client. Throws Error(unavailable) with both sides' candidates when no pair can talk,
/// Error(usage) for an MTU that the ports do not take, Error(failed) for a malformed offer.
Choice choose(const EndpointRequest& request, std::string_view client_offer,
              std::string_view server_offer);

/// One RC queue pair and nothing else that Lean does not do.
bool is_lean(const EndpointRequest& request) noexcept;

/// Calls visitor(std::type_identity<E>()) with the endpoint type E that a request gets: the one
/// whose data path does what it asks for and no more. The same on both sides.
template <class Visitor>
auto with_endpoint_type(const EndpointRequest& request, Visitor&& visitor) {
#if RDMABENCH_HAVE_MLX5
  if (request.service == Service::dc) return visitor(std::type_identity<DynamicEndpoint>());
#endif
#if RDMABENCH_HAVE_EFA
  if (request.service == Service::srd) return visitor(std::type_identity<ScalableEndpoint>());
#endif
  if (!is_reliable(request.service)) return visitor(std::type_identity<DatagramEndpoint>());
  if (!is_lean(request)) return visitor(std::type_identity<GeneralEndpoint>());
  return visitor(std::type_identity<Endpoint>());
}

/// Every port of every device, whether it can be used or not.
std::vector<DeviceInfo> devices();

}  // namespace rdmabench::transport::verbs
