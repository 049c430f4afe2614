#include "memory/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace rdmabench::memory {

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Mapping::Mapping(std::uint64_t bytes, std::uint64_t page_bytes, int flags, int file,
                 std::uint64_t offset) noexcept
    : page_bytes_(page_bytes) {
  length_ = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  void* pages =
      mmap(nullptr, length_, PROT_READ | PROT_WRITE, flags, file, static_cast<off_t>(offset));
  if (pages != MAP_FAILED) base_ = static_cast<std::byte*>(pages);
}

Mapping::~Mapping() {
  if (base_ != nullptr) munmap(base_, length_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : memory_file(std::move(other.memory_file)),
      dma_buf(std::move(other.dma_buf)),
      base_(std::exchange(other.base_, nullptr)),
      length_(std::exchange(other.length_, 0)),
      page_bytes_(other.page_bytes_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(memory_file, other.memory_file);
  std::swap(dma_buf, other.dma_buf);
  std::swap(base_, other.base_);
  std::swap(length_, other.length_);
  std::swap(page_bytes_, other.page_bytes_);
  return *this;
}

}  // namespace rdmabench::memory
