// What a row costs in calls of the CUDA driver, as the fake one counts them: a real driver takes 1
// ms for pinned memory, and up to 256 slots of a row have inputs, results and guards.
#include <gtest/gtest.h>

#include <chrono>

#include "ranks.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

class RowCost : public testing::Test {
 protected:
  RowCost() { reset_the_driver(); }

  static int calls(const char* name) {
    return in_the_driver<int(const char*)>("fake_cuda_calls")(name);
  }
  static constexpr long long kFirstUseUs = 250'000;  ///< cuInit() and a context
  static long long cost_us() { return in_the_driver<long long()>("fake_cuda_cost_us")(); }

  /// One rank alone.
  static collective::Run run(CollectivePlan plan, bool check_by_cpu = false) {
    plan.timeout = std::chrono::seconds(20);
    const Deadline deadline = Deadline::after(plan.timeout);
    control::Listener listener("127.0.0.1", 0);
    const control::BootstrapAddress address{
        .run_id = "t", .port = listener.port(), .addresses = {"127.0.0.1"}};
    const auto group = RankGroup::lead(listener, address, 1, {.host = "h"}, {}, deadline);
    NcclOptions options;
    options.device = "0";
    NcclBackend backend(options);
    EngineOf<NcclBackend> engine(backend);
    collective::Run out;
    lead(*group, engine, plan,
         {.timeout = plan.timeout, .devices = {}, .facts = {}, .check_by_cpu = check_by_cpu}, out);
    return out;
  }

  static CollectivePlan plan(std::uint64_t count, std::uint64_t samples) {
    return {.calls = {{.count = count}}, .iterations = samples, .warmup = 1};
  }
};

TEST_F(RowCost, OfTwoHundredAndFiftySixSlotsIsThatOfAHandfulOfCalls) {
  const collective::Run done = run(plan(2, 200));
  EXPECT_EQ(done.error, "");
  ASSERT_EQ(done.rows.size(), 1);
  EXPECT_EQ(done.rows[0].results.operations, 201);
  EXPECT_LE(calls("cuMemHostAlloc"), 2);
  // Guards, and of each epoch (of 1, 16, 184 samples or so) inputs, results and no guard.
  EXPECT_LE(calls("cuMemcpyHtoDAsync_v2"), 30);
  EXPECT_LE(calls("cuMemcpyDtoHAsync_v2"), 10);
  EXPECT_LE(calls("cuLaunchKernel"), 15);
  EXPECT_LT(cost_us(), kFirstUseUs + 30'000);
}

TEST_F(RowCost, OfLongPeriodsIsOneKernelForAllSlotsToo) {
  for (const DataType type : {DataType::float32, DataType::float64}) {
    reset_the_driver();
    CollectivePlan all = plan(5000, 1);  // more than a period
    all.calls[0].type = type;
    all.batch = 256;
    all.warmup = 0;
    const collective::Run done = run(all);
    EXPECT_EQ(done.error, "");
    EXPECT_EQ(done.rows.at(0).results.operations, 256);
    EXPECT_EQ(calls("cuLaunchKernel"), 3) << "guards, inputs, results with guards";
    EXPECT_EQ(calls("cuMemcpyHtoDAsync_v2"), 6);
    EXPECT_EQ(calls("cuMemcpyDtoHAsync_v2"), 1);
  }
}

TEST_F(RowCost, OfAnotherRowIsWithoutPinnedMemory) {
  CollectivePlan two = plan(2, 50);
  run(two);
  const long long one_row = cost_us();
  reset_the_driver();
  two.calls.push_back({.count = 1000});
  run(two);
  EXPECT_LE(calls("cuMemHostAlloc"), 2);
  EXPECT_LT(cost_us() - one_row, 2000);
}

TEST_F(RowCost, OfACheckByTheCpuIsACopyForEachResult) {
  const collective::Run done = run(plan(2, 50), true);
  EXPECT_EQ(done.rows[0].results.operations, 51);
  EXPECT_LE(calls("cuMemHostAlloc"), 2);
  EXPECT_GE(calls("cuMemcpyDtoHAsync_v2"), 51);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl
