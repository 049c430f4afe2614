// Messages at a rate: paced streams and open loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "pair.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::workload {
namespace {

using namespace std::chrono_literals;
using transport::OperationCode;

/// Time that passes only when it is looked at, 100 ns at a time.
struct VirtualClock {
  static measure::Ticks stamp() noexcept { return now += 100; }
  static inline measure::Ticks now = 0;
};

/// An initiator's endpoint whose polls also drive its target, which answers each message and, once,
/// does nothing for some virtual time.
class Answered : public transport::loop::Endpoint {
 public:
  using Base = transport::loop::Endpoint;
  using Base::Base;

  Base* target = nullptr;
  measure::Ticks stall_begin = 0;
  measure::Ticks stall = 0;
  measure::Ticks step = 50;  // of a poll

  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
    VirtualClock::now += step;
    const bool stalled =
        VirtualClock::now >= stall_begin && VirtualClock::now < stall_begin + stall;
    if (!stalled) {
      target->poll([this](const transport::Received& received) noexcept {
        target->post_receive(received.slot);
        EXPECT_EQ(target->post<transport::Send>(0, 0, 8, 0, transport::Signal::now),
                  transport::PostStatus::posted);
      });
    }
    return Base::poll(on_receive);
  }
};

constexpr measure::Ticks kStall = 20'000'000;

constexpr EpochPlan kLong{.iterations = 100'000,
                          .size = 8,
                          .depth = 64,
                          .receives = 128,
                          .gap_q16 = std::uint64_t{2000} << 16};  // 200 ms, at 2 us

struct AnsweredPair {
  explicit AnsweredPair(measure::Ticks stall_begin, measure::Ticks stall) {
    client.connect(server.address());
    server.connect(client.address());
    client.target = &server;
    VirtualClock::now = 0;
    client.stall_begin = stall_begin;
    client.stall = stall;
  }

  static transport::EndpointRequest request() {
    transport::EndpointRequest request;
    request.depth = request.receives = 128;
    return request;
  }

  Answered client{request(), ""};
  transport::loop::Endpoint server{request(), ""};
};

/// The 99th percentile of an epoch of 100,000 messages, during which the peer stalls for 20 ms.
measure::Ticks p99_with_stall(Loop<Answered> loop) {
  AnsweredPair pair(10'000'000, kStall);
  Answered& client = pair.client;
  std::vector<measure::Ticks> intervals(kLong.iterations);
  Watch watch(10s, nullptr);
  const EpochResult result = loop(client, kLong, watch, intervals);
  EXPECT_EQ(result.outcome, Outcome::ok);
  EXPECT_GE(VirtualClock::now, client.stall_begin + kStall);
  EXPECT_GE(*std::max_element(intervals.begin(), intervals.end()), kStall * 9 / 10);
  std::sort(intervals.begin(), intervals.end());
  return intervals[kLong.iterations / 100 * 99];
}

TEST(OpenLoop, ShowsAStallOfThePeerWhereTheClosedLoopDoesNot) {
  EXPECT_GE(p99_with_stall(&open_loop_initiator<Answered, transport::Send, VirtualClock, false>),
            kStall * 8 / 10);
  EXPECT_LT(p99_with_stall(&ping_pong_initiator<Answered, transport::Send, VirtualClock, false>),
            kStall / 1000);
}

/// Epochs of 75 ms, between which as much time passes, at a message each 10 us.
TEST(OpenLoop, ChargesAStallToAllThatItDelaysAlsoInLaterEpochs) {
  constexpr measure::Ticks kMs = 1'000'000;
  constexpr measure::Ticks kGap = 10'000;
  constexpr measure::Ticks kLate = 10 * kGap;  // later than any without a stall
  for (const ArrivalProcess arrivals : {ArrivalProcess::constant, ArrivalProcess::poisson}) {
    for (const measure::Ticks stall : {5 * kMs, 50 * kMs, 100 * kMs, 300 * kMs}) {
      AnsweredPair pair(30 * kMs, stall);
      pair.client.step = 1000;
      EpochPlan plan{.iterations = 7500,
                     .size = 8,
                     .depth = 64,
                     .receives = 128,
                     .gap_q16 = kGap << 16,
                     .arrivals = arrivals};
      std::vector<measure::Ticks> intervals(plan.iterations);
      std::uint64_t late = 0;
      for (int epoch = 0; epoch < 10; ++epoch) {
        Watch watch(10min, nullptr);
        const EpochResult result =
            open_loop_initiator<Answered, transport::Send, VirtualClock, false>(pair.client, plan,
                                                                                watch, intervals);
        ASSERT_EQ(result.outcome, Outcome::ok);
        plan.behind = result.behind;
        late += static_cast<std::uint64_t>(std::ranges::count_if(
            intervals, [](measure::Ticks interval) { return interval > kLate; }));
        VirtualClock::now += 75 * kMs;
      }
      const double delayed = static_cast<double>(stall - kLate) / kGap;
      EXPECT_GE(static_cast<double>(late),
                (arrivals == ArrivalProcess::poisson ? 0.9 : 0.99) * delayed)
          << stall;
    }
  }
}

