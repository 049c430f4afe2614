#include "rdmabench/verbs/device.h"

#include <endian.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/number.h"
#include "rdmabench/base/error.h"
#include "rdmabench/verbs/scalable.h"
#include "sysfs.h"
#include "verbs/dynamic.h"
#include "verbs/setup_error.h"

namespace rdmabench::verbs {
namespace {

DeviceList device_list() {
  DeviceList list(ibv_get_device_list(nullptr));
  // ENOSYS: the kernel has no RDMA support, so there are no devices.
  if (list == nullptr && errno != ENOSYS) {
    throw setup_error(SetupCall::get_device_list, "ibv_get_device_list()", errno);
  }
  return list;
}

Context open(ibv_device& device) {
  errno = 0;
  Context context(ibv_open_device(&device));
  if (context == nullptr) {
    const int code = errno;
    throw setup_error(SetupCall::open_device,
                      fmt::format("ibv_open_device({})", ibv_get_device_name(&device)), code,
                      {.device = &device}, Fault::unavailable);
  }
  return context;
}

std::string_view state_name(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return "down";
    case IBV_PORT_INIT:
      return "init";
    case IBV_PORT_ARMED:
      return "armed";
    case IBV_PORT_ACTIVE:
      return "active";
    case IBV_PORT_ACTIVE_DEFER:
      return "active-defer";
    default:
      return "unknown";
  }
}

LinkLayer link_layer(const ibv_device& device, std::uint8_t layer) {
  if (layer == IBV_LINK_LAYER_ETHERNET) return LinkLayer::ethernet;
  // Old kernels leave it unspecified for InfiniBand.
  if (layer == IBV_LINK_LAYER_INFINIBAND || device.transport_type == IBV_TRANSPORT_IB) {
    return LinkLayer::infiniband;
  }
  if (layer == IBV_LINK_LAYER_UNSPECIFIED && device.transport_type == IBV_TRANSPORT_UNSPECIFIED) {
    return LinkLayer::unspecified;
  }
  return LinkLayer::unknown;
}

/// Data rate as in sysfs. Source: ibv_query_port(3), active_width and active_speed.
double link_gbps(std::uint8_t width, std::uint8_t speed) {
  const auto lanes = [width] {
    switch (width) {
      case 1:
        return 1;
      case 2:
        return 4;
      case 4:
        return 8;
      case 8:
        return 12;
      case 16:
        return 2;
      default:
        return 0;
    }
  }();
  const auto lane_gbps = [speed] {
    switch (speed) {
      case 1:
        return 2.5;
      case 2:
        return 5.0;
      case 4:
      case 8:
        return 10.0;
      case 16:
        return 14.0;
      case 32:
        return 25.0;
      case 64:
        return 50.0;
      case 128:
        return 100.0;
      default:
        return 0.0;
    }
  }();
  return lanes * lane_gbps;
}

PortInfo read_port(ibv_context& context, std::uint8_t number) {
  const ibv_port_attr attributes = query_port(context, number);
  PortInfo port;
  port.number = number;
  port.active = attributes.state == IBV_PORT_ACTIVE;
  port.state = state_name(attributes.state);
  port.link_layer = link_layer(*context.device, attributes.link_layer);
  port.active_mtu = mtu_bytes(attributes.active_mtu);
  port.lid = attributes.lid;
  port.needs_grh = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  port.gbps = link_gbps(attributes.active_width, attributes.active_speed);
  port.gids = read_gid_table(context, number);
  for (const GidEntry& gid : port.gids) {
    if (port.interface.empty()) port.interface = gid.interface;
  }
  if (port.interface.empty()) port.interface = network_device(*context.device, number);
  return port;
}

DeviceInfo read_device(ibv_device& device) {
  DeviceInfo info;
  info.name = ibv_get_device_name(&device);
  info.driver = driver_name(device);
  info.node_guid = be64toh(ibv_get_device_guid(&device));
  // iWARP connects only by a connection manager; EFA and usNIC have no RC.
  info.reliable_connected = device.transport_type == IBV_TRANSPORT_IB;
  info.dynamic = has_dynamic(device);
  info.pcie_gbps = pcie_gbps(device);
  try {
    const Context context = open(device);
    info.scalable = query_scalable(*context).has_value();
    const ibv_device_attr attributes = query_device(*context);
    info.firmware.assign(attributes.fw_ver, strnlen(attributes.fw_ver, sizeof attributes.fw_ver));
    info.xrc = (attributes.device_cap_flags & IBV_DEVICE_XRC) != 0;
    for (int port = 1; port <= attributes.phys_port_cnt; ++port) {
      info.ports.push_back(read_port(*context, static_cast<std::uint8_t>(port)));
    }
  } catch (const Error& error) {
    info.fault = error.what();
    info.ports.clear();
  }
  return info;
}

/// "rxe0:1, mlx5_0:1, mlx5_0:2" or "none".
std::string port_names(std::span<const DeviceInfo> devices) {
  std::string text;
  for (const DeviceInfo& device : devices) {
    for (const PortInfo& port : device.ports) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", device.name, port.number);
    }
    if (device.ports.empty()) {
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", device.name, device.fault);
    }
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string_view name(LinkLayer layer) noexcept {
  constexpr std::array<std::string_view, 4> kWords{"unknown", "InfiniBand", "Ethernet",
                                                   "unspecified"};
  return kWords[static_cast<std::size_t>(layer)];
}

std::vector<DeviceInfo> list_devices() {
  const DeviceList list = device_list();
  std::vector<DeviceInfo> devices;
  if (list == nullptr) return devices;
  for (ibv_device** at = list.get(); *at != nullptr; ++at) devices.push_back(read_device(**at));
  return devices;
}

std::vector<PortRef> select_ports(std::span<const DeviceInfo> devices, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view device_name = text.substr(0, colon);
  std::uint8_t number = 0;  // 0: all ports
  if (colon != std::string_view::npos) {
    number = parse_number<std::uint8_t>(text.substr(colon + 1)).value_or(0);
    if (number == 0 || device_name.empty()) {
      throw Error(Fault::usage, fmt::format("invalid device '{}'", text),
                  fmt::format("Write NAME or NAME:PORT. Available: {}.", port_names(devices)));
    }
  }
  std::vector<PortRef> ports;
  for (const DeviceInfo& device : devices) {
    if (!device_name.empty() && device.name != device_name) continue;
    for (const PortInfo& port : device.ports) {
      if (number == 0 || port.number == number) ports.push_back({&device, &port});
    }
  }
  if (ports.empty() && !text.empty()) {
    throw Error(Fault::unavailable, fmt::format("this machine has no RDMA device '{}'", text),
                fmt::format("Available: {}.", port_names(devices)));
  }
  return ports;
}

Context open_device(std::string_view name) {
  const DeviceList list = device_list();
  for (ibv_device** at = list.get(); at != nullptr && *at != nullptr; ++at) {
    if (name == ibv_get_device_name(*at)) return open(**at);
  }
  throw Error(Fault::unavailable, fmt::format("this machine has no RDMA device '{}'", name),
              "'rdmabench devices' lists the devices.");
}

ibv_device_attr query_device(ibv_context& context) {
  ibv_device_attr attributes{};
  if (const int result = ibv_query_device(&context, &attributes); result != 0) {
    throw setup_error(SetupCall::query_device,
                      fmt::format("ibv_query_device({})", ibv_get_device_name(context.device)),
                      verb_errno(result), {.device = context.device});
  }
  return attributes;
}

std::uint64_t query_capabilities(ibv_context& context) {
  ibv_device_attr_ex attributes{};
  if (const int result = ibv_query_device_ex(&context, nullptr, &attributes); result != 0) {
    throw setup_error(SetupCall::query_device,
                      fmt::format("ibv_query_device_ex({})", ibv_get_device_name(context.device)),
                      verb_errno(result), {.device = context.device});
  }
  return attributes.device_cap_flags_ex;
}

ibv_port_attr query_port(ibv_context& context, std::uint8_t port) {
  ibv_port_attr attributes{};
  if (const int result = ibv_query_port(&context, port, &attributes); result != 0) {
    throw setup_error(
        SetupCall::query_port,
        fmt::format("ibv_query_port({}:{})", ibv_get_device_name(context.device), port),
        verb_errno(result), {.context = &context});
  }
  return attributes;
}

Gid query_gid(ibv_context& context, std::uint8_t port, std::uint32_t index) {
  ibv_gid raw{};
  if (const int result = ibv_query_gid(&context, port, static_cast<int>(index), &raw);
      result != 0) {
    throw setup_error(SetupCall::query_gid,
                      fmt::format("ibv_query_gid({}:{}, index {})",
                                  ibv_get_device_name(context.device), port, index),
                      verb_errno(result), {.context = &context});
  }
  Gid gid;
  std::memcpy(gid.raw.data(), raw.raw, sizeof raw.raw);
  return gid;
}

}  // namespace rdmabench::verbs
