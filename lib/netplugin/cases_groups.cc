// Cases of many requests: groups of receives, tags, all 32 at once.
#include <fmt/format.h>

#include <algorithm>

#include "side.h"

namespace rdmabench::netplugin {
namespace {

constexpr std::size_t kGroupRoom = 4096;

/// How long a "later" may last that nothing but the plugin can end.
Deadline patience_of(const Side& side) {
  return Deadline::after(
      std::min<std::chrono::nanoseconds>(side.deadline().left() / 4, std::chrono::seconds(2)));
}

/// Posts without ever taking a request back, so that all of them are under way. Receives, which
/// cannot be done while nothing is sent, are tested meanwhile: plugins may need that to move.
std::vector<void*> post_all(Side& side, End end, std::span<const std::vector<Message>> posts) {
  std::vector<void*> requests;
  const char* const call = end.sends ? "isend" : "irecv";
  for (const std::vector<Message>& group : posts) {
    const Deadline patience = patience_of(side);
    void* request = nullptr;
    for (;;) {
      const abi::Result result = end.sends ? side.net().send(end.comm, group[0], &request)
                                           : side.net().receive(end.comm, group, &request);
      const auto refused = [&](const std::string& how) {
        return Failed{fmt::format("with {} requests under way {} {}; NCCL has up to {}",
                                  requests.size(), call, how, posts.size())};
      };
      if (result != abi::kSuccess) throw refused("returned " + result_text(result));
      if (request != nullptr) break;
      if (patience.passed()) throw refused("gives no request, however often it is called");
      std::vector<int> sizes;
      for (std::size_t i = 0; !end.sends && i < requests.size(); ++i) {
        if (side.test(requests[i], group.size(), sizes, "a receive")) {
          throw Failed{fmt::format("receive {} is done before anything was sent", i)};
        }
      }
      side.pause("the time of the case was over");
    }
    requests.push_back(request);
  }
  return requests;
}

Sizes finish_all(Side& side, std::span<const std::vector<Message>> posts,
                 std::vector<void*> requests) {
  Sizes sizes(posts.size());
  std::size_t left = requests.size();
  while (left > 0) {
    bool moved = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i] == nullptr) continue;
      if (!side.test(requests[i], posts[i].size(), sizes[i],
                     side.sender() ? "a send" : "a receive")) {
        continue;
      }
      requests[i] = nullptr;
      --left;
      moved = true;
    }
    if (!moved) {
      side.pause(
          fmt::format("{} of {} requests that were taken are never done", left, requests.size()));
    }
  }
  return sizes;
}

/// `groups` groups of `width` receives under way at once, and as many messages as they have
/// buffers.
void many_at_once(Side& side, std::size_t groups, std::size_t width) {
  const End end = side.open();
  const std::size_t count = groups * width;
  Block block = side.block(end, count * kGroupRoom);
  const auto size = [](std::size_t i) { return 100 + i * 31 % 3000; };
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < count; ++i) {
    const int tag = static_cast<int>(width == 1 ? 0 : 10 + i % width);
    if (side.sender()) {
      fill(block.data() + i * kGroupRoom, size(i), i);
      posts.push_back({block.part(i * kGroupRoom, size(i), tag)});
    } else {
      if (i % width == 0) posts.emplace_back();
      posts.back().push_back(block.part(i * kGroupRoom, kGroupRoom, tag));
    }
  }
  side.step(
      fmt::format("with {} {} under way", posts.size(), side.sender() ? "sends" : "receives"));
  std::vector<void*> requests;
  if (!side.sender()) requests = post_all(side, end, posts);
  side.meet();
  if (side.sender()) requests = post_all(side, end, posts);
  const Sizes sizes = finish_all(side, posts, std::move(requests));
  if (!side.sender()) {
    for (std::size_t i = 0; i < count; ++i) {
      expect(block.data() + i * kGroupRoom, size(i), i, "receive", count);
      const int said = sizes[i / width][i % width];
      if (said != static_cast<int>(size(i))) {
        throw Failed{fmt::format("test says {} bytes of message {} of {}", said, i, size(i))};
      }
    }
  }
  side.release(end, block);
  side.finish(end);
}

