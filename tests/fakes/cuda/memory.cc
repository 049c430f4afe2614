#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

namespace fake_cuda {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::byte* map_nothing(std::uint64_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<std::byte*>(pages);
}

/// Addresses that are multiples of `alignment` but not of twice that, so that tests notice reliance
/// on more.
std::byte* map_aligned(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t room = bytes + 4 * alignment;
  std::byte* all = map_nothing(room);
  if (all == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(all);
  const std::uint64_t lead = round_up(address, 2 * alignment) + alignment - address;
  munmap(all, lead);
  munmap(all + lead + bytes, room - lead - bytes);
  return all + lead;
}

void* pointer(DevicePointer at) {
  return reinterpret_cast<void*>(at);
}

}  // namespace

Physical::Physical(std::uint64_t bytes_, int device_, bool rdma_)
    : file(memfd_create("fake_cuda", MFD_CLOEXEC)), bytes(bytes_), device(device_), rdma(rdma_) {
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) std::abort();
}

Physical::~Physical() {
  close(file);
}

Memory& Memory::get() {
  static Memory& memory = *new Memory;
  return memory;
}

std::uint64_t Memory::used(int device) const {
  std::set<const Physical*> counted;
  std::uint64_t bytes = 0;
  const auto count = [&](const std::shared_ptr<Physical>& physical) {
    if (physical->device == device && counted.insert(physical.get()).second) {
      bytes += physical->bytes;
    }
  };
  for (const auto& [base, region] : regions_) {
    for (const Piece& piece : region.pieces) count(piece.physical);
  }
  for (const auto& [handle, physical] : handles_) count(physical);
  return bytes;
}

Memory::Regions::iterator Memory::find(DevicePointer at, std::uint64_t bytes) {
  auto next = regions_.upper_bound(at);
  if (next == regions_.begin()) return regions_.end();
  const auto found = std::prev(next);
  const std::uint64_t offset = at - found->first;
  if (offset > found->second.bytes || bytes > found->second.bytes - offset) return regions_.end();
  return found;
}

Result Memory::add_region(std::uint64_t bytes, std::uint64_t alignment, bool vmm,
                          DevicePointer& at) {
  std::byte* device = map_aligned(bytes, alignment);
  std::byte* host = map_nothing(bytes + 2 * kPage);
  if (device == nullptr || host == nullptr) return abi::kOutOfMemory;
  at = reinterpret_cast<DevicePointer>(device);
  regions_[at] = {bytes, host + kPage, vmm, {}};
  return abi::kSuccess;
}

/// Maps the bytes at the host's address; the device's stays unreadable.
void Memory::put(DevicePointer base, Region& region, Piece piece) {
  const int prot = piece.allowed ? PROT_READ | PROT_WRITE : PROT_NONE;
  mmap(pointer(base + piece.offset), piece.bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
       piece.physical->file, 0);
  mmap(region.host + piece.offset, piece.bytes, prot, MAP_SHARED | MAP_FIXED, piece.physical->file,
       0);
  region.pieces.push_back(std::move(piece));
}

void Memory::take(DevicePointer base, Region& region, const Piece& piece) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  mmap(pointer(base + piece.offset), piece.bytes, PROT_NONE, kFlags, -1, 0);
  mmap(region.host + piece.offset, piece.bytes, PROT_NONE, kFlags, -1, 0);
}

void Memory::drop(Regions::iterator region) {
  munmap(pointer(region->first), region->second.bytes);
  munmap(region->second.host - kPage, region->second.bytes + 2 * kPage);
  regions_.erase(region);
}

