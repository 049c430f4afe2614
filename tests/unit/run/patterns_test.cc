#include "rdmabench/run/patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/server.h"
#include "rdmabench/workload/epoch_io.h"
#include "run/clear_to_send.h"
#include "run/protocol.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using transport::Signal;
using workload::EpochPlan;
using workload::EpochResult;
using workload::Outcome;
using workload::Wait;

/// One send there and one back. The target ends the epoch as told when it is to validate.
template <Outcome kEnd>
struct PingPong {
  static constexpr PatternNeeds kNeeds{.operations = transport::OperationCode::send};

  template <transport::Transport T, bool kValidate>
  static EpochResult initiator(T& endpoint, const EpochPlan& plan, workload::Watch& watch,
                               std::span<measure::Ticks> intervals) noexcept {
    return side<T, false>(endpoint, plan, watch, intervals);
  }

  template <transport::Transport T, bool kValidate>
  static EpochResult target(T& endpoint, const EpochPlan& plan, workload::Watch& watch,
                            std::span<measure::Ticks> intervals) noexcept {
    EpochResult result = side<T, true>(endpoint, plan, watch, intervals);
    if (kValidate) result.outcome = kEnd;
    return result;
  }

 private:
  template <transport::Transport T, bool kTarget>
  static EpochResult side(T& endpoint, const EpochPlan& plan, workload::Watch& watch,
                          std::span<measure::Ticks> intervals) noexcept {
    EpochResult result;
    workload::EpochIo<T> io(endpoint, plan, watch, result);
    bool arrived = false;
    const auto on_receive = [&](const transport::Received& received) noexcept {
      io.give_back(received.slot);
      arrived = true;
    };
    const auto hear = [&] {
      for (arrived = false; !arrived;) {
        if (!io.poll(Wait::message, on_receive)) return false;
      }
      return true;
    };
    for (std::uint64_t i = 0; i < plan.iterations; ++i) {
      if (kTarget && !hear()) return result;
      if (!io.template post<transport::Send>({0, 0, plan.size, 0}, Signal::now)) return result;
      if (!kTarget && !hear()) return result;
      if (!kTarget) intervals[i] = 1000 + i;
    }
    io.drain();
    return result;
  }
};

struct Good : PingPong<Outcome::ok> {
  static constexpr std::string_view kName = "example.com/ping-pong";
};
struct Bad : PingPong<Outcome::wrong_data> {
  static constexpr std::string_view kName = "example.com/broken";
};
struct Nameless : PingPong<Outcome::ok> {
  static constexpr std::string_view kName = "ping-pong";
};

/// Asks in less than a message; that it is too long for the endpoint, where it is to validate.
struct Asking {
  static constexpr std::string_view kName = "example.com/asking";
  static constexpr PatternNeeds kNeeds{.operations = transport::OperationCode::send,
                                       .least_size = 16};

  template <transport::Transport T, bool kValidate>
  static EpochResult initiator(T& endpoint, const EpochPlan& plan, workload::Watch& watch,
                               std::span<measure::Ticks> intervals) noexcept {
    EpochResult result;
    workload::EpochIo<T> io(endpoint, plan, watch, result);
    for (std::uint64_t i = 0; i < plan.iterations; ++i) {
      intervals[i] = 1;
      const std::uint64_t bytes = kValidate ? plan.size + 3 : 16;
      if (!io.template post<transport::Send>({0, 0, bytes, 0}, Signal::now) || !io.drain()) {
        return result;
      }
    }
    return result;
  }

  template <transport::Transport T, bool kValidate>
  static EpochResult target(T& endpoint, const EpochPlan& plan, workload::Watch& watch,
                            std::span<measure::Ticks> /*intervals*/) noexcept {
    EpochResult result;
    workload::EpochIo<T> io(endpoint, plan, watch, result);
    std::uint64_t arrived = 0;
    while (arrived < plan.iterations) {
      if (!io.poll(Wait::message, [&](const transport::Received& received) noexcept {
            io.give_back(received.slot);
            ++arrived;
          })) {
        break;
      }
    }
    return result;
  }
};

Config config_of(std::string_view pattern) {
  static const bool registered = [] {
    add_pattern<Good>();
    add_pattern<Bad>();
    add_pattern<Asking>();
    return true;
  }();
  EXPECT_TRUE(registered);
  Config config;
  config.backend = "loop";
  config.traffic.pattern = pattern;
  config.sizes = {64};
  config.stop = measure::StopRule::iterations(50);
  config.traffic.watch = false;
  return config;
}

