#include "gpu/flush.h"

#include <fmt/format.h>

#include "gpu/cuda_error.h"

namespace rdmabench::inline v1::gpu {

FlushRule flush_rule(const DeviceInfo& device) {
  FlushRule rule;
  const std::string ordering = fmt::format("writes ordering {}", device.writes_ordering);
  if (device.coherent) {
    // A completion reaches the GPU by the coherent link and may pass what the NIC wrote by PCIe.
    // Only a read on that path waits for it. NCCL 2.26.2 to 2.30.7 does so
    // for the NICs that share a PCIe switch with the GPU: ncclTopoNeedFlush().
    rule.needed = true;
    rule.text = fmt::format(
        "needed, and possible only by a read of the NIC: the GPU has a coherent link besides PCIe, "
        "and what the driver promises ({}, flush options {}) does not hold between the two",
        ordering, device.flush_options);
    return rule;
  }
  if (device.writes_ordering >= cuda::kFlushToOwner) {
    rule.text = fmt::format(
        "not needed: the driver orders a NIC's writes for the GPU that owns them ({})", ordering);
    return rule;
  }
  rule.needed = true;
  rule.by_driver = (device.flush_options & cuda::kFlushOptionHost) != 0;
  rule.text =
      rule.by_driver
          ? fmt::format("cuFlushGPUDirectRDMAWrites: {}", ordering)
          : fmt::format("needed, and possible only by a read of the NIC: {}, flush options {}",
                        ordering, device.flush_options);
  return rule;
}

void flush_writes(const Context& context) {
  const Driver& driver = context.driver();
  if (driver.flush_gpu_direct_rdma_writes == nullptr ||
      (context.device().flush_options & cuda::kFlushOptionHost) == 0) {
    throw Error(Fault::unavailable,
                fmt::format("cuFlushGPUDirectRDMAWrites is not available on cuda:{} with driver {}",
                            context.device().ordinal, version_text(driver.version)),
                "Let the NIC read a byte of the memory instead");
  }
  const CurrentContext current(context);
  check(driver,
        driver.flush_gpu_direct_rdma_writes(cuda::kFlushTargetCurrentContext, cuda::kFlushToOwner),
        "cuFlushGPUDirectRDMAWrites(current context, to owner)");
}

}  // namespace rdmabench::inline v1::gpu
