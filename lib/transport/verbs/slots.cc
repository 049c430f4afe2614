#include "rdmabench/transport/verbs/slots.h"

namespace rdmabench::transport::verbs {
namespace {

std::uint64_t stride_of(const SlotLayout& layout) {
  return layout.stride + layout.header_room;
}

}  // namespace

RegisteredSlots::RegisteredSlots(ibv_pd& domain, rdmabench::verbs::Access access,
                                 const SlotLayout& layout)
    // Misaligned slots end as far behind the last whole one.
    : buffer_(stride_of(layout) * layout.slots + (layout.misalignment == 0 ? 0 : 64)),
      region_{.data = buffer_.data() + layout.header_room + layout.misalignment,
              .stride = stride_of(layout),
              .slots = layout.slots},
      registration_(rdmabench::verbs::register_memory(domain, buffer_.bytes(), access)) {}

}  // namespace rdmabench::transport::verbs
