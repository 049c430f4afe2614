// The whole stack in one process, over the loop back end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/run/client.h"

namespace rdmabench::inline v1::run {
namespace {

using measure::StopRule;
using ::testing::AllOf;
using ::testing::HasSubstr;
using transport::OperationCode;
using workload::Shape;

Config config(Shape shape, OperationCode operation) {
  Config c;
  c.traffic.shape = shape;
  c.traffic.operation = operation;
  c.sizes = {1, 64, 4096};
  c.stop = measure::StopRule::iterations(500);
  c.backend = "loop";
  c.traffic.validate = true;
  return c;
}

const OperationCode kAllOperations[] = {OperationCode::send, OperationCode::write,
                                        OperationCode::write_imm, OperationCode::read};

TEST(InProcess, LatencyHasARowForEverySizeAndEverySampleInIt) {
  for (const OperationCode operation : kAllOperations) {
    const report::Report report = run_in_process(config(Shape::latency, operation));
    EXPECT_EQ(report.error, std::nullopt);
    const auto& rows = std::get<std::vector<report::LatencyResult>>(report.results);
    ASSERT_EQ(rows.size(), 3U);
    for (const report::LatencyResult& row : rows) {
      EXPECT_EQ(row.iterations, 500U);
      EXPECT_EQ(row.latency.count, 500U);  // none dropped
      EXPECT_TRUE(row.validated);
      EXPECT_GT(row.latency.min_ns, 0);
      EXPECT_LE(row.latency.p50_ns, row.latency.max_ns);
      EXPECT_EQ(row.kind, operation == OperationCode::read ? "completion" : "half_round_trip");
    }
    EXPECT_EQ(rows[1].size_bytes, 64U);
    EXPECT_EQ(report.resolved.backend, "loop");
    ASSERT_TRUE(report.clock);
    EXPECT_FALSE(report.environment.client.empty());
    EXPECT_FALSE(report.environment.server.empty());
  }
}

TEST(InProcess, EachSizeMayHaveACountOfItsOwn) {
  Config c = config(Shape::latency, OperationCode::send);
  c.counts = {10, 20, 30};
  const report::Report report = run_in_process(c);
  const auto& rows = std::get<std::vector<report::LatencyResult>>(report.results);
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].iterations, 10 * (i + 1));
  c.counts = {10};
  EXPECT_THROW(run_in_process(c), Error);
}

TEST(InProcess, BandwidthCountsThePayloadOnce) {
  for (const OperationCode operation : kAllOperations) {
    const report::Report report = run_in_process(config(Shape::bandwidth, operation));
    EXPECT_EQ(report.error, std::nullopt);
    const auto& rows = std::get<std::vector<report::BandwidthResult>>(report.results);
    ASSERT_EQ(rows.size(), 3U);
    for (const report::BandwidthResult& row : rows) {
      EXPECT_EQ(row.iterations, 500U);
      EXPECT_NEAR(row.messages_per_s * row.elapsed_ns, 500 * 1e9, 1);
      EXPECT_NEAR(row.bits_per_s, row.messages_per_s * 8 * static_cast<double>(row.size_bytes), 1);
    }
  }
}

TEST(InProcess, AHalvedRoundTripIsHalfOfAWholeOne) {
  Config c = config(Shape::latency, OperationCode::send);
  c.sizes = {8};
  c.warmup = 0;
  const report::Report report = run_in_process(c);
  const auto& row = std::get<std::vector<report::LatencyResult>>(report.results).at(0);
  EXPECT_EQ(row.warmup_iterations, 0U);
  EXPECT_NEAR(row.latency.mean_ns * 500 * 2, row.latency.mean_ns * 1000, 1e-6);
}

TEST(InProcess, RunsForTheTimeItWasGiven) {
  Config c = config(Shape::latency, OperationCode::write);
  c.sizes = {8};
  c.stop = measure::StopRule::duration(std::chrono::milliseconds(100));
  std::uint64_t told = 0;
  const report::Report report =
      run_in_process(c, {.on_progress = [&](const Progress& progress) {
                       EXPECT_EQ(progress.sizes, 1U);
                       EXPECT_EQ(progress.target_time, std::chrono::milliseconds(100));
                       told = progress.iterations;
                     }});
  const auto& row = std::get<std::vector<report::LatencyResult>>(report.results).at(0);
  EXPECT_EQ(row.latency.count, row.iterations);
  EXPECT_EQ(told, row.iterations);
  EXPECT_GT(row.iterations, 10U);
}

TEST(InProcess, AStreamRestsWhileItsHookIsBusy) {
  Config c = config(Shape::bandwidth, OperationCode::send);
  c.sizes = {64};
  c.stop = measure::StopRule::duration(std::chrono::milliseconds(20));
  const report::Report report = run_in_process(c, {.on_progress = [](const Progress&) {
                                                 const auto busy =
                                                     Deadline::after(std::chrono::milliseconds(20));
                                                 while (!busy.passed()) {
                                                 }
                                               }});
  EXPECT_LT(std::get<std::vector<report::BandwidthResult>>(report.results).at(0).duty, 0.8);
}

