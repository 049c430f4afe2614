#include "transport/verbs/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "messages.h"
#include "rdmabench/base/error.h"
#include "row.h"
#include "verbs/absence.h"
#include "verbs/path.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

namespace ibv = rdmabench::verbs;
using ibv::Candidate;
using ibv::DeviceInfo;
using ibv::GidEntry;
using ibv::LinkLayer;
using ibv::PortInfo;
using ibv::PortRef;

constexpr std::uint32_t kMaxGidIndex = 255;  // ibv_global_route holds it in 8 bits

/// Why a device cannot have the service; "" if it can.
std::string_view lack_of(const DeviceInfo& device, Service service) {
  if (service == Service::dc && !device.dynamic) return "has no DC: it is not an mlx5 device";
  if (service == Service::srd && !device.scalable) return "has no SRD: it is not an EFA device";
  if (service != Service::srd && !device.reliable_connected) {
    return "cannot connect RC queue pairs without rdma_cm";
  }
  if (service == Service::xrc && !device.xrc) return "has no XRC (IBV_DEVICE_XRC)";
  return "";
}

/// Why nothing of ours can be run over a port; "" if it can.
std::string_view obstacle(const DeviceInfo& device, const PortInfo& port, Service service) {
  if (const std::string_view lack = lack_of(device, service); !lack.empty()) return lack;
  if (!port.active) return port.state;
  if (port.link_layer == LinkLayer::unknown) return "has an unknown link layer";
  if (port.active_mtu == 0) return "has an unknown MTU";
  return "";
}

/// An InfiniBand port is reached by its LID: one GID stands for all of them.
bool offered(const PortInfo& port, const GidEntry& gid, std::int32_t wanted_index) {
  if (gid.index > kMaxGidIndex) return false;
  if (wanted_index >= 0) return gid.index == static_cast<std::uint32_t>(wanted_index);
  if (wanted_index == kAnyIpv6Gid && is_ipv4(gid.gid)) return false;
  return port.link_layer != LinkLayer::infiniband || gid.index == 0;
}

Candidate candidate(const PortRef& at, const GidEntry& gid, std::uint32_t queue_pairs) {
  const double pcie = at.device->pcie_gbps;
  double gbps = at.port->gbps;
  std::string least;
  bool bond = false;
  if (const double used = at.port->queue_pair_gbps * queue_pairs; used < gbps) {
    gbps = used;
    bond = true;
    least = queue_pairs == 1 ? "one port of the bond"
                             : fmt::format("{} ports of the bond", queue_pairs);
  }
  if (pcie > 0 && pcie < gbps) {
    gbps = pcie;
    least = "the PCIe link";
    bond = false;
  }
  return {.device = at.device->name,
          .port = at.port->number,
          .link_layer = at.port->link_layer,
          .mtu = at.port->active_mtu,
          .lid = at.port->lid,
          .needs_grh = at.port->needs_grh,
          .gbps = gbps,
          .least = std::move(least),
          .bond = bond,
          .gid = gid};
}

/// What to do where no port can be offered.
std::string remedy(std::span<const PortRef> ports, const EndpointRequest& request,
                   Service service) {
  const bool able = std::any_of(ports.begin(), ports.end(), [&](const PortRef& at) {
    return lack_of(*at.device, service).empty();
  });
  if (!able && !ports.empty() && service != Service::rc) {
    return fmt::format("Take `service` rc{}.", request.device.empty() ? "" : ", or another device");
  }
  const bool up = std::any_of(ports.begin(), ports.end(), [&](const PortRef& at) {
    return obstacle(*at.device, *at.port, service).empty() && !at.port->gids.empty();
  });
  if (up && request.gid_index == kAnyIpv6Gid) {
    return "Give its network device an IPv6 address, or leave out `gid_index`.";
  }
  if (up && request.gid_index != kAnyGid) {
    return "Give `gid_index` one of those, or leave it out: it is then chosen by the route.";
  }
  return "Bring a port up and give its network device an address; 'rdmabench devices' lists all.";
}

