// Files that are written beside those who would redirect them.
#include "base/new_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "../complaint.h"
#include "../folder.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string part_of(const std::string& path) {
  return path + "." + std::to_string(getpid()) + ".part";
}

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(NewFile, TakesItsNameWhenItIsFinished) {
  const Folder folder;
  folder.write("out", "old");
  {
    NewFile file(folder.file("out"));
    file.write("new");
    EXPECT_EQ(text_of(folder.file("out")), "old");
    file.finish();
    EXPECT_EQ(text_of(folder.file("out")), "new");
    EXPECT_EQ(write_all(file.descriptor(), " more"), 0);
  }
  EXPECT_EQ(text_of(folder.file("out")), "new more");
  { NewFile(folder.file("out")).write("unfinished"); }
  EXPECT_EQ(text_of(folder.file("out")), "new more");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(NewFile, ALinkThatTakesTheNameOfThePartRedirectsNothing) {
  const Folder folder;
  folder.write("victim", "victim's");
  const std::string out = folder.file("out");
  NewFile file(out);
  fs::remove(part_of(out));
  fs::create_symlink(folder.file("victim"), part_of(out));
  file.write("ours");
  EXPECT_THAT(complaint([&] { file.finish(); }).what(), HasSubstr("was exchanged"));
  EXPECT_EQ(text_of(folder.file("victim")), "victim's");
}

TEST(NewFile, ALinkThatWaitsUnderTheNameOfThePartIsRemoved) {
  const Folder folder;
  folder.write("victim", "victim's");
  const std::string out = folder.file("out");
  fs::create_symlink(folder.file("victim"), part_of(out));
  NewFile file(out);
  file.write("ours");
  file.finish();
  EXPECT_EQ(text_of(folder.file("victim")), "victim's");
  EXPECT_EQ(text_of(out), "ours");
  EXPECT_FALSE(fs::is_symlink(out));
}

TEST(NewFile, ALinkThatTakesTheFilesNameMeanwhileIsReplaced) {
  const Folder folder;
  folder.write("victim", "victim's");
  const std::string out = folder.file("out");
  NewFile file(out);
  fs::create_symlink(folder.file("victim"), out);
  file.write("ours");
  file.finish();
  EXPECT_EQ(text_of(folder.file("victim")), "victim's");
  EXPECT_EQ(text_of(out), "ours");
}

TEST(NewFile, StaysInTheFolderThatItBeganIn) {
  const Folder folder;
  fs::create_directory(folder.file("a"));
  fs::create_directory(folder.file("b"));
  NewFile file(folder.file("a") + "/out");
  fs::rename(folder.file("a"), folder.file("was"));
  fs::create_directory_symlink(folder.file("b"), folder.file("a"));
  file.write("ours");
  file.finish();
  EXPECT_EQ(text_of(folder.file("was") + "/out"), "ours");
  EXPECT_EQ(files_in(folder.file("b")), 0U);
}

TEST(NewFile, FollowsAUsersOwnLinks) {
  const Folder folder;
  fs::create_directory(folder.file("to"));
  folder.write("to/real", "old");
  fs::create_symlink("to/second", folder.file("out"));
  fs::create_symlink("real", folder.file("to/second"));
  NewFile file(folder.file("out"));
  file.write("new");
  file.finish();
  EXPECT_EQ(text_of(folder.file("to/real")), "new");
  EXPECT_TRUE(fs::is_symlink(folder.file("out")));
  fs::create_symlink("loop", folder.file("loop"));
  EXPECT_THROW(NewFile(folder.file("loop")), Error);
}

TEST(NewFile, DoesNotFollowAnotherUsersLink) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives links away";
  const Folder folder;
  folder.write("victim", "victim's");
  const std::string out = folder.file("out");
  fs::create_symlink(folder.file("victim"), out);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(lchown(out.c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(usage_complaint([&] { NewFile file(out); }),
              HasSubstr("is a symbolic link of the user 65534"));
  EXPECT_THAT(usage_complaint([&] { check_writable(out); }), HasSubstr("65534"));
  EXPECT_THROW(find_place(out), Error);
}

TEST(NewFile, DoesNotWaitForTheReaderOfAnotherUsersPipe) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make a pipe of another user";
  const Folder folder;
  const std::string out = folder.file("out");
  ASSERT_EQ(mkfifo(out.c_str(), 0666), 0);
  ASSERT_EQ(chown(out.c_str(), 65534, 65534), 0);
  EXPECT_THAT(usage_complaint([&] { NewFile file(out); }),
              HasSubstr("is a pipe of the user 65534"));
}

TEST(NewFile, KeepsTheModeOfOnesOwnFileWithoutWhatRunsItAsItsOwner) {
  const Folder folder;
  folder.write("out", "old");
  ASSERT_EQ(chmod(folder.file("out").c_str(), 04640), 0);
  {
    NewFile file(folder.file("out"));
    file.finish();
  }
  struct stat status {};
  ASSERT_EQ(stat(folder.file("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST(NewFile, WhatIsNoFileIsWrittenInPlace) {
  const Folder folder;
  { NewFile("/dev/null").write("x"); }
  EXPECT_THROW(NewFile("/dev/full").write("x"), Error);
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Descriptor reader(open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  NewFile file(pipe);
  file.write("through");
  file.finish();
  char read_back[8] = {};
  EXPECT_EQ(read(reader.get(), read_back, sizeof read_back), 7);
  EXPECT_THROW(NewFile(folder.path()), Error);
  EXPECT_THROW(NewFile(folder.path() + "/"), Error);
  EXPECT_THROW(NewFile(folder.path() + "/none/out"), Error);
}

TEST(NewFile, AnOpenDescriptorsNameOfProcfsIsWrittenBehindWhatIsThere) {
  const Folder folder;
  folder.write("out", "before ");
  const Descriptor shell(open(folder.file("out").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  NewFile file("/dev/fd/" + std::to_string(shell.get()));
  file.write("behind");
  file.finish();
  EXPECT_EQ(text_of(folder.file("out")), "before behind");
}

TEST(NewFile, AnotherFileThatHasTakenTheNameIsNotOpened) {
  const Folder folder;
  folder.write("log", "ours");
  folder.write("victim", "victim's");
  const Place place = find_place(folder.file("log"));
  fs::rename(folder.file("victim"), folder.file("log"));
  EXPECT_LT(place.open(O_WRONLY | O_TRUNC).get(), 0);
  EXPECT_EQ(text_of(folder.file("log")), "victim's");
  fs::remove(folder.file("log"));
  folder.write("victim", "victim's");
  fs::create_symlink(folder.file("victim"), folder.file("log"));
  EXPECT_LT(place.open(O_WRONLY | O_APPEND).get(), 0);
}

}  // namespace
}  // namespace rdmabench::inline v1
