#include "rdmabench/verbs/device.h"

#include <fake_verbs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <on_fake_verbs.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "../complaint.h"
#include "../folder.h"

namespace rdmabench::inline v1::verbs {
namespace {

namespace fs = std::filesystem;
using fake_verbs::Call;
using ::testing::HasSubstr;

/// A folder in place of /sys/class/infiniband/NAME, gone at the end.
class Sysfs : public Folder {
 public:
  std::string device(const std::string& name) const {
    fs::create_directories(file(name));
    return file(name);
  }
};

class Devices : public OnFakeVerbs {
 protected:
  Devices() { fake_verbs::reset({infiniband(), fake_verbs::soft_roce()}); }

  static fake_verbs::Device infiniband() {
    return {.name = "mlx5_0",
            .ports = {{.link_layer = IBV_LINK_LAYER_INFINIBAND,
                       .active_mtu = IBV_MTU_4096,
                       .lid = 7,
                       .flags = IBV_QPF_GRH_REQUIRED,
                       .width = 2,
                       .speed = 128,
                       .gids = {{0, "fe80::5", IBV_GID_TYPE_IB}}},
                      {.state = IBV_PORT_DOWN, .link_layer = IBV_LINK_LAYER_INFINIBAND}}};
  }
};

TEST_F(Devices, AreListedWithTheirPorts) {
  const std::vector<DeviceInfo> devices = list_devices();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name, "mlx5_0");
  EXPECT_EQ(devices[0].firmware, "1.2.3");
  EXPECT_EQ(devices[0].node_guid, 0x0123456789abcdefU);
  EXPECT_TRUE(devices[0].reliable_connected);
  ASSERT_EQ(devices[0].ports.size(), 2U);
  const PortInfo& port = devices[0].ports[0];
  EXPECT_EQ(port.number, 1);
  EXPECT_TRUE(port.active);
  EXPECT_EQ(port.state, "active");
  EXPECT_EQ(port.link_layer, LinkLayer::infiniband);
  EXPECT_EQ(port.active_mtu, 4096U);
  EXPECT_EQ(port.lid, 7U);
  EXPECT_TRUE(port.needs_grh);
  EXPECT_EQ(port.gids.size(), 1U);
  EXPECT_FALSE(devices[0].ports[1].active);
  EXPECT_EQ(devices[0].ports[1].state, "down");
  EXPECT_EQ(devices[1].ports[0].link_layer, LinkLayer::ethernet);
}

TEST_F(Devices, AreNoneWithoutAnRdmaKernel) {
  fake_verbs::fail(Call::get_device_list, 1, ENOSYS);
  EXPECT_TRUE(list_devices().empty());
}

TEST_F(Devices, ThatCannotBeListedAreAnError) {
  fake_verbs::fail(Call::get_device_list, 1, EPERM);
  EXPECT_EQ(complaint([] { list_devices(); }).code(), EPERM);
}

TEST_F(Devices, ThatCannotBeOpenedAreListedWithTheReason) {
  fake_verbs::fail(Call::open_device, 1, EACCES);
  const std::vector<DeviceInfo> devices = list_devices();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_THAT(devices[0].fault, has_all("ibv_open_device(mlx5_0)", "/dev/infiniband/uverbs"));
  EXPECT_TRUE(devices[0].ports.empty());
  EXPECT_TRUE(devices[1].fault.empty());
}

TEST_F(Devices, ThatFailAQueryAreListedWithTheReason) {
  for (const Call call : {Call::query_device, Call::query_port, Call::query_gid_table}) {
    fake_verbs::fail(call, 1, EIO);
    EXPECT_THAT(list_devices()[0].fault, HasSubstr("EIO"));
    EXPECT_TRUE(fake_verbs::struck());
  }
}

TEST_F(Devices, OfIwarpNeedAConnectionManager) {
  fake_verbs::Device iwarp = fake_verbs::soft_roce();
  iwarp.transport = IBV_TRANSPORT_IWARP;
  fake_verbs::reset({iwarp});
  EXPECT_FALSE(list_devices()[0].reliable_connected);
}

TEST_F(Devices, HaveTheRateOfTheNarrowestPcieLinkAboveThem) {
  const Sysfs sysfs;
  fake_verbs::Device hardware = infiniband();
  hardware.sysfs = sysfs.device("mlx5_0");
  const fs::path function = "pci0000:3a/0000:3a:00.0/0000:3b:00.0";
  sysfs.write(function / "current_link_speed", "32.0 GT/s PCIe\n");
  sysfs.write(function / "current_link_width", "16\n");
  sysfs.write(function.parent_path() / "current_link_speed", "16.0 GT/s PCIe\n");
  sysfs.write(function.parent_path() / "current_link_width", "8\n");
  sysfs.link("mlx5_0/device", "../" + function.string());
  fake_verbs::reset({hardware, fake_verbs::soft_roce()});
  const std::vector<DeviceInfo> devices = list_devices();
  EXPECT_NEAR(devices.at(0).pcie_gbps, 126.03, 0.01);
  EXPECT_EQ(devices.at(1).pcie_gbps, 0);

  sysfs.write(function.parent_path() / "current_link_speed", "Unknown\n");
  EXPECT_NEAR(list_devices().at(0).pcie_gbps, 504.1, 0.1);
}

/// A port whose ibv_query_port(3) says 4 lanes of NDR, for it can say no more.
class Rates : public Devices {
 protected:
  Rates() {
    device_.sysfs = sysfs_.device("mlx5_0");
    device_.ports.resize(1);
  }