TEST(InProcess, AStreamOfATimeIsSeenInParts) {
  for (const OperationCode operation : kAllOperations) {
    for (const Shape shape : {Shape::bandwidth, Shape::bidirectional}) {
      Config c = config(shape, operation);
      c.sizes = {64};
      c.stop = measure::StopRule::duration(std::chrono::milliseconds(20));
      c.traffic.threads = shape == Shape::bandwidth ? 2 : 1;
      unsigned parts = 0;
      const report::Report report =
          run_in_process(c, {.on_progress = [&](const Progress&) { ++parts; }});
      EXPECT_EQ(report.error, std::nullopt);
      EXPECT_GT(parts, 1U);
      const auto& row = std::get<std::vector<report::BandwidthResult>>(report.results).at(0);
      EXPECT_GT(row.duty, 0);
      EXPECT_LE(row.duty, 1);
    }
  }
}

TEST(InProcess, BindsItsSidesDuringTheRunAndLeavesTheCallersThreadAsItWas) {
  Config c = config(Shape::latency, OperationCode::send);
  const std::vector<int> before = processors();
  std::size_t during = 0;
  const auto count = [&](const Progress&) { during = processors().size(); };
  run_in_process(c, {.on_progress = count});
  EXPECT_EQ(during, 1U);  // one, or bound to one of several
  EXPECT_EQ(processors(), before);
  c.placement.cpus = {before.back()};
  run_in_process(c, {.on_progress = count});
  EXPECT_EQ(during, 1U);
  EXPECT_EQ(processors(), before);
  c.placement.cpus.clear();
  c.traffic.threads =
      static_cast<std::uint32_t>(before.size() / 2 + 1);  // more threads than processors
  run_in_process(c, {.on_progress = count});
  EXPECT_EQ(during, before.size());
}

TEST(InProcess, RefusesWhatCannotBeRun) {
  const auto refusal = [](auto&& change) {
    Config c = config(Shape::latency, OperationCode::send);
    change(c);
    return usage_complaint([&] { run_in_process(c); });
  };
  EXPECT_THAT(refusal([](Config& c) { c.sizes.clear(); }), HasSubstr("`sizes`"));
  EXPECT_THAT(refusal([](Config& c) { c.sizes = {0}; }), HasSubstr("invalid `sizes` 0"));
  EXPECT_THAT(refusal([](Config& c) { c.sizes = {kMaxSize + 1}; }), HasSubstr("256M"));
  EXPECT_THAT(refusal([](Config& c) { c.traffic.depth = kMaxDepth + 1; }), HasSubstr("16385"));
  EXPECT_THAT(refusal([](Config& c) { c.traffic.signal_every = 99; }), HasSubstr("99"));
  EXPECT_THAT(refusal([](Config& c) { c.backend = "carrier-pigeon"; }),
              HasSubstr("carrier-pigeon"));
  EXPECT_THAT(refusal([](Config& c) { c.traffic.shape = static_cast<Shape>(77); }),
              AllOf(HasSubstr("`shape` 77"), HasSubstr("bidirectional")));
  EXPECT_THAT(refusal([](Config& c) { c.traffic.operation = static_cast<OperationCode>(99); }),
              AllOf(HasSubstr("`operation` 99"), HasSubstr("fetch-add")));
  EXPECT_THAT(refusal([](Config& c) { c.stop = {.kind = StopRule::Kind::iterations, .count = 0}; }),
              HasSubstr("iterations 0"));
  EXPECT_THAT(refusal([](Config& c) { c.stop.kind = static_cast<StopRule::Kind>(9); }),
              HasSubstr("kind 9"));
}

TEST(InProcess, TrustsItselfWithEveryProvider) {
  if (!RDMABENCH_HAVE_OFI) GTEST_SKIP() << "this build has no libfabric";
  Config c = config(Shape::latency, OperationCode::send);
  c.backend = "ofi";
  c.sizes = {64};
  for (const char* const provider : {"shm", "tcp;ofi_rxm"}) {
    c.endpoint.ofi.provider = provider;
    const report::Report report = run_in_process(c);
    EXPECT_EQ(report.error, std::nullopt) << provider;
    EXPECT_EQ(report.resolved.provider, provider);
  }
}

TEST(InProcess, TheServerHasTheLimitsThatItIsGivenAndWaitsAsLongAsItsClient) {
  Config c = config(Shape::latency, OperationCode::send);
  c.timeout = std::chrono::minutes(5);
  EXPECT_EQ(run_in_process(c).error, std::nullopt);
  c.traffic.threads = 3;
  EXPECT_THAT(complaint([&] { run_in_process(c, {}, {.max_threads = 2}); }).what(),
              HasSubstr("at most 2"));
}

}  // namespace
}  // namespace rdmabench::inline v1::run
