#include "control/token_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "../folder.h"
#include "../setting.h"
#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using ::testing::HasSubstr;

class TokenFile : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "token") const { return folder_.file(name); }

  std::string write(std::size_t bytes, mode_t mode = 0600) const {
    std::ofstream(path()) << std::string(bytes, 'x');
    EXPECT_EQ(chmod(path().c_str(), mode), 0);
    return path();
  }

  std::string refusal() const {
    return complaint([this] { read_token_file(path()); });
  }

 private:
  const Folder folder_;
};

TEST_F(TokenFile, IsReadToTheLastByte) {
  EXPECT_EQ(read_token_file(write(32))->bytes(), std::string(32, 'x'));
  EXPECT_EQ(read_token_file(write(4096))->bytes().size(), 4096);
}

TEST(OwnTokenFile, IsInAnAbsolutePathAlone) {
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "/" : home;
  {
    const Setting at_home("HOME", "/home/me");
    EXPECT_EQ(own_token_file(), "/home/me/.config/rdmabench/token");
    const Setting config("XDG_CONFIG_HOME", "/etc/me");
    EXPECT_EQ(own_token_file(), "/etc/me/rdmabench/token");
    const Setting relative("XDG_CONFIG_HOME", "config");  // the specification: to be ignored
    EXPECT_EQ(own_token_file(), "/home/me/.config/rdmabench/token");
  }
  for (const char* const folder : {"me", "./me", "~"}) {
    const Setting relative("HOME", folder);
    EXPECT_THAT(complaint([] { own_token_file(); }), HasSubstr("not an absolute path"));
  }
  setenv("HOME", before.c_str(), 1);
}

TEST_F(TokenFile, OfAnotherLengthIsRefused) {
  write(31);
  EXPECT_THAT(refusal(), has_all("has 31 bytes; 32 to 4096", path()));
  write(4097);
  EXPECT_THAT(refusal(), HasSubstr("more than 4096"));
}

TEST_F(TokenFile, ThatOthersCanUseIsRefused) {
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610}) {
    write(32, mode);
    EXPECT_THAT(refusal(), has_all("others can use it too", "chmod 600"));
  }
  EXPECT_NO_THROW(read_token_file(write(32, 0400)));
}

TEST_F(TokenFile, OfRootMayBeReadByTheGroupThatRootChose) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has files of root";
  std::filesystem::copy(write(32), path("other"));
  ASSERT_EQ(chmod(path().c_str(), 0440), 0);
  ASSERT_EQ(chmod(path("other").c_str(), 0444), 0);
  ASSERT_EQ(chmod(std::filesystem::path(path()).parent_path().c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto is_taken = [](const std::string& file) {
      try {
        read_token_file(file);
        return true;
      } catch (const Error&) {
        return false;
      }
    };
    const bool user = setresuid(65534, 65534, 65534) == 0;  // still of root's group
    _exit(user && is_taken(path()) && !is_taken(path("other")) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(TokenFile, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  constexpr uid_t kOther = 12345;
  ASSERT_EQ(chown(write(32).c_str(), kOther, 0), 0);
  EXPECT_THAT(refusal(), HasSubstr("belongs to user 12345, this is user 0"));
}

TEST_F(TokenFile, ThatIsNoFileIsRefused) {
  EXPECT_THAT(refusal(), has_all("there is no token file", "umask 077"));
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));  // and nobody waits for its writer
}

TEST_F(TokenFile, OfTheKernelIsRefused) {
  EXPECT_THAT(complaint([] { read_token_file("/proc/self/environ"); }), HasSubstr("has 0 bytes"));
}

TEST_F(TokenFile, IsMadeOnceByAllWhoNeedIt) {
  const std::string made = path("new/folder/token");
  const mode_t mask = umask(0);
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const Secret>> secrets(8);
  for (auto& secret : secrets) {
    threads.emplace_back([&] { secret = read_or_make_token_file(made); });
  }
  for (std::thread& thread : threads) thread.join();
  umask(mask);
  std::set<std::string> all;
  for (const auto& secret : secrets) all.emplace(secret->bytes());
  EXPECT_EQ(all.size(), 1);
  EXPECT_EQ(all.begin()->size(), kMinSecret);
  struct stat status {};
  ASSERT_EQ(stat(made.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600);
  ASSERT_EQ(stat(path("new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700);
  const std::filesystem::directory_iterator left(path("new/folder"));
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);
}

}  // namespace
}  // namespace rdmabench::inline v1::control
