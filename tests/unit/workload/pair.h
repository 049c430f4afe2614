// Two endpoints of one process, driven by the loops of both sides in two threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "faulty.h"
#include "rdmabench/workload/loops.h"

namespace rdmabench::inline v1::workload {

/// find_loop() of each endpoint, compiled once and not in every test.
Entry<FaultyEndpoint> loop_over(const FaultyEndpoint&, const LoopKey& key);
Entry<FaultyQueuePairs> loop_over(const FaultyQueuePairs&, const LoopKey& key);
Entry<LossyEndpoint> loop_over(const LossyEndpoint&, const LoopKey& key);

inline LoopKey key_of(Shape shape, transport::OperationCode operation, bool validate) {
  return {.shape = shape,
          .operation = operation,
          .validate = validate,
          .clock = measure::clock_choice().source};
}

/// A hundred thousand a second and more: no test waits for it.
inline constexpr std::uint64_t kShortGap = std::uint64_t{2000} << 16;

struct BothResults {
  EpochResult initiator;
  EpochResult target;
  std::vector<measure::Ticks> intervals;
};

template <class E>
class PairOf {
 public:
  PairOf(const LoopKey& key, const EpochPlan& plan, std::uint32_t slots = 8,
         std::uint32_t queue_pairs = 1)
      : key_(key),
        plan_(plan),
        client(request(key, plan, slots, queue_pairs), ""),
        server(request(key, plan, slots, queue_pairs), "") {
    client.connect(server.address());
    server.connect(client.address());
    client.peer_window = server.window().data;
    client.peer_bytes = plan.size;
  }

 private:
  LoopKey key_;
  EpochPlan plan_;

 public:
  E client;
  E server;
  std::chrono::milliseconds limit{5000};
  std::chrono::milliseconds target_limit{0};  ///< of the target; 0: `limit`
  std::vector<std::uint64_t> more{};  ///< messages that are agreed on while an epoch runs, in turn
  bool spoil_window = false;          ///< one byte of what the client is to read is wrong
  std::optional<Side> told{};         ///< that side is told from the start that its peer has gone

  /// Runs an epoch on both sides. A side that ends early makes the other's watch say "interrupted";
  /// one that ends well sends its result, as run/ does over the control channel.
  BothResults run() {
    BothResults result;
    result.intervals.resize(plan_.iterations);
    plan_.grows = !more.empty();
    std::mutex mutex;
    Extent agreed{.iterations = plan_.iterations, .whole = false};
    std::size_t parts = 0;
    const auto look = [&](Extent& extent, const EpochResult* /*pump*/) {
      const std::lock_guard lock(mutex);
      extent = agreed;
    };
    const auto ask = [&](Extent& extent, const EpochResult* pump) {
      const std::lock_guard lock(mutex);
      agreed.whole = agreed.whole || (pump != nullptr && parts == more.size());
      if (pump != nullptr && !agreed.whole) agreed.iterations += more[parts++];
      extent = agreed;
    };
    LoopKey target_key = key_;
    target_key.side = Side::target;
    const auto initiate = loop_over(client, key_);
    const auto answer = loop_over(server, target_key);
    initiate.prepare(client, key_, plan_);
    answer.prepare(server, target_key, plan_);
    if (spoil_window) server.window().data[5] ^= std::byte{1};
    std::atomic<bool> gone{false}, served{false}, initiated{false};
    std::thread thread([&] {
      Watch watch(
          target_limit.count() > 0 ? target_limit : limit,
          [&] { return gone || told == Side::target; }, [&] { return initiated.load(); });
      if (plan_.grows) watch.let_grow(plan_.iterations, true, look);
      result.target = answer.loop(server, plan_, watch, {});
      (result.target.outcome == Outcome::ok ? served : gone) = true;
    });
    Watch watch(
        limit, [&] { return gone || told == Side::initiator; }, [&] { return served.load(); });
    if (plan_.grows) watch.let_grow(plan_.iterations, true, ask);
    result.initiator = initiate.loop(client, plan_, watch, result.intervals);
    (result.initiator.outcome == Outcome::ok ? initiated : gone) = true;
    thread.join();
    return result;
  }

 private:
  static transport::EndpointRequest request(const LoopKey& key, const EpochPlan& plan,
                                            std::uint32_t slots, std::uint32_t queue_pairs) {
    transport::EndpointRequest r;
    // Ping-pongs of unordered writes carry an immediate; what is lost here is a read in its place.
    r.operations = {key.operation, transport::OperationCode::write,
                    transport::OperationCode::write_imm, transport::OperationCode::read};
    r.max_size = plan.size;
    r.options.queue_pairs = queue_pairs;
    r.depth = plan.depth;
    r.signal_every = plan.events ? plan.depth : std::max(1U, plan.depth / 2);
    r.receives = plan.receives;
    r.send_slots = slots;
    r.receive_slots = plan.receives * queue_pairs;
    r.options.post_list = plan.post_list;
    return r;
  }
};

using Pair = PairOf<FaultyEndpoint>;

inline std::string name_of(Shape shape) {
  switch (shape) {
    case Shape::latency:
      return "latency";
    case Shape::bandwidth:
      return "stream";
    case Shape::bidirectional:
      return "duplex";
    case Shape::load:
      return "open_loop";
  }
  return "";
}

inline std::string name_of(transport::OperationCode operation) {
  std::string name(transport::name(operation));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace rdmabench::inline v1::workload