/// Why nothing can be offered: every device and port, and what is the matter with it.
std::string obstacles(std::span<const DeviceInfo> devices, std::span<const PortRef> ports,
                      Service service) {
  std::string text;
  const auto add = [&text](const std::string& line) { text += (text.empty() ? "" : "; ") + line; };
  for (const PortRef& at : ports) {
    const std::string_view why = obstacle(*at.device, *at.port, service);
    std::string gids;
    for (const GidEntry& gid : at.port->gids) gids += fmt::format(" {}", gid.index);
    add(fmt::format("{}:{} {}", at.device->name, at.port->number,
                    !why.empty()
                        ? std::string(why)
                        : fmt::format("has GIDs of index{}", gids.empty() ? " none" : gids)));
  }
  for (const DeviceInfo& device : devices) {
    if (!device.fault.empty()) add(device.fault);
  }
  return text;
}

std::uint32_t path_mtu(const EndpointRequest& request, const ibv::Path& path) {
  const std::uint32_t limit = std::min(path.client->mtu, path.server->mtu);
  if (request.options.verbs.mtu == 0) return limit;
  const bool is_mtu = request.options.verbs.mtu == 256 || request.options.verbs.mtu == 512 ||
                      request.options.verbs.mtu == 1024 || request.options.verbs.mtu == 2048 ||
                      request.options.verbs.mtu == 4096;
  if (!is_mtu || static_cast<std::uint32_t>(request.options.verbs.mtu) > limit) {
    throw Error(
        Fault::usage,
        fmt::format("a path MTU of {} between {}:{} (active MTU {}) and {}:{} (active MTU {})",
                    request.options.verbs.mtu, path.client->device, path.client->port,
                    path.client->mtu, path.server->device, path.server->port, path.server->mtu),
        fmt::format("Take 256, 512, 1024, 2048 or 4096, and at most {}. An active MTU of 4096 on "
                    "RoCE needs a network device MTU of 4200.",
                    limit));
  }
  return static_cast<std::uint32_t>(request.options.verbs.mtu);
}

/// The end that limits the rate of a path.
const Candidate& slower_end(const ibv::Path& path) {
  return path.client->gbps <= path.server->gbps ? *path.client : *path.server;
}

/// What limits it there, where it is no port.
std::string slower_link(const ibv::Path& path) {
  const Candidate& end = slower_end(path);
  if (end.least.empty()) return "";
  return fmt::format("{} of the {}'s {}", end.least, &end == path.client ? "client" : "server",
                     end.device);
}

std::string place(const Candidate& at, const ibv::Path& path, std::uint32_t mtu) {
  return write_local_path({.device = at.device,
                           .port = at.port,
                           .gid_index = static_cast<std::uint8_t>(at.gid.index),
                           .global = path.global,
                           .mtu = mtu,
                           .gbps = std::min(path.client->gbps, path.server->gbps),
                           .slower = slower_link(path),
                           .bond = slower_end(path).bond,
                           .reason = path.reason});
}

/// One line of `rdmabench devices`.
transport::DeviceInfo line(const DeviceInfo& device, const PortInfo& port) {
  transport::DeviceInfo info{.backend = std::string(kRow.name),
                             .name = fmt::format("{}:{}", device.name, port.number),
                             .provider = device.driver,
                             .state = port.state,
                             .details = {}};
  const auto add = [&info](std::string_view key, std::string value) {
    info.details.emplace_back(key, std::move(value));
  };
  add("link_layer", std::string(name(port.link_layer)));
  if (port.gbps > 0) add("rate", fmt::format("{:g} Gb/s", port.gbps));
  if (port.queue_pair_gbps < port.gbps) {
    add("queue_pair_rate", fmt::format("{:g} Gb/s: one port of the bond", port.queue_pair_gbps));
  }
  if (device.pcie_gbps > 0) add("pcie", fmt::format("{:.0f} Gb/s", device.pcie_gbps));
  add("active_mtu", std::to_string(port.active_mtu));
  if (port.lid != 0) add("lid", std::to_string(port.lid));
  if (!port.interface.empty()) add("interface", port.interface);
  if (!device.firmware.empty()) add("firmware", device.firmware);
  add("node_guid", fmt::format("{:016x}", device.node_guid));
  if (!device.reliable_connected) add("rc", "no");
  if (device.dynamic) add("dc", "yes");
  if (device.scalable) add("srd", "yes");
  for (const GidEntry& gid : port.gids) add("gid", to_text(gid));
  return info;
}

}  // namespace

