// How cards, GPUs and switches are wired on machines of today, and what is right on each. After
// rdma-core's kernel-boot/rdma_topo and published listings of lspci.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "fixture.h"

namespace rdmabench::inline v1::health {
namespace {

using ::testing::HasSubstr;

/// Configuration space with extended capabilities: access control services of that control register
/// at 0x100, and address translation services behind them.
std::string extended(std::optional<unsigned> acs, bool ats = false) {
  std::string bytes(4096, '\0');
  const auto put = [&](std::size_t at, unsigned value) {
    for (std::size_t i = 0; i < 4; ++i) bytes.at(at + i) = static_cast<char>(value >> (8 * i));
  };
  if (acs) {
    put(0x100, (ats ? 0x2000U << 16 : 0) | 0x1000d);
    put(0x104, *acs << 16);
  }
  if (ats) put(acs ? 0x200 : 0x100, 0x1000f);
  return bytes;
}

/// A PCI function below `parent`, in its own folder; returns that folder.
struct Machine {
  MemoryStore store;

  std::string add(const std::string& parent, const std::string& address, const std::string& kind,
                  const std::string& vendor, const std::string& device, const std::string& speed,
                  std::optional<unsigned> acs = std::nullopt) {
    const std::string folder =
        (parent.empty() ? "sys/devices/pci" + address.substr(0, 7) : parent) + "/" + address;
    store.add_link("sys/bus/pci/devices/" + address, "/" + folder);
    for (const auto& [name, text] : {std::pair{"class", kind},
                                     {"vendor", "0x" + vendor},
                                     {"device", "0x" + device},
                                     {"numa_node", std::string("0")},
                                     {"current_link_speed", speed + " GT/s PCIe"},
                                     {"max_link_speed", speed + " GT/s PCIe"},
                                     {"current_link_width", std::string("16")},
                                     {"max_link_width", std::string("16")}}) {
      store.add_file(folder + "/" + name, text + "\n");
    }
    store.add_file(folder + "/config", extended(acs));
    return folder;
  }

  std::string bridge(const std::string& parent, const std::string& address,
                     const std::string& vendor, const std::string& device, const std::string& speed,
                     std::optional<unsigned> acs = std::nullopt) {
    return add(parent, address, "0x060400", vendor, device, speed, acs);
  }

  std::string gpu(const std::string& parent, const std::string& address) {
    return add(parent, address, "0x030200", "10de", "31c2", "64.0");
  }

  /// An mlx5 device of one InfiniBand port.
  void verbs(const std::string& folder, const std::string& name, const std::string& rate) {
    const std::string own = folder + "/infiniband/" + name;
    store.add_link("sys/class/infiniband/" + name, "/" + own);
    store.add_link(own + "/device", "/" + folder);
    store.add_link(folder + "/driver", "/sys/bus/pci/drivers/mlx5_core");
    store.add_file("sys/bus/pci/drivers/mlx5_core/bind", "");
    store.add_file(own + "/ports/1/link_layer", "InfiniBand\n");
    store.add_file(own + "/ports/1/state", "4: ACTIVE\n");
    store.add_file(own + "/ports/1/rate", rate + "\n");
  }