/// The same with threads and this machine's clock. Only what no load of the machine can spoil: a
/// stall makes later messages late, and the open loop says so.
TEST(OpenLoop, ShowsAStallOfThePeerThread) {
  const EpochPlan plan{.iterations = 2000,
                       .size = 8,
                       .depth = 64,
                       .receives = 128,
                       .gap_q16 = std::uint64_t{20'000} << 16};
  LoopKey key = key_of(Shape::load, OperationCode::send, false);
  key.clock = measure::ClockSource::raw;  // 40 ms at 20 us
  Pair pair(key, plan);
  pair.server.stall_at = 50;
  BothResults run = pair.run();
  ASSERT_EQ(run.initiator.outcome, Outcome::ok);
  EXPECT_GE(run.initiator.end - run.initiator.begin, 1999 * 20'000U);
  EXPECT_GE(run.initiator.lag, 5'000'000U);  // 64 unanswered ones are all there may be
  std::sort(run.intervals.begin(), run.intervals.end());
  EXPECT_GE(run.intervals[plan.iterations / 100 * 99], 10'000'000U);
}

TEST(OpenLoop, ARateBelowTheWatchIsNoStall) {
  for (const OperationCode operation : {OperationCode::send, OperationCode::write}) {
    LoopKey key = key_of(Shape::load, operation, true);
    key.clock = measure::ClockSource::raw;
    Pair pair(key, {.iterations = 3,
                    .size = 8,
                    .depth = 4,
                    .receives = 8,
                    .gap_q16 = std::uint64_t{60'000'000} << 16});
    pair.limit = 1000ms;  // of the target, which knows no schedule
    Watch watch(20ms, nullptr);
    const auto target = loop_over(pair.server, [&] {
      LoopKey k = key;
      k.side = Side::target;
      return k;
    }());
    const EpochPlan plan{.iterations = 3,
                         .size = 8,
                         .depth = 4,
                         .receives = 8,
                         .gap_q16 = std::uint64_t{60'000'000} << 16};
    const auto initiator = loop_over(pair.client, key);
    target.prepare(pair.server, key, plan);
    initiator.prepare(pair.client, key, plan);
    std::vector<measure::Ticks> intervals(3);
    EpochResult answered;
    std::thread thread([&] {
      Watch patient(5s, nullptr);
      answered = target.loop(pair.server, plan, patient, {});
    });
    const EpochResult result = initiator.loop(pair.client, plan, watch, intervals);
    thread.join();
    // A machine that does not run the target for 20 ms makes a stall of its own.
    EXPECT_TRUE(result.outcome == Outcome::ok || result.outcome == Outcome::stalled);
    EXPECT_GE(result.end - result.begin, result.outcome == Outcome::ok ? 120'000'000U : 0U);
  }
}

TEST(OpenLoop, SeesThatThePeerHasGoneWhileNothingIsDue) {
  LoopKey key = key_of(Shape::load, OperationCode::send, false);
  key.clock = measure::ClockSource::raw;
  Pair pair(key, {.iterations = 10,
                  .size = 8,
                  .depth = 4,
                  .receives = 8,
                  .gap_q16 = std::uint64_t{10'000'000'000} << 16});
  pair.server.fail_poll_at = 500;
  const BothResults run = pair.run();
  EXPECT_EQ(run.initiator.outcome, Outcome::interrupted);
}

TEST(PacedStream, KeepsToItsRateAndCatchesUp) {
  for (const OperationCode operation :
       {OperationCode::send, OperationCode::write, OperationCode::read, OperationCode::fetch_add}) {
    for (const std::uint32_t list : {1U, 4U}) {
      LoopKey key = key_of(Shape::bandwidth, operation, true);
      key.clock = measure::ClockSource::raw;
      key.paced = true;
      const EpochPlan plan{.iterations = 1000,
                           .size = 8,
                           .depth = 8,
                           .receives = 16,
                           .post_list = list,
                           .gap_q16 = (std::uint64_t{10'000} << 16) + 0x8000};
      Pair pair(key, plan);
      pair.server.stall_time = 2ms;
      pair.server.stall_at = 10;
      const BothResults run = pair.run();
      ASSERT_EQ(run.initiator.outcome, Outcome::ok);
      ASSERT_EQ(run.target.outcome, Outcome::ok);
      // The last list may leave when its first message is due. Slower is this machine's business.
      EXPECT_GE(run.initiator.end - run.initiator.begin, (1000 - list) * 10'000U);
    }
  }
}

TEST(PacedStream, ARateBelowTheWatchIsNoStall) {
  LoopKey key = key_of(Shape::bandwidth, OperationCode::write, false);
  key.clock = measure::ClockSource::raw;
  key.paced = true;
  const EpochPlan plan{.iterations = 4,
                       .size = 8,
                       .depth = 8,
                       .receives = 16,
                       .gap_q16 = std::uint64_t{30'000'000} << 16};
  Pair pair(key, plan);
  Watch watch(1ms, nullptr);
  const auto entry = loop_over(pair.client, key);
  entry.prepare(pair.client, key, plan);
  const EpochResult result = entry.loop(pair.client, plan, watch, {});
  EXPECT_EQ(result.outcome, Outcome::stalled);  // nobody answers, but that is asked last
  EXPECT_EQ(result.wait, Wait::confirmation);
  EXPECT_EQ(pair.client.posted(), 5U);
}

TEST(PacedStream, SeveralQueuePairsShareTheRate) {
  LoopKey key = key_of(Shape::bandwidth, OperationCode::send, true);
  key.clock = measure::ClockSource::raw;
  key.paced = true;
  PairOf<FaultyQueuePairs> pair(key,
                                {.iterations = 500,
                                 .size = 8,
                                 .depth = 8,
                                 .receives = 16,
                                 .gap_q16 = std::uint64_t{10'000} << 16},
                                16, 4);
  const BothResults run = pair.run();
  ASSERT_EQ(run.initiator.outcome, Outcome::ok);
  EXPECT_GE(run.initiator.end - run.initiator.begin, 499 * 10'000U);
}

TEST(Schedule, IsExactToFractionsOfATick) {
  Schedule schedule(1000);
  for (int k = 0; k < 3'000'000; ++k) schedule.advance((3 << 16) + 0x5555);  // 3 and a third
  EXPECT_NEAR(static_cast<double>(schedule.due()), 1000 + 3'000'000 * (3 + 1.0 / 3), 20.0);
}

TEST(Gaps, AreEqualOrThoseOfAPoissonProcess) {
  constexpr std::uint64_t kGap = 1000 << 16;
  constexpr int kCount = 100'000;
  Gaps constant(ArrivalProcess::constant, kGap);
  Gaps poisson(ArrivalProcess::poisson, kGap);
  constant.seed(7);
  poisson.seed(7);
  double sum = 0;
  int long_ones = 0;
  int pairs = 0;  // of two long ones
  bool before = false;
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(constant.next(), kGap);
    const std::uint64_t gap = poisson.next();
    sum += static_cast<double>(gap);
    const bool is_long = gap > kGap;
    long_ones += is_long ? 1 : 0;
    pairs += is_long && before ? 1 : 0;
    before = is_long;
  }
  EXPECT_NEAR(sum / kCount / kGap, 1, 0.02);
  EXPECT_NEAR(long_ones / double{kCount}, std::exp(-1), 0.01);
  EXPECT_NEAR(pairs / double{kCount}, std::exp(-2), 0.01);
}

TEST(Plans, ThatCannotBeKeptAreRefused) {
  const auto refused = [](const LoopKey& key, const EpochPlan& plan) {
    EXPECT_THROW(check_plan(key, plan), Error);
  };
  LoopKey key = key_of(Shape::load, OperationCode::send, false);
  EXPECT_NO_THROW(check_plan(key, {.gap_q16 = 1}));
  refused(key, {.gap_q16 = 0});
  refused(key, {.iterations = 0, .gap_q16 = 1});
  refused(key, {.iterations = std::uint64_t{1} << 32, .gap_q16 = 1});
  refused(key, {.iterations = 1 << 20, .gap_q16 = ~std::uint64_t{0}});
  key = key_of(Shape::bandwidth, OperationCode::send, false);
  EXPECT_NO_THROW(check_plan(key, {}));
  key.paced = true;
  refused(key, {});
  refused(key_of(Shape::bandwidth, OperationCode::fetch_add, false), {.size = 16});
}

}  // namespace
}  // namespace rdmabench::inline v1::workload
