// Why a machine, or a container, shows no RDMA device.
#pragma once

#include <string>

namespace rdmabench::verbs {

/// One sentence or two about devices that the kernel has and ibv_get_device_list(3) does not show:
/// their file is missing (a container without it) or closed to this user, ib_uverbs is not loaded,
/// or libibverbs has no provider for them. "" where the kernel has none.
///
/// `classes` and `files` are the folders to look in. Source: libibverbs leaves a device out whose
/// file it cannot find; its provider libraries are a package of their own.
std::string hidden_devices(const std::string& classes = "/sys/class",
                           const std::string& files = "/dev/infiniband");

}  // namespace rdmabench::verbs
