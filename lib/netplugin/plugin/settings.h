// What the environment asks of the plugin, and which devices it offers to NCCL.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace rdmabench::netplugin::plugin {

/// Variables RDMABENCH_NET_*, see docs/netplugin.md.
struct Settings {
  std::string backend = "auto";
  std::vector<std::string> devices;
  std::string provider;
  std::string ip;  ///< numeric, of this host: where its listeners are; "" = all addresses
  int gid_index = -1;
  std::uint32_t chunk = 65536;  ///< bytes of a slot for large messages
  std::uint32_t slots = 32;     ///< of a connection, each way
  std::chrono::milliseconds timeout{10000};
  std::chrono::milliseconds linger{2000};
};

inline constexpr std::uint32_t kMinChunk = 2048;
inline constexpr std::uint32_t kMaxChunk = 4U << 20;
inline constexpr std::uint32_t kMinSlots = 2;
inline constexpr std::uint32_t kMaxSlots = 128;

/// Throws Error(usage) that names the variable and its value.
Settings read_settings();

struct Device {
  std::string backend{};
  std::string name{};  ///< "" = the back end's choice
  std::string shown{};
  std::string pci_path{};
  int speed_mbps = 10000;
  int port = 1;
};

/// Throws Error(unavailable) that says what there is not.
std::vector<Device> find_devices(const Settings& settings);

}  // namespace rdmabench::netplugin::plugin
