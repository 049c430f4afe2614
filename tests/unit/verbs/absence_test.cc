#include "verbs/absence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "../folder.h"

namespace rdmabench::inline v1::verbs {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Folders that stand for /sys/class and /dev/infiniband.
class Absence : public testing::Test {
 protected:
  Absence() { fs::create_directories(root_.file("dev")); }

  void add_device(const std::string& name) const {
    fs::create_directories(root_.file("class/infiniband/" + name));
  }
  void add_class(const std::string& name) const {
    fs::create_directories(root_.file("class/infiniband_verbs/" + name));
  }
  void add_file(const std::string& name) const { root_.write("dev/" + name, ""); }
  std::string text() const { return hidden_devices(root_.file("class"), root_.file("dev")); }

  const Folder root_;
};

TEST_F(Absence, OfEveryDeviceNeedsNoWords) {
  EXPECT_EQ(text(), "");
}

TEST_F(Absence, OfTheFileIsAContainerWithoutIt) {
  add_device("mlx5_1");
  add_device("mlx5_0");
  add_class("abi_version");
  add_class("uverbs0");
  EXPECT_THAT(text(), AllOf(StartsWith("The kernel has mlx5_0, mlx5_1, but "),
                            HasSubstr("dev/uverbs0 does not exist"), HasSubstr("--device=")));
}

TEST_F(Absence, OfTheClassIsAModuleNotLoaded) {
  add_device("rxe0");
  EXPECT_THAT(text(), HasSubstr("modprobe ib_uverbs"));
}

TEST_F(Absence, OfNothingElseIsAProviderNotInstalled) {
  add_device("mlx5_0");
  add_class("uverbs0");
  add_file("uverbs0");
  EXPECT_THAT(text(), HasSubstr("ibverbs-providers"));
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
