#include "gpu/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "gpu/cuda_error.h"
#include "gpu/driver.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::gpu {
namespace {

/// 0 for an attribute that this driver does not know, so that the feature is missing too.
int attribute(const Driver& table, int which, cuda::Device device) {
  int value = 0;
  return table.device_get_attribute(&value, which, device) == cuda::kSuccess ? value : 0;
}

std::string uuid_text(const cuda::Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

void read_identity(const Driver& table, cuda::Device device, DeviceInfo& info) {
  char text[256] = {};
  check(table, table.device_get_name(text, sizeof text, device),
        fmt::format("cuDeviceGetName(device {})", info.ordinal));
  text[sizeof text - 1] = '\0';
  info.name = text;
  char address[32] = {};
  check(table, table.device_get_pci_bus_id(address, sizeof address, device),
        fmt::format("cuDeviceGetPCIBusId(device {})", info.ordinal));
  address[sizeof address - 1] = '\0';
  info.pci_address = lower(address);
  cuda::Uuid uuid{};
  check(table, table.device_get_uuid(&uuid, device),
        fmt::format("cuDeviceGetUuid(device {})", info.ordinal));
  info.uuid = uuid_text(uuid);
  std::size_t bytes = 0;
  check(table, table.device_total_mem(&bytes, device),
        fmt::format("cuDeviceTotalMem(device {})", info.ordinal));
  info.memory_bytes = bytes;
}

void read_attributes(const Driver& table, cuda::Device device, DeviceInfo& info) {
  info.major = attribute(table, cuda::kComputeCapabilityMajor, device);
  info.minor = attribute(table, cuda::kComputeCapabilityMinor, device);
  info.multiprocessors = attribute(table, cuda::kMultiprocessorCount, device);
  info.dma_buf = attribute(table, cuda::kDmaBufSupported, device) != 0 &&
                 table.mem_get_handle_for_address_range != nullptr;
  info.vmm = attribute(table, cuda::kVmmSupported, device) != 0 && table.mem_create != nullptr;
  info.vmm_rdma = info.vmm && attribute(table, cuda::kVmmRdmaSupported, device) != 0;
  info.coherent = attribute(table, cuda::kUsesHostPageTables, device) != 0;
  info.writes_ordering = attribute(table, cuda::kWritesOrdering, device);
  info.flush_options = attribute(table, cuda::kFlushWritesOptions, device);
}

std::string list(const std::vector<DeviceInfo>& known) {
  std::string text;
  for (const DeviceInfo& device : known) {
    text += fmt::format("{}{} = {} = {}", text.empty() ? "" : "; ", device.ordinal,
                        device.pci_address, device.uuid);
  }
  return text;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool matches(const DeviceInfo& device, const std::string& wanted) {
  if (is_number(wanted)) return wanted == std::to_string(device.ordinal);
  // nvidia-smi writes MIG- before the UUID of a part of a GPU, and DeviceInfo GPU-.
  if ((wanted.starts_with("gpu-") || wanted.starts_with("mig-")) && wanted.size() > 4)
    return lower(device.uuid).substr(4).starts_with(wanted.substr(4));
  // nvidia-smi writes domains with eight digits; domain 0 may be omitted.
  return wanted == device.pci_address || "0000:" + wanted == device.pci_address ||
         wanted == "0000" + device.pci_address;
}

}  // namespace

std::vector<DeviceInfo> devices() {
  return devices(driver());
}

std::vector<DeviceInfo> devices(const Driver& table) {
  int count = 0;
  check(table, table.device_get_count(&count), "cuDeviceGetCount()");
  if (count == 0) throw cuda_error(table, cuda::kNoDevice, "cuDeviceGetCount() gave 0");
  std::vector<DeviceInfo> found;
  for (int i = 0; i < count; ++i) {
    cuda::Device device = 0;
    check(table, table.device_get(&device, i), fmt::format("cuDeviceGet({})", i));
    DeviceInfo info;
    info.ordinal = i;
    read_identity(table, device, info);
    read_attributes(table, device, info);
    found.push_back(std::move(info));
  }
  return found;
}

DeviceInfo find_device(std::string_view text) {
  return find_device(text, devices());
}

DeviceInfo find_device(std::string_view text, const std::vector<DeviceInfo>& known) {
  const std::string wanted = lower(text);
  std::vector<const DeviceInfo*> found;
  for (const DeviceInfo& device : known) {
    if (matches(device, wanted)) found.push_back(&device);
  }
  if (found.size() == 1) return *found.front();
  const std::string remedy = fmt::format("Available: {}", list(known));
  if (found.empty()) throw Error(Fault::usage, fmt::format("unknown GPU '{}'", text), remedy);
  throw Error(Fault::usage,
              fmt::format("ambiguous GPU '{}': it matches {} GPUs", text, found.size()), remedy);
}

std::string to_text(const DeviceInfo& device) {
  return fmt::format("cuda:{} {}, {}, {:.1f} GiB, compute capability {}.{}", device.ordinal,
                     device.name, device.pci_address,
                     static_cast<double>(device.memory_bytes) / (1U << 30), device.major,
                     device.minor);
}

}  // namespace rdmabench::inline v1::gpu
