// What a session of this library asks of its endpoints besides an EndpointRequest.
#pragma once

#include <optional>

#include "base/allowed_peers.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport {

struct SessionRequest {
  memory::FailedRoutes failed_routes{};
  /// Which of the addresses that the peer names may be sent to; none: each.
  std::optional<AllowedPeers> allowed_peers{};
};

inline const SessionRequest& session_of(const EndpointRequest& request) {
  static const SessionRequest of_nobody;
  return request.session == nullptr ? of_nobody : *request.session;
}

}  // namespace rdmabench::inline v1::transport