std::size_t width_of(Side& side) {
  const int most = side.properties().max_receives;
  if (most < 2) throw Skipped{"maxRecvs is 1: receives come alone"};
  return static_cast<std::size_t>(std::min(most, 8));
}

}  // namespace

namespace cases_of {

void outstanding(Side& side) {
  // Receives before sends, so that nobody is asked to keep messages for which there is no place.
  many_at_once(side, abi::kMaxRequests, 1);
}

void outstanding_groups(Side& side) {
  many_at_once(side, abi::kMaxRequests, width_of(side));
}

void tags(Side& side) {
  const std::size_t width = width_of(side);
  constexpr std::size_t kRounds = 20;
  const End end = side.open();
  Block block = side.block(end, width * kGroupRoom);
  const auto size = [](std::size_t i) { return 50 + i * 400; };
  side.step(fmt::format("moving groups of {}", width));
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::vector<std::vector<Message>> posts;
    for (std::size_t k = 0; k < width; ++k) {
      // The sends of a group come in another order each time, first of all the other way round.
      const std::size_t i = (width - 1 - k + round) % width;
      const int tag = static_cast<int>(1000 - 7 * i);
      if (side.sender()) {
        fill(block.data() + i * kGroupRoom, size(i), i);
        posts.push_back({block.part(i * kGroupRoom, size(i), tag)});
      }
    }
    if (!side.sender()) {
      posts.emplace_back();
      for (std::size_t i = 0; i < width; ++i) {
        posts[0].push_back(block.part(i * kGroupRoom, kGroupRoom, static_cast<int>(1000 - 7 * i)));
      }
    }
    const Sizes sizes = side.run(end, posts);
    for (std::size_t i = 0; !side.sender() && i < width; ++i) {
      expect(block.data() + i * kGroupRoom, 50, i, "the buffer of tag", width);
      expect(block.data() + i * kGroupRoom, size(i), i, "the buffer of tag", width);
      if (sizes[0][i] != static_cast<int>(size(i))) {
        throw Failed{
            fmt::format("test says {} bytes of the buffer of tag {} of the group, which "
                        "got {}",
                        sizes[0][i], i, size(i))};
      }
    }
    side.meet();
  }
  side.release(end, block);
  side.finish(end);
}

void group_order(Side& side) {
  width_of(side);
  const End end = side.open();
  constexpr std::size_t kGroups = 12;
  Block block = side.block(end, kGroups * 2 * kGroupRoom);
  std::vector<std::vector<Message>> posts;
  // Of each group the sends come now in this, now in the other order; the tags are always the same.
  for (std::size_t g = 0; g < kGroups; ++g) {
    if (!side.sender()) posts.emplace_back();
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t member = side.sender() && g % 2 == 0 ? 1 - k : k;
      const std::size_t i = 2 * g + member;
      const int tag = static_cast<int>(7 + member);
      if (side.sender()) {
        fill(block.data() + i * kGroupRoom, kGroupRoom, i);
        posts.push_back({block.part(i * kGroupRoom, kGroupRoom, tag)});
      } else {
        posts.back().push_back(block.part(i * kGroupRoom, kGroupRoom, tag));
      }
    }
  }
  side.step("moving groups with the same tags");
  side.run(end, posts);
  for (std::size_t i = 0; !side.sender() && i < 2 * kGroups; ++i) {
    expect(block.data() + i * kGroupRoom, kGroupRoom, i, "receive", 2 * kGroups);
  }
  side.release(end, block);
  side.finish(end);
}

}  // namespace cases_of
}  // namespace rdmabench::netplugin
