#include "rdmabench/transport/verbs/slots.h"

#include "rdmabench/transport/verbs/ladder.h"

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
      registration_(register_buffer(domain, buffer_, where, how)),
      region_{.data = buffer_.data() + layout.header_room + layout.misalignment,
              .stride = stride_of(layout),
              .slots = layout.slots} {}

}  // namespace rdmabench::transport::verbs
