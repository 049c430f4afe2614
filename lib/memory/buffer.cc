#include "rdmabench/memory/buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "rdmabench/base/error.h"

namespace rdmabench::memory {

Buffer::Buffer(std::uint64_t bytes) : size_(bytes) {
  if (bytes == 0) throw Error(Fault::usage, "a buffer of 0 bytes", "Ask for at least 1 byte.");
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) {
    throw Error(Fault::failed, fmt::format("mmap({} bytes)", bytes),
                "Lower --size or --depth, or free memory.", errno);
  }
  data_ = static_cast<std::byte*>(pages);
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace rdmabench::memory
