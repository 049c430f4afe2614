// The GPU memory of a prepared call: inputs and results of all slots, registered with NCCL.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "communicator.h"
#include "gpu/allocation.h"
#include "gpu/stream.h"
#include "rdmabench/collective/engines.h"

namespace rdmabench::inline v1::collective::nccl {

/// GPU memory from ncclMemAlloc (since 2.19), or from the driver.
class Memory {
 public:
  /// Throws Error(failed).
  Memory(const Library& library, const gpu::Context& context, std::uint64_t bytes);
  ~Memory();
  Memory& operator=(Memory&&) = delete;

  gpu::DevicePointer data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }

  /// The destructor will free nothing: freeing waits for the GPU, which may never finish.
  void leave() noexcept { left_ = true; }

 private:
  const Library& library_;
  std::optional<gpu::Allocation> own_;
  gpu::DevicePointer data_ = 0;
  std::uint64_t size_;
  bool left_ = false;
};

/// The registration of a Memory with a communicator, until destruction.
class Registered {
 public:
  /// All ranks together if `how` is symmetric. Throws Error: usage (this NCCL has no such call),
  /// failed.
  Registered(Communicator& communicator, const Memory& memory, Registration how, Deadline deadline);
  ~Registered();
  Registered& operator=(Registered&&) = delete;

 private:
  Communicator& communicator_;
  void* handle_ = nullptr;
  Window* window_ = nullptr;
};

/// Every slot begins at a multiple of this.
inline constexpr std::uint64_t kSlotAlignment = 512;

/// The input or result memory of all slots.
class Arena {
 public:
  Arena(Communicator& communicator, const gpu::Context& context, Registration how)
      : communicator_(communicator), context_(context), how_(how) {}

  /// Makes room for `slots` of `bytes`; new memory is zeroed. Throws as Memory and Registered do.
  void reserve(std::uint64_t bytes, std::uint32_t slots, gpu::Stream& stream, Deadline deadline);
  gpu::DevicePointer slot(std::uint32_t slot) const noexcept {
    return memory_ ? memory_->data() + slot * stride_ : 0;
  }
  /// Like Memory::leave(), for the registration too.
  void leave() noexcept;

 private:
  Communicator& communicator_;
  const gpu::Context& context_;
  Registration how_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Registered> registered_;  // after the memory: it is destroyed first
  std::uint64_t stride_ = 0;
};

}  // namespace rdmabench::inline v1::collective::nccl
