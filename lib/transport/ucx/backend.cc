#include "transport/ucx/backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "context.h"
#include "messages.h"
#include "row.h"
#include "transport/own_options.h"

namespace rdmabench::inline v1::transport::ucx {
namespace {

/// What other back ends have and this one does not: named, and not ignored.
void refuse_what_is_not_here(const EndpointRequest& request) {
  static constexpr std::array<std::string_view, 2> kTaken{"events", "memory"};
  refuse_lack(kRow.name, lack_of_service(request, kRow.services));
  refuse_lack(kRow.name, lack_of(request, kRow.name, kTaken));
  const memory::Kind kind = memory::parse_request(request.memory).kind;
  Lack lack{.what = {}, .who = "verbs or ofi"};
  if (kind == memory::Kind::cuda || kind == memory::Kind::dmabuf) {
    lack.what = fmt::format("memory '{}'", request.memory);
  } else if (request.options.inline_limit >= 0) {
    lack.what = "`inline_limit`";
  } else if (request.options.outstanding_reads > 0) {
    lack.what = "`outstanding_reads`";
  }
  refuse_lack(kRow.name, lack);
}

}  // namespace

std::string offer(const EndpointRequest& request) {
  refuse_what_is_not_here(request);
  check_leave(request);
  const Context context = open_context(request);
  const std::vector<Resource> found = resources(context.get());
  const std::string& device = request.device;
  // Without it UCX takes shared memory, or nothing.
  if (!device.empty() && !std::ranges::count(found, device, &Resource::device)) {
    throw Error(Fault::unavailable, fmt::format("UCX has no device '{}'", device),
                "'rdmabench devices' lists those that it has.");
  }
  return write_offer({.version = version(), .transports = names_of(found, &Resource::transport)});
}

Choice choose(const EndpointRequest& /*request*/, std::string_view client_offer,
              std::string_view server_offer) {
  const Offer client = read_offer(client_offer);
  const Offer server = read_offer(server_offer);
  std::vector<std::string> common;
  for (const std::string& one : client.transports) {
    // Within a worker, and what it only opens connections with.
    if (one == "self" || one == "tcp_sockcm" || one == "rdmacm") continue;
    if (std::ranges::find(server.transports, one) != server.transports.end()) common.push_back(one);
  }
  if (common.empty()) {
    throw Error(Fault::unavailable,
                fmt::format("no transport of UCX in common: the client has {}; the server has {}",
                            fmt::join(client.transports, ", "), fmt::join(server.transports, ", ")),
                "Name one that both have by `ucx_tls`, or leave it out.");
  }
  const std::string versions =
      client.version == server.version
          ? client.version
          : fmt::format("{} here and {} at the server", client.version, server.version);
  std::string reason = fmt::format("UCX {} chooses among {}", versions, fmt::join(common, ", "));
  if (const std::string said = said_at_opening(); !said.empty()) {
    reason += fmt::format("; UCX says: {}", said);
  }
  return {.client = "", .server = "", .reason = std::move(reason)};
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all;
  EndpointRequest everything;
  everything.operations = {OperationCode::send, OperationCode::write, OperationCode::read,
                           OperationCode::fetch_add};
  const Context context = open_context(everything);
  for (const Resource& one : resources(context.get())) {
    all.push_back({.backend = std::string(kRow.name),
                   .name = one.device,
                   .provider = one.transport,
                   .state = "active",
                   .details = {{"library", version()}}});
  }
  return all;
}

Footprint footprint(const EndpointRequest& request, std::string_view /*choice*/) {
  // Of UCX 1.13 with all transports of a host: pools of fragments, a FIFO of shared memory for each
  // worker, and requests in pools that grow by 128.
  constexpr std::uint64_t kWorker = std::uint64_t{64} << 20;
  constexpr std::uint64_t kQueuePair = std::uint64_t{1} << 20;
  constexpr std::uint64_t kRequest = 1024;
  constexpr std::uint64_t kDescriptors = 64;  // of events, of devices, of shared memory
  constexpr std::uint64_t kConnections = 8;   // of a queue pair, one for each lane
  return {.memory = kWorker +
                    request.options.queue_pairs *
                        (kQueuePair + (std::uint64_t{request.depth} + request.receives) * kRequest),
          .descriptors = kDescriptors + kConnections * request.options.queue_pairs};
}

}  // namespace rdmabench::inline v1::transport::ucx
