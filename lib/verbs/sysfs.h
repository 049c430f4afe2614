// What libibverbs does not tell of a device, but sysfs does. Private to this room.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace rdmabench::verbs {

/// The network device of an InfiniBand port ("ib0"); "" if there is none.
/// Source: /sys/class/infiniband/DEVICE/device/net/*/dev_port.
std::string network_device(const ibv_device& device, std::uint8_t port);

}  // namespace rdmabench::verbs