std::string offer(const EndpointRequest& request) {
  const Service service = service_of(request);  // what verbs forbid opens nothing
  const std::vector<DeviceInfo> devices = ibv::list_devices();
  if (devices.empty()) {
    const std::string hidden = ibv::hidden_devices();
    throw Error(Fault::unavailable, "no RDMA device here",
                !hidden.empty() ? hidden
                                : "Load the NIC's RDMA driver, or try Soft-RoCE: 'rdma link add "
                                  "rxe0 type rxe netdev eth0'; or use `backend` ofi.");
  }
  const std::vector<PortRef> ports = ibv::select_ports(devices, request.device);
  const std::uint32_t queue_pairs =
      request.local_queue_pairs != 0 ? request.local_queue_pairs : request.options.queue_pairs;
  std::vector<Candidate> candidates;
  for (const PortRef& at : ports) {
    if (!obstacle(*at.device, *at.port, service).empty()) continue;
    for (const GidEntry& gid : at.port->gids) {
      if (!offered(*at.port, gid, request.gid_index)) continue;
      candidates.push_back(candidate(at, gid, queue_pairs));
    }
  }
  if (candidates.empty()) {
    const std::string wanted = request.gid_index == kAnyGid ? ""
                               : request.gid_index == kAnyIpv6Gid
                                   ? " with a GID of IPv6"
                                   : fmt::format(" with GID index {}", request.gid_index);
    throw Error(
        Fault::unavailable,
        fmt::format("no usable RDMA port{}: {}", wanted, obstacles(devices, ports, service)),
        remedy(ports, request, service));
  }
  return write_offer(candidates);
}

Choice choose(const EndpointRequest& request, std::string_view client_offer,
              std::string_view server_offer) {
  const std::vector<Candidate> client = read_offer(client_offer, "client");
  const std::vector<Candidate> server = read_offer(server_offer, "server");
  const ibv::ControlAddresses control{.client = ibv::parse_gid(request.local_ip),
                                      .server = ibv::parse_gid(request.peer_ip)};
  const ibv::Path path = ibv::choose_path(client, server, control, ibv::route_source);
  const std::uint32_t mtu = path_mtu(request, path);
  return {.client = place(*path.client, path, mtu),
          .server = place(*path.server, path, mtu),
          .reason = path.reason};
}

std::vector<transport::DeviceInfo> devices() {
  std::vector<transport::DeviceInfo> lines;
  for (const DeviceInfo& device : ibv::list_devices()) {
    for (const PortInfo& port : device.ports) lines.push_back(line(device, port));
    if (device.ports.empty()) {
      lines.push_back({.backend = std::string(kRow.name),
                       .name = device.name,
                       .provider = device.driver,
                       .state = "unavailable",
                       .details = {{"fault", device.fault}}});
    }
  }
  return lines;
}

bool hides_devices() {
  return ibv::list_devices().empty() && !ibv::hidden_devices().empty();
}

Footprint footprint(const EndpointRequest& request, std::string_view /*choice*/) {
  // Drivers round a queue up to a power of two of its entries, and to pages.
  constexpr std::uint64_t kEntry = 256;  // with its inline data and what we keep of it
  constexpr std::uint64_t kCompletion = 64;
  constexpr std::uint64_t kObject = 64 << 10;
  const auto inlined = static_cast<std::uint64_t>(std::max(request.options.inline_limit, 0));
  const std::uint64_t segments = std::uint64_t{16} * request.options.segments;
  const std::uint64_t send = kEntry + 2 * (inlined + segments) + 2 * 2 * kCompletion;
  const std::uint64_t receive = kEntry + 2 * segments + 2 * kCompletion;
  // A queue pair, and the regions of sends, receives and the window where it has its own.
  const std::uint64_t objects = kObject * (request.options.verbs.region_per_queue_pair ? 4 : 1);
  constexpr std::uint64_t kDescriptors = 8;  // of the device, its events and rdma_cm's
  return {.memory = request.options.queue_pairs *
                    (objects + request.depth * send + request.receives * receive),
          .descriptors = kDescriptors};
}

}  // namespace rdmabench::inline v1::transport::verbs
