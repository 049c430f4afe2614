// Asks a fake of NVIDIA's management library (tests/fakes/nvml).
#include "health/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "../folder.h"
#include "health/checks/inventory.h"
#include "health/firmware.h"

namespace rdmabench::inline v1::health {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kTwo{"0000:18:00.0", "0000:2a:00.0"};
constexpr auto kLong = std::chrono::minutes(1);

class NvmlTest : public ::testing::Test {
 protected:
  ~NvmlTest() override { unsetenv("FAKE_NVML"); }

  /// What the fake tells with these words.
  static MemoryStore ask(const char* words, std::chrono::milliseconds limit = kLong,
                         const std::string& fabric_manager = "/nonexistent") {
    setenv("FAKE_NVML", words, 1);
    MemoryStore facts;
    GpuQuestion(kTwo, fabric_manager, limit).take(facts);
    while (waitpid(-1, nullptr, 0) > 0) {  // one that was killed may need time to go
    }
    EXPECT_EQ(errno, ECHILD) << "a child that nobody ended would be waited for above";
    return facts;
  }

  static std::string gpu(const MemoryStore& facts, std::size_t index = 0) {
    return facts.read("rdmabench/gpu/" + kTwo[index]).bytes;
  }
};

TEST_F(NvmlTest, TellsOfEachGpu) {
  const MemoryStore facts = ask("");
  EXPECT_EQ(facts.read("rdmabench/nvml").bytes, "init=0\n");
  EXPECT_EQ(gpu(facts),
            "answer=0\n"
            "fabric state=3 status=0 health=0x11aa summary=1 clique=1 "
            "cluster=000000000000000000000000000000ab\n"
            "nvlink active=18 inactive=0\n"
            "ecc mode=1 uncorrected=0\n"
            "rows corrected=0 uncorrected=0 pending=0 failed=0\n"
            "slowed 0x1\n"
            "mig now=0 next=0\n"
            "persistence on=1\n"
            "clock mhz=1980 default_mhz=1980\n"
            "recovery action=0\n");
  EXPECT_EQ(gpu(facts, 1), gpu(facts));
  EXPECT_EQ(facts.look("rdmabench/end").kind, EntryKind::none);
  EXPECT_EQ(facts.look("rdmabench/fabric_manager").kind, EntryKind::none);
}

TEST_F(NvmlTest, AsksADriverForWhatItKnows) {
  EXPECT_THAT(gpu(ask("fabric_info=2")),
              HasSubstr("fabric state=3 status=0 health=0x11aa summary=0"));
  const std::string without = gpu(ask("fabric_info=0 links=0"));
  EXPECT_EQ(without.find("fabric"), std::string::npos) << without;
  EXPECT_EQ(without.find("nvlink"), std::string::npos) << without;
  EXPECT_THAT(gpu(ask("down=2 uncorrected=3 pending=1 slowed=0x40")),
              testing::AllOf(HasSubstr("nvlink active=16 inactive=2\n"),
                             HasSubstr("ecc mode=1 uncorrected=3\n"), HasSubstr("pending=1"),
                             HasSubstr("slowed 0x40\n")));
}

TEST_F(NvmlTest, KeepsWhatItRefuses) {
  const MemoryStore other_release = ask("init=18");
  EXPECT_EQ(other_release.read("rdmabench/nvml").bytes, "init=18\n");
  EXPECT_EQ(gpu(other_release), "");
  EXPECT_EQ(gpu(ask("answer=15")), "answer=15\n");
}

TEST_F(NvmlTest, KeepsTheFirstGpuIfTheSecondNeverAnswers) {
  const MemoryStore late = ask("hang=1", std::chrono::milliseconds(500));
  EXPECT_THAT(gpu(late), HasSubstr("recovery action=0\n"));
  EXPECT_EQ(gpu(late, 1), "");
  EXPECT_EQ(late.read("rdmabench/nvml").bytes, "not told: NVML did not answer within 0.5 s\n");
  const MemoryStore ended = ask("crash=1");
  EXPECT_THAT(gpu(ended), HasSubstr("recovery action=0\n"));
  EXPECT_EQ(ended.read("rdmabench/nvml").bytes, "not told: NVML ended the process that asked it\n");
}

/// A program that prints its version.
std::string fabric_manager(const Folder& folder) {
  folder.write("fm", "#!/bin/sh\necho \"$@ is : 570.148.08\"\n");
  std::filesystem::permissions(folder.file("fm"), std::filesystem::perms::owner_all);
  return folder.file("fm");
}

TEST_F(NvmlTest, TellsTheVersionOfTheFabricManager) {
  const Folder folder;
  EXPECT_EQ(ask("", kLong, fabric_manager(folder)).read("rdmabench/fabric_manager").bytes,
            "--version is : 570.148.08\n");
}

TEST_F(NvmlTest, KeepsAnAnswerThatIsTakenAfterTheLimit) {
  const Folder folder;
  MemoryStore facts;
  GpuQuestion question(kTwo, fabric_manager(folder), std::chrono::milliseconds(0));
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
  question.take(facts);
  EXPECT_EQ(facts.read("rdmabench/nvml").bytes, "init=0\n");
  EXPECT_THAT(gpu(facts, 1), HasSubstr("recovery action=0\n"));
  EXPECT_EQ(facts.read("rdmabench/fabric_manager").bytes, "--version is : 570.148.08\n");
}

TEST_F(NvmlTest, EndsWithTheProcessThatAsks) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);  // both processes have its end
  setenv("FAKE_NVML", "hang=1", 1);
  const pid_t asker = fork();
  if (asker == 0) {
    const GpuQuestion question(kTwo, "/nonexistent", kLong);
    _exit(0);
  }
  close(ends[1]);
  EXPECT_EQ(waitpid(asker, nullptr, 0), asker);
  pollfd ended{ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 60000), 1) << "the one that asks NVML is left";
  close(ends[0]);
}

TEST_F(NvmlTest, IsNotLoadedWithoutSuchAGpu) {
  MemoryStore facts;
  GpuQuestion({}, "/bin/false", kLong).take(facts);
  EXPECT_TRUE(facts.items().empty());
}

}  // namespace
}  // namespace rdmabench::inline v1::health
