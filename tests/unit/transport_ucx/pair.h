// Two ucx endpoints of one process, and what tests do with them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/ucx/endpoint.h"
#include "transport/ucx/backend.h"

namespace rdmabench::inline v1::transport::ucx {

inline constexpr std::uint64_t kSize = 3000;
inline constexpr std::uint32_t kDepth = 4;

inline EndpointRequest request(std::string_view transports, OperationSet operations,
                               bool latency = false) {
  EndpointRequest r;
  r.options.ucx.transports = transports;
  r.operations = operations;
  r.latency = latency;
  r.max_size = kSize;
  r.depth = kDepth;
  r.receives = kDepth + 1;
  r.send_slots = 2;
  r.receive_slots = 2;
  return r;
}

/// Skips the test where this machine's UCX lacks what is asked for.
inline void need(const EndpointRequest& r) {
  try {
    offer(r);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
}

/// Two endpoints of one thread, driven in turn.
template <class E>
struct PairOf {
  std::optional<E> a;
  std::optional<E> b;
  std::vector<Received> at_a;
  std::vector<Received> at_b;

  explicit PairOf(const EndpointRequest& r, std::vector<std::span<std::byte>> at_server = {}) {
    a.emplace(r, "");
    EndpointRequest server = r;
    server.client = false;
    server.buffers = std::move(at_server);
    b.emplace(server, "");
    a->connect(b->address());
    b->connect(a->address());
  }

  /// One closes while the other polls, as in two processes: it waits for what is still under way.
  ~PairOf() {
    std::atomic closed = false;
    std::thread closing([&] {
      b.reset();
      closed = true;
    });
    while (!closed) {
      if (a) a->poll([](const Received&) noexcept {});
    }
    closing.join();
  }
  PairOf& operator=(PairOf&&) = delete;

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

}  // namespace rdmabench::inline v1::transport::ucx
