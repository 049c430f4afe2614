#include "rdmabench/verbs/device.h"

#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/number.h"
#include "base/pci_link.h"
#include "base/port_rate.h"
#include "base/rdma_driver.h"
#include "loaded/newer_verbs.h"
#include "rdmabench/base/error.h"
#include "verbs/dynamic.h"
#include "verbs/scalable.h"
#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
namespace {
namespace fs = std::filesystem;

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
  constexpr std::array<std::string_view, IBV_PORT_ACTIVE_DEFER + 1> kWords{
      "unknown", "down", "init", "armed", "active", "active-defer"};
  return kWords[state < kWords.size() ? state : 0];
}

/// What a port carries, by the device's own word, Gb/s; 0 where the library, the kernel or the
/// device has none. Source: ibv_query_port_speed(3).
double effective_gbps(ibv_context& context, std::uint8_t port) try {
  std::uint64_t speed = 0;  // of 100 Mb/s
  return ibv_query_port_speed(&context, port, &speed) == 0 ? static_cast<double>(speed) / 10 : 0;
} catch (const Error&) {  // before rdma-core 62
  return 0;
}

SysfsFiles this_machine() {
  return {.first_line = [](const std::string& path) { return first_line(path); },
          .list =
              [](const std::string& path) {
                int error = 0;
                return list_folder(path, error);
              },
          .resolve =
              [](const std::string& path) {
                std::error_code failure;
                return fs::canonical(path, failure).native();
              }};
}

void read_rate(PortInfo& port, ibv_context& context, const std::string& driver) {
  const fs::path folder(context.device->ibdev_path);
  const std::string rate = first_line(folder / "ports" / std::to_string(port.number) / "rate");
  const double effective = effective_gbps(context, port.number);
  const double one = known_rate(parse_port_rate(rate), driver);
  const int ports = bonded_ports(this_machine(), driver, folder);
  const double share = port_data_share(rate, port.link_layer == LinkLayer::infiniband);
  port.gbps = share * (effective > 0 ? effective : one * ports);
  port.queue_pair_gbps = ports > 1 && one > 0 ? std::min(port.gbps, share * one) : port.gbps;
}

/// The network device of an InfiniBand port ("ib0"); "" if there is none.
/// Source: /sys/class/infiniband/DEVICE/device/net/*/dev_port.
std::string network_device(const ibv_device& device, std::uint8_t port) {
  const fs::path folder = fs::path(device.ibdev_path) / "device/net";
  int error = 0;
  for (const std::string& name : list_folder(folder, error)) {
    const auto number = read_number(folder / name / "dev_port");
    if (number && *number + 1 == port) return name;
  }
  return "";
}

/// What the narrowest PCIe link between the device and memory carries, Gb/s after its encoding; 0
/// where none is told, as of virtual functions. Source: current_link_speed and current_link_width
/// of the function and of each bridge above it.
double pcie_gbps(const ibv_device& device) {
  double least = 0;
  std::error_code failure;
  fs::path function = fs::canonical(fs::path(device.ibdev_path) / "device", failure);
  for (; !failure && fs::exists(function / "current_link_speed", failure);
       function = function.parent_path()) {
    const PciLink link{parse_link_speed(first_line(function / "current_link_speed")),
                       parse_link_width(first_line(function / "current_link_width"))};
    if (link.known() && (least == 0 || link.gbps() < least)) least = link.gbps();
  }
  return least;
}

PortInfo read_port(ibv_context& context, std::uint8_t number, const std::string& driver) {
  const ibv_port_attr attributes = query_port(context, number);
  PortInfo port;
  port.number = number;
  port.active = attributes.state == IBV_PORT_ACTIVE;
  port.state = state_name(attributes.state);
  port.link_layer = verbs::link_layer(*context.device, attributes);
  port.active_mtu = mtu_bytes(attributes.active_mtu);
  port.lid = attributes.lid;
  port.needs_grh = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  read_rate(port, context, driver);
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
      info.ports.push_back(read_port(*context, static_cast<std::uint8_t>(port), info.driver));
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
  constexpr std::array<std::string_view, 4> kWords{"unknown", "InfiniBand", "Ethernet", "EFA"};
  return kWords[static_cast<std::size_t>(layer)];
}

LinkLayer link_layer(const ibv_device& device, const ibv_port_attr& port) noexcept {
  const std::uint8_t layer = port.link_layer;
  if (layer == IBV_LINK_LAYER_ETHERNET) return LinkLayer::ethernet;
  // Old kernels leave it unspecified for InfiniBand.
  if (layer == IBV_LINK_LAYER_INFINIBAND || device.transport_type == IBV_TRANSPORT_IB) {
    return LinkLayer::infiniband;
  }
  if (layer == IBV_LINK_LAYER_UNSPECIFIED && device.transport_type == IBV_TRANSPORT_UNSPECIFIED) {
    return LinkLayer::efa;
  }
  return LinkLayer::unknown;
}

std::string driver_name(const ibv_device& device) {
  return rdma_driver_of(device.ibdev_path);
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

}  // namespace rdmabench::inline v1::verbs
