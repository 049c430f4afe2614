// Nodes of public reports, and what people concluded: each tree names its source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.h"

namespace rdmabench::inline v1::health {
namespace {

using ::testing::HasSubstr;

struct Told {
  std::string tree;
  std::vector<std::string> edits;
  std::string check;
  std::string subject;
  Status status;
  std::string says;  ///< part of what was observed, or of the reason
};

const std::string kHalf = "sys/devices/pci0002:00/0002:00:00.0";

/// A board whose firmware gives the second half of the card two of its four lanes.
const std::vector<std::string> kTwoLanes{kHalf + "/current_link_width: 2\\n",
                                         kHalf + "/max_link_width: 2\\n",
                                         kHalf + "/0002:01:00.0/current_link_width: 2\\n",
                                         kHalf + "/0002:01:00.1/current_link_width: 2\\n"};

std::string variables(const std::string& text) {
  return "rdmabench/environment: " + text + "\\n";
}

const std::vector<Told> kTold{
    {"spark",
     {},
     "pcie.path",
     "roceP2p1s0f0",
     Status::pass,
     "252 Gb/s: PCIe 32 GT/s x4 at 0002:00:00.0 and PCIe 32 GT/s x4 at 0000:00:00.0, together: use "
     "both roceP2p1s0f0 and rocep1s0f0"},
    {"spark", {}, "pcie.path", "rocep1s0f0", Status::skip, "the other half of the card"},
    {"spark", {}, "pcie.width", "roceP2p1s0f0", Status::pass, "x4"},
    {"spark", kTwoLanes, "pcie.width", "roceP2p1s0f0", Status::fail,
     "0002:01:00.0 has x2, its other half 0000:01:00.0 x4"},
    {"spark", kTwoLanes, "pcie.width", "roceP2p1s0f1", Status::skip, "is not judged"},
    {"spark", kTwoLanes, "pcie.width", "rocep1s0f0", Status::pass, "x4"},
    {"spark", kTwoLanes, "pcie.path", "roceP2p1s0f0", Status::skip,
     "device roceP2p1s0f0 has a narrow link"},
    {"spark",
     {variables("NCCL_IB_HCA=rocep1s0f0")},
     "env.nccl_ib_hca",
     "node",
     Status::warn,
     "without roceP2p1s0f0, the other half of rocep1s0f0's card: name roceP2p1s0f0,rocep1s0f0"},
    {"spark",  // which may be two virtual functions
     {variables("NCCL_IB_HCA=rocep1s0f0"), "sys/class/dmi/id/sys_vendor: QEMU\\n"},
     "env.nccl_ib_hca",
     "node",
     Status::pass,
     ""},
    {"spark",
     {variables("NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0")},
     "env.nccl_ib_hca",
     "node",
     Status::pass,
     ""},
    {"spark",
     {variables("UCX_NET_DEVICES=rocep1s0f0:1")},
     "env.ucx_net_devices",
     "node",
     Status::warn,
     "the other half"},
    {"gid-link-local",
     {},
     "env.nccl_gid_index",
     "node",
     Status::warn,
     "NCCL_IB_GID_INDEX=1 is fe80::200:ff:fe00:1, link-local, on mlx5_bond_0:1; index 3 is 10.0.0.6"},
    {"gid-link-local",
     {variables("UCX_IB_GID_INDEX=0")},
     "env.ucx_gid_index",
     "node",
     Status::warn,
     "link-local"},
    {"nccl-net", {}, "env.nccl_net", "node", Status::warn, "NCCL_NET=Socket: no RDMA"},
    {"nccl-net", {}, "env.nccl_disabled", "node", Status::warn, "NCCL_NET_GDR_LEVEL=LOC"},
    {"pod-gids", {}, "address.gid", "mlx5_0:1", Status::pass, "index 4"},
    {"pod-gids", {}, "address.gid", "mlx5_1:1", Status::pass, "index 4"},
    {"pod-gids", {}, "address.roce_v2", "mlx5_0:1", Status::pass, "index 7: 10.1.0.12"},
    {"pod-gids",
     {variables("NCCL_IB_GID_INDEX=3")},
     "env.nccl_gid_index",
     "node",
     Status::warn,
     "NCCL_IB_GID_INDEX=3 is empty, on mlx5_0:1; index 7 is 10.1.0.12"},
};

/// A node of which every fault is told.
struct Whole {
  std::string tree;
  std::vector<std::string> edits;
  std::string faults;  ///< all that are WARN, FAIL or ERROR
  std::string remedy;  ///< part of that of the last one
};

const std::string kChelsio = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.4/infiniband";

const std::vector<Whole> kWhole{
    {"representors", {}, "WARN port.mtu mlx5_2:1, WARN port.mtu mlx5_3:1", "ip link set"},
    {"no-firmware", {}, "FAIL device.registered node", "mstflint -d ADDRESS"},
    {"pod-without-interface", {}, "FAIL address.gid mlx5_0:1", "Multus"},
    {"roce-lag", {}, "", ""},
    {"roce-lag",  // a mode of which the card knows nothing
     {"sys/devices/virtual/net/bond0/bonding/mode: balance-rr 0\\n"},
     "WARN device.registered node",
     ""},
    {"connectx3",
     {},
     "WARN address.roce_v2 mlx4_0:1, WARN address.roce_v2 mlx4_0:2",
     "in one Ethernet network"},
    {"no-fabric-manager", {}, "FAIL gpu.fabric_manager node", "systemctl enable --now"},
    {"no-fabric-manager", {"rdmabench/services: nv-fabricmanage\\n"}, "", ""},
    {"no-fabric-manager", {"-rdmabench/services"}, "", ""},  // a container: it may run on the host
    {"emulated-bridges", {}, "", ""},
    {"altra", {}, "WARN iommu.device rocep1s0f0", "iommu.passthrough=1"},
    {"efa-pod-mount",
     {},
     "FAIL device.uverbs ibp115s0f0, FAIL device.uverbs ibp116s0f0",
     "This container was not given the device"},
    {"efa-pod", {}, "", ""},
    {"vrf", {}, "", ""},
    {"iwarp-alone", {}, "WARN device.mixed node", "enable_roce"},
    {"vlan", {}, "", ""},
    {"multiplane", {}, "", ""},
    {"erdma", {}, "WARN port.mtu rocep26s0:1", "ip link set"},
    {"pvrdma", {}, "", ""},
    {"vf-without-guid", {}, "WARN device.guid mlx5_8", "vf N mac MAC"},
    {"probe-failed", {}, "FAIL log.mlx5 node", "Update the driver"},
    {"omni-path", {}, "FAIL port.state hfi1_0:1", "opafm"},
    {"no-counters", {}, "", ""},
    {"hns", {}, "", ""},
    {"chelsio", {}, "", ""},
    {"chelsio",
     {"-sys/class/infiniband", "-sys/class/infiniband_verbs", "-" + kChelsio,
      "-sys/module/iw_cxgb4"},
     "WARN device.registered node",
     "modprobe iw_cxgb4"},
};

TEST(Reports, TellNoOtherFault) {
  for (const Whole& one : kWhole) {
    MemoryStore store = load("reports/" + one.tree);
    for (const std::string& edit : one.edits) change(store, edit);
    std::string faults;
    std::string remedy;
    for (const Finding& finding : judge(std::move(store)).findings) {
      if (finding.status == Status::pass || finding.status == Status::skip) continue;
      faults += (faults.empty() ? "" : ", ") + std::string(name(finding.status)) + " " +
                finding.id + " " + finding.subject;
      remedy = finding.remedy;
    }
    EXPECT_EQ(faults, one.faults) << one.tree;
    EXPECT_THAT(remedy, HasSubstr(one.remedy)) << one.tree;
  }
}

TEST(Reports, AreJudgedAsPeopleConcluded) {
  for (const Told& one : kTold) {
    MemoryStore store = load("reports/" + one.tree);
    for (const std::string& edit : one.edits) change(store, edit);
    DoctorOptions options;
    options.only = {one.check};
    const Diagnosis diagnosis = judge(std::move(store), options);
    bool there = false;
    for (const Finding& finding : diagnosis.findings) {
      if (finding.id != one.check || finding.subject != one.subject) continue;
      there = true;
      EXPECT_EQ(name(finding.status), name(one.status))
          << one.tree << " " << one.check << " " << one.subject << ": " << finding.observed;
      EXPECT_THAT(finding.status == Status::skip ? finding.reason : finding.observed,
                  HasSubstr(one.says))
          << one.tree << " " << one.check << " " << one.subject;
    }
    EXPECT_TRUE(there) << one.tree << " has no " << one.check << " of " << one.subject;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::health
