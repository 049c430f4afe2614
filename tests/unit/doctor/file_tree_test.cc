#include "rdmabench/health/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "../folder.h"

namespace rdmabench::inline v1::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FileTree tree_of(MemoryStore store) {
  return FileTree(std::make_shared<MemoryStore>(std::move(store)));
}

TEST(FileTree, FollowsLinksAsTheKernelDoes) {
  MemoryStore store;
  store.add_file("sys/devices/pci0000:00/0000:00:03.0/class", "0x020000\n");
  store.add_link("sys/bus/pci/devices/0000:00:03.0", "../../../devices/pci0000:00/0000:00:03.0");
  store.add_link("sys/absolute", "/sys/devices");
  const FileTree tree = tree_of(std::move(store));
  EXPECT_EQ(tree.read("sys/bus/pci/devices/0000:00:03.0/class").bytes, "0x020000\n");
  EXPECT_EQ(tree.read("/sys//bus/./pci/devices/0000:00:03.0/class").error, 0);
  EXPECT_EQ(tree.resolve("sys/bus/pci/devices/0000:00:03.0"),
            "sys/devices/pci0000:00/0000:00:03.0");
  EXPECT_EQ(tree.resolve("sys/absolute/pci0000:00"), "sys/devices/pci0000:00");
  EXPECT_EQ(tree.link_name("sys/bus/pci/devices/0000:00:03.0"), "0000:00:03.0");
  EXPECT_EQ(tree.link_name("sys/devices"), "");
  EXPECT_THAT(tree.list("sys/absolute"), ElementsAre("pci0000:00"));
}

TEST(FileTree, NeverLeavesItsRoot) {
  MemoryStore store;
  store.add_file("etc/passwd", "the tree's own");
  store.add_link("a/out", "../../../../etc/passwd");
  const FileTree tree = tree_of(std::move(store));
  EXPECT_EQ(tree.read("a/out").bytes, "the tree's own");
  EXPECT_EQ(tree.read("../../etc/passwd").bytes, "the tree's own");
}

TEST(FileTree, EndsCircles) {
  MemoryStore store;
  store.add_link("a", "b");
  store.add_link("b", "a");
  store.add_link("c", "c/c");
  const FileTree tree = tree_of(std::move(store));
  EXPECT_FALSE(tree.exists("a"));
  EXPECT_FALSE(tree.exists("c"));
  EXPECT_EQ(tree.read("a/x").error, ENOENT);
}

TEST(FileTree, KeepsWhyAFileCannotBeRead) {
  MemoryStore store;
  store.add_unreadable("secret", EACCES);
  store.add_folder("folder");
  const FileTree tree = tree_of(std::move(store));
  EXPECT_EQ(tree.read("secret").error, EACCES);
  EXPECT_EQ(tree.read("folder").error, EISDIR);
  EXPECT_EQ(tree.read("nothing").error, ENOENT);
}

TEST(MemoryStore, ListsEachNameOnce) {
  MemoryStore store;
  store.add_file("d/a/x", "");
  store.add_file("d/a-b", "");
  store.add_folder("d/a");
  store.add_file("d/a0/x", "");
  store.add_file("e", "");
  EXPECT_THAT(store.list("d"), ElementsAre("a", "a-b", "a0"));
  EXPECT_THAT(store.list(""), ElementsAre("d", "e"));
  store.remove("d");
  EXPECT_THAT(store.list("d"), IsEmpty());
}

class FolderStoreTest : public ::testing::Test {
 protected:
  FileTree tree() const { return FileTree(std::make_shared<FolderStore>(folder_.string())); }

  const Folder own_;
  const std::filesystem::path folder_ = own_.path();
};

TEST_F(FolderStoreTest, DoesNotFollowALinkOutOfTheTree) {
  std::filesystem::create_symlink("/etc/passwd", folder_ / "absolute");
  std::filesystem::create_symlink("../../../../../../etc/passwd", folder_ / "relative");
  std::filesystem::create_symlink("/", folder_ / "root");
  EXPECT_EQ(tree().read("absolute").error, ENOENT);
  EXPECT_EQ(tree().read("relative").error, ENOENT);
  EXPECT_EQ(tree().read("root/etc/passwd").error, ENOENT);
}

TEST_F(FolderStoreTest, WaitsForNoPipe) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(tree().read("pipe").error, 0);
}

TEST_F(FolderStoreTest, ReadsNoMoreThanTheLimit) {
  std::ofstream(folder_ / "long") << std::string(kMaxFileBytes + 1000, 'x');
  EXPECT_EQ(tree().read("long").bytes.size(), kMaxFileBytes);
}

TEST_F(FolderStoreTest, SaysWhatAnUnpackedArchiveCouldNotRead) {
  std::ofstream(folder_ / "forbidden");
  std::ofstream(folder_ / "broken");
  std::filesystem::permissions(folder_ / "forbidden", std::filesystem::perms::none);
  std::filesystem::permissions(folder_ / "broken", std::filesystem::perms::owner_write);
  EXPECT_EQ(tree().read("forbidden").error, EACCES);
  EXPECT_NE(tree().read("broken").error, 0);  // EIO for root, EACCES for others
}

}  // namespace
}  // namespace rdmabench::inline v1::health
