// UCX itself: its settings, its errors, and what it has on this machine.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/transport/transport.h"
#include "rdmabench/transport/ucx/objects.h"

namespace rdmabench::inline v1::transport::ucx {

/// Bits of a tag below the queue pair's number: the immediate.
inline constexpr unsigned kNumberAt = 32;

/// "1.13.1", of the library that was loaded. Throws Error(unavailable) without UCX.
std::string version();

/// "Destination is unreachable", and what UCX itself said last in this thread: its warnings and
/// errors come by its log, which would otherwise be the process' standard output.
std::string error_text(ucs_status_t status);

/// Throws Error(fault) unless the status is UCS_OK. `what`: the call.
void check(ucs_status_t status, Fault fault, std::string_view what, std::string_view remedy = {});

/// Throws Error(failed) where this side is a server and its operator does not name UCX, for clients
/// of this machine too: an address of UCX says to UCX alone where it connects to, and which memory
/// of this machine it attaches.
void check_leave(const EndpointRequest& request);

/// A context with what the request needs. Settings come from the environment (UCX_...), but for
/// what the request names. Throws Error(unavailable) where UCX lacks something, Error(usage) for
/// text that is no list of transports.
Context open_context(const EndpointRequest& request);

/// Of the last one that this thread opened, as of a transport that is not here; "" for nothing.
std::string said_at_opening();

/// Throws Error(unavailable) where no transport is left.
Worker open_worker(ucp_context_h context);

/// "tcp/eth0".
struct Resource {
  std::string transport;
  std::string device;

  bool operator==(const Resource&) const = default;
};

/// What the context may use, in UCX's order.
std::vector<Resource> resources(ucp_context_h context);

/// What the endpoint uses, each once. Source: ucp_ep_query() from 1.14 on; before it,
/// ucp_ep_print_info().
std::vector<Resource> lanes(ucp_ep_h endpoint);

/// The transports or the devices, each once.
std::vector<std::string> names_of(const std::vector<Resource>& all, std::string Resource::*member);

/// "tcp/eth0, tcp/eth1".
std::string quoted_lanes(const std::vector<Resource>& all);

/// Of what ucp_context_print_info() and ucp_ep_print_info() write: "tcp/eth0" of a line.
std::vector<Resource> read_resources(std::string_view text);

}  // namespace rdmabench::inline v1::transport::ucx
