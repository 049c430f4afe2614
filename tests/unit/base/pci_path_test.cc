#include "base/pci_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "../folder.h"

namespace rdmabench::inline v1 {
namespace {

using testing::ElementsAre;

PciPath at(std::string_view folder, int node = -1) {
  PciPath path = pci_path(folder);
  path.numa_node = node;
  return path;
}

TEST(PciPath, BeginsAtTheHostBridgeAndEndsAtTheFunction) {
  const PciPath path = at("/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/virtio3/net/eth0");
  EXPECT_THAT(path.steps, ElementsAre("pci0000:15", "0000:15:01.0", "0000:18:00.0"));
  EXPECT_EQ(path.folder, "/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0");
  EXPECT_TRUE(path.known());
  EXPECT_FALSE(at("sys/devices/virtual/net/lo").known());
  EXPECT_FALSE(at("sys/bus/pci/devices/0000:18:00.0").known()) << "no host bridge";
}

TEST(PciPath, KnowsDomainsOfFiveDigits) {
  EXPECT_TRUE(is_pci_address("10000:01:00.0"));
  EXPECT_FALSE(is_pci_address("0000:01:00"));
  EXPECT_TRUE(
      at("sys/devices/pci0000:00/0000:00:0e.0/pci10000:00/10000:00:02.0/10000:01:00.0").known());
}

TEST(DeviceFolder, IsThatOfAnRdmaDeviceANetworkDeviceOrAFunction) {
  const Folder root;
  root.write("sys/class/infiniband/mlx5_0/device/numa_node", "1\n");
  root.write("sys/class/infiniband/rxe0/parent", "eth0\n");
  root.write("sys/class/net/eth0/device/numa_node", "1\n");
  root.write("sys/bus/pci/devices/0000:c1:00.0/numa_node", "1\n");
  const auto folder = [&](std::string_view name) {
    const std::string found = device_folder(name, root.path());
    return found.empty() ? found : std::filesystem::relative(found, root.path()).string();
  };
  EXPECT_EQ(folder("mlx5_0"), "sys/class/infiniband/mlx5_0/device");
  EXPECT_EQ(folder("rxe0"), "sys/class/net/eth0/device");
  EXPECT_EQ(folder("eth0"), "sys/class/net/eth0/device");
  EXPECT_EQ(folder("0000:C1:00.0"), "sys/bus/pci/devices/0000:c1:00.0");
  for (const char* unknown : {"lo", "cxi0", "", "..", "../net/eth0"})
    EXPECT_EQ(folder(unknown), "");
}

TEST(PciDistance, ANicBehindASwitchOfItsOwnIsNotBelowOne) {
  const std::string port = "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/";
  const PciPath gpu = at(port + "0000:17:02.0/0000:1b:00.0");
  EXPECT_EQ(pci_distance(gpu, at(port + "0000:17:00.0/0000:18:00.0"), false), PciDistance::pix);
  EXPECT_EQ(pci_distance(gpu, at(port + "0000:17:03.0/0000:1c:00.0/0000:1d:00.0"), false),
            PciDistance::pxb);
  // One bridge above the GPU alone, two above the NIC alone.
  EXPECT_EQ(pci_distance(at(port + "0000:1b:00.0"),
                         at(port + "0000:17:00.0/0000:18:00.0/0000:19:00.0"), false),
            PciDistance::pxb);
}

TEST(PciDistance, FunctionsOfAHyperVGuestHaveHostBridgesOfTheirOwn) {
  const std::string bus = "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/";
  const std::string gpu = bus + "47505500-0001/pci0001:00/0001:00:00.0";
  const std::string nic = bus + "47505500-0002/pci0101:00/0101:00:00.0";
  EXPECT_EQ(pci_distance(at(gpu, 0), at(nic, 0), false), PciDistance::node);
  EXPECT_EQ(pci_distance(at(gpu, 0), at(nic, 1), false), PciDistance::sys);
}

TEST(PciDistance, UnknownNodesAreOneWhereThereIsOne) {
  const PciPath gpu = at("sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0");
  const PciPath nic = at("sys/devices/pci0000:37/0000:37:01.0/0000:38:00.0");
  EXPECT_EQ(pci_distance(gpu, nic, true), PciDistance::node);
  EXPECT_EQ(pci_distance(gpu, nic, false), PciDistance::unknown);
  EXPECT_EQ(pci_distance(gpu, PciPath(), true), PciDistance::unknown);
}

}  // namespace
}  // namespace rdmabench::inline v1
