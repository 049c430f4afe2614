#include "rdmabench/transport/verbs/slots.h"

namespace rdmabench::transport::verbs {
namespace {

std::uint64_t stride_of(const SlotLayout& layout) {
  return layout.stride + layout.header_room;
}

}  // namespace

std::uint64_t bytes_of(const SlotLayout& layout) noexcept {
  // Misaligned slots end as far behind the last whole one.
  return stride_of(layout) * layout.slots + (layout.misalignment == 0 ? 0 : 64);
}

RegisteredSlots::RegisteredSlots(ibv_pd& domain, const SlotLayout& layout,
                                 const memory::Request& where,
                                 const rdmabench::verbs::RegistrationRequest& how)
    : buffer_(where, bytes_of(layout)),
      region_{.data = buffer_.data() + layout.header_room + layout.misalignment,
              .stride = stride_of(layout),
              .slots = layout.slots},
      registration_(rdmabench::verbs::register_memory(
          domain, {buffer_.bytes(), buffer_.dma_buf(), buffer_.dma_buf_offset()}, how)) {}

}  // namespace rdmabench::transport::verbs
