#include "base/shared_memory_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "../folder.h"
#include "../has_all.h"

namespace rdmabench::inline v1 {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A name that a process made which has ended.
std::string abandoned_name() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  std::string name = shared_memory_name();
  const std::string own = "-" + std::to_string(getpid()) + "-";
  return name.replace(name.find(own), own.size(), "-" + std::to_string(child) + "-");
}

class SharedMemoryFilesTest : public ::testing::Test {
 protected:
  std::string make(const std::string& name) {
    const std::string path = folder_.file(name);
    std::ofstream(path) << std::string(8192, 'x');
    return path;
  }
  RemovedFiles clean() { return remove_abandoned_memory(folder_.path()); }

  Folder folder_;
};

TEST(SharedMemoryName, TellsItsProcessAndIsAnotherOneEachTime) {
  const std::string name = shared_memory_name();
  EXPECT_THAT(name, StartsWith("rdmabench-"));
  EXPECT_THAT(name, HasSubstr("-" + std::to_string(getpid()) + "-"));
  EXPECT_NE(name, shared_memory_name());
}

TEST_F(SharedMemoryFilesTest, WhatAProcessLeftThatHasEndedIsRemoved) {
  const std::string left = make(abandoned_name());
  const RemovedFiles removed = clean();
  EXPECT_EQ(removed.count, 1U);
  EXPECT_GE(removed.bytes, 8192U);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_EQ(clean().count, 0U);
  EXPECT_THAT(to_text({.count = 1, .bytes = 3 << 20}), has_all("1 file ", "/dev/shm", "3.0 MiB"));
}

TEST_F(SharedMemoryFilesTest, WhatMayBeInUseOrIsNotOursStays) {
  const std::string dead = abandoned_name();
  const std::string rest = dead.substr(dead.find('-') + 1);
  make(shared_memory_name());                           // of a process that lives
  make("rdmabench-1" + rest);                           // of another PID namespace
  make("rdmabench-0" + rest.substr(rest.find('-')));    // of none that is known
  make("rdmabench-" + rest.substr(0, rest.find('-')));  // without a process
  make("rdmabench-" + rest.substr(0, rest.find('-')) + "--5-0");
  make("other-" + rest);
  make("4711:0:1");  // libfabric's own names
  std::filesystem::create_symlink("/nowhere", folder_.file(dead));
  EXPECT_EQ(clean().count, 0U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 8);
}

TEST_F(SharedMemoryFilesTest, AnotherUsersStays) {
  const std::string path = make(abandoned_name());
  if (chown(path.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root can give a file away";
  EXPECT_EQ(clean().count, 0U);
}

TEST(SharedMemoryFiles, NoFolderIsNothingToRemove) {
  EXPECT_EQ(remove_abandoned_memory("/no/such/folder").count, 0U);
}

}  // namespace
}  // namespace rdmabench::inline v1
