// memory: the bytes that messages are made of, and what is written into them.
//
// It may know verbs (to register), and never a transport or a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmabench::memory {

/// Anonymous host memory, page-aligned, zeroed and touched, so that no page fault falls into a run.
/// Owns its pages. Source: mmap(2), MAP_POPULATE. Thread rule: a value with no locks; one owner.
class Buffer {
 public:
  Buffer() = default;
  /// Throws Error(failed, ENOMEM) when `bytes` cannot be had, Error(usage) when it is 0.
  explicit Buffer(std::uint64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

/// Bytes from one message slot to the next: `size` rounded up to whole cache lines of 64 bytes.
constexpr std::uint64_t slot_stride(std::uint64_t size) {
  return (size + 63) / 64 * 64;
}

}  // namespace rdmabench::memory
