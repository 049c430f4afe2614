// What the loops and the contract cost per message, over the in-process transport, whose "wire" is
// a copy.
//
// Both ends are driven by this one thread: nobody waits, so the figures are our own instructions.
#include <benchmark/benchmark.h>

#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include "rdmabench/transport/loop/endpoint.h"
#include "rdmabench/workload/loops.h"

namespace rdmabench::inline v1::workload {
namespace {

using transport::OperationCode;
using transport::Signal;
using transport::loop::Endpoint;

constexpr std::uint64_t kSize = 8;
constexpr std::uint32_t kDepth = 128;

struct Ends {
  Endpoint a;
  Endpoint b;

  explicit Ends(std::uint32_t list = 1) : a(request(list), ""), b(request(list), "") {
    a.connect(b.address());
    b.connect(a.address());
  }

  static transport::EndpointRequest request(std::uint32_t list) {
    transport::EndpointRequest r;
    r.operations = {OperationCode::send, OperationCode::write, OperationCode::read};
    r.max_size = kSize;
    r.depth = kDepth;
    r.options.post_list = list;
    r.receives = 2 * kDepth;
    r.send_slots = 64;
    r.receive_slots = 64;
    return r;
  }
};

/// One write posted and its completion polled.
void BM_PostAndPollWrite(benchmark::State& state) {
  Ends ends;
  for (auto _ : state) {
    ends.a.post<transport::Write>(0, 0, kSize, 0, Signal::by_interval);
    benchmark::DoNotOptimize(ends.a.poll([](const transport::Received&) noexcept {}));
  }
}
BENCHMARK(BM_PostAndPollWrite);

/// One send posted, received, its receive posted again.
void BM_PostAndPollSend(benchmark::State& state) {
  Ends ends;
  for (auto _ : state) {
    ends.a.post<transport::Send>(0, 0, kSize, 0, Signal::by_interval);
    ends.a.poll([](const transport::Received&) noexcept {});
    ends.b.poll(
        [&](const transport::Received& received) noexcept { ends.b.post_receive(received.slot); });
  }
}
BENCHMARK(BM_PostAndPollSend);

constexpr std::uint64_t kMessages = 1 << 20;

/// Times the initiator of the very loop that the command runs; the target waits in a thread.
void run_loop(benchmark::State& state, LoopKey key, const EpochPlan& plan,
              std::span<measure::Ticks> intervals) {
  Ends ends(plan.post_list);
  for (auto _ : state) {
    state.PauseTiming();
    key.side = Side::target;
    const auto target = find_loop<Endpoint>(key);
    target.prepare(ends.b, key, plan);
    std::thread serving([&] {
      Watch watch(std::chrono::seconds(10), nullptr);
      target.loop(ends.b, plan, watch, {});
    });
    key.side = Side::initiator;
    const auto initiator = find_loop<Endpoint>(key);
    initiator.prepare(ends.a, key, plan);
    Watch watch(std::chrono::seconds(10), nullptr);
    state.ResumeTiming();
    const EpochResult result = initiator.loop(ends.a, plan, watch, intervals);
    state.PauseTiming();
    serving.join();
    if (result.outcome != Outcome::ok) state.SkipWithError("the loop failed");
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.iterations));
}

/// `lat --op read`, with its watch and one interval recorded per message. Less BM_ReadsStamped, it
/// is what recording costs beyond the stamp.
template <measure::ClockSource kSource>
void BM_ReadLatencyLoop(benchmark::State& state) {
  const EpochPlan plan{.iterations = kMessages, .size = kSize, .depth = 1, .receives = 1};
  std::vector<measure::Ticks> intervals(plan.iterations);
  run_loop(state, {.operation = OperationCode::read, .clock = kSource}, plan, intervals);
}
BENCHMARK_TEMPLATE(BM_ReadLatencyLoop, measure::ClockSource::tsc)->UseRealTime();
BENCHMARK_TEMPLATE(BM_ReadLatencyLoop, measure::ClockSource::raw)->UseRealTime();

/// Post, poll and stamp, and nothing else.
template <class Clock>
void BM_ReadsStamped(benchmark::State& state) {
  Ends ends;
  for (auto _ : state) {
    measure::Ticks last = 0;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      ends.a.post<transport::Read>(0, 0, kSize, 0, Signal::now);
      while (ends.a.completed() != ends.a.posted()) {
        ends.a.poll([](const transport::Received&) noexcept {});
      }
      last = Clock::stamp();
    }
    benchmark::DoNotOptimize(last);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kMessages));
}
BENCHMARK_TEMPLATE(BM_ReadsStamped, measure::TscClock);
BENCHMARK_TEMPLATE(BM_ReadsStamped, measure::RawClock);

/// `bw --op write`. Less BM_WritesPosted, it is what the pump, the watch and the walk over slots
/// cost a message.
void BM_StreamLoop(benchmark::State& state) {
  const EpochPlan plan{.iterations = kMessages,
                       .size = kSize,
                       .depth = kDepth,
                       .receives = 1,
                       .post_list = static_cast<std::uint32_t>(state.range(0))};
  run_loop(state, {.shape = Shape::bandwidth, .operation = OperationCode::write}, plan, {});
}
BENCHMARK(BM_StreamLoop)->Arg(1)->Arg(16)->UseRealTime();

/// Post and poll over the same slots, and nothing else.
void BM_WritesPosted(benchmark::State& state) {
  Ends ends;
  const transport::Region region = ends.a.send_region();
  for (auto _ : state) {
    std::uint64_t offset = 0;
    const std::uint64_t all = ends.a.posted() + kMessages;
    while (ends.a.completed() < all) {
      while (ends.a.posted() < all &&
             ends.a.post<transport::Write>(offset, offset, kSize, 0, Signal::by_interval) ==
                 transport::PostStatus::posted) {
        offset += region.stride;
        if (offset == region.stride * region.slots) offset = 0;
      }
      ends.a.poll([](const transport::Received&) noexcept {});
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kMessages));
}
BENCHMARK(BM_WritesPosted);

}  // namespace
}  // namespace rdmabench::inline v1::workload
