// Two endpoints of one process, driven by the loops of both sides in two threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include "rdmabench/transport/loop/endpoint.h"
#include "rdmabench/workload/table.h"

namespace rdmabench::workload {

/// A loop endpoint that can be told to misbehave, as a broken fabric or a broken peer would.
class FaultyEndpoint : public transport::loop::Endpoint {
 public:
  using Endpoint::Endpoint;

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  std::uint64_t wrong_immediate_at = kNever;  ///< that post carries another immediate
  std::uint64_t wrong_byte_at = kNever;       ///< that post's first byte is flipped
  std::uint64_t lose_at = kNever;             ///< that post is counted and never delivered
  std::uint64_t fail_post_at = kNever;
  std::uint64_t lose_data_at = kNever;  ///< that post arrives, and its data does not
  std::uint64_t cut_bytes = 0;          ///< so much shorter is every message that arrives here
  bool fail_poll = false;
  int busy_posts = 0;  ///< so many posts are refused first

  std::byte* peer_window = nullptr;  ///< for lose_data_at
  std::uint64_t peer_bytes = 0;

  template <class Op>
  transport::PostStatus post(std::uint64_t offset, std::uint64_t word, transport::Signal signal,
                             std::uint32_t lane = 0) noexcept {
    if (busy_posts > 0) {
      --busy_posts;
      return transport::PostStatus::busy;
    }
    const std::uint64_t i = posts_++;
    if (i == fail_post_at) return transport::PostStatus::failed;
    if (i == lose_at) {
      ++lost_;
      return transport::PostStatus::posted;
    }
    if (i == wrong_immediate_at) ++word;
    if (i == wrong_byte_at) send_region().data[offset] ^= std::byte{1};
    const std::span<std::byte> landed(peer_window + offset, i == lose_data_at ? peer_bytes : 0);
    const std::vector<std::byte> before(landed.begin(), landed.end());
    const transport::PostStatus status = Endpoint::post<Op>(offset, word, signal, lane);
    std::copy(before.begin(), before.end(), landed.begin());
    if (status == transport::PostStatus::busy) --posts_;
    return status;
  }

  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
    if (fail_poll) return -1;
    return Endpoint::poll([&](const transport::Received& received) noexcept {
      transport::Received cut = received;
      cut.bytes -= std::min(cut_bytes, cut.bytes);
      on_receive(cut);
    });
  }

  std::uint64_t posted() const noexcept { return Endpoint::posted() + lost_; }
  std::uint64_t completed() const noexcept { return Endpoint::completed() + lost_; }

 private:
  std::uint64_t posts_ = 0;
  std::uint64_t lost_ = 0;
};

struct BothResults {
  EpochResult initiator;
  EpochResult target;
  std::vector<measure::Ticks> intervals;
};

class Pair {
 public:
  Pair(const LoopKey& key, const EpochPlan& plan, std::uint32_t slots = 8)
      : key_(key), plan_(plan), client(request(plan, slots), ""), server(request(plan, slots), "") {
    client.connect(server.address());
    server.connect(client.address());
    client.peer_window = server.window().data;
    client.peer_bytes = plan.size;
  }

 private:
  LoopKey key_;
  EpochPlan plan_;

 public:
  FaultyEndpoint client;
  FaultyEndpoint server;
  std::chrono::milliseconds limit{5000};
  bool spoil_window = false;  ///< one byte of what the client is to read is wrong

  /// Runs an epoch on both sides; a side that ends early makes the other's watch say "interrupted".
  BothResults run() {
    BothResults result;
    result.intervals.resize(plan_.iterations);
    LoopKey target_key = key_;
    target_key.side = Side::target;
    const auto initiate = find_loop<FaultyEndpoint>(key_);
    const auto answer = find_loop<FaultyEndpoint>(target_key);
    initiate.stage(client, key_, plan_);
    answer.stage(server, target_key, plan_);
    if (spoil_window) server.window().data[5] ^= std::byte{1};
    std::atomic<bool> gone{false};
    std::thread thread([&] {
      Watch watch(limit, [&] { return gone.load(); });
      result.target = answer.loop(server, plan_, watch, {});
      if (result.target.outcome != Outcome::ok) gone = true;
    });
    Watch watch(limit, [&] { return gone.load(); });
    result.initiator = initiate.loop(client, plan_, watch, result.intervals);
    if (result.initiator.outcome != Outcome::ok) gone = true;
    thread.join();
    return result;
  }

 private:
  static transport::EndpointRequest request(const EpochPlan& plan, std::uint32_t slots) {
    transport::EndpointRequest r;
    r.max_size = plan.size;
    r.depth = plan.depth;
    r.signal_every = std::max(1U, plan.depth / 2);
    r.receives = plan.receives;
    r.send_slots = slots;
    r.receive_slots = plan.receives;
    return r;
  }
};

}  // namespace rdmabench::workload