  void rate(const std::string& text) { sysfs_.write("mlx5_0/ports/1/rate", text + "\n"); }
  /// The port's rate, and that of one queue pair.
  std::pair<double, double> rates() {
    fake_verbs::reset({device_});
    const std::vector<DeviceInfo> devices = list_devices();
    const PortInfo& port = devices.at(0).ports.at(0);
    return {port.gbps, port.queue_pair_gbps};
  }
  void driver(const std::string& name) {
    sysfs_.link("card/0000:3b:00.0/driver", "../../bus/pci/drivers/" + name);
    sysfs_.link("mlx5_0/device", "../card/0000:3b:00.0");
  }

  Sysfs sysfs_;
  fake_verbs::Device device_ = infiniband();
};

TEST_F(Rates, OfXdrAreNotThoseOfNdr) {
  EXPECT_EQ(rates(), std::pair(0.0, 0.0));
  rate("800 Gb/sec (4X XDR)");
  EXPECT_EQ(rates(), std::pair(800.0, 800.0));
}

TEST_F(Rates, AreTheDevicesOwnWordWhereItHasOne) {
  rate("400 Gb/sec (4X NDR)");
  device_.ports[0].effective = 500;  // a virtual function's share
  EXPECT_EQ(rates(), std::pair(50.0, 50.0));
}

TEST_F(Rates, OfOlderInfiniBandAreThoseOfItsData) {
  rate("40 Gb/sec (4X QDR)");
  EXPECT_EQ(rates(), std::pair(32.0, 32.0));
  device_.ports[0].effective = 400;
  EXPECT_EQ(rates(), std::pair(32.0, 32.0));
  device_.ports[0] = fake_verbs::soft_roce().ports[0];
  EXPECT_EQ(rates(), std::pair(40.0, 40.0));
}

TEST_F(Rates, ThatOlderKernelsTellOfEveryEfaDeviceAreUnknown) {
  driver("efa");
  rate("100 Gb/sec (4X EDR)");
  EXPECT_EQ(rates(), std::pair(0.0, 0.0));
  device_.ports[0].effective = 1000;
  EXPECT_EQ(rates(), std::pair(100.0, 100.0));
  device_.ports[0].effective = 0;
  rate("200 Gb/sec (4X HDR)");
  EXPECT_EQ(rates(), std::pair(200.0, 200.0));
}

TEST_F(Rates, OfABondAreThoseOfItsPorts) {
  driver("mlx5_core");
  rate("100 Gb/sec (4X EDR)");
  device_.ports[0] = fake_verbs::soft_roce().ports[0];
  const std::string card = "card/0000:3b:00.";
  sysfs_.write(card + "0/infiniband/mlx5_0", "");
  sysfs_.write(card + "1/vendor", "0x15b3\n");
  sysfs_.write("card/0000:5e:00.0/vendor", "0x15b3\n");
  sysfs_.link(card + "0/net/eth0/master", "../../../../bond0");
  EXPECT_EQ(rates(), std::pair(100.0, 100.0));  // a bridge, for one
  sysfs_.write("bond0/bonding/mode", "802.3ad 4\n");
  sysfs_.link("bond0/lower_eth0/device", "../../" + card + "0");
  sysfs_.link("bond0/lower_eth1/device", "../../" + card + "1");
  sysfs_.link("bond0/lower_eth2/device", "../../card/0000:5e:00.0");  // another card
  EXPECT_EQ(rates(), std::pair(200.0, 100.0));
  device_.ports[0].effective = 2000;
  EXPECT_EQ(rates(), std::pair(200.0, 100.0));
  device_.ports[0].effective = 1000;  // one of them is down
  EXPECT_EQ(rates(), std::pair(100.0, 100.0));
  device_.ports[0].effective = 0;
  sysfs_.write("bond0/bonding/mode", "active-backup 1\n");
  EXPECT_EQ(rates(), std::pair(100.0, 100.0));
  sysfs_.write("bond0/bonding/mode", "balance-xor 2\n");
  sysfs_.write(card + "1/infiniband/mlx5_1", "");  // each port is a device of its own
  EXPECT_EQ(rates(), std::pair(100.0, 100.0));
}

TEST_F(Devices, AreNamedByTheirDriver) {
  const Sysfs sysfs;
  fake_verbs::Device hardware = infiniband();
  hardware.sysfs = sysfs.device("mlx5_0");
  sysfs.link("mlx5_0/device/driver", "../../bus/pci/drivers/mlx5_core");
  sysfs.write("mlx5_0/device/net/ib0/dev_port", "0\n");
  sysfs.write("mlx5_0/device/net/ib1/dev_port", "1\n");
  fake_verbs::Device soft = fake_verbs::soft_roce();
  soft.sysfs = sysfs.device("rxe0");
  sysfs.write("rxe0/parent", "eth0\n");
  fake_verbs::reset({hardware, soft});
  const std::vector<DeviceInfo> devices = list_devices();
  EXPECT_EQ(devices[0].driver, "mlx5");
  EXPECT_EQ(devices[0].ports[0].interface, "ib0");
  EXPECT_EQ(devices[0].ports[1].interface, "ib1");
  EXPECT_EQ(devices[1].driver, "rxe");
  EXPECT_EQ(devices[1].ports[0].interface, "");
}

TEST_F(Devices, AreSelectedByNameAndPort) {
  const std::vector<DeviceInfo> devices = list_devices();
  EXPECT_EQ(select_ports(devices, "").size(), 3U);
  EXPECT_EQ(select_ports(devices, "mlx5_0").size(), 2U);
  const std::vector<PortRef> one = select_ports(devices, "mlx5_0:2");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].device->name, "mlx5_0");
  EXPECT_EQ(one[0].port->number, 2);
}

