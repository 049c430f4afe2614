// Two ofi endpoints of one process, and what tests do with them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <chrono>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/ofi/endpoint.h"
#include "transport/ofi/backend.h"

namespace rdmabench::inline v1::transport::ofi {

inline constexpr std::uint64_t kSize = 3000;  // more than any provider here injects but shm
inline constexpr std::uint32_t kDepth = 4;

inline EndpointRequest request(std::string_view provider, OperationCode code,
                               bool latency = false) {
  EndpointRequest r;
  r.options.ofi.provider = provider;
  r.operations = code;
  r.latency = latency;
  r.local_ip = "127.0.0.1";
  r.max_size = kSize;
  r.depth = kDepth;
  r.receives = kDepth + 1;
  r.send_slots = 2;
  r.receive_slots = 2;
  return r;
}

/// Skips the test where no provider has what is asked for.
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
    const std::string text = offer(r);
    const Choice choice = choose(r, text, text);
    a.emplace(r, choice.client);
    EndpointRequest server = r;
    server.client = false;
    server.buffers = std::move(at_server);
    b.emplace(server, choice.server);
    // Connected endpoints wait for each other here.
    auto accepted =
        std::async(std::launch::async, [this, address = a->address()] { b->connect(address); });
    a->connect(b->address());
    accepted.get();
  }

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

inline std::string test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace rdmabench::inline v1::transport::ofi