Result Memory::allocate(std::uint64_t bytes, int device, DevicePointer& at) {
  const Controls controls = World::get().controls();
  const std::lock_guard lock(mutex_);
  if (bytes == 0) return abi::kInvalidValue;
  if (bytes > controls.memory || used(device) > controls.memory - bytes) return abi::kOutOfMemory;
  const std::uint64_t whole = round_up(bytes, kPage);
  const Result result = add_region(whole, std::max(controls.align, kPage), false, at);
  if (result != abi::kSuccess) return result;
  auto physical = std::make_shared<Physical>(whole, device, controls.rdma);
  put(at, regions_[at], {0, whole, std::move(physical), true});
  return abi::kSuccess;
}

Result Memory::free(DevicePointer at) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(at);
  if (found == regions_.end() || found->second.vmm) return abi::kInvalidValue;
  drop(found);
  return abi::kSuccess;
}

Result Memory::create(std::uint64_t bytes, int device, bool rdma, abi::MemoryHandle& handle) {
  const Controls controls = World::get().controls();
  const std::lock_guard lock(mutex_);
  if (bytes > controls.memory || used(device) > controls.memory - bytes) return abi::kOutOfMemory;
  handle = next_handle_++;
  handles_[handle] = std::make_shared<Physical>(bytes, device, rdma);
  return abi::kSuccess;
}

Result Memory::release(abi::MemoryHandle handle) {
  const std::lock_guard lock(mutex_);
  return handles_.erase(handle) == 1 ? abi::kSuccess : abi::kInvalidValue;
}

Result Memory::reserve(std::uint64_t bytes, std::uint64_t alignment, DevicePointer& at) {
  const std::lock_guard lock(mutex_);
  return add_region(bytes, std::max(alignment, kPage), true, at);
}

Result Memory::unreserve(DevicePointer at, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(at);
  if (found == regions_.end() || !found->second.vmm || found->second.bytes != bytes ||
      !found->second.pieces.empty()) {
    return abi::kInvalidValue;
  }
  drop(found);
  return abi::kSuccess;
}

Result Memory::map(DevicePointer at, std::uint64_t bytes, abi::MemoryHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = find(at, bytes);
  const auto physical = handles_.find(handle);
  if (found == regions_.end() || !found->second.vmm || physical == handles_.end() ||
      physical->second->bytes != bytes) {
    return abi::kInvalidValue;
  }
  put(found->first, found->second, {at - found->first, bytes, physical->second, false});
  return abi::kSuccess;
}

Result Memory::unmap(DevicePointer at, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = find(at, bytes);
  if (found == regions_.end() || !found->second.vmm) return abi::kInvalidValue;
  auto& pieces = found->second.pieces;
  const auto inside = [&](const Piece& piece) {
    return found->first + piece.offset >= at &&
           found->first + piece.offset + piece.bytes <= at + bytes;
  };
  for (const Piece& piece : pieces) {
    if (inside(piece)) take(found->first, found->second, piece);
  }
  return std::erase_if(pieces, inside) > 0 ? abi::kSuccess : abi::kInvalidValue;
}

Result Memory::allow(DevicePointer at, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = find(at, bytes);
  if (found == regions_.end() || !found->second.vmm) return abi::kInvalidValue;
  for (Piece& piece : found->second.pieces) {
    piece.allowed = true;
    mprotect(found->second.host + piece.offset, piece.bytes, PROT_READ | PROT_WRITE);
  }
  return abi::kSuccess;
}

Result Memory::allocate_host(std::uint64_t bytes, void*& at) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) return abi::kInvalidValue;
  at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return abi::kOutOfMemory;
  pinned_[static_cast<std::byte*>(at)] = bytes;
  return abi::kSuccess;
}

Result Memory::free_host(void* at) {
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(static_cast<std::byte*>(at));
  if (found == pinned_.end()) return abi::kInvalidValue;
  munmap(at, found->second);
  pinned_.erase(found);
  return abi::kSuccess;
}

bool Memory::is_pinned(const void* at, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto* first = const_cast<std::byte*>(static_cast<const std::byte*>(at));
  const auto next = pinned_.upper_bound(first);
  if (next == pinned_.begin()) return false;
  const auto found = std::prev(next);
  const auto offset = static_cast<std::uint64_t>(first - found->first);
  return offset <= found->second && bytes <= found->second - offset;
}

