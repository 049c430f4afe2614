#include "gpu/dma_buf.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "gpu/cuda_error.h"

namespace rdmabench::inline v1::gpu {
namespace {

constexpr int kFirstWithPcieMapping = 12080;

constexpr std::string_view kOtherWay =
    "Without a dma-buf a NIC needs nvidia_peermem (modprobe nvidia_peermem) or staging in host "
    "memory";

/// Whole host pages.
struct Pages {
  DevicePointer data;
  std::uint64_t bytes;
};

Pages pages_of(DevicePointer data, std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const DevicePointer begin = data / page * page;
  const DevicePointer end = (data + bytes + page - 1) / page * page;
  return {begin, end - begin};
}

/// One request to the driver, and its answer.
struct Attempt {
  int descriptor = -1;
  cuda::Result result = cuda::kSuccess;
};

Attempt attempt(const Driver& driver, const Pages& pages, unsigned long long flags) {
  Attempt made;
  made.result = driver.mem_get_handle_for_address_range(&made.descriptor, pages.data, pages.bytes,
                                                        cuda::kRangeHandleDmaBuf, flags);
  if (made.result != cuda::kSuccess) made.descriptor = -1;
  return made;
}

std::string call_text(const Pages& pages, std::string_view how) {
  return fmt::format("cuMemGetHandleForAddressRange({:#x}, {} bytes, {})", pages.data, pages.bytes,
                     how);
}

void require_dma_buf(const Context& context) {
  const Driver& driver = context.driver();
  if (driver.mem_get_handle_for_address_range == nullptr) {
    throw Error(Fault::unavailable,
                fmt::format("driver {} cannot export a dma-buf: it needs 11.7 or newer",
                            version_text(driver.version)),
                kOtherWay);
  }
  if (!context.device().dma_buf) {
    throw Error(Fault::unavailable,
                fmt::format("{} cannot export a dma-buf (CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED "
                            "is 0): the open NVIDIA kernel modules support it",
                            to_text(context.device())),
                kOtherWay);
  }
}

/// Why the PCIe mapping cannot be requested; "" if it can.
std::string pcie_obstacle(const Driver& driver) {
  if (driver.version >= kFirstWithPcieMapping) return {};
  return fmt::format("driver {} does not support it: it needs 12.8 or newer",
                     version_text(driver.version));
}

/// The PCIe mapping; or no descriptor, with the reason in `refused`.
int try_pcie(const Driver& driver, const Pages& pages, std::string& refused) {
  refused = pcie_obstacle(driver);
  if (!refused.empty()) return -1;
  const Attempt made = attempt(driver, pages, cuda::kRangeFlagPcie);
  if (made.result != cuda::kSuccess) {
    refused =
        fmt::format("{}: {}", call_text(pages, "PCIe mapping"), result_text(driver, made.result));
  }
  return made.descriptor;
}

DmaBuf export_pcie(const Driver& driver, const Pages& pages, std::uint64_t offset) {
  std::string refused;
  const int descriptor = try_pcie(driver, pages, refused);
  if (descriptor < 0) {
    throw Error(Fault::unavailable,
                fmt::format("cannot export a dma-buf in the PCIe mapping: {}", refused),
                "Use the mapping default or auto");
  }
  return {descriptor, offset, pages.bytes, DmaBufMapping::pcie, "pcie: requested"};
}

DmaBuf export_standard(const Driver& driver, const Pages& pages, std::uint64_t offset,
                       std::string reason) {
  const Attempt made = attempt(driver, pages, 0);
  check(driver, made.result, call_text(pages, "standard mapping"), kOtherWay);
  return {made.descriptor, offset, pages.bytes, DmaBufMapping::standard, std::move(reason)};
}

DmaBuf export_automatic(const Context& context, const Pages& pages, std::uint64_t offset) {
  const Driver& driver = context.driver();
  if (!context.device().coherent) {
    return export_standard(driver, pages, offset, "standard: the GPU has only PCIe");
  }
  std::string refused;
  const int descriptor = try_pcie(driver, pages, refused);
  if (descriptor >= 0) {
    return {descriptor, offset, pages.bytes, DmaBufMapping::pcie,
            "pcie: the GPU also has a coherent link, which a NIC may not reach"};
  }
  return export_standard(
      driver, pages, offset,
      fmt::format("standard, over the coherent link; PCIe is not possible: {}", refused));
}

}  // namespace

DmaBuf::DmaBuf(int descriptor, std::uint64_t offset, std::uint64_t bytes, DmaBufMapping mapping,
               std::string reason) noexcept
    : descriptor_(descriptor),
      offset_(offset),
      bytes_(bytes),
      mapping_(mapping),
      reason_(std::move(reason)) {}

DmaBuf export_dma_buf(const Context& context, DevicePointer data, std::uint64_t bytes,
                      DmaBufMapping mapping) {
  if (data == 0 || bytes == 0) {
    throw Error(Fault::usage,
                fmt::format("invalid range for a dma-buf: {} bytes at {:#x}", bytes, data),
                "It must be at least 1 byte of GPU memory");
  }
  require_dma_buf(context);
  const CurrentContext current(context);
  const Pages pages = pages_of(data, bytes);
  const std::uint64_t offset = data - pages.data;
  switch (mapping) {
    case DmaBufMapping::pcie:
      return export_pcie(context.driver(), pages, offset);
    case DmaBufMapping::standard:
      return export_standard(context.driver(), pages, offset, "standard: requested");
    case DmaBufMapping::automatic:
      break;
  }
  return export_automatic(context, pages, offset);
}

DmaBuf export_dma_buf(const Allocation& allocation, DmaBufMapping mapping) {
  return export_dma_buf(allocation.context(), allocation.data(), allocation.size(), mapping);
}

}  // namespace rdmabench::inline v1::gpu
