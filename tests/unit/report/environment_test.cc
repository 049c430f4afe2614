#include "rdmabench/results/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "../folder.h"

namespace rdmabench::inline v1::report {
namespace {

namespace fs = std::filesystem;
using FactValue = decltype(Fact::value);

/// A root directory of its own for each test.
class Environment : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const { own_.write(file, text); }

  std::optional<FactValue> fact(const std::string& name) const {
    for (const Fact& fact : collect_environment(root_.string())) {
      if (fact.name == name) return fact.value;
    }
    return std::nullopt;
  }

  const Folder own_;
  const fs::path root_ = own_.path();
};

TEST_F(Environment, ReadsTheFactsOfTheMachine) {
  write("proc/sys/kernel/hostname", "node7\n");
  write("proc/sys/kernel/osrelease", "6.1.0\n");
  write("etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
  write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Fast CPU: 2\nflags\t\t: fpu hypervisor sse\n\n"
        "processor\t: 1\nmodel name\t: Other\nflags\t\t: fpu\n");
  write("sys/devices/system/cpu/online", "0-3,8,10-11\n");
  write("sys/devices/system/cpu/smt/active", "1\n");
  write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  write("sys/devices/system/node/online", "0-1\n");
  write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(fact("hostname"), FactValue("node7"));
  EXPECT_EQ(fact("kernel"), FactValue("6.1.0"));
  EXPECT_EQ(fact("os"), FactValue("Debian GNU/Linux 12"));
  EXPECT_EQ(fact("cpu_model"), FactValue("Fast CPU: 2"));
  EXPECT_EQ(fact("hypervisor"), FactValue(true));
  EXPECT_EQ(fact("cpus_online"), FactValue(std::uint64_t{7}));
  EXPECT_EQ(fact("smt_active"), FactValue(true));
  EXPECT_EQ(fact("turbo_enabled"), FactValue(true));
  EXPECT_EQ(fact("numa_nodes"), FactValue(std::uint64_t{2}));
  EXPECT_EQ(fact("clocksource"), FactValue("tsc"));
  EXPECT_EQ(fact("transparent_huge_pages"), FactValue("madvise"));
}

TEST_F(Environment, NamesEveryGovernorOnce) {
  for (const char* cpu : {"cpu0", "cpu1", "cpu2"}) {
    write(std::string("sys/devices/system/cpu/") + cpu + "/cpufreq/scaling_governor",
          cpu == std::string("cpu1") ? "powersave\n" : "performance\n");
  }
  EXPECT_EQ(fact("cpu_governor"), FactValue("performance, powersave"));
}

TEST_F(Environment, TakesTurboFromTheGenericSwitchToo) {
  write("sys/devices/system/cpu/cpufreq/boost", "0\n");
  EXPECT_EQ(fact("turbo_enabled"), FactValue(false));
}

TEST_F(Environment, ReadsTheSoftMemlockLimit) {
  const std::string title = "Limit                     Soft Limit           Hard Limit     Units\n";
  write("proc/self/limits", title + "Max locked memory         8388608              9 bytes\n");
  EXPECT_EQ(fact("memlock_limit_bytes"), FactValue(std::uint64_t{8388608}));
  write("proc/self/limits", title + "Max locked memory         unlimited    unlimited  bytes\n");
  EXPECT_EQ(fact("memlock_limit_bytes"), FactValue("unlimited"));
}

TEST_F(Environment, CountsRdmaDevices) {
  write("sys/class/net/lo/mtu", "65536\n");
  EXPECT_EQ(fact("rdma_devices"), FactValue(std::uint64_t{0}));
  write("sys/class/infiniband/mlx5_0/node_type", "1\n");
  write("sys/class/cxi/cxi0/uevent", "\n");
  EXPECT_EQ(fact("rdma_devices"), FactValue(std::uint64_t{2}));
}

TEST_F(Environment, TellsOfThisBuildAloneWhereTheMachineTellsNothing) {
  std::vector<std::string> names;
  for (const Fact& fact : collect_environment(root_.string())) names.push_back(fact.name);
  EXPECT_THAT(names, ::testing::ElementsAre("rdmabench_version", "compiler", "build_type",
                                            "collected_utc"));
  EXPECT_EQ(collect_environment("/nonexistent").size(), names.size());
}

TEST_F(Environment, LeavesOutWhatItCannotUnderstand) {
  write("sys/devices/system/cpu/online", "3-1,x\n");
  write("sys/devices/system/node/online", "\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "]always[\n");
  write("proc/cpuinfo", "model name");
  write("proc/self/limits", "Max locked memory");
  fs::create_directories(root_ / "proc/sys/kernel/hostname");  // a directory where a file should be
  for (const char* name : {"cpus_online", "numa_nodes", "transparent_huge_pages", "cpu_model",
                           "memlock_limit_bytes", "hostname"}) {
    EXPECT_EQ(fact(name), std::nullopt) << name;
  }
}

TEST(ThisMachine, TellsItsKernel) {
  bool found = false;
  for (const Fact& fact : collect_environment()) found |= fact.name == "kernel";
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace rdmabench::inline v1::report
