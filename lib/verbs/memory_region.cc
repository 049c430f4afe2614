#include "rdmabench/verbs/memory_region.h"

#include "rdmabench/verbs/registration.h"

namespace rdmabench::verbs {

int access_flags(Access access) noexcept {
  constexpr int kWindow = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  switch (access) {
    case Access::local:
      return IBV_ACCESS_LOCAL_WRITE;
    case Access::read_window:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    case Access::window:
      return kWindow;
    case Access::atomic_window:
      return kWindow | IBV_ACCESS_REMOTE_ATOMIC;
  }
  return 0;
}

MemoryRegion register_memory(ibv_pd& domain, std::span<std::byte> bytes, Access access) {
  return register_by(Route::pinned, domain, {.bytes = bytes}, {.access = access});
}

}  // namespace rdmabench::verbs
