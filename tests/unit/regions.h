// What messages between the regions of two endpoints must do, over any back end.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport {

/// The disjoint buffers of a side.
using Buffers = std::vector<std::vector<std::byte>>;

inline Buffers three_buffers(std::uint8_t tag) {
  Buffers all;
  for (const std::size_t bytes : {3000, 1000, 2000}) {
    memory::fill_pattern(all.emplace_back(bytes), tag++);
  }
  return all;
}

inline std::vector<std::span<std::byte>> spans(Buffers& buffers) {
  return {buffers.begin(), buffers.end()};
}

/// The first lists of an endpoint, and without a message.
template <class E>
void post_no_messages(E& endpoint) {
  if constexpr (E::kPostLists) {
    EXPECT_EQ(endpoint.template post_list<Send>(std::span<const RegionMessage>(), Signal::now),
              PostStatus::posted);
    EXPECT_EQ(endpoint.template post_list<Send>(std::span<const Message>(), Signal::now),
              PostStatus::posted);
    EXPECT_EQ(endpoint.posted(), 0U);
  }
}

/// Writes from each region to each of the peer's, then notifies it, then reads the other way. Every
/// byte of both sides must be as it should, those in between too. `poll` polls both sides once and
/// puts what arrives at the peer into `arrived`.
template <class E, class Poll>
void move_between_regions(E& endpoint, Buffers& mine, Buffers& theirs,
                          const std::vector<Received>& arrived, Poll&& poll) {
  constexpr std::uint64_t kPiece = 90;
  post_no_messages(endpoint);
  const auto until = [&](auto&& done) {
    const Deadline deadline = Deadline::after(std::chrono::seconds(20));
    bool finished = done();
    while (!finished && !deadline.passed()) {
      poll();
      finished = done();
    }
    ASSERT_TRUE(finished) << endpoint.failure();
  };
  const auto all_complete = [&] { return endpoint.completed() == endpoint.posted(); };
  const auto post = [&]<class Op>(Op /*operation*/, const RegionMessage& message) {
    until([&] {
      const PostStatus status = endpoint.template post<Op>(message, Signal::now);
      EXPECT_NE(status, PostStatus::failed) << endpoint.failure();
      return status != PostStatus::busy;
    });
    until(all_complete);
  };
  for (RegionId region = 0; region < 3; ++region) {
    EXPECT_EQ(endpoint.peer_region_bytes(region), theirs[region].size());
  }
  EXPECT_EQ(endpoint.peer_region_bytes(3), 0U);
  Buffers expected = theirs;
  const auto expect = [&](const RegionMessage& message) {
    std::memcpy(expected[message.remote].data() + message.remote_at,
                mine[message.local].data() + message.local_at, message.bytes);
  };
  for (RegionId local = 0; local < 3; ++local) {
    for (RegionId remote = 0; remote < 3; ++remote) {
      const RegionMessage message{.local = local,
                                  .remote = remote,
                                  .local_at = 100 * remote + 1,
                                  .remote_at = 100 * local + 7,
                                  .bytes = kPiece - local};
      post(Write(), message);
      expect(message);
    }
  }
  // Region 0 is what a post without regions means, also behind one with regions.
  until([&] {
    return endpoint.template post<Write>(500, 600, kPiece, 0, Signal::now) == PostStatus::posted;
  });
  until(all_complete);
  expect({.local_at = 500, .remote_at = 600, .bytes = kPiece});
  if constexpr (E::kPostLists) {
    std::vector<RegionMessage> list;
    for (const RegionId region : {2U, 0U, 1U}) {
      list.push_back({.local = region,
                      .remote = (region + 1) % 3,
                      .local_at = 700,
                      .remote_at = 800,
                      .bytes = kPiece + region});
      expect(list.back());
    }
    ASSERT_EQ(endpoint.template post_list<Write>(list, Signal::now), PostStatus::posted);
    until(all_complete);
    const std::array plain{Message{.local = 900, .remote = 1000, .bytes = kPiece, .word = 0},
                           Message{.local = 1100, .remote = 1200, .bytes = kPiece, .word = 0}};
    ASSERT_EQ(endpoint.template post_list<Write>(plain, Signal::now), PostStatus::posted);
    until(all_complete);
    for (const Message& one : plain) {
      expect({.local_at = one.local, .remote_at = one.remote, .bytes = kPiece});
    }
  }
  const RegionMessage last{
      .local = 2, .remote = 1, .local_at = 1900, .remote_at = 900, .bytes = kPiece, .word = 77};
  if constexpr (E::template supports<WriteImm>) {
    post(WriteImm(), last);
  } else {
    post(Write(), last);
    post(SendImm(), last);
  }
  expect(last);
  until([&] { return !arrived.empty(); });
  EXPECT_EQ(arrived.back().immediate, 77U);
  EXPECT_TRUE(theirs == expected);

  expected = mine;
  for (RegionId region = 0; region < 3; ++region) {
    const RegionMessage message{
        .local = region, .remote = 2 - region, .local_at = 400, .remote_at = 910, .bytes = kPiece};
    post(Read(), message);
    std::memcpy(expected[region].data() + 400, theirs[2 - region].data() + 910, kPiece);
  }
  EXPECT_TRUE(mine == expected);

  // A send names no region of the peer.
  post(Send(), {.local = 1, .remote = 99, .local_at = 910, .bytes = kPiece});
  until([&] { return arrived.size() == 2; });
  EXPECT_EQ(arrived.back().bytes, kPiece);
}

/// After move_between_regions().
template <class E>
void refuse_what_is_no_region(E& endpoint) {
  const std::uint64_t before = endpoint.posted();
  for (const RegionMessage& bad :
       {RegionMessage{.local = 3, .bytes = 1}, RegionMessage{.remote = 3, .bytes = 1},
        RegionMessage{.remote = ~RegionId{0}, .bytes = 1},
        RegionMessage{.local = 1, .local_at = 1000, .bytes = 1},
        RegionMessage{.remote = 2, .remote_at = 1999, .bytes = 2},
        RegionMessage{.remote_at = ~std::uint64_t{0}, .bytes = 2}}) {
    EXPECT_EQ(endpoint.template post<Write>(bad, Signal::now), PostStatus::failed);
    EXPECT_EQ(endpoint.template post<Read>(bad, Signal::now), PostStatus::failed);
    if constexpr (E::kPostLists) {
      const std::array list{RegionMessage{.bytes = 1}, bad};
      EXPECT_EQ(endpoint.template post_list<Write>(list, Signal::now), PostStatus::failed);
    }
  }
  EXPECT_EQ(endpoint.template post<Write>(RegionMessage{.bytes = 1U << 20}, Signal::now),
            PostStatus::failed);
  EXPECT_EQ(endpoint.posted(), before);
  EXPECT_THAT(endpoint.failure(), ::testing::HasSubstr("outside of"));
}

}  // namespace rdmabench::inline v1::transport