TEST_F(Devices, ThatAreNotThereAreAnsweredWithWhatIs) {
  const std::vector<DeviceInfo> devices = list_devices();
  for (const char* text : {"mlx5_7", "rxe0:2"}) {
    const Error error = complaint([&] { select_ports(devices, text); });
    EXPECT_EQ(error.fault(), Fault::unavailable);
    EXPECT_THAT(error.what(), has_all(text, "mlx5_0:1, mlx5_0:2, rxe0:1"));
  }
  for (const char* text : {"rxe0:", "rxe0:x", "rxe0:0", "rxe0:1x", "rxe0:999", ":1"}) {
    const Error error = complaint([&] { select_ports(devices, text); });
    EXPECT_EQ(error.fault(), Fault::usage) << text;
    EXPECT_THAT(error.what(), has_all(text, "NAME:PORT"));
  }
}

TEST_F(Devices, OpenByNameOnly) {
  EXPECT_NE(open_device("rxe0"), nullptr);
  EXPECT_THAT(complaint([] { open_device("rxe1"); }).what(), HasSubstr("'rxe1'"));
}

TEST_F(Devices, AnswerForAGidThatIsNotThere) {
  const Context context = open_device("rxe0");
  EXPECT_EQ(to_text(query_gid(*context, 1, 1)), "10.0.0.1");
  const Error error = complaint([&] { query_gid(*context, 1, 9); });
  EXPECT_EQ(error.code(), EINVAL);
  EXPECT_THAT(error.what(), HasSubstr("index 9"));
}

TEST(MtuBytes, FollowsTheEncoding) {
  EXPECT_EQ(mtu_bytes(IBV_MTU_256), 256U);
  EXPECT_EQ(mtu_bytes(IBV_MTU_4096), 4096U);
  EXPECT_EQ(mtu_bytes(static_cast<ibv_mtu>(0)), 0U);
  EXPECT_EQ(mtu_bytes(static_cast<ibv_mtu>(6)), 0U);
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
