// Finds the folder of sysfs for a device name. Private to this room.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1::health {

struct Device {
  enum class Kind : std::uint8_t { none, rdma, network };
  Kind kind = Kind::none;
  std::string name;  ///< without a port and without libfabric's "-rdm"
  std::string port;  ///< "" for all
};

/// "mlx5_0:1", "mlx5_0", "eth0", "rdmap0s6-rdm". A name with a slash means nothing.
Device find_device(std::string_view text, const std::filesystem::path& root);

std::filesystem::path rdma_folder(const std::filesystem::path& root, std::string_view device);

/// The ports to read: the device's own port, or all that it has.
std::vector<std::string> ports_of(const Device& device, const std::filesystem::path& root);

/// The network device of an Ethernet port; "" for none.
std::string interface_of(const std::filesystem::path& rdma_folder, const std::string& port);

/// All network devices of a port of the RDMA device of that name: where it stands for a bond, that
/// bond's, apart from those with an RDMA device of their own. Source: Linux,
/// Documentation/networking/bonding.rst.
std::vector<std::string> interfaces_of(const std::string& device, const std::string& port,
                                       const std::filesystem::path& root);

/// The NUMA node a device is attached to; -1 if the kernel does not tell.
int numa_node_of(const Device& device, const std::filesystem::path& root);

}  // namespace rdmabench::inline v1::health
