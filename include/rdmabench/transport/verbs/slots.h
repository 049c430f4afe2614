// The memory of an endpoint: where it is allocated and registered, and how its slots lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::inline v1::transport::verbs {

/// Datagrams arrive behind the 40 bytes of a global routing header, which take a cache line here.
inline constexpr std::uint32_t kHeaderBytes = 40;
inline constexpr std::uint32_t kHeaderRoom = 64;

struct SlotLayout {
  std::uint32_t slots = 1;
  std::uint64_t stride = 64;       ///< bytes from one slot to the next, a multiple of 64
  std::uint32_t misalignment = 0;  ///< bytes by which every slot is off its cache line
  std::uint32_t header_room = 0;   ///< bytes before each slot
  std::uint32_t regions = 1;       ///< memory regions, each over all of the memory
  std::span<std::byte> buffer;     ///< the caller's memory, cut into as many slots as it holds
};

/// Bytes of memory that they take.
std::uint64_t bytes_of(const SlotLayout& layout) noexcept;

/// What the endpoint has for memory of a GPU that only a read of the NIC flushes.
enum class GpuFlush : std::uint8_t {
  none,
  by_read,  ///< so all of such memory must allow reads
};

/// Slots and their registration. This is the one place where an endpoint's memory comes from.
class RegisteredSlots {
 public:
  /// Throws Error: unavailable where the machine has no such memory or the device does not take it,
  /// failed where it cannot be had now.
  RegisteredSlots(ibv_pd& domain, const SlotLayout& layout, const memory::Request& where,
                  const rdmabench::verbs::RegistrationRequest& how, GpuFlush flush);
  RegisteredSlots(RegisteredSlots&&) noexcept = default;
  RegisteredSlots& operator=(RegisteredSlots&&) = delete;

  Region region() const noexcept { return region_; }
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(region_.data); }
  /// From the first slot to the end of the last, or of the caller's memory.
  std::uint64_t bytes() const noexcept {
    return borrowed_ ? buffer_.size() : region_.stride * region_.slots;
  }
  /// Of the queue pair of that number: each has a region of its own, or all have one.
  std::uint32_t local_key(std::uint32_t queue_pair = 0) const noexcept {
    return registrations_[queue_pair % registrations_.size()].region->lkey;
  }
  std::uint32_t remote_key(std::uint32_t queue_pair = 0) const noexcept {
    return registrations_[queue_pair % registrations_.size()].region->rkey;
  }
  const memory::Buffer& buffer() const noexcept { return buffer_; }
  const rdmabench::verbs::Registration& registration() const noexcept { return registrations_[0]; }

 private:
  bool borrowed_;  ///< the memory is the caller's
  memory::Buffer buffer_;
  /// At least one. Declared after the memory, so that they are destroyed first.
  std::vector<rdmabench::verbs::Registration> registrations_;
  Region region_;  ///< its address is known only after registration
};

}  // namespace rdmabench::inline v1::transport::verbs
