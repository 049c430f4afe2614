#include "memory/mapping.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::memory {

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

Mapping map_host(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  Mapping mapping(bytes, page, MAP_PRIVATE | MAP_ANONYMOUS);
  if (!mapping) {
    throw Error(Fault::failed, fmt::format("mmap({} bytes)", bytes),
                "Lower `sizes` or `depth`, or free memory.", errno);
  }
  return mapping;
}

}  // namespace rdmabench::inline v1::memory
