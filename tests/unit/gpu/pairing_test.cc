#include "gpu/pairing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "../folder.h"
#include "../has_all.h"

namespace rdmabench::inline v1::gpu {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

/// A machine's sysfs, as far as a pairing reads it.
class Machine {
 public:
  Machine() {
    fs::create_directories(root_ / "sys/class/infiniband");
    fs::create_directories(root_ / "sys/bus/pci/devices");
  }

  /// "pci0000:15/0000:15:01.0/0000:18:00.0": the way to a device, and its node.
  void add_device(const std::string& way, int node) {
    const fs::path folder = root_ / "sys/devices" / way;
    fs::create_directories(folder);
    std::ofstream(folder / "numa_node") << node << "\n";
    link(folder, root_ / "sys/bus/pci/devices" / fs::path(way).filename());
  }
  void add_nic(const std::string& name, const std::string& way, int node) {
    add_device(way, node);
    const fs::path folder = root_ / "sys/devices" / way / "infiniband" / name;
    fs::create_directories(folder);
    link(root_ / "sys/devices" / way, folder / "device");
    link(folder, root_ / "sys/class/infiniband" / name);
  }
  void add_software_nic(const std::string& name, const std::string& parent) {
    const fs::path folder = root_ / "sys/devices/virtual/infiniband" / name;
    fs::create_directories(folder);
    std::ofstream(folder / "parent") << parent << "\n";
    link(folder, root_ / "sys/class/infiniband" / name);
  }
  void add_interface(const std::string& name, const std::string& way) {
    const fs::path folder = root_ / "sys/class/net" / name;
    fs::create_directories(folder);
    link(root_ / "sys/devices" / way, folder / "device");
  }
  void add_nodes(int count) {
    fs::create_directories(root_ / "sys/devices/system/node");
    std::ofstream(root_ / "sys/devices/system/node/online")
        << (count == 1 ? "0" : "0-" + std::to_string(count - 1)) << "\n";
  }

  std::string root() const { return root_.string() + "/"; }

 private:
  static void link(const fs::path& target, const fs::path& at) {
    fs::create_directories(at.parent_path());
    fs::create_directory_symlink(fs::relative(target, at.parent_path()), at);
  }

  const Folder own_;
  const fs::path root_ = own_.path();
};

/// Two sockets; on the first a switch with two NICs and a GPU, and a switch below a switch.
class DgxTest : public testing::Test {
 protected:
  DgxTest() {
    machine_.add_nodes(2);
    const std::string port = "pci0000:15/0000:15:01.0/0000:16:00.0/";
    machine_.add_device(port + "0000:17:02.0/0000:1b:00.0", 0);
    machine_.add_nic("mlx5_0", port + "0000:17:00.0/0000:18:00.0", 0);
    machine_.add_nic("mlx5_1", port + "0000:17:01.0/0000:19:00.0", 0);
    machine_.add_nic("mlx5_2", port + "0000:17:03.0/0000:1c:00.0/0000:1d:00.0/0000:1e:00.0", 0);
    machine_.add_nic("mlx5_3", "pci0000:15/0000:15:03.0/0000:2a:00.0", 0);
    machine_.add_nic("mlx5_10", "pci0000:37/0000:37:01.0/0000:38:00.0", 0);
    machine_.add_nic("mlx5_4", "pci0000:9d/0000:9d:01.0/0000:9e:00.0", 1);
    machine_.add_software_nic("rxe0", "dummy0");
  }

  Pair pair(const std::string& nic) const {
    return find_pair(nic, "0000:1B:00.0", machine_.root());
  }

  Machine machine_;
};

TEST_F(DgxTest, EachDistanceHasItsReason) {
  EXPECT_EQ(pair("mlx5_0").distance, PciDistance::pix);
  EXPECT_THAT(pair("mlx5_0").text,
              has_all("mlx5_0 and GPU 0000:1b:00.0: PIX", "switch 0000:16:00.0"));
  EXPECT_EQ(pair("mlx5_2").distance, PciDistance::pxb);
  EXPECT_THAT(pair("mlx5_2").text, HasSubstr("0000:16:00.0 is above both"));
  EXPECT_EQ(pair("mlx5_3").distance, PciDistance::phb);
  EXPECT_THAT(pair("mlx5_3").text, EndsWith("PHB, the host bridge pci0000:15"));
  EXPECT_EQ(pair("mlx5_10").distance, PciDistance::node);
  EXPECT_THAT(pair("mlx5_10").text, has_all("NODE", "NUMA node 0"));
  EXPECT_EQ(pair("mlx5_4").distance, PciDistance::sys);
  EXPECT_THAT(pair("mlx5_4").text, HasSubstr("SYS, NUMA nodes 1 and 0"));
}

TEST_F(DgxTest, WhatIsNoPciDeviceIsUnknown) {
  EXPECT_EQ(pair("rxe0").distance, PciDistance::unknown);
  EXPECT_THAT(pair("rxe0").text, HasSubstr("rxe0 is not a PCI device"));
  for (const char* nic : {"none", "", "..", "../../class"}) {
    EXPECT_EQ(pair(nic).distance, PciDistance::unknown) << nic;
  }
  for (const char* gpu : {"0000:ff:00.0", "", "..", "/"}) {
    const Pair found = find_pair("mlx5_0", gpu, machine_.root());
    EXPECT_EQ(found.distance, PciDistance::unknown) << gpu;
    EXPECT_THAT(found.text, HasSubstr("sysfs has no PCI device"));
  }
}

TEST(PairingTest, AVirtualMachineWithoutNodes) {
  Machine machine;
  machine.add_device("pci0000:00/0000:00:05.0", -1);
  machine.add_nic("mlx5_0", "pci0001:00/0001:00:01.0", -1);
  EXPECT_EQ(find_pair("mlx5_0", "0000:00:05.0", machine.root()).distance, PciDistance::unknown);
  machine.add_nodes(1);
  const Pair pair = find_pair("mlx5_0", "0000:00:05.0", machine.root());
  EXPECT_EQ(pair.distance, PciDistance::node);
  EXPECT_THAT(pair.text, HasSubstr("only NUMA node"));
  machine.add_nodes(2);
  EXPECT_EQ(find_pair("mlx5_0", "0000:00:05.0", machine.root()).distance, PciDistance::unknown);
}

TEST(PairingTest, SoftRoceIsWhereItsInterfaceIs) {
  Machine machine;
  machine.add_device("pci0000:00/0000:00:05.0", 0);
  machine.add_device("pci0000:00/0000:00:04.0", 0);
  machine.add_device("pci0000:00/0000:00:04.0/virtio1", 0);
  machine.add_interface("ens4", "pci0000:00/0000:00:04.0/virtio1");
  machine.add_software_nic("rxe0", "ens4");
  EXPECT_EQ(find_pair("rxe0", "0000:00:05.0", machine.root()).distance, PciDistance::phb);
}

TEST(PairingTest, FunctionsOfOneCard) {
  Machine machine;
  machine.add_device("pci0000:00/0000:00:01.0/0000:01:00.0", 0);
  machine.add_nic("mlx5_0", "pci0000:00/0000:00:01.0/0000:01:00.1", 0);
  EXPECT_EQ(find_pair("mlx5_0", "0000:01:00.0", machine.root()).distance, PciDistance::pix);
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu
