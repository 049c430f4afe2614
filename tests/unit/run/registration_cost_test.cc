#include "run/registration_cost.h"

#include <fake_verbs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <on_fake_verbs.h>

#include <cerrno>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::run {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::uint64_t kBytes = 64 * 1024;

class Cost : public OnFakeVerbs {};

TEST_F(Cost, CountsEveryCallAndLeavesNothingBehind) {
  {
    const RegistrationBench bench("");
    EXPECT_EQ(bench.device(), "rxe0");
    const RegistrationCost cost = bench.measure({}, {}, kBytes, {.iterations = 50, .time = 1h});
    EXPECT_EQ(fake_verbs::calls(fake_verbs::Call::reg_mr), 1 + 5 + 50) << "route, warm-up, timed";
    EXPECT_EQ(fake_verbs::calls(fake_verbs::Call::dereg_mr), 1 + 5 + 50);
    EXPECT_EQ(cost.memory, "host");
    EXPECT_EQ(cost.size_bytes, kBytes);
    EXPECT_EQ(cost.route, verbs::Route::pinned);
    EXPECT_EQ(cost.others.size(), 2U);
    for (const measure::LatencySummary* summary : {&cost.registering, &cost.deregistering}) {
      EXPECT_EQ(summary->count, 50U);
      EXPECT_LE(summary->min_ns, summary->p50_ns);
      EXPECT_LE(summary->p50_ns, summary->max_ns);
      EXPECT_GT(summary->max_ns, 0);
    }
  }
}

TEST_F(Cost, StopsWhenItsTimeIsUp) {
  const RegistrationBench bench("rxe0:1");
  const RegistrationCost cost = bench.measure({}, {}, kBytes, {.iterations = 1000, .time = 0ns});
  EXPECT_EQ(cost.registering.count, kMinRegistrations);
  EXPECT_EQ(bench.measure({}, {}, kBytes, {.iterations = 3, .time = 0ns}).registering.count, 3U);
}

TEST_F(Cost, IsThatOfTheRouteThatWasFound) {
  const RegistrationBench bench("rxe0");
  bench.measure({}, {}, kBytes, {.iterations = 1});
  EXPECT_EQ(fake_verbs::calls(fake_verbs::Call::reg_dmabuf_mr), 0);
}

TEST_F(Cost, ACallThatFailsInBetweenEndsIt) {
  const RegistrationBench bench("rxe0");
  fake_verbs::fail(fake_verbs::Call::reg_mr, 20, ENOSPC);
  const auto measuring = [&] { bench.measure({}, {}, kBytes, {.iterations = 100, .time = 1h}); };
  EXPECT_THAT(complaint(measuring).what(), has_all("ibv_reg_mr(", "ENOSPC"));
  fake_verbs::fail(fake_verbs::Call::dereg_mr, 20, EBUSY);
  EXPECT_THAT(complaint(measuring).what(), HasSubstr("ibv_dereg_mr()"));
}

TEST_F(Cost, WhatTheDeviceLacksIsRefusedBeforeAnythingIsTimed) {
  const RegistrationBench bench("rxe0");
  const Error error = complaint([&] { bench.measure({}, {.on_demand = true}, kBytes, {}); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_EQ(complaint([&] { bench.measure({}, {}, kBytes, {.iterations = 0}); }).fault(),
            Fault::usage);
  EXPECT_EQ(complaint([&] { bench.measure({}, {}, 0, {}); }).fault(), Fault::usage);
}

TEST_F(Cost, WithoutADeviceThereIsNothingToMeasure) {
  EXPECT_EQ(complaint([] { RegistrationBench("mlx5_9"); }).fault(), Fault::unavailable);
  fake_verbs::reset({});
  const Error error = complaint([] { RegistrationBench(""); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("no usable RDMA device"));
}

TEST(RegistrationRate, IsThatOfTheMedian) {
  RegistrationCost cost;
  cost.size_bytes = 1000;
  EXPECT_EQ(cost.bytes_per_s(), 0);
  cost.registering.p50_ns = 500;
  EXPECT_EQ(cost.bytes_per_s(), 2e9);
}

}  // namespace
}  // namespace rdmabench::inline v1::run
