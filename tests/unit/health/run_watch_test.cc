#include "health/run_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tree.h"

namespace rdmabench::inline v1::health {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kHardware = "sys/class/infiniband/mlx5_0/ports/1/hw_counters/";
constexpr const char* kClockSource =
    "sys/devices/system/clocksource/clocksource0/current_clocksource";

/// A device whose counters change only while somebody sleeps, as behind the kernel's cache.
struct RunWatches : ::testing::Test {
  Tree tree;
  std::vector<nanoseconds> slept;
  std::vector<std::string> fresh;  ///< what packet_seq_err is after the n-th sleep

  RunWatches() {
    tree.rdma_device("mlx5_0", "mlx5_core");
    tree.write(std::string("sys/class/infiniband/mlx5_0/device/numa_node"), "1\n");
    tree.write(std::string(kHardware) + "packet_seq_err", "0\n");
    tree.write(std::string(kHardware) + "lifespan", "10\n");
    tree.write(kClockSource, "tsc\n");
  }

  RunWatch watch(nanoseconds noise) {
    return RunWatch({"mlx5_0:1"},
                    {.root = tree.root(), .noise = noise, .sleep = [this](nanoseconds time) {
                       if (slept.size() < fresh.size()) {
                         tree.write(std::string(kHardware) + "packet_seq_err", fresh[slept.size()]);
                       }
                       slept.push_back(time);
                     }});
  }
};

TEST_F(RunWatches, WaitUntilTheKernelsCacheIsOld) {
  fresh = {"100\n", "107\n"};
  RunWatch run = watch(nanoseconds(0));
  run.begin();
  const RunConditions conditions = run.end();
  EXPECT_THAT(slept, ElementsAre(milliseconds(30), milliseconds(30)));
  ASSERT_EQ(conditions.counters.size(), 1U);
  EXPECT_EQ(conditions.counters[0].name, "sequence_naks_received");
  EXPECT_EQ(conditions.counters[0].change, 7U) << "neither 107 nor 0";
  EXPECT_THAT(conditions.notes, IsEmpty());
}

TEST_F(RunWatches, CountTheNoiseSpinAsWaiting) {
  RunWatch run = watch(milliseconds(2));
  run.begin();
  EXPECT_THAT(slept, ElementsAre(milliseconds(28)));
  EXPECT_GE(run.end().noise.spin_ns, 2e6);
}

TEST_F(RunWatches, DoNotWaitForWhatIsNotCached) {
  std::filesystem::remove(tree.root() + "/" + kHardware + "lifespan");
  RunWatch run = watch(nanoseconds(0));
  run.begin();
  run.end();
  EXPECT_THAT(slept, IsEmpty());
}

TEST_F(RunWatches, SayThatALongLifespanWasNotWaitedFor) {
  tree.write(std::string(kHardware) + "lifespan", "10000\n");
  RunWatch run = watch(nanoseconds(0));
  run.begin();
  EXPECT_THAT(run.end().notes, ElementsAre(HasSubstr("every 10000 ms")));
  EXPECT_THAT(slept, ElementsAre(milliseconds(1000), milliseconds(1000)));
}

TEST_F(RunWatches, TellOfDevicesThreadsAndTheClock) {
  RunWatch run = watch(nanoseconds(0));
  run.begin();
  tree.write(kClockSource, "hpet\n");
  ThreadPlacement other;
  other.cpu_begin = other.cpu_end = 6;
  const RunConditions conditions = run.end({other});
  ASSERT_EQ(conditions.devices.size(), 1U);
  EXPECT_EQ(conditions.devices[0].device, "mlx5_0:1");
  EXPECT_EQ(conditions.devices[0].numa_node, 1);
  EXPECT_EQ(conditions.clock_source_begin, "tsc");
  EXPECT_EQ(conditions.clock_source_end, "hpet");
  ASSERT_EQ(conditions.threads.size(), 2U);
  EXPECT_EQ(conditions.threads[1].cpu_end, 6);
  EXPECT_GE(conditions.watched_ns, 0);
}

TEST_F(RunWatches, MayWatchSeveralRunsInTurn) {
  fresh = {"5\n", "8\n", "20\n", "21\n"};
  RunWatch run = watch(nanoseconds(0));
  run.begin();
  EXPECT_EQ(run.end().counters[0].change, 3U);
  run.begin();
  const RunConditions second = run.end();
  EXPECT_EQ(second.counters[0].change, 1U);
  EXPECT_EQ(second.threads.size(), 1U);
  EXPECT_EQ(second.devices.size(), 1U);
}

TEST(RunWatch, OfThisMachineFailsSoftly) {
  RunWatch run({"memory"}, {.noise = milliseconds(1)});
  run.begin();
  const RunConditions conditions = run.end();
  EXPECT_THAT(conditions.counters, IsEmpty());
  EXPECT_THAT(conditions.notes, ElementsAre(HasSubstr("'memory'")));
}

}  // namespace
}  // namespace rdmabench::inline v1::health
