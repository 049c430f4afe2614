#include "rdmabench/memory/buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "base/refuse.h"
#include "memory/gpu_memory.h"
#include "memory/mapping.h"
#include "memory/numa.h"
#include "rdmabench/base/error.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace rdmabench::inline v1::memory {
namespace {

void check(const Request& request, std::uint64_t bytes) {
  if (bytes == 0)
    throw Error(Fault::usage, "invalid buffer size of 0 bytes", "It must be at least 1 byte.");
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  refuse_if(
      request.unaligned >= page,
      fmt::format("invalid offset of {} bytes into a page of {} bytes", request.unaligned, page),
      fmt::format("It may be 0 to {}.", page - 1));
  if (bytes > std::numeric_limits<std::uint64_t>::max() / 2) {  // so that no sum below overflows
    throw Error(Fault::failed, fmt::format("mmap({} bytes)", bytes), "Lower `sizes` or `depth`.",
                ENOMEM);
  }
}

Mapping map(const Request& request, std::uint64_t bytes) {
  switch (request.kind) {
    case Kind::host:
      return map_host(bytes);
    case Kind::huge:
      return map_huge(bytes, request.huge_page_bytes);
    case Kind::file:
      return map_file(bytes, request.path, request.offset);
    case Kind::dmabuf:
      return map_dma_buf(bytes);
    case Kind::cuda:
      break;
  }
  throw Error(Fault::usage, "unknown kind of memory");
}

/// Requests the NUMA node and describes the result. Throws only for a node that was given by
/// number.
std::string place(const Mapping& mapping, const Request& request) {
  switch (request.numa.place) {
    case Numa::Place::any:
      return "any node";
    case Numa::Place::node:
      prefer_node(mapping.bytes(), request.numa.number);
      return fmt::format("requested: node {}", request.numa.number);
    case Numa::Place::near:
      break;
  }
  if (request.device.empty()) return "any node: no RDMA device is given";
  const int node = node_near(request.device);
  if (node < 0) return fmt::format("any node: the node of {} is unknown", request.device);
  try {
    prefer_node(mapping.bytes(), node);
  } catch (const Error& error) {
    return fmt::format("any node: {}", error.what());
  }
  return fmt::format("requested: node {}, near {}", node, request.device);
}

/// For anonymous memory on a kernel before 5.14.
void touch(std::span<std::byte> bytes, std::uint64_t page_bytes) {
  for (std::uint64_t at = 0; at < bytes.size(); at += page_bytes) {
    *static_cast<volatile std::byte*>(&bytes[at]) = std::byte{0};
  }
}

/// Allocates all pages now. Returns an error for a missing page, where a touch would raise a
/// signal. Source: madvise(2), MADV_POPULATE_WRITE.
void populate(const Mapping& mapping, Kind kind) {
  const std::span<std::byte> bytes = mapping.bytes();
  int result = 0;
  do {
    result = madvise(bytes.data(), bytes.size(), MADV_POPULATE_WRITE);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return;
  const int code = errno;
  if (kind == Kind::file) return;  // memory of a device needs no allocation
  if (code != EINVAL) {
    throw Error(Fault::failed, fmt::format("madvise({} bytes, MADV_POPULATE_WRITE)", bytes.size()),
                kind == Kind::huge ? "The huge pages of the node or of the control group are "
                                     "exhausted: reserve more, or set `numa` to none."
                                   : "Lower `sizes` or `depth`, or free memory.",
                code);
  }
  if (kind == Kind::host) touch(bytes, mapping.page_bytes());
}

/// Throws if pages are on another node.
void check_node(const std::vector<NodePages>& places, int node) {
  for (const NodePages& place : places) {
    if (place.node < 0 || place.node == node) continue;
    throw Error(Fault::failed,
                fmt::format("pages are not all on NUMA node {}: {}", node, to_text(places)),
                "Free memory on that node, or set `numa` to none.");
  }
}

}  // namespace

Buffer::Buffer() noexcept = default;
Buffer::~Buffer() = default;

Buffer::Buffer(std::uint64_t bytes) : Buffer(Request{}, bytes) {}

Buffer::Buffer(const Request& request, std::uint64_t bytes) : size_(bytes) {
  check(request, bytes);
  if (request.kind == Kind::cuda) {
    gpu_ = std::make_unique<GpuMemory>(request, bytes);
    data_ = gpu_->data();
    placement_ = gpu_->choice();
    return;
  }
  if (request.existing != nullptr) {
    refuse_if(request.kind != Kind::host,
              fmt::format("memory of the caller as '{}'", name(request.kind)),
              "It is 'host' memory, or 'cuda' memory of a GPU.");
    data_ = request.existing;
    placement_ = "the caller's";
    return;
  }
  mapping_ = std::make_unique<Mapping>(map(request, request.unaligned + bytes));
  data_ = mapping_->bytes().data() + request.unaligned;
  placement_ = place(*mapping_, request);
  populate(*mapping_, request.kind);
  if (request.kind == Kind::dmabuf) export_dma_buf(*mapping_);
  if (request.numa.place == Numa::Place::node) check_node(nodes(), request.numa.number);
}

Buffer::Buffer(Buffer&& other) noexcept
    : mapping_(std::move(other.mapping_)),
      gpu_(std::move(other.gpu_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      placement_(std::move(other.placement_)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(gpu_, other.gpu_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(placement_, other.placement_);
  return *this;
}

std::uint64_t Buffer::page_bytes() const noexcept {
  if (gpu_ != nullptr) return gpu::kGpuPageBytes;
  return mapping_ != nullptr ? mapping_->page_bytes()
                             : static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

int Buffer::dma_buf() const noexcept {
  if (gpu_ != nullptr) return gpu_->dma_buf().descriptor();
  return mapping_ != nullptr ? mapping_->dma_buf.get() : -1;
}

std::uint64_t Buffer::dma_buf_offset() const noexcept {
  if (gpu_ != nullptr) return gpu_->dma_buf_offset();
  return mapping_ != nullptr ? static_cast<std::uint64_t>(data_ - mapping_->bytes().data()) : 0;
}

void Buffer::stage_through_host() {
  gpu_->stage_through_host();
  data_ = gpu_->data();
}

std::vector<NodePages> Buffer::nodes() const {
  if (gpu_ != nullptr) return {};
  return find_pages(bytes(), page_bytes());
}

}  // namespace rdmabench::inline v1::memory
