#include "rdmabench/transport/verbs/core.h"

#include <algorithm>

#include "memory/gpu_memory.h"
#include "rdmabench/base/error.h"
#include "transport/verbs/registration_order.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

std::uint64_t stride_of(const SlotLayout& layout) {
  return layout.stride + layout.header_room;
}

/// Memory whose writes are flushed by a read must allow one, be it only sent from: reads and
/// atomics land in it.
rdmabench::verbs::RegistrationRequest readable(rdmabench::verbs::RegistrationRequest how,
                                               const memory::Buffer& memory, GpuFlush flush) {
  using rdmabench::verbs::Access;
  if (flush == GpuFlush::by_read && memory.gpu() != nullptr && memory.gpu()->needs_nic_read() &&
      how.access == Access::local) {
    how.access = Access::read_window;
  }
  return how;
}

/// A GPU's memory is mapped by the first registration that works, so it has one.
std::vector<rdmabench::verbs::Registration> register_all(
    ibv_pd& domain, memory::Buffer& memory, const memory::Request& where,
    const rdmabench::verbs::RegistrationRequest& how, std::uint32_t regions) {
  if (regions > 1 && memory.gpu() != nullptr) {
    throw Error(Fault::usage, "`region_per_queue_pair` with GPU memory", "Leave it out.");
  }
  std::vector<rdmabench::verbs::Registration> all;
  for (std::uint32_t i = 0; i < regions; ++i) {
    all.push_back(register_buffer(domain, memory, where, how));
  }
  return all;
}

}  // namespace

std::uint64_t bytes_of(const SlotLayout& layout) noexcept {
  if (!layout.buffer.empty()) return layout.buffer.size();
  // Misaligned slots end as far behind the last whole one.
  return stride_of(layout) * layout.slots + (layout.misalignment == 0 ? 0 : 64);
}

RegisteredSlots::RegisteredSlots(ibv_pd& domain, const SlotLayout& layout,
                                 const memory::Request& where,
                                 const rdmabench::verbs::RegistrationRequest& how, GpuFlush flush)
    : borrowed_(!layout.buffer.empty()),
      buffer_(where, bytes_of(layout)),
      registrations_(
          register_all(domain, buffer_, where, readable(how, buffer_, flush), layout.regions)),
      region_{.data = buffer_.data() + layout.header_room + (borrowed_ ? 0 : layout.misalignment),
              .stride = stride_of(layout),
              .slots = borrowed_ ? static_cast<std::uint32_t>(std::max<std::uint64_t>(
                                       1, buffer_.size() / stride_of(layout)))
                                 : layout.slots} {}

}  // namespace rdmabench::inline v1::transport::verbs
