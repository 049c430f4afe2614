#include "settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "carrier.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::netplugin::plugin {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

/// A value within bounds, by one of the readers of base/units.h.
template <class Parse>
std::uint64_t bounded(const char* name, std::uint64_t usual, std::uint64_t min, std::uint64_t max,
                      Parse&& parse) {
  const std::string text = variable(name);
  if (text.empty()) return usual;
  std::uint64_t value = 0;
  try {
    value = parse(text);
  } catch (const Error& error) {
    throw error.at(name);
  }
  if (value < min || value > max) {
    throw Error(Fault::usage, fmt::format("{}={}", name, text),
                fmt::format("It may be {} to {}.", min, max));
  }
  return value;
}

std::uint64_t milliseconds(const std::string& text) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(parse_duration(text)).count());
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

/// "rxe0:1" -> the folder of its PCI device, or nothing where it is not on PCI.
std::string pci_path_of(const std::string& name) {
  std::error_code error;
  const std::filesystem::path link =
      std::filesystem::path("/sys/class/infiniband") / name.substr(0, name.find(':')) / "device";
  const std::filesystem::path real = std::filesystem::canonical(link, error);
  return error ? "" : real.string();
}

int speed_of(const transport::DeviceInfo& info) {
  for (const auto& [key, value] : info.details) {
    if (key != "rate") continue;
    const double gbps = std::strtod(value.c_str(), nullptr);
    if (gbps > 0 && gbps < 1e6) return static_cast<int>(gbps * 1000);
  }
  return Device{}.speed_mbps;
}

int port_of(const std::string& name) {
  const std::size_t colon = name.find(':');
  return colon == std::string::npos ? 1 : std::max(1, std::atoi(name.c_str() + colon + 1));
}

Device device_of(const BackendCalls& backend, const transport::DeviceInfo& info) {
  const bool verbs = backend.name == "verbs";
  return {.backend = std::string(backend.name),
          .name = info.name,
          .shown = info.name,
          .pci_path = verbs ? pci_path_of(info.name) : "",
          .speed_mbps = speed_of(info),
          .port = verbs ? port_of(info.name) : 1};
}

std::vector<Device> devices_of(const BackendCalls& backend, const Settings& settings) {
  std::vector<Device> found;
  if (settings.devices.empty() && backend.name != "verbs") {
    const std::string shown = settings.provider.empty()
                                  ? std::string(backend.name)
                                  : fmt::format("{}:{}", backend.name, settings.provider);
    return {{.backend = std::string(backend.name), .name = "", .shown = shown, .pci_path = ""}};
  }
  for (const transport::DeviceInfo& info : backend.devices()) {
    if (info.state != "active") continue;
    if (!settings.provider.empty() && info.provider != settings.provider) continue;
    const bool named =
        settings.devices.empty() ||
        std::any_of(settings.devices.begin(), settings.devices.end(), [&](const std::string& one) {
          return info.name == one || info.name.starts_with(one + ":");
        });
    if (named) found.push_back(device_of(backend, info));
  }
  return found;
}

}  // namespace

Settings read_settings() {
  Settings settings;
  if (const std::string text = variable("RDMABENCH_NET_BACKEND"); !text.empty()) {
    settings.backend = text;
    if (text != "auto") find_backend(text);
  }
  settings.devices = words(variable("RDMABENCH_NET_DEVICE"));
  settings.provider = variable("RDMABENCH_NET_PROVIDER");
  settings.ip = variable("RDMABENCH_NET_IP");
  if (const std::string text = variable("RDMABENCH_NET_GID_INDEX"); !text.empty()) {
    settings.gid_index =
        static_cast<int>(bounded("RDMABENCH_NET_GID_INDEX", 0, 0, 255, &parse_count));
  }
  settings.chunk = static_cast<std::uint32_t>(
      bounded("RDMABENCH_NET_CHUNK", settings.chunk, kMinChunk, kMaxChunk, &parse_size));
  settings.slots = static_cast<std::uint32_t>(
      bounded("RDMABENCH_NET_SLOTS", settings.slots, kMinSlots, kMaxSlots, &parse_count));
  settings.timeout = std::chrono::milliseconds(bounded("RDMABENCH_NET_TIMEOUT",
                                                       std::uint64_t(settings.timeout.count()), 100,
                                                       600000, &milliseconds));
  settings.linger = std::chrono::milliseconds(bounded(
      "RDMABENCH_NET_LINGER", std::uint64_t(settings.linger.count()), 0, 60000, &milliseconds));
  return settings;
}

std::vector<Device> find_devices(const Settings& settings) {
  std::string why;
  for (const BackendCalls& backend : backends()) {
    const bool named = settings.backend == backend.name;
    if (settings.backend != "auto" && !named) continue;
    if (backend.name == "loop" && !named) continue;
    try {
      std::vector<Device> found = devices_of(backend, settings);
      if (!found.empty()) return found;
      why += fmt::format("; {}: no active device", backend.name);
    } catch (const Error& error) {
      why += fmt::format("; {}: {}", backend.name, error.what());
    }
  }
  throw Error(Fault::unavailable, fmt::format("no device{}", why),
              "See 'rdmabench devices', and the variables RDMABENCH_NET_*.");
}

}  // namespace rdmabench::netplugin::plugin
