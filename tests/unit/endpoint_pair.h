// Two endpoints of one process, driven in turn, and what tests of any back end do with them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport {

inline constexpr std::uint64_t kSize = 3000;  // more than any provider here injects but shm
inline constexpr std::uint32_t kDepth = 4;

inline EndpointRequest small_request(OperationSet operations, bool latency) {
  EndpointRequest r;
  r.operations = operations;
  r.latency = latency;
  r.max_size = kSize;
  r.depth = kDepth;
  r.receives = kDepth + 1;
  r.send_slots = 2;
  r.receive_slots = 2;
  return r;
}

/// Skips the test where nothing here has what is asked for. `offer`: the back end's.
inline void need(std::string (*offer)(const EndpointRequest&), const EndpointRequest& r) {
  try {
    offer(r);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
}

/// The request of the other side, which brings memory of its own.
inline EndpointRequest server_of(EndpointRequest r, std::vector<std::span<std::byte>> memory) {
  r.client = false;
  r.buffers = std::move(memory);
  return r;
}

/// Who derives from it opens and connects them.
template <class E>
struct EndpointPair {
  std::optional<E> a;
  std::optional<E> b;
  std::vector<Received> at_a;
  std::vector<Received> at_b;

  void poll() {
    ASSERT_GE(a->poll([&](const Received& r) noexcept { at_a.push_back(r); }), 0) << a->failure();
    ASSERT_GE(b->poll([&](const Received& r) noexcept { at_b.push_back(r); }), 0) << b->failure();
  }

  template <class Done>
  void poll_until(Done&& done) {
    const Deadline deadline = Deadline::after(std::chrono::seconds(20));
    while (!done()) {
      poll();
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
      ASSERT_FALSE(deadline.passed());
    }
  }

  /// Posts, polling for as long as the answer is `busy`.
  template <class Post>
  void must(Post&& post) {
    poll_until([&] {
      const PostStatus status = post();
      EXPECT_NE(status, PostStatus::failed) << a->failure();
      return status != PostStatus::busy;
    });
  }

  void settle() {
    poll_until([&] { return a->completed() == a->posted() && b->completed() == b->posted(); });
  }
};

inline std::span<std::byte> slot(const Region& region, std::uint32_t index,
                                 std::uint64_t size = kSize) {
  return {region.data + index * region.stride, size};
}

inline bool holds(const Region& region, std::uint32_t index, std::uint8_t tag,
                  std::uint64_t size = kSize) {
  return memory::find_mismatch(slot(region, index, size), tag) == std::nullopt;
}

}  // namespace rdmabench::inline v1::transport