TEST(Patterns, ARegisteredPatternIsServedAndReported) {
  const report::Report report = run_in_process(config_of(Good::kName));
  EXPECT_EQ(report.error, std::nullopt);
  const auto& rows = std::get<std::vector<report::LatencyResult>>(report.results);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].kind, "example.com/ping-pong");
  EXPECT_EQ(rows[0].operation, "send");
  EXPECT_EQ(rows[0].signal, "pattern");
  EXPECT_EQ(rows[0].latency.count, 50U);
}

TEST(Patterns, TheServersLineNamesThePattern) {
  std::vector<std::string> lines;
  Server server({.address = "127.0.0.1", .port = 0, .sessions = 1},
                [&](const SessionEvent& event) { lines.push_back(line_of(event)); });
  std::thread thread([&] { server.run(); });
  EXPECT_EQ(run(config_of(Good::kName), "127.0.0.1", server.port()).error, std::nullopt);
  if (HasFailure()) server.stop();
  thread.join();
  EXPECT_THAT(lines, ElementsAre(HasSubstr("example.com/ping-pong of send over loop")));
}

TEST(Patterns, AListIsNoObstacleWhereTheBackEndHasNone) {
  Config config = config_of(Good::kName);
  config.endpoint.post_list = 4;
  EXPECT_EQ(run_in_process(config).error, std::nullopt);
  if (!RDMABENCH_HAVE_OFI) GTEST_SKIP() << "this build has no libfabric";
  config.backend = "auto";
  config.endpoint.ofi.provider = "tcp";
  const report::Report report = run_in_process(config);
  EXPECT_EQ(report.error, std::nullopt);
  EXPECT_EQ(report.resolved.backend, "ofi");
}

TEST(Patterns, WhatThePatternFindsWrongEndsTheRun) {
  Config config = config_of(Bad::kName);
  config.traffic.validate = true;
  const report::Report report = run_in_process(config);
  EXPECT_THAT(report.error, Optional(HasSubstr("wrong data")));
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->outcome, "wrong_data") << "as the target, which found it, says";
}

TEST(Patterns, ASizeBelowTheLeastIsRefusedOnBothSides) {
  Config config = config_of(Asking::kName);
  config.sizes = {16, 64};
  EXPECT_EQ(run_in_process(config).error, std::nullopt);
  config.sizes = {64, 15};
  EXPECT_THAT(usage_complaint([&] { run_in_process(config); }),
              has_all("`sizes` 15", "example.com/asking", "16 bytes"));
  SessionSpec spec{.max_size = 64};
  spec.traffic.pattern = Asking::kName;
  EXPECT_EQ(parse<EpochOrder>(to_text(EpochOrder{16, 10}), &spec).size, 16U);
  EXPECT_THROW(parse<EpochOrder>(to_text(EpochOrder{15, 10}), &spec), Error);
}

TEST(Patterns, APostThatFailedIsToldWithItsOwnLength) {
  Config config = config_of(Asking::kName);
  config.traffic.validate = true;
  EXPECT_THAT(run_in_process(config).error, Optional(HasSubstr("(67 bytes)")));
}

TEST(Patterns, AnUnknownPatternIsRefusedByName) {
  EXPECT_THAT(complaint([] { run_in_process(config_of("example.com/none")); }).what(),
              has_all("'example.com/none'", "example.com/ping-pong"));
}

TEST(Patterns, ANameHasADomainAndIsRegisteredOnce) {
  config_of(Good::kName);
  EXPECT_THROW(add_pattern<Good>(), Error);
  EXPECT_THROW(add_pattern<Nameless>(), Error);
}

TEST(Patterns, AStreamOfAPatternIsRefused) {
  Config config = config_of(Good::kName);
  config.traffic.shape = workload::Shape::bandwidth;
  EXPECT_THAT(complaint([&] { run_in_process(config); }).what(), HasSubstr("other than latency"));
}

TEST(ClearToSend, BringsEveryMessageOverAnyNumberOfQueuePairs) {
  add_clear_to_send();
  for (const std::uint32_t queue_pairs : {1U, 3U}) {
    Config config;
    config.backend = "loop";
    config.traffic.pattern = kClearToSend;
    config.sizes = {4096};
    config.traffic.depth = 2;
    config.endpoint.queue_pairs = queue_pairs;
    config.stop = measure::StopRule::iterations(100);
    config.traffic.watch = false;
    const report::Report report = run_in_process(config);
    EXPECT_EQ(report.error, std::nullopt);
    const auto& rows = std::get<std::vector<report::LatencyResult>>(report.results);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].latency.count, 100U);
    EXPECT_GT(rows[0].latency.mean_ns, 0);
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::run
