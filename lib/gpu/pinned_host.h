// Page-locked host memory for copies of a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/context.h"

namespace rdmabench::inline v1::gpu {

/// Owns the pages. Their content is undefined. Source: CUDA Driver API, cuMemHostAlloc. Thread
/// rule: a value without locks; one owner.
class PinnedHost {
 public:
  /// Throws Error(usage) for 0 bytes, Error(failed).
  PinnedHost(const Context& context, std::uint64_t bytes);
  ~PinnedHost();
  PinnedHost& operator=(PinnedHost&&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  Context context_;
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace rdmabench::inline v1::gpu
