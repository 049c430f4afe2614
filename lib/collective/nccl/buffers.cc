#include "buffers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/refuse.h"
#include "gpu/copy.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

void* pointer(gpu::DevicePointer address) {
  // The driver's addresses are numbers.  NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

Memory::Memory(const Library& library, const gpu::Context& context, std::uint64_t bytes)
    : library_(library), size_(bytes) {
  if (library.mem_alloc == nullptr || library.mem_free == nullptr) {
    own_.emplace(context, bytes);
    data_ = own_->data();
    return;
  }
  void* made = nullptr;
  if (const Result result = library.mem_alloc(&made, bytes); result != kSuccess) {
    throw Error(Fault::failed,
                fmt::format("ncclMemAlloc of {} bytes gave {}", bytes,
                            result_text(library, result, nullptr)),
                "Measure smaller sizes, or free memory of the GPU.");
  }
  data_ = reinterpret_cast<std::uintptr_t>(made);
}

Memory::~Memory() {
  if (own_ || left_) return;  // an Allocation knows by itself when not to wait
  library_.mem_free(pointer(data_));
}

Registered::Registered(Communicator& communicator, const Memory& memory, Registration how,
                       Deadline deadline)
    : communicator_(communicator) {
  const Library& library = communicator.library();
  if (how == Registration::symmetric) {
    refuse_if(library.comm_window_register == nullptr || library.comm_window_deregister == nullptr,
              fmt::format("symmetric registration with NCCL {}", version_text(library.version)),
              "It came with 2.27: take `registration` local.");
    communicator.complete(library.comm_window_register(communicator.get(), pointer(memory.data()),
                                                       memory.size(), &window_, kWindowSymmetric),
                          "ncclCommWindowRegister", deadline);
  } else if (how == Registration::local) {
    refuse_if(library.comm_register == nullptr || library.comm_deregister == nullptr,
              fmt::format("registration with NCCL {}", version_text(library.version)),
              "It came with 2.19: leave `registration` out.");
    communicator.complete(
        library.comm_register(communicator.get(), pointer(memory.data()), memory.size(), &handle_),
        "ncclCommRegister", deadline);
  }
}

Registered::~Registered() {
  Comm* const comm = communicator_.get();
  if (comm == nullptr) return;  // aborted: the registration ended with the communicator
  if (window_ != nullptr) communicator_.library().comm_window_deregister(comm, window_);
  if (handle_ != nullptr) communicator_.library().comm_deregister(comm, handle_);
}

void Arena::reserve(std::uint64_t bytes, std::uint32_t slots, gpu::Stream& stream,
                    Deadline deadline) {
  stride_ =
      (std::max<std::uint64_t>(bytes, 1) + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  const std::uint64_t all = stride_ * slots;
  if (memory_ && memory_->size() >= all) return;
  registered_.reset();
  memory_.reset();
  memory_ = std::make_unique<Memory>(communicator_.library(), context_, all);
  gpu::enqueue_set(stream, memory_->data(), std::byte{0}, all);
  stream.synchronize(deadline, "zeroing GPU memory");
  if (how_ != Registration::none) {
    registered_ = std::make_unique<Registered>(communicator_, *memory_, how_, deadline);
  }
}

void Arena::leave() noexcept {
  if (memory_) memory_->leave();
}

}  // namespace rdmabench::inline v1::collective::nccl