  Finding finding(const std::string& check, const std::string& subject = "") const {
    DoctorOptions options;
    options.only = {check};
    for (const Finding& one : judge(store, options).findings) {
      if (one.id == check && (subject.empty() || one.subject == subject)) return one;
    }
    ADD_FAILURE() << "no finding of " << check;
    return {};
  }
};

/// What its access control services have, in the order of the tree.
struct Controls {
  unsigned dma = 0, gpu = 0, root = 0, others = 0;
};

/// GB300: a ConnectX-8 whose Data Direct function is below one switch with the GPU.
Machine gb300(const Controls& acs) {
  Machine node;
  const std::string root = node.bridge("", "0008:00:00.0", "10de", "22b2", "32.0", acs.root);
  const std::string up = node.bridge(root, "0008:01:00.0", "15b3", "1979", "32.0");
  const std::string to_dma = node.bridge(up, "0008:02:00.0", "15b3", "1979", "64.0", acs.dma);
  node.add(to_dma, "0008:03:00.0", "0x080100", "15b3", "2100", "64.0");
  const std::string to_gpu = node.bridge(up, "0008:02:03.0", "15b3", "1979", "64.0", acs.gpu);
  const std::string second = node.bridge(to_gpu, "0008:04:00.0", "15b3", "197b", "64.0");
  node.gpu(node.bridge(second, "0008:05:00.0", "15b3", "197b", "64.0", acs.others), "0008:06:00.0");
  const std::string own = node.bridge("", "0000:00:00.0", "10de", "22b1", "32.0", acs.others);
  node.verbs(node.add(own, "0000:03:00.0", "0x020700", "15b3", "1023", "32.0"), "mlx5_0",
             "800 Gb/sec (4X XDR)");
  return node;
}

TEST(Topology, OfGb300WantsAccessControlWithTheBitsOfDataDirect) {
  const Machine right = gb300({.dma = 0x19, .gpu = 0x15, .root = 0x1c, .others = 0x1d});
  EXPECT_EQ(right.finding("iommu.acs").status, Status::pass) << right.finding("iommu.acs").observed;
  const Finding off = gb300({}).finding("iommu.acs");
  EXPECT_EQ(off.status, Status::fail);
  EXPECT_THAT(off.observed, HasSubstr("0008:02:00.0: off"));
  EXPECT_THAT(off.remedy, HasSubstr("rdma_topo"));
  EXPECT_EQ(
      gb300({.dma = 0x1d, .gpu = 0x1d, .root = 0x1d, .others = 0x1d}).finding("iommu.acs").status,
      Status::fail)
      << "as the kernel leaves it, everything goes over the root port";
}

TEST(Topology, OfGb300ReachesTheGpuFasterThanTheRootPort) {
  const Finding path = gb300({}).finding("pcie.path");
  EXPECT_EQ(path.status, Status::pass) << path.observed << path.reason;
  EXPECT_THAT(path.observed, HasSubstr("0008:02:00.0"));
}

/// A card with a switch of its own, between the GPU and the root port of an x86.
Machine inlined(unsigned acs, bool ats = false) {
  Machine node;
  const std::string root = node.bridge("", "0000:15:01.0", "8086", "352a", "32.0", acs);
  const std::string up = node.bridge(root, "0000:16:00.0", "15b3", "197c", "32.0");
  const std::string to_card =
      node.bridge(up, "0000:17:00.0", "15b3", "197c", "64.0", ats ? acs | 0x40 : acs);
  const std::string card = node.add(to_card, "0000:18:00.0", "0x020700", "15b3", "1023", "64.0");
  if (ats) node.store.add_file(card + "/config", extended(std::nullopt, true));
  node.verbs(card, "mlx5_0", "800 Gb/sec (4X XDR)");
  const std::string to_gpu = node.bridge(up, "0000:17:01.0", "15b3", "197c", "64.0", acs);
  const std::string second = node.bridge(to_gpu, "0000:19:00.0", "15b3", "197c", "64.0");
  node.gpu(node.bridge(second, "0000:1a:00.0", "15b3", "197c", "64.0", acs), "0000:1b:00.0");
  return node;
}

TEST(Topology, OfAnInlineCardWantsNoAccessControlUnlessItIsForVirtualMachines) {
  EXPECT_EQ(inlined(0).finding("iommu.acs").status, Status::pass);
  EXPECT_EQ(inlined(0x1d).finding("iommu.acs").status, Status::fail);
  EXPECT_EQ(inlined(0x1d, true).finding("iommu.acs").status, Status::pass);
  EXPECT_EQ(inlined(0, true).finding("iommu.acs").status, Status::fail);
}

TEST(Topology, OfAnInlineCardIsNotJudgedByTheLinkToTheRootPort) {
  const Finding path = inlined(0).finding("pcie.path");
  EXPECT_EQ(path.status, Status::pass) << path.observed << path.reason;
  Machine alone = inlined(0);
  alone.store.remove("sys/bus/pci/devices/0000:1b:00.0");
  EXPECT_EQ(alone.finding("pcie.path").status, Status::fail) << "without a GPU there";
}

/// GPU and card each below a root port of its own, as on Grace.
Machine own_ports(unsigned acs, const std::string& vendor = "10de") {
  Machine node;
  node.gpu(node.bridge("", "0009:00:00.0", vendor, "22b8", "32.0", acs), "0009:01:00.0");
  const std::string root = node.bridge("", "0000:00:00.0", vendor, "22b1", "32.0", acs);
  node.verbs(node.add(root, "0000:01:00.0", "0x020700", "15b3", "1021", "32.0"), "mlx5_0",
             "400 Gb/sec (4X NDR)");
  return node;
}

TEST(Topology, OfRootPortsOfTheirOwnKeepsWhatTheKernelSets) {
  EXPECT_EQ(own_ports(0x1d).finding("iommu.acs").status, Status::pass);
  EXPECT_EQ(own_ports(0).finding("iommu.acs").status, Status::pass);
  EXPECT_EQ(own_ports(0x1d, "8086").finding("iommu.acs").status, Status::pass);
}

TEST(Topology, OfAnHgxBoardCountsNoFunctionThatManagesNvlink) {
  Machine node = own_ports(0x1d);
  const std::string root = node.bridge("", "0000:40:00.0", "8086", "352a", "16.0");
  const std::string bridge = node.add(root, "0000:41:00.0", "0x020700", "15b3", "1021", "16.0");
  node.verbs(bridge, "mlx5_1", "400 Gb/sec (4X NDR)");
  EXPECT_EQ(node.finding("pcie.path", "mlx5_1").status, Status::fail);
  node.store.add_file(bridge + "/vpd", std::string("\x82\x05\0NVLink SMDL=SW_MNG", 21));
  DoctorOptions options;
  options.only = {"pcie.path"};
  for (const Finding& one : judge(node.store, options).findings) EXPECT_NE(one.subject, "mlx5_1");
}

}  // namespace
}  // namespace rdmabench::inline v1::health
