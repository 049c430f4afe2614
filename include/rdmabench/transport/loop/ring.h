// A bounded queue between exactly two threads: one pushes, one pops.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

namespace rdmabench::transport::loop {

/// Capacity is rounded up to a power of two. push() and pop() never block and never allocate.
/// Thread rule: one producer thread, one consumer thread.
template <class T>
class Ring {  // padding keeps the indices apart
 public:
  explicit Ring(std::uint32_t capacity) : entries_(std::bit_ceil(capacity)) {}

  bool push(const T& value) noexcept {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == entries_.size()) return false;
    entries_[tail & mask()] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  bool pop(T& value) noexcept {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    value = entries_[head & mask()];
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  /// For the consumer: so many can be popped, and perhaps more.
  std::uint32_t available() const noexcept {
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_relaxed);
  }

 private:
  std::uint32_t mask() const noexcept { return static_cast<std::uint32_t>(entries_.size() - 1); }

  std::vector<T> entries_;
  // Each index has one writer; a cache line apart, so that the two threads do not share one.
  alignas(64) std::atomic<std::uint32_t> head_{0};
  alignas(64) std::atomic<std::uint32_t> tail_{0};
};

}  // namespace rdmabench::transport::loop