std::byte* Memory::host(DevicePointer at, std::uint64_t bytes) {
  if (is_pinned(pointer(at), bytes)) return static_cast<std::byte*>(pointer(at));
  const std::lock_guard lock(mutex_);
  const auto found = find(at, bytes);
  if (found == regions_.end()) return nullptr;
  const std::uint64_t begin = at - found->first;
  std::uint64_t covered = 0;
  for (const Piece& piece : found->second.pieces) {
    const std::uint64_t from = std::max(begin, piece.offset);
    const std::uint64_t to = std::min(begin + bytes, piece.offset + piece.bytes);
    if (piece.allowed && to > from) covered += to - from;
  }
  return covered == bytes && bytes > 0 ? found->second.host + begin : nullptr;
}

Result Memory::export_range(DevicePointer at, std::uint64_t bytes, int& descriptor) {
  const std::lock_guard lock(mutex_);
  if (at % kPage != 0 || bytes % kPage != 0 || bytes == 0) return abi::kInvalidValue;
  const auto found = find(at, bytes);
  if (found == regions_.end()) return abi::kInvalidValue;
  const std::uint64_t begin = at - found->first;
  for (const Piece& piece : found->second.pieces) {
    if (begin < piece.offset || begin + bytes > piece.offset + piece.bytes) continue;
    if (!piece.physical->rdma) return abi::kNotSupported;
    // A separate file description: its position stores where the dma-buf begins in the file.
    const std::string path = "/proc/self/fd/" + std::to_string(piece.physical->file);
    descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return abi::kUnknown;
    lseek(descriptor, static_cast<off_t>(begin - piece.offset), SEEK_SET);
    return abi::kSuccess;
  }
  return abi::kInvalidValue;  // not mapped, or not in one piece
}

void* Memory::host_of_dma_buf(int descriptor, unsigned long long& bytes) {
  const std::lock_guard lock(mutex_);
  struct stat wanted {};
  const off_t begin = lseek(descriptor, 0, SEEK_CUR);
  if (fstat(descriptor, &wanted) != 0 || begin < 0) return nullptr;
  for (const auto& [base, region] : regions_) {
    for (const Piece& piece : region.pieces) {
      struct stat is {};
      if (fstat(piece.physical->file, &is) != 0 || is.st_ino != wanted.st_ino ||
          is.st_dev != wanted.st_dev) {
        continue;
      }
      bytes = piece.bytes - static_cast<std::uint64_t>(begin);
      return region.host + piece.offset + begin;
    }
  }
  return nullptr;
}

Memory::Facts Memory::facts(DevicePointer at) {
  const std::lock_guard lock(mutex_);
  const auto found = find(at, 1);
  if (found == regions_.end() || found->second.pieces.empty()) return {};
  return {true, found->second.vmm, found->second.pieces.front().physical->rdma};
}

Result Memory::set_sync_memops(DevicePointer at) {
  const Facts known = facts(at);
  if (!known.known) return abi::kInvalidValue;
  return known.vmm ? abi::kNotSupported : abi::kSuccess;
}

int Memory::alive(const std::string& kind) {
  const std::lock_guard lock(mutex_);
  if (kind == "vmm") return static_cast<int>(handles_.size());
  if (kind == "host") return static_cast<int>(pinned_.size());
  return static_cast<int>(std::count_if(regions_.begin(), regions_.end(), [&](const auto& entry) {
    return entry.second.vmm == (kind == "reservation");
  }));
}

void Memory::reset() {
  const std::lock_guard lock(mutex_);
  while (!regions_.empty()) drop(regions_.begin());
  for (const auto& [at, bytes] : pinned_) munmap(at, bytes);
  pinned_.clear();
  handles_.clear();
}

}  // namespace fake_cuda
