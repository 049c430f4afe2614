// Cases of many requests: groups of receives, tags, 32 requests in flight.
#include <fmt/format.h>

#include <algorithm>

#include "case_runner.h"

namespace rdmabench::inline v1::netplugin {
namespace {

constexpr std::size_t kGroupRoom = 4096;

/// How long a plugin may answer with null requests.
Deadline patience_of(const CaseRunner& runner) {
  return Deadline::after(
      std::min<std::chrono::nanoseconds>(runner.deadline().left() / 4, std::chrono::seconds(2)));
}

/// Posts all groups and completes none, so that all of them are in flight; fewer where the plugin
/// takes no more. An error before `enough` of them is a FAIL. Receives are tested meanwhile,
/// because a plugin may make progress only in test(); none can be done before a send.
std::vector<void*> post_all(CaseRunner& runner, End end,
                            std::span<const std::vector<Message>> posts, std::size_t enough,
                            bool warns) {
  std::vector<void*> requests;
  const std::string_view call = end.sends ? "isend" : "irecv";
  for (const std::vector<Message>& group : posts) {
    const Deadline patience = patience_of(runner);
    void* request = nullptr;
    for (;;) {
      const abi::Result result = end.sends ? runner.net().send(end.comm, group[0], &request)
                                           : runner.net().receive(end.comm, group, &request);
      const auto refused = [&](const std::string& how, std::string_view does) {
        return fmt::format("with {} requests under way {} {}; the interface demands {} ({})",
                           requests.size(), call, how, posts.size(), does);
      };
      if (result != abi::kSuccess) {
        const std::string what = refused("returned " + result_text(result),
                                         fmt::format("NCCL itself posts up to {}", enough));
        if (requests.size() < enough) throw Failed{what};
        if (warns) runner.warn(what);
        return requests;
      }
      if (request != nullptr) break;
      if (patience.passed()) {
        if (warns) {
          runner.warn(refused("gives no request, however often it is called",
                              "NCCL calls again when one of them is done"));
        }
        return requests;
      }
      std::vector<int> sizes;
      for (std::size_t i = 0; !end.sends && i < requests.size(); ++i) {
        if (runner.test(requests[i], group.size(), sizes, "a receive")) {
          throw Failed{fmt::format("receive {} is done before anything was sent", i)};
        }
      }
      runner.pause("the timeout of the case has passed");
    }
    requests.push_back(request);
  }
  return requests;
}

/// `groups` groups of `width` receives in flight, and one message for each buffer.
void many_at_once(CaseRunner& runner, std::size_t groups, std::size_t width) {
  const End end = runner.open();
  const std::size_t count = groups * width;
  Block block = runner.block(end, count * kGroupRoom);
  const auto size = [](std::size_t i) { return 100 + i * 31 % 3000; };
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < count; ++i) {
    const int tag = static_cast<int>(width == 1 ? 0 : 10 + i % width);
    if (runner.sender()) {
      fill(block.data() + i * kGroupRoom, size(i), i);
      posts.push_back({block.part(i * kGroupRoom, size(i), tag)});
    } else {
      if (i % width == 0) posts.emplace_back();
      posts.back().push_back(block.part(i * kGroupRoom, kGroupRoom, tag));
    }
  }
  runner.step(
      fmt::format("with {} {} under way", posts.size(), runner.sender() ? "sends" : "receives"));
  std::vector<void*> requests;
  if (runner.sender()) {
    // Where receives are missing the sends may have to wait for them.
    const bool all = runner.oob().receive(runner.deadline()) == "all";
    requests = post_all(runner, end, posts, abi::kSteps * width, all);
  } else {
    requests = post_all(runner, end, posts, abi::kSteps, true);
    runner.oob().send(requests.size() == posts.size() ? "all" : "some");
  }
  const auto window = static_cast<int>(std::max<std::size_t>(requests.size(), 1));
  const Sizes sizes = runner.run(end, posts, window, requests);
  if (!runner.sender()) {
    for (std::size_t i = 0; i < count; ++i) {
      expect(block.data() + i * kGroupRoom, size(i), i, "receive", count);
      expect_size(runner, sizes[i / width][i % width], size(i), "a message");
    }
  }
  runner.release(end, block);
  runner.finish(end);
}

std::size_t width_of(CaseRunner& runner) {
  const int most = runner.properties().max_receives;
  if (most < 2) throw Skipped{"maxRecvs is 1: the plugin has no groups of receives"};
  return static_cast<std::size_t>(std::min(most, 8));
}

}  // namespace

