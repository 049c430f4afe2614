// Tools that are scripts, and tables as mstconfig 4.8 to 4.36 prints them.
#include "health/firmware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>

#include "../folder.h"
#include "../has_all.h"
#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class FirmwareTest : public ::testing::Test {
 protected:
  void tool(const std::string& name, const std::string& script) const {
    folder_.write(name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(folder_.file(name), std::filesystem::perms::owner_all);
  }

  std::string ask(std::chrono::milliseconds limit = std::chrono::minutes(1)) const {
    const std::string folder = folder_.path();
    const std::string_view folders[]{"/nonexistent", folder};
    return firmware_facts("0000:18:00.0", folders, limit);
  }

 private:
  const Folder folder_;
};

TEST_F(FirmwareTest, OfNoToolIsNotTold) {
  EXPECT_THAT(ask(),
              AllOf(StartsWith("not told: "), has_all("mstconfig", "mlxconfig", "/nonexistent")));
}

TEST_F(FirmwareTest, IsWhatTheToolPrints) {
  tool("mlxconfig", "echo mlxconfig \"$@\" >&2; echo \"HOME $HOME\"; cat; exit 0\n");
  EXPECT_EQ(ask(), "mlxconfig -d 0000:18:00.0 -e q PCI_WR_ORDERING\nHOME \n");
  tool("mstconfig", "echo mstconfig\n");
  EXPECT_EQ(ask(), "mstconfig\n");
}

TEST_F(FirmwareTest, OfAToolThatFailsIsItsLastLine) {
  tool("mstconfig", "echo; echo 'Device #1:'; echo \"-E- Failed to open the device\"; exit 3\n");
  EXPECT_THAT(ask(), HasSubstr("mstconfig ended with 3: -E- Failed to open the device\n"));
  tool("mstconfig", "kill -9 $$\n");
  EXPECT_THAT(ask(), HasSubstr("mstconfig was ended by signal 9\n"));
  tool("mstconfig", "echo '#!/nonexistent' >\"$0\"\n");
  EXPECT_EQ(ask(), "");
  EXPECT_THAT(ask(), has_all("mstconfig does not start", "No such file"));
}

TEST_F(FirmwareTest, OfAToolThatNeverEndsIsNotTold) {
  tool("mstconfig", "sleep 1000\n");
  EXPECT_THAT(ask(std::chrono::milliseconds(0)), HasSubstr("mstconfig did not end within 0 s\n"));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
  tool("mstconfig", "exec yes\n");
  EXPECT_THAT(ask(), HasSubstr("mstconfig prints without end\n"));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(FirmwareSettings, AreReadByTheirColumns) {
  const auto read = [](const std::string& text) {
    const auto setting = firmware_setting(text, "PCI_WR_ORDERING");
    return setting ? setting->now + " " + setting->next : "none";
  };
  EXPECT_EQ(read("Configurations:                              Next Boot\n"
                 "         PCI_WR_ORDERING                     force_relax(1)\n"),
            "force_relax(1) force_relax(1)");
  EXPECT_EQ(read("Configurations:         Default         Current         Next Boot\n"
                 "*        PCI_WR_ORDERING per_mkey(0) force_relax(1) per_mkey(0)\n"),
            "force_relax(1) per_mkey(0)");
  EXPECT_EQ(read("Configurations: Default Next Boot\n"
                 " RO     PCI_WR_ORDERING        per_mkey(0) force_relax(1)\n"),
            "force_relax(1) force_relax(1)");
  EXPECT_EQ(read("Configurations: Current Next Boot\nPCI_WR_ORDERING N/A per_mkey(0)\n"),
            "per_mkey(0) per_mkey(0)");
  EXPECT_EQ(read("Configurations: Next Boot\nPCI_WR_ORDERING_2 per_mkey(0)\n"), "none");
  EXPECT_EQ(read("Configurations: Default Next Boot\nPCI_WR_ORDERING per_mkey(0)\n"), "none");
  EXPECT_EQ(read("PCI_WR_ORDERING per_mkey(0)\n"), "none");
  EXPECT_EQ(read(""), "none");
}

}  // namespace
}  // namespace rdmabench::inline v1::health
