#include "health/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdio>
#include <thread>

#include "tree.h"

namespace rdmabench::inline v1::health {
namespace {

/// Pins the calling thread to the CPU it is on. False where that is not allowed.
bool pin_here(int& cpu) {
  cpu = sched_getcpu();
  if (cpu < 0) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// On a thread of its own, so that the pinning goes with it.
template <class Test>
void on_pinned_thread(Test test) {
  bool pinned = false;
  std::thread([&] {
    int cpu = -1;
    pinned = pin_here(cpu);
    if (pinned) test(cpu);
  }).join();
  if (!pinned) GTEST_SKIP() << "this thread may not be pinned here";
}

std::string stat(int cpu, int sibling, int user, int steal, int sibling_user, int sibling_idle) {
  char text[256];
  std::snprintf(text, sizeof text,
                "cpu  1 2 3 4 5 6 7 8 9 10\ncpu%d %d 0 0 0 0 0 0 %d 0 0\ncpu%d %d 0 0 %d 0 0 0 0 0 "
                "0\nintr 5\n",
                cpu, user, steal, sibling, sibling_user, sibling_idle);
  return text;
}

void write_migrations(const Tree& tree, int count) {
  tree.write("proc/thread-self/sched",
             "bench (7, #threads: 1)\n-----\nse.exec_start          :       12.5\n"
             "se.nr_migrations                             :      " +
                 std::to_string(count) + "\nnr_switches : 4\n");
}

TEST(ThreadPlacement, ReadsWhatAnyThreadMayRead) {
  const Tree tree;
  on_pinned_thread([&](int cpu) {
    const int sibling = cpu + 1;
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
    tree.write(folder + "node3/cpulist", "0-1\n");
    tree.write(folder + "cpufreq/scaling_governor", "powersave\n");
    tree.write(folder + "topology/thread_siblings_list",
               std::to_string(cpu) + "-" + std::to_string(sibling) + "\n");
    tree.write("proc/stat", stat(cpu, sibling, 100, 0, 50, 50));
    write_migrations(tree, 4);
    ThreadWatch watch(tree.root());
    watch.begin();
    tree.write("proc/stat", stat(cpu, sibling, 190, 10, 75, 125));
    write_migrations(tree, 7);
    const ThreadPlacement placement = watch.end();
    EXPECT_EQ(placement.affinity, std::to_string(cpu));
    EXPECT_EQ(placement.cpus, 1U);
    EXPECT_EQ(placement.cpu_begin, cpu);
    EXPECT_EQ(placement.cpu_end, cpu);
    EXPECT_EQ(placement.migrations, 3U);
    EXPECT_EQ(placement.moves(), 3U);
    EXPECT_EQ(placement.numa_node, 3);
    EXPECT_EQ(placement.governor, "powersave");
    ASSERT_TRUE(placement.stolen.has_value());
    EXPECT_DOUBLE_EQ(*placement.stolen, 0.1);
    ASSERT_TRUE(placement.sibling_busy.has_value());
    EXPECT_DOUBLE_EQ(*placement.sibling_busy, 0.25);
    EXPECT_GT(placement.watched_ns, 0);
  });
}

TEST(ThreadPlacement, SaysNothingOfWhatItCannotRead) {
  const Tree tree;
  on_pinned_thread([&](int cpu) {
    ThreadWatch watch(tree.root());
    watch.begin();
    const ThreadPlacement placement = watch.end();
    EXPECT_EQ(placement.cpu_end, cpu);
    EXPECT_EQ(placement.migrations, std::nullopt);
    EXPECT_EQ(placement.moves(), 0U);
    EXPECT_EQ(placement.numa_node, -1);
    EXPECT_EQ(placement.governor, "");
    EXPECT_EQ(placement.stolen, std::nullopt);
    EXPECT_EQ(placement.sibling_busy, std::nullopt);
  });
}

TEST(ThreadPlacement, TakesNoShareOfAFewTicks) {
  const Tree tree;
  on_pinned_thread([&](int cpu) {
    tree.write("proc/stat", stat(cpu, cpu + 1, 100, 0, 0, 0));
    ThreadWatch watch(tree.root());
    watch.begin();
    tree.write("proc/stat", stat(cpu, cpu + 1, 110, 9, 0, 0));
    EXPECT_EQ(watch.end().stolen, std::nullopt);
  });
}

TEST(ThreadPlacement, SurvivesGarbage) {
  const Tree tree;
  on_pinned_thread([&](int cpu) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
    tree.write(folder + "nodes", "");
    tree.write(folder + "nodeX/cpulist", "");
    tree.write(folder + "topology/thread_siblings_list", "0-99999999999,x\n");
    tree.write("proc/stat", "\ncpu" + std::to_string(cpu) + " 1 2 x");
    tree.write("proc/thread-self/sched", "se.nr_migrations");
    ThreadWatch watch(tree.root());
    watch.begin();
    const ThreadPlacement placement = watch.end();
    EXPECT_EQ(placement.numa_node, -1);
    EXPECT_EQ(placement.migrations, std::nullopt);
    EXPECT_EQ(placement.stolen, std::nullopt);
  });
}

TEST(ThreadPlacement, CountsAChangeOfTheCpuAsAMove) {
  ThreadPlacement placement;
  placement.cpu_begin = 1;
  placement.cpu_end = 2;
  EXPECT_EQ(placement.moves(), 1U);
  placement.migrations = 0;  // some kernels do not count
  EXPECT_EQ(placement.moves(), 1U);
}

TEST(ThreadPlacement, OfThisThreadHasAnAffinity) {
  ThreadWatch watch;
  watch.begin();
  const ThreadPlacement placement = watch.end();
  EXPECT_GE(placement.cpus, 1U);
  EXPECT_FALSE(placement.affinity.empty());
}

}  // namespace
}  // namespace rdmabench::inline v1::health
