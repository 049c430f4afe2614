// Explains why libibverbs lists no RDMA device.
#pragma once

#include <string>

namespace rdmabench::inline v1::verbs {

/// Describes devices that the kernel has and ibv_get_device_list(3) does not list: their file is
/// missing (in a container) or not accessible to this user, ib_uverbs is not loaded, or libibverbs
/// has no provider library for them. "" if the kernel has no devices.
///
/// `classes` and `files` are the folders to search. Source: libibverbs skips a device without a
/// file; provider libraries are a separate package.
std::string hidden_devices(const std::string& classes = "/sys/class",
                           const std::string& files = "/dev/infiniband");

}  // namespace rdmabench::inline v1::verbs