namespace cases_of {

void outstanding(CaseRunner& runner) {
  // Receives are posted first, so that a plugin need not store messages.
  many_at_once(runner, abi::kMaxRequests, 1);
}

void outstanding_groups(CaseRunner& runner) {
  many_at_once(runner, abi::kMaxRequests, width_of(runner));
}

void tags(CaseRunner& runner) {
  const std::size_t width = width_of(runner);
  constexpr std::size_t kRounds = 20;
  const End end = runner.open();
  Block block = runner.block(end, width * kGroupRoom);
  const auto size = [](std::size_t i) { return 50 + i * 400; };
  runner.step(fmt::format("moving groups of {}", width));
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::vector<std::vector<Message>> posts;
    for (std::size_t k = 0; k < width; ++k) {
      // Each round sends in another order, the first one in reverse order.
      const std::size_t i = (width - 1 - k + round) % width;
      const int tag = static_cast<int>(1000 - 7 * i);
      if (runner.sender()) {
        fill(block.data() + i * kGroupRoom, size(i), i);
        posts.push_back({block.part(i * kGroupRoom, size(i), tag)});
      }
    }
    if (!runner.sender()) {
      posts.emplace_back();
      for (std::size_t i = 0; i < width; ++i) {
        posts[0].push_back(block.part(i * kGroupRoom, kGroupRoom, static_cast<int>(1000 - 7 * i)));
      }
    }
    const Sizes sizes = runner.run(end, posts);
    for (std::size_t i = 0; !runner.sender() && i < width; ++i) {
      expect(block.data() + i * kGroupRoom, 50, i, "the buffer of tag", width);
      expect(block.data() + i * kGroupRoom, size(i), i, "the buffer of tag", width);
      expect_size(runner, sizes[0][i], size(i), "a buffer of a group");
    }
    runner.meet();
  }
  runner.release(end, block);
  runner.finish(end);
}

void group_order(CaseRunner& runner) {
  width_of(runner);
  const End end = runner.open();
  constexpr std::size_t kGroups = 12;
  Block block = runner.block(end, kGroups * 2 * kGroupRoom);
  std::vector<std::vector<Message>> posts;
  // The order of the sends changes from group to group; the tags are the same in every group.
  for (std::size_t g = 0; g < kGroups; ++g) {
    if (!runner.sender()) posts.emplace_back();
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t member = runner.sender() && g % 2 == 0 ? 1 - k : k;
      const std::size_t i = 2 * g + member;
      const int tag = static_cast<int>(7 + member);
      if (runner.sender()) {
        fill(block.data() + i * kGroupRoom, kGroupRoom, i);
        posts.push_back({block.part(i * kGroupRoom, kGroupRoom, tag)});
      } else {
        posts.back().push_back(block.part(i * kGroupRoom, kGroupRoom, tag));
      }
    }
  }
  runner.step("moving groups with the same tags");
  runner.run(end, posts);
  for (std::size_t i = 0; !runner.sender() && i < 2 * kGroups; ++i) {
    expect(block.data() + i * kGroupRoom, kGroupRoom, i, "receive", 2 * kGroups);
  }
  runner.release(end, block);
  runner.finish(end);
}

}  // namespace cases_of
}  // namespace rdmabench::inline v1::netplugin
