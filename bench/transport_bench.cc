// What the loops and the contract cost per message, over the in-process transport, whose "wire" is
// a copy.
//
// Both ends are driven by this one thread: nobody waits, so the figures are our own instructions.
#include <benchmark/benchmark.h>

#include <vector>

#include "rdmabench/transport/loop/endpoint.h"
#include "rdmabench/workload/table.h"

namespace rdmabench::workload {
namespace {

using transport::OperationCode;
using transport::Signal;
using transport::loop::Endpoint;

constexpr std::uint64_t kSize = 8;
constexpr std::uint32_t kDepth = 128;

struct Ends {
  Endpoint a{request(), ""};
  Endpoint b{request(), ""};

  explicit Ends(OperationCode code) {
    a.connect(b.address());
    b.connect(a.address());
    a.prepare(code, kSize);
    b.prepare(code, kSize);
  }

  static transport::EndpointRequest request() {
    transport::EndpointRequest r;
    r.max_size = kSize;
    r.depth = kDepth;
    r.receives = 2 * kDepth;
    r.send_slots = 64;
    r.receive_slots = 64;
    return r;
  }
};

/// One write posted and its completion polled.
void BM_PostAndPollWrite(benchmark::State& state) {
  Ends ends(OperationCode::write);
  for (auto _ : state) {
    ends.a.post<transport::Write>(0, 0, Signal::by_interval);
    benchmark::DoNotOptimize(ends.a.poll([](const transport::Received&) noexcept {}));
  }
}
BENCHMARK(BM_PostAndPollWrite);

/// One send posted, received, its receive posted again.
void BM_PostAndPollSend(benchmark::State& state) {
  Ends ends(OperationCode::send);
  for (auto _ : state) {
    ends.a.post<transport::Send>(0, 0, Signal::by_interval);
    ends.a.poll([](const transport::Received&) noexcept {});
    ends.b.poll(
        [&](const transport::Received& received) noexcept { ends.b.post_receive(received.slot); });
  }
}
BENCHMARK(BM_PostAndPollSend);

/// The latency loop of reads, which needs nobody at the other end, with one interval recorded per
/// message. Less BM_ReadsStamped it is what recording costs beyond the stamp.
template <class Clock>
void BM_ReadsRecorded(benchmark::State& state) {
  Ends ends(OperationCode::read);
  const EpochPlan plan{.iterations = 1 << 16, .size = kSize, .depth = 1, .receives = 1};
  std::vector<measure::Ticks> intervals(plan.iterations);
  for (auto _ : state) {
    measure::Ticks last = Clock::stamp();
    for (std::uint64_t i = 0; i < plan.iterations; ++i) {
      ends.a.post<transport::Read>(0, 0, Signal::now);
      while (ends.a.completed() != ends.a.posted()) {
        ends.a.poll([](const transport::Received&) noexcept {});
      }
      const measure::Ticks now = Clock::stamp();
      intervals[i] = now - last;
      last = now;
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.iterations));
}
BENCHMARK_TEMPLATE(BM_ReadsRecorded, measure::TscClock);
BENCHMARK_TEMPLATE(BM_ReadsRecorded, measure::RawClock);

/// The same with a stamp that is not recorded.
template <class Clock>
void BM_ReadsStamped(benchmark::State& state) {
  Ends ends(OperationCode::read);
  constexpr std::uint64_t kMessages = 1 << 16;
  for (auto _ : state) {
    measure::Ticks last = 0;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      ends.a.post<transport::Read>(0, 0, Signal::now);
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

}  // namespace
}  // namespace rdmabench::workload
