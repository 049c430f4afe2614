#include "nccltests/local_ranks.h"

#include <gmock/gmock.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools::nccltests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Starts `program` instead, and keeps what ranks were asked for and which processes they are.
struct Spawner {
  std::string program;
  int fails_at = -1;  // the call that does
  std::vector<std::string> ranks{};
  std::vector<pid_t> children{};

  int operator()(pid_t* child, char* const* /*arguments*/) {
    ranks.emplace_back(std::getenv("RDMABENCH_RANK"));
    if (static_cast<int>(ranks.size()) == fails_at) return EAGAIN;
    std::string seconds = "60";
    char* const arguments[] = {program.data(), seconds.data(), nullptr};
    const int code = ::posix_spawnp(child, program.c_str(), nullptr, nullptr, arguments, environ);
    children.push_back(*child);
    return code;
  }
};

/// Not even a zombie.
bool is_gone(pid_t child) {
  return ::kill(child, 0) != 0 && errno == ESRCH;
}

class LocalRanksTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* const name : {"RDMABENCH_RANK", "RDMABENCH_SIZE", "RDMABENCH_RENDEZVOUS"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(LocalRanksTest, NoneIsLeftWhereOneCannotBeStarted) {
  Spawner spawner{.program = "sleep", .fails_at = 3};
  EXPECT_THAT(complaint([&] { const LocalRanks ranks(4, {}, std::ref(spawner)); }, Fault::failed),
              HasSubstr("start rank 3 of 4"));
  ASSERT_EQ(spawner.children.size(), 2);
  for (const pid_t child : spawner.children) EXPECT_TRUE(is_gone(child));
}

TEST_F(LocalRanksTest, EndWithTheObject) {
  Spawner spawner{.program = "sleep"};
  {
    const LocalRanks ranks(3, {}, std::ref(spawner));
    EXPECT_THAT(spawner.ranks, ElementsAre("1", "2"));
    EXPECT_STREQ(std::getenv("RDMABENCH_RANK"), "0");
    for (const pid_t child : spawner.children) EXPECT_FALSE(is_gone(child));
  }
  for (const pid_t child : spawner.children) EXPECT_TRUE(is_gone(child));
}

TEST_F(LocalRanksTest, ThatFailAreWaitedForAndTold) {
  Spawner good{.program = "true"};
  EXPECT_TRUE(LocalRanks(3, {}, std::ref(good)).wait());
  Spawner bad{.program = "false"};
  EXPECT_FALSE(LocalRanks(3, {}, std::ref(bad)).wait());
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::nccltests
