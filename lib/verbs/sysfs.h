// What libibverbs does not tell of a device, but sysfs does. Private to this room.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace rdmabench::verbs {

/// The network device of an InfiniBand port ("ib0"); "" if there is none.
/// Source: /sys/class/infiniband/DEVICE/device/net/*/dev_port.
std::string network_device(const ibv_device& device, std::uint8_t port);

/// What the narrowest PCIe link between the device and memory carries, Gb/s after its encoding; 0
/// where none is told, as of virtual functions. Source: current_link_speed and current_link_width
/// of the function and of each bridge above it.
double pcie_gbps(const ibv_device& device);

}  // namespace rdmabench::verbs
