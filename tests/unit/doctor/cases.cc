#include "cases.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr Status kPass = Status::pass;
constexpr Status kWarn = Status::warn;
constexpr Status kFail = Status::fail;
constexpr Status kSkip = Status::skip;
constexpr Status kError = Status::error;

const std::string kIb = "mlx5-infiniband";
const std::string kRoce = "roce";
const std::string kEfa = "efa";
const std::string kVm = "virtual-machine";

// Configuration space with PCI Express at 0x60: Device Capabilities, Device Control, Device Status.
std::string config(const std::string& path, const std::string& control,
                   const std::string& status = "0000", const std::string& capabilities = "21800010",
                   const std::string& acs = "0000", const std::string& size = "4096") {
  std::string text = "b315211006041000" + std::string((0x34 - 8) * 2, '0') + "60";
  text += std::string((0x60 - 0x35) * 2, '0') + "10000200" + capabilities + control + status;
  text += std::string((0x100 - 0x6c) * 2, '0') + "0d000100" + "0000" + acs;
  if (size == "64") text.resize(128);
  return path + "/config:hex " + size + " " + text;
}

std::string limits(const std::string& soft, const std::string& hard) {
  return "proc/self/limits: Max open files 65536 65536 files\\nMax locked memory " + soft + " " +
         hard + " bytes\\n";
}

std::string cpuinfo(const std::string& flags, const std::string& vendor = "GenuineIntel") {
  return "proc/cpuinfo: vendor_id\t: " + vendor + "\\nmodel name\t: X\\nflags\t: " + flags + "\\n";
}

std::string environment(const std::string& text) {
  return "rdmabench/environment: " + text + "\\n";
}

/// What the kernel tells of the first network device.
std::string ethernet(const std::string& facts) {
  return "rdmabench/ethernet/ens1np0: " + facts + "\\n";
}

/// What mstconfig prints of a ConnectX that tells every column.
std::string write_ordering(const std::string& now, const std::string& next) {
  return "rdmabench/firmware/0000:18:00.0: Configurations: Default Current Next Boot\\n"
         "  PCI_WR_ORDERING per_mkey(0) " +
         now + " " + next + "\\n";
}

const std::vector<std::string> kNoFacts{"-rdmabench"};
const std::string kArm = "proc/cpuinfo: processor\t: 0\\nFeatures\t: fp asimd\\n";

/// What NVML tells of the first GPU.
std::string nvml(const std::string& facts) {
  return "rdmabench/gpu/0000:19:00.0: answer=0\\n" + facts + "\\n";
}

const std::string kImexTurnedOn =
    "etc/systemd/system/multi-user.target.wants/nvidia-imex.service -> /lib/systemd/system/nvidia-imex.service";

/// The virtual function of "vf-down".
const std::string kVirtual = "sys/devices/pci0000:60/0000:60:01.0/0000:61:00.1/infiniband/mlx5_1/";

std::vector<Case> device_cases() {
  const std::string sensor = "$D0/hwmon/hwmon3/temp2_";
  const std::vector<std::string> cool{sensor + "input: 55000\\n", sensor + "crit: 70000\\n",
                                      sensor + "label: Module0\\n"};
  const auto hot = [&](const char* input) {
    std::vector<std::string> edits = cool;
    edits[0] = sensor + "input: " + input + "\\n";
    return edits;
  };
  // Another function, without an RDMA device: device.registered WARNs, and with it device.count.
  const std::string third = "sys/devices/pci0000:c0/0000:c1:00.0";
  const std::vector<std::string> unregistered{
      "sys/bus/pci/devices/0000:c1:00.0 -> /" + third, third + "/class: 0x020000\\n",
      third + "/vendor: 0x15b3\\n", third + "/device: 0x101b\\n",
      third + "/driver -> /sys/bus/pci/drivers/mlx5_core"};
  return {
      {"device.temperature", kPass, kRoce, cool},
      {"device.temperature", kPass, kRoce, hot("64999")},
      {"device.temperature", kWarn, kRoce, hot("65000")},
      {"device.temperature", kFail, kRoce, hot("70000")},
      {"device.temperature", kSkip, kRoce},
      {"device.count", kPass, kIb, {}, {"devices=2"}},
      {"device.count", kFail, kIb, {}, {"devices=8"}},
      {"device.count", kWarn, kIb, {}, {"devices=1"}},
      {"device.count", kSkip, kIb},
      {"device.count", kSkip, kIb, {}, {"rate_gbps=400"}},
      {"device.count", kFail, kVm, {}, {"rate_gbps=400"}},
      {"device.count", kFail, kVm, {}, {"firmware=28.43.1014"}},
      {"device.count", kSkip, kVm, {}, {"kernel=6.1.0"}},
      {"device.count", kPass, kVm, {}, {"devices=0", "mtu=4096"}},
      {"device.registered", kPass, kIb},
      {"device.registered", kPass, kEfa},
      {"device.registered", kFail, kIb, {"-$D0/infiniband", "-sys/class/infiniband/mlx5_0"}},
      {"device.registered",  // lent to a virtual machine
       kPass,
       kIb,
       {"-$D0/infiniband", "-sys/class/infiniband/mlx5_0", "$D0/driver -> ../x/vfio-pci"}},
      {"device.registered",  // its module is loaded and did not take it
       kFail,
       kIb,
       {"-$D0/infiniband", "-sys/class/infiniband/mlx5_0", "-$D0/driver",
        "$D0/driver_override: (null)\\n", "sys/module/mlx5_core/refcnt: 1\\n"}},
      {"device.registered",
       kWarn,
       kRoce,
       {"-$D0/infiniband", "-sys/class/infiniband/mlx5_0", "-$D0/driver",
        "sys/module/mlx5_core/refcnt: 1\\n"}},
      {"device.registered",
       kPass,
       kIb,
       {"-$D0/infiniband", "-sys/class/infiniband/mlx5_0", "-$D0/driver",
        "$D0/driver_override: pci-stub\\n", "sys/module/mlx5_core/refcnt: 1\\n"}},
      {"device.registered", kSkip, kVm},
      {"device.registered", kWarn, "no-mlx5-ib"},
      {"device.registered", kFail, "no-mlx5-ib", {}, {"devices=2"}},
      {"device.registered", kFail, "no-mlx5-ib", {}, {"rate_gbps=100"}},
      {"device.registered", kWarn, "no-mlx4-ib"},
      {"device.registered", kWarn, "no-bnxt-re"},
      {"device.registered", kPass, "vf-down-pod"},
      {"device.registered",
       kSkip,
       "no-mlx5-ib",
       {".dockerenv: ", "sys/module/mlx5_ib/refcnt: 1\\n"}},
      {"device.registered",  // another network card, of which nobody wants RDMA
       kPass,
       kIb,
       {"sys/bus/pci/devices/0000:c1:00.0/class: 0x020000\\n",
        "sys/bus/pci/devices/0000:c1:00.0/vendor: 0x14e4\\n",
        "sys/bus/pci/devices/0000:c1:00.0/device: 0x16d7\\n",
        "sys/bus/pci/devices/0000:c1:00.0/driver -> ../../../bus/pci/drivers/bnxt_en",
        "sys/bus/pci/drivers/bnxt_en/bind: "}},
      {"device.uverbs", kPass, kIb},
      {"device.uverbs",
       kFail,
       kIb,
       {"rdmabench/dev_nodes: infiniband/uverbs0 Permission denied (EACCES)\\n"}},
      {"device.uverbs", kFail, kIb, {"-sys/class/infiniband_verbs/uverbs0"}},
      {"device.uverbs", kSkip, kIb, {"rdmabench/dev_nodes: "}},  // because of device.nodes
      {"device.ports", kPass, kIb, {}, {"ports=mlx5_0:1, mlx5_1"}},
      {"device.ports", kPass, kIb, {}, {"devices=mlx5_1"}},
      {"device.ports", kPass, kIb, {}, {"rails=2"}},
      {"device.ports", kFail, kIb, {}, {"rails=3"}},
      {"device.ports", kFail, kIb, {}, {"ports=mlx5_0:2"}},
      {"device.ports", kFail, kIb, {}, {"devices=mlx5_0,mlx5_7"}},
      {"device.count", kSkip, kRoce, unregistered, {"devices=1"}},
      {"device.ports", kFail, kRoce, unregistered, {"devices=1", "ports=mlx5_0:7"}},
      {"device.ports", kSkip, kIb},
      {"device.nodes", kPass, kIb},
      {"device.nodes", kFail, kIb, {"rdmabench/dev_nodes: "}},
      {"device.nodes", kWarn, kIb, {"rdmabench/dev_nodes: infiniband/uverbs1 opens\\n"}},
      {"device.nodes",
       kPass,
       kIb,
       {"rdmabench/dev_nodes: infiniband/uverbs1 opens\\n",
        "rdmabench/environment: NCCL_IB_HCA==mlx5_1\\n"}},
      {"device.nodes",
       kWarn,
       kIb,
       {"rdmabench/dev_nodes: infiniband/uverbs1 opens\\n",
        "rdmabench/environment: NCCL_IB_HCA=mlx5\\n"}},
      {"device.nodes", kSkip, kIb, kNoFacts},
      {"device.uverbs", kSkip, kIb, kNoFacts},
      {"device.uverbs", kSkip, kVm},
      {"device.rdma_cm", kPass, kIb},
      {"device.rdma_cm", kWarn, kIb, {"rdmabench/dev_nodes: infiniband/uverbs0 opens\\n"}},
      {"device.rdma_cm", kSkip, kEfa},
      {"device.names", kPass, kRoce},
      {"device.names", kFail, kRoce, {"$P0/gid_attrs/ndevs/0: ens2np0\\n"}},
      {"device.names", kSkip, kEfa},
      {"device.firmware", kPass, kIb},
      {"device.firmware", kPass, kIb, {}, {"firmware=28.39.1002, 28.43.1014"}},
      {"device.firmware", kWarn, kIb, {}, {"firmware=28.39.1002"}},
      {"device.firmware", kWarn, kIb, {"$I1/fw_ver: 28.39.1002\\n"}},
      {"device.firmware", kWarn, kRoce, {"$I0/fw_ver: 20.39.2048\\n"}, {}, "mlx5_0"},
      {"device.firmware", kPass, kRoce, {"$I0/fw_ver: 20.39.2048\\n"}, {}, "mlx5_1"},
      {"device.firmware", kSkip, kIb, {"-$I0/fw_ver"}},
      {"device.guid", kPass, kIb},
      {"device.guid", kFail, kIb, {"$I0/node_guid: 0000:0000:0000:0000\\n"}},
      {"device.guid", kFail, kIb, {"$I1/node_guid: a088:c203:00f1:0000\\n"}},
      {"device.guid", kWarn, kRoce, {"$I0/node_guid: 0000:0000:0000:0000\\n"}, {}, "mlx5_0"},
      {"device.guid", kSkip, kEfa},
      {"device.guid",  // which port.state tells of
       kSkip,
       "vf-down",
       {kVirtual + "node_guid: 0000:0000:0000:0000\\n"},
       {},
       "mlx5_1"},
      {"device.guid",
       kFail,
       "vf-down",
       {kVirtual + "node_guid: 0000:0000:0000:0000\\n", kVirtual + "ports/1/state: 4: ACTIVE\\n"},
       {},
       "mlx5_1"},
      {"device.mixed", kWarn, kRoce, {"$I0/node_type: 4: RNIC\\n"}},
      {"device.mixed",
       kPass,
       kRoce,
       {"$I0/node_type: 4: RNIC\\n", "rdmabench/environment: NCCL_IB_HCA=mlx5_0\\n"}},
      {"device.mixed", kSkip, kIb},
  };
}

/// The port of a card of its own.
const std::string kOnlyCard =
    "sys/devices/pci0000:80/0000:80:02.0/0000:81:00.0/infiniband/mlx5_0/ports/1/";

const std::string kSlower = "$P0/rate: 200 Gb/sec (4X HDR)\\n";

std::vector<Case> port_cases() {
  return {
      {"port.state", kPass, kIb},
      {"port.state", kFail, kIb, {"$P0/state: 1: DOWN\\n"}},
      {"port.state", kFail, kIb, {"$P0/state: 2: INIT\\n"}},
      {"port.state", kWarn, kIb, {"$P0/state: 3: ARMED\\n"}},
      {"port.state", kFail, "vf-down", {}, {}, "mlx5_1:1"},
      {"port.state", kFail, "vf-down-pod"},
      {"port.state",
       kSkip,
       "vf-down",
       {"sys/devices/pci0000:60/0000:60:01.0/0000:61:00.0/infiniband/mlx5_0/ports/1/state: 1: DOWN\\n"},
       {},
       "mlx5_1:1"},
      {"port.state", kSkip, "uncabled-port"},
      {"port.state", kFail, "uncabled-port", {}, {"ports=mlx5_0:1,mlx5_1:1"}},
      {"port.state", kFail, "uncabled-port", {}, {"rails=2"}},
      {"port.state", kSkip, "uncabled-port", {}, {"rails=1"}},
      {"port.state", kSkip, "uncabled-port", {}, {"devices=mlx5_1"}},
      {"port.state",
       kFail,
       "uncabled-port",
       {"rdmabench/environment: NCCL_IB_HCA==mlx5_0,mlx5_1\\n"}},
      {"port.state",
       kFail,
       "uncabled-port",
       {"rdmabench/environment: UCX_NET_DEVICES=mlx5_0:1\\n"}},
      {"port.state",
       kFail,
       "uncabled-port",
       {"rdmabench/environment: UCX_NET_DEVICES=mlx5_[0-0]:1\\n"}},
      {"port.state",
       kFail,
       "uncabled-port",
       {"rdmabench/environment: UCX_NET_DEVICES=^mlx5_[1-3]\\n"}},
      {"port.state", kSkip, "uncabled-port", {"rdmabench/environment: NCCL_IB_HCA=mlx5\\n"}},
      {"port.state", kFail, "uncabled-port", {"rdmabench/environment: NCCL_IB_HCA=^mlx5_1\\n"}},
      {"port.state", kSkip, "uncabled-port", {"rdmabench/environment: NCCL_IB_HCA=^=mlx5\\n"}},
      {"port.state", kFail, "uncabled-port", {"rdmabench/environment: NCCL_IB_HCA==mlx5_0:1\\n"}},
      {"port.state", kSkip, "uncabled-port", {"rdmabench/environment: NCCL_IB_HCA=mlx5_0:2\\n"}},
      {"port.state", kSkip, "uncabled-port", {"rdmabench/environment: NCCL_IB_HCA=^mlx5_0\\n"}},
      {"port.state",
       kFail,
       "uncabled-port",
       {"rdmabench/nccl_files: /etc/nccl.conf\tNCCL_IB_HCA==mlx5_0,mlx5_1\\n"}},
      {"port.state",  // which is before the file
       kFail,
       "uncabled-port",
       {"rdmabench/environment: NCCL_IB_HCA==mlx5_0:1\\n",
        "rdmabench/nccl_files: /etc/nccl.conf\tNCCL_IB_HCA=^mlx5_0\\n"}},
      {"port.state", kSkip, "iwarp", {}, {}, "i40iw1:1"},
      {"port.state", kFail, "iwarp", {kOnlyCard + "state: 1: DOWN\\n"}, {}, "mlx5_0:1"},
      {"port.state",  // an Ethernet card that nobody turned on
       kSkip,
       "iwarp",
       {kOnlyCard + "state: 1: DOWN\\n", kOnlyCard + "link_layer: Ethernet\\n",
        kOnlyCard + "gid_attrs/ndevs/0: eno9\\n", "sys/class/net/eno9/flags: 0x1002\\n"},
       {},
       "mlx5_0:1"},
      {"port.state", kSkip, kIb, {"$P0/state !EACCES"}},
      {"port.state", kSkip, kVm},
      {"port.phys_state", kPass, kIb},
      {"port.phys_state", kFail, kIb, {"$P0/phys_state: 2: Polling\\n"}},
      {"port.phys_state", kSkip, kIb, {"-$P0/phys_state"}},
      {"port.link_layer", kPass, kIb, {}, {"link_layer=InfiniBand"}},
      {"port.link_layer", kFail, kIb, {}, {"link_layer=Ethernet"}},
      {"port.link_layer", kSkip, kIb},
      {"port.rate", kPass, kIb},
      {"port.rate", kPass, kIb, {}, {"rate_gbps=400"}},
      {"port.rate", kFail, kIb, {}, {"rate_gbps=800"}},
      {"port.rate", kFail, kIb, {"$P0/rate: 100 Gb/sec (1X NDR)\\n"}},
      {"port.rate", kError, kIb, {"$P0/rate: fast\\n"}},
      {"port.rate", kSkip, kIb, {kSlower, "$P1/state: 1: DOWN\\n"}},
      {"port.rate", kSkip, kIb, {kSlower, "$P1/link_layer: Ethernet\\n"}},
      {"port.rate", kSkip, kIb, {kSlower, environment("NCCL_IB_HCA=mlx5_0")}},
      {"port.rate", kPass, kEfa, {"$P0/rate: 100 Gb/sec (4X EDR)\\n"}, {"rate_gbps=100"}},
      {"port.rate", kSkip, kEfa, {"$P0/rate: 100 Gb/sec (4X EDR)\\n"}, {"rate_gbps=400"}},
      {"port.lanes", kPass, kIb},
      {"port.lanes", kFail, kIb, {"$P0/rate: 100 Gb/sec (1X NDR)\\n"}},
      {"port.lanes", kError, kIb, {"$P0/rate: 100 Gb/sec\\n"}},
      {"port.lanes", kSkip, kRoce},
      {"port.interface", kPass, kRoce},
      {"port.interface", kFail, kRoce, {"$N0/operstate: down\\n"}},
      {"port.interface", kWarn, kIb, {"$N0/operstate: down\\n", "$N0/flags: 0x1003\\n"}},
      {"port.interface", kSkip, kIb, {"$N0/operstate: down\\n", "$N0/flags: 0x1002\\n"}},
      {"port.interface", kSkip, kIb, {"$N0/operstate: down\\n"}},
      {"port.interface", kSkip, kRoce, {"$N0/operstate: unknown\\n"}},
      {"port.interface", kPass, kRoce, {"$P0/gid_attrs/ndevs/0: eth9\\n"}},  // another namespace's
      {"port.interface", kSkip, kEfa},
      {"port.mtu", kPass, kIb},
      {"port.mtu", kPass, kRoce},
      {"port.mtu", kPass, kRoce, {"$N0/mtu: 4192\\n"}},
      {"port.mtu", kFail, kRoce, {"$N0/mtu: 4191\\n"}},
      {"port.mtu", kFail, kRoce, {"$N0/mtu: 1500\\n"}},
      {"port.mtu",  // a card of another network
       kWarn,
       kRoce,
       {"$N0/mtu: 1500\\n", "$I0/board_id: MT_0000000359\\n"}},
      {"port.mtu", kFail, kRoce, {}, {"mtu=1024"}},
      {"port.mtu", kPass, kRoce, {}, {"mtu=4096"}},
      {"port.mtu",
       kWarn,
       kIb,
       {"rdmabench/verbs: mlx5_0:1 active_mtu=2048\\nmlx5_1:1 active_mtu=2048\\n"}},
      {"port.mtu", kSkip, kIb, kNoFacts},
      {"port.mtu", kSkip, kEfa},
      {"port.flaps", kPass, kRoce},
      {"port.flaps", kWarn, kRoce, {"$N0/carrier_changes: 107\\n"}},
      {"port.flaps", kPass, kRoce, {"$N0/carrier_changes: 106\\n"}},
      {"port.flaps", kSkip, kRoce, {"-proc/uptime"}},
      {"port.subnet_manager", kPass, kIb},
      {"port.subnet_manager", kFail, kIb, {"$P0/sm_lid: 0x0\\n"}},
      {"port.subnet_manager", kError, kIb, {"$P0/sm_lid: none\\n"}},
      {"port.subnet_manager", kSkip, kRoce},
      {"port.lid", kPass, kIb},
      {"port.lid", kFail, kIb, {"$P0/lid: 0xffff\\n"}},
      {"port.lid", kFail, kIb, {"$P0/lid: 0x0\\n"}},
      {"port.lid", kSkip, kEfa},
      {"port.pkey", kPass, kIb},
      {"port.pkey", kWarn, kIb, {"$P0/pkeys/0: 0x7fff\\n"}},
      {"port.pkey", kPass, kIb, {"$P0/pkeys/0: 0x7fff\\n", "$P0/pkeys/1: 0x8001\\n"}},
      {"port.pkey", kSkip, kIb, {"$P0/pkeys/0: 0x0000\\n"}},
      {"port.fec", kPass, kRoce},
      {"port.fec", kWarn, kRoce, {ethernet("fec active=none")}},
      {"port.fec", kWarn, kRoce, {ethernet("fec active=baser")}},
      {"port.fec", kSkip, kRoce, {ethernet("fec active=none"), "$P0/state: 1: DOWN\\n"}},
      {"port.fec", kSkip, kRoce, {ethernet("fec active=none"), "$P0/rate: 50 Gb/sec (1X HDR)\\n"}},
      {"port.fec", kSkip, kRoce, {ethernet("fec active=none"), "$P0/rate: 200 Gb/sec\\n"}},
      {"port.fec", kPass, kRoce, {ethernet("fec active=none")}, {"fec=rs,none"}},
      {"port.fec", kFail, kRoce, {}, {"fec=baser"}},
      {"port.fec", kSkip, kRoce, {ethernet("fec active=none"), "$P0/rate: 100 Gb/sec (4X EDR)\\n"}},
      {"port.fec", kWarn, kRoce, {ethernet("fec active=none"), "$P0/rate: 100 Gb/sec (2X HDR)\\n"}},
      {"port.fec", kSkip, kRoce, {ethernet("fec active=unknown")}},
      {"port.fec", kSkip, kRoce, {ethernet("pfc 3")}},
      {"port.fec", kSkip, kRoce, kNoFacts},
      {"port.fec", kSkip, kIb},
      {"port.module", kPass, kRoce, {}, {"module=QSFP28+ Mellanox MCP1650-H003E26"}},
      {"port.module", kWarn, kRoce, {}, {"module=QSFP28+ Mellanox MCP1650-H001E30"}},
      {"port.module", kSkip, kRoce},
      {"port.module", kSkip, kRoce, {ethernet("pfc 3")}},
      {"port.module", kSkip, kEfa},
      {"port.rings", kPass, kRoce, {}, {"rx_ring=1024"}},
      {"port.rings", kWarn, kRoce, {}, {"rx_ring=8192"}},
      {"port.rings", kSkip, kRoce},
      {"port.rings", kSkip, kRoce, {ethernet("pfc 3")}},
  };
}

/// Ten days of uptime, so that ten a day are a hundred.
void add_counter(std::vector<Case>& cases, const std::string& check, const std::string& file,
                 const std::string& most, const std::string& more) {
  cases.push_back({check, kPass, kIb, {"$P0/" + file + ": " + most + "\\n"}});
  cases.push_back({check, kWarn, kIb, {"$P0/" + file + ": " + more + "\\n"}});
  cases.push_back({check, kError, kIb, {"$P0/" + file + ": many\\n"}});
  cases.push_back({check, kSkip, kIb, {"-$P0/" + file}});
  cases.push_back({check, kSkip, kIb, {"-proc/uptime"}});
}

std::vector<Case> counter_cases() {
  std::vector<Case> cases{
      {"counter.transmit_wait", kPass, kIb},
      {"counter.transmit_wait", kWarn, kIb, {"$P0/counters/port_xmit_wait: 900000000000\\n"}},
      {"counter.transmit_wait", kSkip, kIb, {"$P0/counters/port_xmit_data: 12\\n"}},
      {"counter.retransmissions", kPass, kIb},
      {"counter.retransmissions", kPass, kIb, {"$P0/hw_counters/packet_seq_err: 9000\\n"}},
      {"counter.retransmissions", kWarn, kIb, {"$P0/hw_counters/packet_seq_err: 9001\\n"}},
      {"counter.retransmissions",  // as adaptive routing makes it
       kPass,
       kIb,
       {"$P0/hw_counters/out_of_sequence: 900000\\n"}},
      {"counter.retransmissions", kWarn, kEfa, {"$P0/hw_counters/retrans_pkts: 90000\\n"}},
      {"counter.retransmissions", kSkip, kIb, {"-$P0/hw_counters"}},
      {"counter.receiver_not_ready", kPass, kIb},
      {"counter.receiver_not_ready", kWarn, kIb, {"$P0/hw_counters/rnr_nak_retry_err: 1000000\\n"}},
      {"counter.receiver_not_ready",
       kSkip,
       kIb,
       {"$P0/hw_counters/rnr_nak_retry_err: 5\\n", "$P0/counters/port_xmit_packets: 10\\n"}},
      {"counter.damaged", kPass, kIb},
      {"counter.damaged", kWarn, kIb, {"$P0/hw_counters/rx_icrc_encapsulated: 1\\n"}},
      {"counter.damaged", kSkip, kEfa},
      {"counter.given_up", kPass, kIb},
      {"counter.given_up", kWarn, kIb, {"$P0/hw_counters/req_transport_retries_exceeded: 101\\n"}},
      {"counter.given_up", kSkip, kEfa},
      {"counter.crc", kPass, kRoce},
      {"counter.crc", kWarn, kRoce, {"$N0/statistics/rx_crc_errors: 101\\n"}},
      {"counter.crc", kSkip, kEfa},
      {"counter.missed", kPass, kRoce},
      {"counter.missed", kWarn, kRoce, {"$N0/statistics/rx_missed_errors: 1001\\n"}},
      {"counter.missed", kSkip, kEfa},
      {"counter.fec", kPass, kRoce},
      {"counter.fec", kWarn, kRoce, {ethernet("fec active=rs uncorrected=1001")}},
      {"counter.fec", kSkip, kRoce, {ethernet("fec active=rs")}},
      {"counter.fec", kSkip, kIb},
  };
  add_counter(cases, "counter.symbol_error", "counters/symbol_error", "100", "101");
  add_counter(cases, "counter.link_error_recovery", "counters/link_error_recovery", "100", "101");
  add_counter(cases, "counter.link_downed", "counters/link_downed", "100", "101");
  add_counter(cases, "counter.receive_errors", "counters/port_rcv_errors", "100", "101");
  add_counter(cases, "counter.remote_physical", "counters/port_rcv_remote_physical_errors", "1000",
              "1001");
  add_counter(cases, "counter.link_integrity", "counters/local_link_integrity_errors", "100",
              "101");
  add_counter(cases, "counter.buffer_overrun", "counters/excessive_buffer_overrun_errors", "100",
              "101");
  add_counter(cases, "counter.constraint", "counters/port_rcv_constraint_errors", "1000", "1001");
  add_counter(cases, "counter.transmit_discards", "counters/port_xmit_discards", "1000", "1001");
  return cases;
}

const std::string kMapped = "0000:0000:0000:0000:0000:ffff:0a00:0007";
const std::string kRoutes =
    "proc/net/route: Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\\n";
/// None over the first.
const std::string kFirstWithout = kRoutes +
                                  "ens2np0 0000010A 00000000 0001 0 0 0 00FFFFFF 0 0 0\\n"
                                  "ens3np0 0000020A 00000000 0001 0 0 0 00FFFFFF 0 0 0\\n"
                                  "ens4np0 0000030A 00000000 0001 0 0 0 00FFFFFF 0 0 0\\n";
/// The first two on one network.
const std::string kShared = kRoutes +
                            "ens1np0 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\\n"
                            "ens2np0 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\\n"
                            "ens3np0 0000020A 00000000 0001 0 0 0 00FFFFFF 0 0 0\\n"
                            "ens4np0 0000030A 00000000 0001 0 0 0 00FFFFFF 0 0 0\\n";
/// Each on its own, of 65536 addresses.
const std::string kWide = kRoutes +
                          "ens1np0 00000A0A 00000000 0001 0 0 0 0000FFFF 0 0 0\\n"
                          "ens2np0 00000B0A 00000000 0001 0 0 0 0000FFFF 0 0 0\\n"
                          "ens3np0 00000C0A 00000000 0001 0 0 0 0000FFFF 0 0 0\\n"
                          "ens4np0 00000D0A 00000000 0001 0 0 0 0000FFFF 0 0 0\\n";
/// A routed fabric: every peer is behind a router.
const std::string kGateways = kRoutes +
                              "ens1np0 0000000A 0100010A 0003 0 0 0 000000FF 0 0 0\\n"
                              "ens2np0 0000000A 0100020A 0003 0 0 0 000000FF 0 0 0\\n"
                              "ens3np0 0000000A 0100030A 0003 0 0 0 000000FF 0 0 0\\n"
                              "ens4np0 0000000A 0100040A 0003 0 0 0 000000FF 0 0 0\\n";

std::string ipv6_route(const std::string& network, const std::string& interface) {
  const std::string none(32, '0');
  return network + none.substr(network.size()) + " 40 " + none + " 00 " + none +
         " 00000100 00000001 00000000 00000001 " + interface + "\\n";
}
/// No address but of IPv6.
const std::string kIpv6Routes =
    "proc/net/ipv6_route: " + ipv6_route("fe80", "ens1np0") +
    ipv6_route("20010db800000001", "ens1np0") + ipv6_route("20010db800000002", "ens2np0") +
    ipv6_route("20010db800000003", "ens3np0") + ipv6_route("20010db800000004", "ens4np0");
/// Every GID is of a network device that this namespace lacks.
const std::vector<std::string> kOtherNamespace{
    "$P0/gid_attrs/ndevs/0: eth9\\n", "$P0/gid_attrs/ndevs/1: eth9\\n",
    "$P0/gid_attrs/ndevs/2: eth9\\n", "$P0/gid_attrs/ndevs/3: eth9\\n"};
const std::string kNotOurs = "0000:0000:0000:0000:0000:ffff:0a63:0007";
const std::string kIpv4 = "proc/sys/net/ipv4/conf/";
const std::string kManager = "sys/kernel/config/rdma_cm/mlx5_0/ports/1/";

std::vector<Case> address_cases() {
  return {
      {"address.gid", kPass, kIb},
      {"address.gid", kFail, kIb, {"$P0/gids/0: 0000:0000:0000:0000:0000:0000:0000:0000\\n"}},
      {"address.gid", kSkip, kIb, {"-$P0/gids"}},
      {"address.gid",  // the first entries are of other namespaces
       kPass,
       kRoce,
       {"-$P0/gids/0", "-$P0/gids/1"}},
      {"address.gid", kFail, kRoce, {"-$P0/gids/0", "-$P0/gids/1", "-$P0/gids/2", "-$P0/gids/3"}},
      {"address.gid", kFail, kRoce, kOtherNamespace},
      {"address.roce_v2", kPass, kRoce},
      {"address.roce_v2", kWarn, kRoce, {"-$P0/gids/2", "-$P0/gids/3"}},
      {"address.roce_v2", kWarn, kRoce, {"-$P0/gids/2", "-$P0/gids/3", "$D0/sriov_numvfs: 0\\n"}},
      {"address.roce_v2",  // of a host whose guests have the addresses
       kSkip,
       kRoce,
       {"-$P0/gids/2", "-$P0/gids/3", "$D0/sriov_numvfs: 4\\n"}},
      {"address.roce_v2",
       kSkip,
       kRoce,
       {"-$P0/gids/2", "-$P0/gids/3", "$N0/master -> ../../../../../virtual/net/br0"}},
      {"address.roce_v2", kWarn, kRoce, {"-$P0/gids/3"}},  // RoCE v1 of an IP address
      {"address.roce_v2",                                  // IPv6 alone
       kPass,
       kRoce,
       {"-$P0/gids/2", "$P0/gids/3: 2001:0db8:0000:0000:0000:0000:0000:0007\\n"}},
      {"address.roce_v2", kSkip, kRoce, {"-$P0/gid_attrs"}},
      {"address.roce_v2", kSkip, kRoce, kOtherNamespace},
      {"address.roce_v2",
       kSkip,
       kRoce,
       {"-$P0/gids/0", "-$P0/gids/1", "-$P0/gids/2", "-$P0/gids/3"}},
      {"address.roce_v2", kSkip, kIb},
      {"address.gid_interface", kPass, kRoce},
      {"address.gid_interface", kPass, kRoce, {"$P0/gid_attrs/ndevs/3: eth9\\n"}},
      {"address.gid_interface", kPass, kRoce, {"$P0/gid_attrs/ndevs/3: ../../../x\\n"}},
      {"address.gid_interface", kFail, kRoce, kOtherNamespace},
      {"address.gid_interface", kSkip, kRoce, {"-$P0/gid_attrs"}},
      {"address.gid_address", kPass, kRoce},
      {"address.gid_address",
       kFail,
       kRoce,
       {"$P0/gids/2: " + kNotOurs + "\\n", "$P0/gids/3: " + kNotOurs + "\\n"}},
      {"address.gid_address", kPass, kRoce, {"$P0/gids/3: " + kNotOurs + "\\n"}},  // another pod's
      {"address.gid_address", kSkip, kRoce, {"-proc/net/fib_trie"}},
      {"address.gid_address", kSkip, kRoce, kOtherNamespace},
      {"address.gid_index", kPass, kRoce},
      {"address.gid_index", kPass, kRoce, {}, {"gid_index=3"}},
      {"address.gid_index", kWarn, kRoce, {}, {"gid_index=5"}},
      {"address.gid_index",
       kWarn,
       kRoce,
       {"-$P0/gids/3", "$P0/gids/5: " + kMapped + "\\n", "$P0/gid_attrs/types/5: RoCE v2\\n"}},
      {"address.gid_index", kSkip, kIb},
      {"address.rp_filter", kPass, kRoce},
      {"address.rp_filter", kPass, kRoce, {kIpv4 + "ens1np0/rp_filter: 1\\n"}},
      {"address.rp_filter", kPass, kRoce, {kShared, kIpv4 + "ens3np0/rp_filter: 1\\n"}},
      {"address.rp_filter", kWarn, kRoce, {kShared, kIpv4 + "ens1np0/rp_filter: 1\\n"}},
      {"address.rp_filter", kSkip, kRoce, {kShared, "-" + kIpv4 + "all/rp_filter"}},
      {"address.rp_filter", kSkip, kIb},
      {"address.arp", kPass, kRoce},
      {"address.arp", kWarn, kRoce, {kShared}},
      {"address.arp",
       kPass,
       kRoce,
       {kShared, kIpv4 + "all/arp_ignore: 1\\n", kIpv4 + "all/arp_announce: 2\\n"}},
      {"address.arp", kSkip, kIb},
      {"address.routes", kPass, kRoce},
      {"address.routes", kWarn, kRoce, {kRoutes}},
      {"address.routes", kPass, kRoce, {kRoutes, kIpv6Routes}},
      {"address.routes", kPass, kRoce, {kGateways}},
      {"address.routes", kPass, kRoce, {kShared}},
      {"address.routes", kSkip, kIb},
      {"address.routes",  // a bond in a VRF
       kSkip,
       kRoce,
       {kFirstWithout, "$D0/net/ens1np0/master -> /sys/devices/virtual/net/bond0",
        "sys/devices/virtual/net/bond0/bonding/mode: 802.3ad 4\\n",
        "sys/devices/virtual/net/bond0/master -> /sys/devices/virtual/net/vrf0",
        "sys/class/net/bond0 -> /sys/devices/virtual/net/bond0"}},
      {"address.routes",  // a bond
       kWarn,
       kRoce,
       {kFirstWithout, "$D0/net/ens1np0/master -> /sys/devices/virtual/net/bond0",
        "sys/devices/virtual/net/bond0/bonding/mode: 802.3ad 4\\n",
        "sys/class/net/bond0 -> /sys/devices/virtual/net/bond0"}},
      {"address.neighbours", kPass, kRoce, {kWide}, {"nodes=2048"}},
      {"address.neighbours", kFail, kRoce, {kWide}, {"nodes=2049"}},
      {"address.neighbours", kPass, kRoce, {}, {"nodes=100000"}},  // 256 addresses a network
      {"address.neighbours", kPass, kRoce, {kGateways}, {"nodes=100000"}},
      {"address.neighbours", kSkip, kRoce},
      {"address.cm_tos", kPass, kRoce, {kManager + "default_roce_tos: 106\\n"}, {"tos=106"}},
      {"address.cm_tos", kWarn, kRoce, {kManager + "default_roce_tos: 0\\n"}, {"tos=106"}},
      {"address.cm_tos", kSkip, kRoce, {kManager + "default_roce_tos: 106\\n"}},
  };
}

std::vector<Case> qos_cases() {
  const std::string map =
      "$N0/qos/dscp2prio: dscp2prio mapping:\\n\tprio:0 dscp:07,06,\\n\tprio:3 dscp:26,27,\\n";
  std::vector<Case> cases{
      {"qos.pause_frames", kPass, kRoce},
      {"qos.pause_frames", kPass, kRoce, {ethernet("pfc 3\\npfc_frames prio=3 rx=51000000 tx=9")}},
      {"qos.pause_frames", kWarn, kRoce, {ethernet("pfc 3\\npfc_frames prio=3 rx=52000000 tx=9")}},
      {"qos.pause_frames", kWarn, kRoce, {ethernet("pfc 3\\npfc_frames prio=3 rx=0 tx=52000000")}},
      {"qos.pause_frames", kSkip, kRoce, {ethernet("pause rx=off tx=off")}},
      {"qos.pause_frames", kSkip, kIb},
      {"qos.trust", kPass, kRoce},
      {"qos.trust", kWarn, kRoce, {"$N0/qos/trust: pcp\\n"}},
      {"qos.trust", kPass, kRoce, {"$N0/qos/trust: pcp\\n"}, {"trust=pcp"}},
      {"qos.trust", kPass, kRoce, {"-$N0/qos"}},
      {"qos.trust", kWarn, kRoce, {"-$N0/qos", ethernet("pfc 3")}},
      {"qos.trust", kWarn, kRoce, {"-$N0/qos", ethernet("pfc 3\\ntrust pcp")}},
      {"qos.trust", kSkip, kRoce, {"-$N0/qos", ethernet("pause rx=off tx=off")}},
      {"qos.trust", kSkip, kRoce, {"-$N0/qos", "-rdmabench"}},
      {"qos.trust", kSkip, kRoce, {cpuinfo("constant_tsc nonstop_tsc hypervisor")}},
      {"qos.dscp", kPass, kRoce, {map}, {"tos=106", "priority=3"}},
      {"qos.dscp", kPass, kRoce, {map}, {"tos=28", "priority=0"}},
      {"qos.dscp", kFail, kRoce, {map}, {"tos=106", "priority=4"}},
      {"qos.dscp", kError, kRoce, {map}, {"tos=200", "priority=4"}},
      {"qos.dscp", kSkip, kRoce, {map}},
      {"qos.dscp", kPass, kRoce, {}, {"tos=106", "priority=3"}},
      {"qos.dscp", kFail, kRoce, {ethernet("pfc 3\\nprio:4 dscp:26")}, {"tos=106", "priority=3"}},
      {"qos.dscp", kFail, kRoce, {ethernet("pfc 3\\nprio:6 dscp:48")}, {"tos=106", "priority=3"}},
      {"qos.dscp", kSkip, kRoce, {ethernet("pfc 3")}, {"tos=106", "priority=3"}},
      {"qos.dscp", kSkip, kRoce, {ethernet("pause rx=on tx=on")}, {"tos=106", "priority=3"}},
      {"qos.pfc", kPass, kRoce},
      {"qos.pfc", kPass, kRoce, {}, {"priority=3"}},
      {"qos.pfc", kFail, kRoce, {}, {"priority=4"}},
      {"qos.pfc", kPass, kRoce, {ethernet("pfc 3+4")}, {"priority=3"}},
      {"qos.pfc", kPass, kRoce, {ethernet("pause rx=on tx=on\\npfc none")}},
      {"qos.pfc", kSkip, kRoce, {ethernet("pause rx=on tx=off\\npfc none")}},
      {"qos.pfc", kSkip, kRoce, {"$I0/node_type: 4: RNIC\\n", ethernet("pfc none")}},
      {"qos.pfc", kPass, kRoce, {ethernet("pfc 3+4")}},
      {"qos.pfc", kSkip, kRoce, {ethernet("pfc none")}},
      {"qos.pfc", kWarn, kRoce, {ethernet("pfc 0+1+2+3+4+5+6+7")}},
      {"qos.pfc", kPass, kRoce, {ethernet("pfc none")}, {"pfc=none"}},
      {"qos.pfc", kFail, kRoce, {}, {"pfc=none"}},
      {"qos.pfc", kSkip, kRoce, {ethernet("fec active=rs")}},
      {"qos.pfc", kSkip, kRoce, kNoFacts},
      {"qos.pfc", kSkip, kIb},
      {"qos.pfc", kSkip, kRoce, {cpuinfo("constant_tsc nonstop_tsc hypervisor")}},
      {"qos.pause", kPass, kRoce},
      {"qos.pause", kPass, kRoce, {ethernet("pause rx=on tx=on\\npfc none")}},
      {"qos.pause", kPass, kRoce, {ethernet("pause rx=on tx=on")}},
      {"qos.pause", kWarn, kRoce, {ethernet("pause rx=off tx=on\\npfc 3")}},
      {"qos.pause", kSkip, kRoce, {ethernet("pfc 3")}},
      {"qos.pause", kSkip, kIb},
  };
  for (const std::string role : {"roce_np", "roce_rp"}) {
    const std::string check = role == "roce_np" ? "qos.ecn_notification" : "qos.ecn_reaction";
    const std::string file = "$N0/ecn/" + role + "/enable";
    cases.push_back({check, kPass, kRoce});
    cases.push_back({check, kPass, kRoce, {}, {"priority=3"}});
    cases.push_back({check, kWarn, kRoce, {}, {"priority=4"}});
    cases.push_back({check, kWarn, kRoce, {file + "/3: 0\\n"}});
    cases.push_back({check, kSkip, kRoce, {"-" + file}});
  }
  return cases;
}

std::vector<Case> pcie_cases() {
  const std::string speed8 = "/current_link_speed: 8.0 GT/s PCIe\\n";
  const std::string kSlowRoot = "$R0/current_link_speed: 16.0 GT/s PCIe\\n";
  const std::string kSlowRootMost = "$R0/max_link_speed: 16.0 GT/s PCIe\\n";
  const std::vector<std::string> shared{
      "sys/devices/pci0000:00/0000:00:02.0/aer_dev_fatal: DLP 1\\nTOTAL_ERR_FATAL 1\\n"};
  // Another function of the first card, and payloads of it, of the upper port and of the bridge.
  const auto second = [](const std::string& own, const std::string& upper,
                         const std::string& bridge = "3059") {
    const std::string folder =
        "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.1";
    return std::vector<std::string>{
        "-rdmabench",
        "sys/class/infiniband/mlx5_2 -> /" + folder + "/infiniband/mlx5_2",
        folder + "/infiniband/mlx5_2/device -> /" + folder,
        config(folder, own),
        config("$U0", upper),
        config("$B0", bridge)};
  };
  std::vector<Case> cases{
      {"pcie.width", kPass, kIb},
      {"pcie.width", kFail, kIb, {"$D0/current_link_width: 8\\n"}},
      {"pcie.width", kPass, kIb, {"$D0/current_link_width: 8\\n", "$B0/max_link_width: 8\\n"}},
      {"pcie.width", kSkip, kEfa},
      {"pcie.width", kPass, "uncabled-port", {}, {}, "mlx5_1"},  // mlx5_0 is not judged
      {"pcie.width", kSkip, "uncabled-port", {}, {"rails=2"}, "mlx5_1"},
      {"pcie.speed", kPass, kIb},
      {"pcie.speed", kFail, kIb, {"$D0" + speed8}},
      {"pcie.speed", kPass, kIb, {"$D0" + speed8, "$B0/max_link_speed: 8 GT/s\\n"}},
      {"pcie.speed", kSkip, kEfa},
      {"pcie.path", kPass, kIb},
      {"pcie.path",
       kFail,
       kIb,
       {"$B0/current_link_speed: 16.0 GT/s PCIe\\n", "$B0/max_link_speed: 16.0 GT/s PCIe\\n"}},
      {"pcie.path",  // what a GPU below the same switch does not use
       kPass,
       kIb,
       {kSlowRoot, kSlowRootMost}},
      {"pcie.path", kFail, kIb, {kSlowRoot, kSlowRootMost, "-$G0/class"}},
      {"pcie.path", kSkip, kIb, {"$R0/current_link_width: 8\\n"}},  // because of pcie.bridges
      {"pcie.path",  // 40 Gb/s of which 8b/10b leaves 32 on the link and on PCIe alike
       kPass,
       kIb,
       {"$P0/rate: 40 Gb/sec (4X QDR)\n", "$D0/current_link_speed: 5.0 GT/s PCIe\n",
        "$D0/current_link_width: 8\n", "$D0/max_link_speed: 5.0 GT/s PCIe\n",
        "$D0/max_link_width: 8\n"}},
      {"pcie.path", kFail, kRoce, {"$D0/current_link_width: 8\\n", "$D0/max_link_width: 8\\n"}},
      {"pcie.path",  // a bond of both ports of a card, of which `rate` tells one
       kFail,
       kRoce,
       {"$D0/net/ens1np0/master -> /sys/devices/virtual/net/bond0",
        "$D0/max_link_speed: 32.0 GT/s PCIe\\n",
        "sys/devices/virtual/net/bond0/bonding/mode: 802.3ad 4\\n",
        "sys/devices/virtual/net/bond0/lower_ens1np0 -> /$D0/net/ens1np0",
        "sys/devices/virtual/net/bond0/lower_ens1np1 -> /sys/devices/second/net/ens1np1",
        "sys/devices/second/net/ens1np1/device -> /sys/devices/0000:01:00.1",
        "sys/devices/0000:01:00.1/vendor: 0x15b3\\n"}},
      {"pcie.path", kSkip, kIb, {"-$P0/rate"}},
      {"pcie.path", kSkip, kEfa},
      {"pcie.bridges", kPass, kIb},
      {"pcie.bridges", kFail, kIb, {"$U0/current_link_width: 8\\n"}},
      {"pcie.bridges", kFail, kIb, {"$R0" + speed8}},
      {"pcie.bridges", kSkip, kRoce},
      {"pcie.max_read_request", kPass, kIb},
      {"pcie.max_read_request", kWarn, kIb, {config("$D0", "3029")}},
      {"pcie.max_read_request",
       kSkip,
       kIb,
       {config("$D0", "3059", "0000", "21800010", "0000", "64")}},
      {"pcie.max_read_request", kSkip, kIb, {"$D0/config !EACCES"}},
      {"pcie.max_read_request", kSkip, kIb, {"$D0/config: "}},
      {"pcie.max_read_request", kSkip, kIb, {"$D0/config:hex 16 ffff"}},
      {"pcie.max_read_request", kSkip, kIb, {config("$D0", "0000"), "$D0/physfn/"}},
      {"pcie.max_read_request",
       kSkip,
       kIb,
       {config("$D0", "0000"), cpuinfo("constant_tsc hypervisor")}},
      {"pcie.max_read_request", kWarn, kIb, {config("$D0", "0000")}},
      {"pcie.max_payload", kPass, kIb},
      {"pcie.max_payload", kFail, kIb, {config("$D0", "5059")}},
      {"pcie.max_payload", kPass, kIb, {config("$B0", "5059", "0000", "22800010")}},
      {"pcie.max_payload", kWarn, kIb, {config("$D0", "1059"), config("$B0", "1059")}},
      {"pcie.max_payload",
       kPass,
       kIb,
       {config("$D0", "1059"), config("$B0", "1059", "0000", "20800010")}},
      {"pcie.max_payload", kSkip, kIb, {config("$D0", "0000"), "$D0/physfn/"}},
      {"pcie.max_payload", kSkip, kIb, {"$B0/config: "}},
      {"pcie.max_payload", kSkip, kRoce},
      {"pcie.relaxed_ordering", kPass, kIb},
      {"pcie.relaxed_ordering", kPass, kIb, {config("$D0", "2059")}},
      {"pcie.relaxed_ordering",
       kWarn,
       kIb,
       {config("$D0", "2059"), cpuinfo("constant_tsc", "AuthenticAMD")}},
      {"pcie.relaxed_ordering", kSkip, kRoce},
      {"pcie.relaxed_ordering", kSkip, kIb, {config("$D0", "0000"), "$D0/physfn/"}},
      {"pcie.write_ordering", kPass, kIb, {write_ordering("per_mkey(0)", "per_mkey(0)")}},
      {"pcie.write_ordering", kWarn, kIb, {write_ordering("force_relax(1)", "force_relax(1)")}},
      {"pcie.write_ordering", kWarn, kIb, {write_ordering("force_relax(1)", "per_mkey(0)")}},
      {"pcie.write_ordering", kWarn, kIb, {write_ordering("per_mkey(0)", "force_relax(1)")}},
      {"pcie.write_ordering", kError, kIb, {write_ordering("something(2)", "per_mkey(0)")}},
      {"pcie.write_ordering", kError, kIb, {"rdmabench/firmware/0000:18:00.0: -W- nothing\\n"}},
      {"pcie.write_ordering",
       kSkip,
       kIb,
       {"rdmabench/firmware/0000:18:00.0: not told: neither mstconfig nor mlxconfig is there\\n"}},
      {"pcie.write_ordering", kSkip, kIb, {"rdmabench/firmware/0000:18:00.0 !EACCES"}},
      {"pcie.write_ordering", kSkip, kIb},
      {"pcie.write_ordering", kSkip, kEfa},
      {"pcie.correctable", kPass, kIb},
      {"pcie.correctable",
       kWarn,
       kIb,
       {"$D0/aer_dev_correctable: BadTLP 101\\nTOTAL_ERR_COR 101\\n"}},
      {"pcie.correctable", kError, kIb, {"$D0/aer_dev_correctable: BadTLP 101\\n"}},
      {"pcie.correctable", kSkip, kEfa},
      {"pcie.correctable",  // the firmware keeps them
       kSkip,
       kIb,
       {"-sys/bus/pci_express/drivers/aer/0000:15:01.0:pcie002"}},
      {"pcie.bridge_errors", kPass, kIb},
      {"pcie.bridge_errors", kFail, kIb, {"$R0/aer_dev_fatal: DLP 1\\nTOTAL_ERR_FATAL 1\\n"}},
      {"pcie.bridge_errors",
       kWarn,
       kIb,
       {"$U0/aer_dev_correctable: RxErr 101\\nTOTAL_ERR_COR 101\\n",
        "-sys/bus/pci_express/drivers/aer/0000:15:01.0:pcie002"}},
      {"pcie.bridge_errors", kError, kIb, {"$R0/aer_dev_fatal: DLP 1\\n"}},
      {"pcie.bridge_errors", kSkip, kIb, {"-sys/bus/pci_express/drivers/aer/0000:15:01.0:pcie002"}},
      {"pcie.bridge_errors", kFail, "uncabled-port", shared, {"rails=2"}, "mlx5_0"},
      {"pcie.bridge_errors", kSkip, "uncabled-port", shared, {"rails=2"}, "mlx5_1"},
      {"pcie.bridge_errors", kFail, "uncabled-port", shared, {}, "mlx5_1"},  // mlx5_0 is not judged
      {"pcie.bridge_errors", kSkip, kEfa},
      {"pcie.max_payload", kPass, kIb, {config("$R0", "5059")}},
      {"pcie.max_payload", kFail, kIb, {config("$U0", "1059")}},
      {"pcie.max_payload", kFail, kIb, {config("$B0", "1059")}},
      {"pcie.max_payload", kFail, kIb, second("3059", "1059"), {}, "mlx5_0"},
      {"pcie.max_payload", kSkip, kIb, second("3059", "1059"), {}, "mlx5_2"},
      {"pcie.max_payload", kSkip, kIb, second("3059", "3059", "1059"), {}, "mlx5_2"},
      {"pcie.max_payload", kWarn, kIb, second("1059", "1059"), {}, "mlx5_2"},
      {"pcie.max_payload", kFail, kIb, second("5059", "3059", "5059"), {}, "mlx5_2"},
      {"gpu.pcie_errors", kPass, kIb},
      {"gpu.pcie_errors", kFail, kIb, {"$G0/aer_dev_fatal: DLP 1\\nTOTAL_ERR_FATAL 1\\n"}},
      {"gpu.pcie_errors", kPass, kIb, {"$R0/aer_dev_fatal: DLP 1\\nTOTAL_ERR_FATAL 1\\n"}},
      {"gpu.pcie_errors", kWarn, kIb, {"$G0/aer_dev_nonfatal: DLP 1\\nTOTAL_ERR_NONFATAL 1\\n"}},
      {"gpu.pcie_errors", kSkip, kEfa},
      {"gpu.max_read_request", kPass, kIb},
      {"gpu.max_read_request", kWarn, kIb, {config("$G0", "3019")}},
      {"gpu.max_read_request",
       kSkip,
       kIb,
       {config("$G0", "3059", "0000", "21800010", "0000", "64")}},
      {"gpu.max_payload", kPass, kIb},
      {"gpu.max_payload", kSkip, kIb, {config("$R0", "1059")}},  // told with a device
      {"gpu.max_payload",
       kFail,
       kIb,
       {config("sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0", "1059")}},
      {"gpu.max_payload", kSkip, kEfa},
      {"pcie.nonfatal", kPass, kIb},
      {"pcie.nonfatal", kWarn, kIb, {"$D0/aer_dev_nonfatal: DLP 1\\nTOTAL_ERR_NONFATAL 1\\n"}},
      {"pcie.nonfatal", kSkip, kEfa},
      {"pcie.fatal", kPass, kIb},
      {"pcie.fatal", kFail, kIb, {"$D0/aer_dev_fatal: DLP 1\\nTOTAL_ERR_FATAL 1\\n"}},
      {"pcie.fatal", kSkip, kEfa},
      {"pcie.alive", kPass, kRoce},
      {"pcie.alive", kFail, kRoce, {"$D0/config:hex 64 ffffffffffff"}},
      {"pcie.alive", kError, kRoce, {"$D0/config:hex 16 ffff"}},
      {"pcie.alive", kSkip, kRoce, {"$D0/config !EACCES"}},
      {"pcie.bus_master", kPass, kRoce},
      {"pcie.bus_master", kFail, kRoce, {"$D0/config:hex 64 b3151b100200"}},
      {"pcie.bus_master", kSkip, kRoce, {"-$D0/config"}},
      {"pcie.bus_master", kSkip, kRoce, {"$D0/config: "}},
      {"pcie.power", kPass, kIb},
      {"pcie.power", kFail, kIb, {"$D0/power_state: D3hot\\n"}},
      {"pcie.power", kSkip, kEfa},
      {"pcie.aspm", kPass, kIb},
      {"pcie.aspm", kWarn, kIb, {"$D0/link/l1_aspm: 1\\n"}},
      {"pcie.aspm", kSkip, kEfa},
  };
  return cases;
}

std::vector<Case> iommu_cases() {
  const std::string translated = "sys/kernel/iommu_groups/10/type: DMA-FQ\\n";
  const std::string vm = cpuinfo("constant_tsc nonstop_tsc hypervisor");
  std::vector<std::string> unreadable;
  for (const std::string root :
       {"sys/devices/pci0000:15/0000:15:01.0", "sys/devices/pci0000:97/0000:97:01.0"}) {
    const std::string up =
        root + (root.find(":15:") != std::string::npos ? "/0000:16:00.0" : "/0000:98:00.0");
    const std::string bus = root.find(":15:") != std::string::npos ? "/0000:17:0" : "/0000:99:0";
    for (const std::string& bridge : {root, up, up + bus + "0.0", up + bus + "1.0"}) {
      unreadable.push_back(bridge + "/config !EACCES");
    }
  }
  return {
      {"iommu.data_direct", kPass, "gb300"},
      {"iommu.data_direct",
       kFail,
       "gb300",
       {"sys/devices/pci0001:00/0001:00:00.0/0001:01:00.0/0001:02:03.0/0001:06:00.0/iommu_group -> "
        "../../../../../../../kernel/iommu_groups/70"}},
      {"iommu.data_direct", kSkip, kIb},
      {"iommu.device", kPass, kIb},
      {"iommu.device", kWarn, kIb, {translated}},
      {"iommu.device", kSkip, kIb, {translated, vm}},
      {"iommu.device", kSkip, kIb, {"-$D0/iommu_group", "-sys/class/iommu"}},
      {"iommu.device", kPass, kIb, {"-$D0/iommu_group", "-sys/class/iommu", "sys/class/iommu/"}},
      {"iommu.device", kSkip, kIb, {"-$D0/iommu_group"}},
      {"iommu.gpu", kPass, kIb},
      {"iommu.gpu", kWarn, kIb, {"sys/kernel/iommu_groups/20/type: DMA\\n"}},
      {"iommu.gpu", kSkip, kIb, {"-sys/kernel/iommu_groups/20/type"}},
      {"iommu.acs", kPass, kIb},
      {"iommu.acs", kFail, kIb, {config("$B0", "3059", "0000", "21800010", "1d00")}},
      {"iommu.acs", kFail, kIb, {config("$R0", "3059", "0000", "21800010", "0100")}},
      {"iommu.acs", kPass, kIb, {config("$B0", "3059", "0000", "21800010", "1d00", "64")}},
      {"iommu.acs", kPass, kIb, {"$B0/config !EACCES"}},
      {"iommu.acs", kSkip, kIb, unreadable},
      {"iommu.acs", kSkip, kIb, {vm}},
      {"iommu.acs", kSkip, kRoce},
      {"iommu.ats", kSkip, kIb},
      {"iommu.ats", kSkip, kEfa},
      {"iommu.ats", kSkip, kIb, {vm}},
      {"iommu.ats",
       kWarn,
       kIb,
       {vm,
        "$D0/config:hex 4096 b3152110" + std::string((0x100 - 4) * 2, '0') + "0f00010000000000"}},
      {"iommu.ats",
       kPass,
       kIb,
       {vm,
        "$D0/config:hex 4096 b3152110" + std::string((0x100 - 4) * 2, '0') + "0f00010000000080"}},
  };
}

std::vector<Case> gpu_cases() {
  const std::string closed =
      "proc/driver/nvidia/version: NVRM version: NVIDIA UNIX x86_64 Kernel Module\\n";
  return {
      {"gpu.count", kPass, kIb, {}, {"gpus=2"}},
      {"gpu.count", kFail, kIb, {}, {"gpus=8"}},
      {"gpu.count", kSkip, kIb},
      {"gpu.driver", kPass, kIb},
      {"gpu.driver", kFail, kIb, {"$G0/driver -> ../x/nouveau"}},
      {"gpu.driver", kFail, kIb, {"-$G0/driver"}},
      {"gpu.driver", kSkip, kIb, {"$G0/driver -> ../x/vfio-pci"}},
      {"gpu.width", kPass, kIb},
      {"gpu.width", kFail, kIb, {"$G0/current_link_width: 8\\n"}},
      {"gpu.width", kSkip, kIb, {"$G0/current_link_width: 255\\n"}},
      {"gpu.width",  // a slot of eight lanes
       kPass,
       kIb,
       {"$G0/current_link_width: 8\\n",
        "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/max_link_width: 8\\n"}},
      {"gpu.peer_memory", kPass, kIb},
      {"gpu.peer_memory", kPass, kIb, {"-sys/module/nvidia_peermem"}},
      {"gpu.peer_memory", kFail, kIb, {"-sys/module/nvidia_peermem", closed}},
      {"gpu.peer_memory",
       kFail,
       kIb,
       {"-sys/module/nvidia_peermem", "proc/sys/kernel/osrelease: 5.11.0\\n"}},
      {"gpu.peer_memory",
       kPass,
       kIb,
       {"-sys/module/nvidia_peermem", "proc/sys/kernel/osrelease: 5.12.0\\n"}},
      {"gpu.peer_memory",
       kPass,
       kIb,
       {"-sys/module/nvidia_peermem", closed, "sys/module/efa_nv_peermem/"}},
      {"gpu.peer_memory",
       kPass,
       kIb,
       {"-sys/module/nvidia_peermem", closed, "sys/module/amdgpu/",
        "rdmabench/kernel_options: CONFIG_DMABUF_MOVE_NOTIFY=y\\nCONFIG_PCI_P2PDMA=y\\n"}},
      {"gpu.peer_memory",
       kFail,
       kIb,
       {"-sys/module/nvidia_peermem", closed, "sys/module/amdgpu/",
        "rdmabench/kernel_options: CONFIG_PCI_P2PDMA=y\\n"}},
      {"gpu.peer_memory", kSkip, kIb, {"-sys/module/nvidia_peermem", closed, "sys/module/amdgpu/"}},
      {"gpu.peer_memory",  // Intel's
       kSkip,
       kIb,
       {"-sys/module/nvidia_peermem", closed, "$G0/vendor: 0x8086\\n", "$G0/class: 0x038000\\n",
        "-sys/bus/pci/devices/0000:9b:00.0"}},
      {"gpu.peer_memory", kSkip, kRoce},
      {"gpu.gdrcopy", kPass, kIb},
      {"gpu.gdrcopy", kWarn, kIb, {"-sys/module/gdrdrv"}},
      {"gpu.gdrcopy", kSkip, kRoce},
      {"gpu.stream_mem_ops", kPass, kIb},
      {"gpu.stream_mem_ops",
       kPass,
       kIb,
       {"proc/driver/nvidia/params: EnableStreamMemOPs: 1\\n", "-sys/module/nvidia/version"}},
      {"gpu.stream_mem_ops", kWarn, kIb, {"sys/module/nvidia/version: 510.85.02\\n"}},
      {"gpu.stream_mem_ops", kSkip, kIb, {"-proc/driver/nvidia/params"}},
      {"gpu.stream_mem_ops", kSkip, kRoce},
      {"gpu.window", kPass, kIb},
      {"gpu.window", kWarn, kIb, {"$G0/resource: 0xd0000000 0xdfffffff 0x14220c\\n"}},
      {"gpu.window", kSkip, kIb, {"$G0/resource: 0x0 0x0 0x0\\n"}},
      {"gpu.nearest", kPass, kIb},
      {"gpu.nearest", kWarn, kIb, {"-sys/class/infiniband/mlx5_0"}},
      {"gpu.nearest", kPass, kIb, {"-sys/class/infiniband/mlx5_0", "$D1/numa_node: 0\\n"}},
      {"gpu.nearest", kSkip, kIb, {"-sys/class/infiniband/mlx5_0", "$D1/numa_node: -1\\n"}},
      {"gpu.nearest",
       kPass,
       kIb,
       {"-sys/class/infiniband/mlx5_0", "$D1/numa_node: -1\\n",
        "sys/devices/system/node/online: 0\\n"}},
      {"gpu.nearest",
       kSkip,
       kIb,
       {"-sys/class/infiniband/mlx5_0", "$D1/numa_node: -1\\n", "-sys/devices/system/node/online"}},
      {"gpu.nearest", kSkip, kIb, {"-sys/class/infiniband"}},
      {"gpu.numa_node", kPass, kIb},
      {"gpu.numa_node", kFail, kIb, {"$G0/numa_node: -1\\n"}},
      {"gpu.numa_node", kSkip, kIb, {"$G0/numa_node: -1\\n", "$NODE/online: 0\\n"}},
      {"gpu.numa_node", kError, kIb, {"$G0/numa_node: near\\n"}},
  };
}

std::vector<Case> gpu_health_cases() {
  // Of the first GPU; the third has no NVLink that is up.
  const auto with_third = [](const char* facts) {
    const std::string third = "sys/devices/pci0000:c0/0000:c1:00.0";
    return std::vector<std::string>{
        nvml(facts),
        "rdmabench/gpu/0000:c1:00.0: answer=0\\nnvlink active=0 inactive=18\\n",
        "sys/bus/pci/devices/0000:c1:00.0 -> ../../../devices/pci0000:c0/0000:c1:00.0",
        third + "/class: 0x030200\\n",
        third + "/vendor: 0x10de\\n",
        third + "/device: 0x2330\\n"};
  };
  const std::string fabric = "fabric state=3 status=0 health=";
  const std::string not_asked = "-rdmabench/gpu/0000:19:00.0";
  return {
      {"gpu.answers", kPass, kIb},
      {"gpu.answers", kFail, kIb, {"rdmabench/nvml: init=18\\n", not_asked}},
      {"gpu.answers", kFail, kIb, {"rdmabench/gpu/0000:19:00.0: answer=15\\n"}},
      {"gpu.answers", kFail, kIb, {"rdmabench/gpu/0000:19:00.0: answer=16\\n"}},
      {"gpu.answers", kSkip, kIb, {"rdmabench/gpu/0000:19:00.0: answer=17\\n"}},
      {"gpu.answers", kSkip, kIb, {"rdmabench/nvml: init=9\\n", not_asked}},
      {"gpu.answers", kSkip, kIb, {"rdmabench/nvml: not told: it is late\\n", not_asked}},
      {"gpu.answers", kError, kIb, {"rdmabench/gpu/0000:19:00.0: answer=?\\n"}},
      {"gpu.answers", kSkip, kEfa},
      {"gpu.recovery", kPass, kIb},
      {"gpu.recovery", kFail, kIb, {nvml("recovery action=2")}},
      {"gpu.recovery", kFail, kIb, {nvml("recovery action=9")}},
      {"gpu.recovery", kError, kIb, {nvml("recovery action=")}},
      {"gpu.recovery", kSkip, kIb, {nvml("mig now=0 next=0")}},
      {"gpu.recovery", kSkip, kIb, {"$G0/vendor: 0x1002\\n"}},
      {"gpu.fabric", kPass, kIb},
      {"gpu.fabric", kPass, kIb, {nvml(fabric + "0x0 summary=0")}},
      {"gpu.fabric", kSkip, kIb, {nvml("fabric state=0 status=0 health=0x0 summary=0")}},
      {"gpu.fabric", kFail, kIb, {nvml("fabric state=1 status=0 health=0x0 summary=0")}},
      {"gpu.fabric", kFail, kIb, {nvml("fabric state=2 status=0 health=0x0 summary=0")}},
      {"gpu.fabric", kFail, kIb, {nvml("fabric state=7 status=0 health=0x0 summary=0")}},
      {"gpu.fabric", kFail, kIb, {nvml("fabric state=3 status=999 health=0x0 summary=0")}},
      {"gpu.fabric", kFail, kIb, {nvml(fabric + "0x15aa summary=1")}},
      {"gpu.fabric", kFail, kIb, {nvml(fabric + "0xf00 summary=1")}},
      {"gpu.fabric", kFail, kIb, {nvml(fabric + "0x119a summary=1")}},
      {"gpu.fabric", kWarn, kIb, {nvml(fabric + "0x11a9 summary=1")}},
      {"gpu.fabric", kFail, kIb, {nvml(fabric + "0x0 summary=2")}},
      {"gpu.fabric", kWarn, kIb, {nvml(fabric + "0x0 summary=3")}},
      {"gpu.nvlink", kPass, kIb},
      {"gpu.nvlink", kFail, kIb, {nvml("nvlink active=17 inactive=1")}},
      {"gpu.nvlink", kFail, kIb, {nvml("nvlink active=0 inactive=18")}},
      {"gpu.nvlink",
       kSkip,
       kIb,
       {nvml("nvlink active=0 inactive=18"),
        "rdmabench/gpu/0000:9b:00.0: nvlink active=0 inactive=18\\n"}},
      {"gpu.nvlink",
       kSkip,
       kIb,
       {nvml("nvlink active=12 inactive=6"), "-sys/bus/pci/devices/0000:9b:00.0"}},
      {"gpu.nvlink",  // two that are bridged are another model
       kSkip,
       kIb,
       {nvml("nvlink active=0 inactive=12"), "$G0/device: 0x20b5\\n"}},
      {"gpu.nvlink",  // of three of a model, one is bridged
       kSkip, kIb, with_third("nvlink active=0 inactive=18")},
      {"gpu.nvlink",  // it belongs to a fabric, so the other one's fault does not excuse it
       kFail, kIb,
       with_third("fabric state=3 status=0 health=0x0 summary=0\\nnvlink active=0 inactive=18")},
      {"gpu.nvlink", kSkip, kIb, {nvml("nvlink active=0 inactive=18\\nmig now=1 next=1")}},
      {"gpu.ecc", kPass, kIb},
      {"gpu.ecc", kWarn, kIb, {nvml("ecc mode=1 uncorrected=1")}},
      {"gpu.ecc", kSkip, kIb, {nvml("ecc mode=1")}},
      {"gpu.ecc", kSkip, kIb, {nvml("ecc mode=0 uncorrected=0")}},
      {"gpu.remapped_rows", kPass, kIb},
      {"gpu.remapped_rows",
       kWarn,
       kIb,
       {nvml("rows corrected=0 uncorrected=1 pending=1 failed=0")}},
      {"gpu.remapped_rows",
       kFail,
       kIb,
       {nvml("rows corrected=0 uncorrected=8 pending=0 failed=1")}},
      {"gpu.remapped_rows", kSkip, kIb, kNoFacts},
      {"gpu.slowed", kPass, kIb},
      {"gpu.slowed", kPass, kIb, {nvml("slowed 0x105")}},
      {"gpu.slowed", kFail, kIb, {nvml("slowed 0x48")}},
      {"gpu.slowed", kFail, kIb, {nvml("slowed 0x88")}},
      {"gpu.slowed", kWarn, kIb, {nvml("slowed 0x20")}},
      {"gpu.slowed", kWarn, kIb, {nvml("slowed 0x8")}},
      {"gpu.slowed", kError, kIb, {nvml("slowed by what")}},
      {"gpu.slowed", kSkip, kEfa},
      {"gpu.mig", kPass, kIb},
      {"gpu.mig", kWarn, kIb, {nvml("mig now=0 next=1")}},
      {"gpu.mig", kSkip, kIb, {nvml("mig now=1 next=1")}},
      {"gpu.mig", kPass, kIb, {nvml("mig now=1 next=1")}, {"mig=on"}},
      {"gpu.mig", kWarn, kIb, {nvml("mig now=1 next=1")}, {"mig=off"}},
      {"gpu.imex", kSkip, kIb},
      {"gpu.imex", kPass, "gb300"},
      {"gpu.imex", kWarn, "gb300", {"-dev/nvidia-caps-imex-channels"}},
      {"gpu.imex", kPass, "gb300", {"rdmabench/services: "}},  // Slurm may start it for a job
      {"gpu.imex", kWarn, "gb300", {"rdmabench/services: ", kImexTurnedOn}},
      {"gpu.imex", kPass, "gb300", {"rdmabench/services: nvidia-imex\\n", kImexTurnedOn}},
      {"gpu.persistence", kPass, kIb},
      {"gpu.persistence", kWarn, kIb, {nvml("persistence on=0")}},
      {"gpu.persistence", kSkip, kEfa},
      {"gpu.clock", kPass, kIb},
      {"gpu.clock", kWarn, kIb, {nvml("clock mhz=1410 default_mhz=1980")}},
      {"gpu.clock", kSkip, kIb, {nvml("clock mhz=0 default_mhz=0")}},
      {"gpu.fabric_manager", kPass, kIb},
      {"gpu.fabric_manager",
       kFail,
       kIb,
       {"rdmabench/fabric_manager: Fabric Manager version is : 570.133.20\\n"}},
      {"gpu.fabric_manager", kError, kIb, {"rdmabench/fabric_manager: no such option\\n"}},
      {"gpu.fabric_manager", kSkip, kIb, {"-sys/module/nvidia/version"}},
      {"gpu.fabric_manager", kSkip, kEfa},
  };
}

std::vector<Case> numa_cases() {
  const std::string vm = cpuinfo("constant_tsc nonstop_tsc hypervisor");
  const std::string uneven = "$NODE/node1/meminfo: Node 1 MemTotal:  264000000 kB\\n";
  // Of a hostile file: it would take minutes to visit every number.
  std::string endless;
  while (endless.size() < 200000) endless += "0-65535,";
  return {
      {"numa.device_node", kPass, kIb},
      {"numa.device_node", kFail, kIb, {"$D0/numa_node: -1\\n"}},
      {"numa.device_node", kSkip, kIb, {"$D0/numa_node: -1\\n", "$NODE/online: 0\\n"}},
      {"numa.device_node", kSkip, kIb, {"$D0/numa_node: -1\\n", vm}},
      {"numa.affinity", kPass, kIb},
      {"numa.affinity", kWarn, kIb, {"proc/self/status: Cpus_allowed_list:\t2-3\\n"}},
      {"numa.affinity", kSkip, kIb, {"-proc/self/status"}},
      {"numa.hwloc", kPass, kIb},
      {"numa.hwloc", kWarn, kIb, {"rdmabench/hwloc: 0000:18:00.0 cpus=2-3\\n"}},
      {"numa.hwloc",  // it counts a CPU that is off
       kPass,
       kIb,
       {"$C/online: 0-3\\n", "rdmabench/hwloc: 0000:18:00.0 cpus=0-1,8\\n"}},
      {"numa.hwloc", kWarn, kIb, {"$D0/local_cpulist: " + endless + "\\n"}},
      {"numa.hwloc", kSkip, kIb, kNoFacts},
      {"numa.balancing", kPass, kIb},
      {"numa.balancing", kWarn, kIb, {"proc/sys/kernel/numa_balancing: 1\\n"}},
      {"numa.balancing",
       kSkip,
       kIb,
       {"proc/sys/kernel/numa_balancing: 1\\n", "$NODE/online: 0\\n"}},
      {"numa.zone_reclaim", kPass, kIb},
      {"numa.zone_reclaim", kWarn, kIb, {"proc/sys/vm/zone_reclaim_mode: 1\\n"}},
      {"numa.zone_reclaim", kSkip, kIb, {"-proc/sys/vm/zone_reclaim_mode"}},
      {"numa.per_socket", kPass, kIb},
      {"numa.per_socket", kWarn, kIb, {"$NODE/has_cpu: 0\\n"}},
      {"numa.per_socket", kWarn, kIb, {}, {"numa_nodes=8"}},
      {"numa.per_socket", kError, kIb, {"$NODE/has_cpu: both\\n"}},
      {"numa.per_socket", kSkip, kIb, {"-$NODE/has_cpu"}},
      {"numa.per_socket", kSkip, kIb, {"$NODE/has_cpu: 0\\n", vm}},
      {"numa.per_socket",  // Graviton
       kSkip,
       kIb,
       {"$NODE/has_cpu: 0\\n", kArm, "sys/class/dmi/id/sys_vendor: Amazon EC2\\n",
        "sys/class/dmi/id/product_name: c7gn.16xlarge\\n"}},
      {"numa.per_socket",
       kWarn,
       kIb,
       {"$NODE/has_cpu: 0\\n", kArm, "sys/class/dmi/id/sys_vendor: Amazon EC2\\n",
        "sys/class/dmi/id/product_name: c7gn.metal\\n"}},
      {"numa.memory", kPass, kIb},
      {"numa.memory", kWarn, kIb, {uneven}},
      {"numa.memory", kSkip, kIb, {"-$NODE/node0", "-$NODE/node1"}},
      {"numa.memory", kSkip, kIb, {uneven, vm}},
  };
}

std::vector<Case> cpu_cases() {
  const std::string idle = "$C/cpu0/cpuidle/state2/disable: 0\\n";
  return {
      {"cpu.governor", kPass, kIb},
      {"cpu.governor", kWarn, kIb, {"$C/cpu3/cpufreq/scaling_governor: powersave\\n"}},
      {"cpu.governor", kSkip, kVm},
      {"cpu.frequency_limit", kPass, kIb},
      {"cpu.frequency_limit", kWarn, kIb, {"$C/cpu3/cpufreq/scaling_max_freq: 2000000\\n"}},
      {"cpu.frequency_limit", kSkip, kVm},
      {"cpu.frequency_limit",  // its highest is the boost
       kPass,
       kIb,
       {"$C/cpu3/cpufreq/scaling_driver: acpi-cpufreq\\n",
        "$C/cpu3/cpufreq/scaling_max_freq: 2450000\\n",
        "$C/cpu3/cpufreq/cpuinfo_max_freq: 3500000\\n",
        "$C/cpu3/cpufreq/scaling_available_frequencies: 2450000 2000000 1500000 \\n"}},
      {"cpu.frequency_limit",
       kWarn,
       kIb,
       {"$C/cpu3/cpufreq/scaling_driver: acpi-cpufreq\\n",
        "$C/cpu3/cpufreq/scaling_max_freq: 2000000\\n",
        "$C/cpu3/cpufreq/scaling_available_frequencies: 2450000 2000000 1500000 \\n"}},
      {"cpu.turbo",  // Grace
       kSkip,
       kRoce,
       {"$C/cpufreq/boost: 0\\n", "$C/cpu0/cpufreq/scaling_driver: cppc_cpufreq\\n",
        "$C/cpu0/acpi_cppc/highest_perf: 3438\\n", "$C/cpu0/acpi_cppc/nominal_perf: 3438\\n"}},
      {"cpu.turbo",
       kWarn,
       kRoce,
       {"$C/cpufreq/boost: 0\\n", "$C/cpu0/cpufreq/scaling_driver: cppc_cpufreq\\n",
        "$C/cpu0/acpi_cppc/highest_perf: 250\\n", "$C/cpu0/acpi_cppc/nominal_perf: 200\\n"}},
      {"cpu.turbo", kPass, kIb},
      {"cpu.turbo", kPass, kRoce},
      {"cpu.turbo", kWarn, kIb, {"$C/intel_pstate/no_turbo: 1\\n"}},
      {"cpu.turbo", kWarn, kRoce, {"$C/cpufreq/boost: 0\\n"}},
      {"cpu.turbo", kSkip, kVm},
      {"cpu.tsc", kPass, kIb},
      {"cpu.tsc", kWarn, kIb, {cpuinfo("constant_tsc")}},
      {"cpu.tsc", kSkip, kIb, {"proc/cpuinfo: processor\t: 0\\nFeatures\t: fp asimd\\n"}},
      {"cpu.clock_source", kPass, kIb},
      {"cpu.clock_source",
       kFail,
       kIb,
       {"sys/devices/system/clocksource/clocksource0/current_clocksource: hpet\\n"}},
      {"cpu.clock_source", kSkip, kIb, {"-sys/devices/system/clocksource"}},
      {"cpu.idle", kPass, kIb},
      {"cpu.idle", kWarn, kIb, {idle}},
      {"cpu.idle", kPass, kIb, {idle, "rdmabench/cpu_dma_latency: 10\\n"}},
      {"cpu.idle", kWarn, kIb, {idle, "rdmabench/cpu_dma_latency: 2000000000\\n"}},
      {"cpu.idle", kSkip, kIb, {idle, "rdmabench/cpu_dma_latency !EACCES"}},
      {"cpu.idle", kSkip, kVm},
      {"cpu.online", kPass, kIb},
      {"cpu.online", kWarn, kIb, {"$C/online: 0-2\\n"}},
      {"cpu.online", kSkip, kIb, {"$C/online: 0-1\\n", "$C/smt/control: off\\n"}},
      {"cpu.online", kError, kIb, {"$C/online: all\\n"}},
      {"cpu.throttled", kPass, kIb},
      {"cpu.throttled", kWarn, kIb, {"$C/cpu1/thermal_throttle/package_throttle_count: 101\\n"}},
      {"cpu.throttled", kSkip, kVm},
      {"cpu.model", kPass, kIb, {}, {"cpu=Intel(R) Xeon(R) Platinum 8480C"}},
      {"cpu.model", kWarn, kIb, {}, {"cpu=AMD EPYC 9654"}},
      {"cpu.model", kSkip, kIb},
      {"cpu.microcode", kSkip, kIb},
  };
}

std::vector<Case> os_cases() {
  return {
      {"os.page_size", kPass, "grace-hopper"},
      {"os.page_size", kWarn, "grace-hopper", {"rdmabench/page_size: 4096\\n"}},
      {"os.page_size", kSkip, kIb},
      {"os.init_on_alloc", kPass, "grace-hopper"},
      {"os.init_on_alloc", kWarn, "grace-hopper", {"proc/cmdline: init_on_alloc=1\\n"}},
      {"os.init_on_alloc", kWarn, "grace-hopper", {"proc/cmdline: iommu.passthrough=1\\n"}},
      {"os.init_on_alloc",
       kSkip,
       "grace-hopper",
       {"proc/cmdline: iommu.passthrough=1\\n", "etc/os-release: NAME=\"Rocky Linux\"\\n"}},
      {"os.init_on_alloc", kSkip, kIb},
      {"os.swap", kPass, kIb},
      {"os.swap",
       kWarn,
       kIb,
       {"proc/swaps: Filename Type Size Used Priority\\n/dev/sda2 partition 8388604 5120 -2\\n"}},
      {"os.swap", kSkip, kIb, {"-proc/swaps"}},
      {"os.huge_pages", kPass, kEfa},
      {"os.huge_pages", kPass, kIb, {}, {"hugepages=512"}},
      {"os.huge_pages", kFail, kIb, {}, {"hugepages=513"}},
      {"os.huge_pages", kWarn, kEfa, {"proc/meminfo: HugePages_Total: 512\\nHugePages_Free: 0\\n"}},
      {"os.huge_pages", kSkip, kIb},
      {"os.tainted", kPass, kIb},
      {"os.tainted", kPass, kIb, {"proc/sys/kernel/tainted: 12289\\n"}},
      {"os.tainted", kWarn, kIb, {"proc/sys/kernel/tainted: 128\\n"}},
      {"os.tainted", kSkip, kIb, {"-proc/sys/kernel/tainted"}},
      {"os.overcommit", kPass, kIb},
      {"os.overcommit", kWarn, kIb, {"proc/sys/vm/overcommit_memory: 2\\n"}},
      {"os.overcommit", kSkip, kIb, {"-proc/sys/vm/overcommit_memory"}},
  };
}

std::vector<Case> limit_cases() {
  const std::string capable = "proc/self/status: CapEff:\t000001ffffffffff\\n";
  return {
      {"limit.memlock", kPass, kIb},
      {"limit.memlock", kFail, kIb, {limits("65536", "65536")}},
      {"limit.memlock", kWarn, kIb, {limits("65536", "65536"), capable}},
      {"limit.memlock", kPass, kIb, {limits("unlimited", "unlimited"), capable}},
      {"limit.memlock",  // root of a user namespace
       kFail,
       kIb,
       {limits("65536", "65536"), capable, "proc/self/uid_map: 0 100000 65536\\n"}},
      {"limit.memlock", kWarn, kIb, {limits("8589934592", "unlimited")}},
      {"limit.memlock", kPass, kIb, {limits("17179869184", "unlimited")}},
      {"limit.memlock",
       kPass,
       kIb,
       {limits("8589934592", "unlimited")},
       {"memlock_bytes=8589934592"}},
      {"limit.memlock", kWarn, kVm},
      {"limit.memlock", kError, kIb, {"proc/self/limits: Max cpu time unlimited unlimited\\n"}},
      {"limit.memlock", kSkip, kIb, {"-proc/self/limits"}},
      {"limit.open_files", kPass, kIb},
      {"limit.open_files", kPass, kIb, {"proc/self/limits: Max open files 1024 4096 files\\n"}},
      {"limit.open_files", kWarn, kIb, {"proc/self/limits: Max open files 1024 2048 files\\n"}},
      {"limit.open_files", kSkip, kIb, {"-proc/self/limits"}},
      {"limit.shared_memory", kPass, kIb},
      {"limit.shared_memory", kWarn, kIb, {"rdmabench/statvfs: /dev/shm 67108864 67108864\\n"}},
      {"limit.shared_memory", kSkip, kIb, {"rdmabench/statvfs: "}},
      {"limit.ports", kPass, kIb},
      {"limit.ports", kWarn, kIb, {"proc/sys/net/ipv4/ip_local_port_range: 50000\t60999\\n"}},
      {"limit.ports", kError, kIb, {"proc/sys/net/ipv4/ip_local_port_range: 60999\t32768\\n"}},
      {"limit.ports", kSkip, kIb, {"-proc/sys/net/ipv4/ip_local_port_range"}},
      {"limit.backlog", kPass, kIb},
      {"limit.backlog", kWarn, kIb, {"proc/sys/net/core/somaxconn: 128\\n"}},
      {"limit.backlog", kSkip, kIb, {"-proc/sys/net/core"}},
  };
}

std::vector<Case> software_cases() {
  const std::string both = "sys/module/mlx5_core/version: 25.04-0.6.1\\n";
  return {
      {"software.libraries",
       kPass,
       kIb,
       {"rdmabench/libraries: libibverbs.so.1 /l/a\\nlibrdmacm.so.1 /l/b\\nlibfabric.so.1 /l/c\\n"}},
      {"software.libraries",
       kWarn,
       kIb,
       {"rdmabench/libraries: libibverbs.so.1 missing: no\\nlibfabric.so.1 /l/c\\n"}},
      {"software.libraries",
       kPass,
       kVm,
       {"rdmabench/libraries: libibverbs.so.1 missing: no\\nlibfabric.so.1 /l/c\\n"}},
      {"software.libraries", kSkip, kVm},
      {"software.one_release", kPass, kIb, {both, "sys/module/mlx5_ib/version: 25.04-0.6.1\\n"}},
      {"software.one_release", kFail, kIb, {both, "sys/module/mlx5_ib/version: 24.10-1.1.4\\n"}},
      {"software.one_release", kSkip, kIb},
      {"software.kernel", kPass, kIb, {}, {"kernel=6.8.0-60-generic"}},
      {"software.kernel", kWarn, kIb, {}, {"kernel=6.8.0-71-generic"}},
      {"software.kernel", kSkip, kIb},
      {"software.os", kPass, kIb, {}, {"os=Ubuntu 24.04.2 LTS"}},
      {"software.os", kWarn, kIb, {}, {"os=Ubuntu 22.04.5 LTS"}},
      {"software.os", kSkip, kIb},
      {"software.driver", kPass, kIb, {both}, {"driver=25.04-0.6.1"}},
      {"software.driver", kWarn, kIb, {both}, {"driver=24.10-1.1.4"}},
      {"software.driver", kSkip, kIb},
      {"software.gpu_driver", kPass, kIb, {}, {"gpu_driver=570.148.08"}},
      {"software.gpu_driver", kWarn, kIb, {}, {"gpu_driver=550.90.07"}},
      {"software.gpu_driver", kSkip, kRoce},
      {"software.bios", kPass, kIb, {}, {"bios=2.4.1"}},
      {"software.bios", kWarn, kIb, {}, {"bios=2.5.0"}},
      {"software.bios", kSkip, kIb},
      {"software.product", kSkip, kIb},
      {"software.virtual", kSkip, kIb},
  };
}

std::vector<Case> env_cases() {
  const std::string file = "rdmabench/nccl_files: /etc/nccl.conf\t";
  const std::string kOldKernel = "proc/sys/kernel/osrelease: 5.4.0-216-generic\\n";
  const std::string kGpu = "sys/bus/pci/devices/0000:0a:00.0/class: 0x030200\\n";
  const std::string kGpuVendor = "sys/bus/pci/devices/0000:0a:00.0/vendor: 0x10de\\n";
  std::vector<Case> cases{
      {"env.nccl_files", kPass, kIb},
      {"env.nccl_files", kPass, kIb, {file + "NCCL_DEBUG=WARN\\n"}},
      {"env.nccl_files", kWarn, kIb, {file + "NCCL_DEBUG = WARN\\n"}},
      {"env.nccl_files", kWarn, kIb, {file + "export NCCL_DEBUG=WARN\\n"}},
      {"env.nccl_files", kSkip, kIb, kNoFacts},
      {"env.nccl_debug", kWarn, kIb, {file + "NCCL_DEBUG=TRACE\\n"}},
      {"env.nccl_debug", kPass, kIb, {file + "export NCCL_DEBUG=TRACE\\n"}},
      {"env.nccl_debug",
       kPass,
       kIb,
       {file + "NCCL_DEBUG=TRACE\\n", environment("NCCL_DEBUG=INFO")}},
      {"env.nccl_ib_disable", kWarn, kRoce, {environment("NCCL_IB_DISABLE=1")}},
      {"env.nccl_ib_disable", kWarn, kRoce, {environment("NCCL_IB_DISABLE=0x2")}},
      {"env.nccl_ib_disable", kPass, kRoce, {environment("NCCL_IB_DISABLE=true")}},  // no number: 0
      {"env.nccl_ib_disable", kPass, kVm, {environment("NCCL_IB_DISABLE=1")}},
      {"env.nccl_ib_disable", kPass, kEfa, {environment("NCCL_IB_DISABLE=1")}},
      {"env.nccl_net", kWarn, kRoce, {environment("NCCL_NET=Socket")}},
      {"env.nccl_net", kWarn, kEfa, {environment("NCCL_NET=socket")}},
      {"env.nccl_net", kPass, kRoce, {environment("NCCL_NET=ib")}},
      {"env.nccl_net", kWarn, kEfa, {environment("NCCL_NET=IB")}},
      {"env.nccl_net", kSkip, kEfa, {environment("NCCL_NET=AWS Libfabric")}},
      {"env.nccl_net", kPass, kVm, {environment("NCCL_NET=Socket")}},
      {"env.nccl_ib_hca", kPass, kIb, {environment("NCCL_IB_HCA=mlx5")}},
      {"env.nccl_ib_hca", kPass, kIb, {environment("NCCL_IB_HCA==mlx5_0:1,mlx5_1:1")}},
      {"env.nccl_ib_hca", kPass, kIb, {environment("NCCL_IB_HCA=^mlx5_1")}},
      {"env.nccl_ib_hca", kPass, kIb, {environment("NCCL_IB_HCA=^=mlx5_9")}},
      {"env.nccl_ib_hca", kPass, kIb, {environment("NCCL_IB_HCA==mlx5_0::0:1,mlx5_1::1:1")}},
      {"env.nccl_ib_hca",  // which is the beginning of another's name
       kWarn,
       kIb,
       {environment("NCCL_IB_HCA=mlx5_1:1"),
        "sys/class/infiniband/mlx5_10/ports/1/link_layer: InfiniBand\\n",
        "sys/class/infiniband/mlx5_10/ports/1/state: 4: ACTIVE\\n"}},
      {"env.nccl_ib_hca",  // which NCCL does not take: it is down
       kPass,
       kIb,
       {environment("NCCL_IB_HCA=mlx5_1:1"),
        "sys/class/infiniband/mlx5_10/ports/1/link_layer: InfiniBand\\n",
        "sys/class/infiniband/mlx5_10/ports/1/state: 1: DOWN\\n"}},
      {"env.nccl_ib_hca",  // the port of another number
       kPass,
       kIb,
       {environment("NCCL_IB_HCA=mlx5_1:1"),
        "sys/class/infiniband/mlx5_10/ports/2/link_layer: InfiniBand\\n",
        "sys/class/infiniband/mlx5_10/ports/2/state: 4: ACTIVE\\n"}},
      {"env.nccl_ib_hca",
       kPass,
       kIb,
       {environment("NCCL_IB_HCA==mlx5_1:1"),
        "sys/class/infiniband/mlx5_10/ports/1/state: 4: ACTIVE\\n"}},
      {"env.nccl_ib_hca", kWarn, kIb, {environment("NCCL_IB_HCA==mlx5")}},
      {"env.nccl_ib_hca", kWarn, kIb, {environment("NCCL_IB_HCA=mlx5_0,mlx5_7")}},
      {"env.nccl_ib_hca", kWarn, kIb, {environment("NCCL_IB_HCA=mlx5_0:2")}},
      {"env.nccl_ib_hca", kWarn, kIb, {environment("NCCL_IB_HCA=^mlx5")}},
      {"env.nccl_socket_ifname", kPass, kIb, {environment("NCCL_SOCKET_IFNAME=ib")}},
      {"env.nccl_socket_ifname", kPass, kIb, {environment("NCCL_SOCKET_IFNAME=^ib1")}},
      {"env.nccl_socket_ifname", kWarn, kIb, {environment("NCCL_SOCKET_IFNAME=^ib")}},
      {"env.nccl_socket_ifname", kWarn, kIb, {environment("NCCL_SOCKET_IFNAME==ib")}},
      {"env.nccl_socket_ifname", kWarn, kIb, {environment("NCCL_SOCKET_IFNAME=eth0")}},
      {"env.nccl_gid_index", kPass, kRoce, {environment("NCCL_IB_GID_INDEX=3")}},
      {"env.nccl_gid_index", kPass, kRoce, {environment("NCCL_IB_GID_INDEX=0x3")}},
      {"env.nccl_gid_index", kWarn, kRoce, {environment("NCCL_IB_GID_INDEX=1")}},  // link-local
      {"env.nccl_gid_index", kWarn, kRoce, {environment("NCCL_IB_GID_INDEX=2")}},  // RoCE v1
      {"env.nccl_gid_index", kWarn, kRoce, {environment("NCCL_IB_GID_INDEX=17")}},
      {"env.nccl_gid_index",  // of another pod, whose network device has the name of ours
       kWarn,
       kRoce,
       {environment("NCCL_IB_HCA=mlx5_0\\nNCCL_IB_GID_INDEX=5"), "$P0/gids/5: " + kNotOurs + "\\n",
        "$P0/gid_attrs/types/5: RoCE v2\\n", "$P0/gid_attrs/ndevs/5: ens1np0\\n"}},
      {"env.nccl_gid_index", kWarn, kRoce, {environment("NCCL_IB_GID_INDEX=../x")}},  // so 0
      {"env.nccl_gid_index", kPass, kRoce, {environment("NCCL_IB_GID_INDEX=-1")}},
      {"env.nccl_gid_index",  // a port that NCCL does not use
       kPass,
       kRoce,
       {environment("NCCL_IB_GID_INDEX=3\\nNCCL_IB_HCA=^=mlx5_0"), "-$P0/gids/3"}},
      {"env.nccl_gid_index",
       kWarn,
       kRoce,
       {environment("NCCL_IB_GID_INDEX=2"), "$P0/state: 1: DOWN\\n"}},
      {"env.nccl_gid_index", kSkip, kIb, {environment("NCCL_IB_GID_INDEX=3")}},
      {"env.nccl_gid_index", kWarn, "irdma", {environment("NCCL_IB_GID_INDEX=0")}},
      {"env.nccl_gid_index", kPass, "irdma", {environment("NCCL_IB_GID_INDEX=1")}},
      {"env.nccl_gid_index",  // NCCL looks for an IPv4 address unless it is told otherwise
       kWarn,
       kRoce,
       {environment(""), "-$P0/gids/2", "$P0/gids/3: 2001:0db8:0000:0000:0000:0000:0000:0007\\n",
        kGpu, kGpuVendor}},
      {"env.nccl_gid_index",
       kPass,
       kRoce,
       {environment("NCCL_IB_ADDR_FAMILY=AF_INET6\\nNCCL_IB_HCA==mlx5_0"), "-$P0/gids/2",
        "$P0/gids/3: 2001:0db8:0000:0000:0000:0000:0000:0007\\n", kGpu, kGpuVendor}},
      {"env.nccl_gid_index", kPass, kRoce, {environment(""), kGpu, kGpuVendor}},
      {"env.nccl_traffic_class", kPass, kRoce, {environment("NCCL_IB_TC=106")}},
      {"env.nccl_traffic_class", kPass, kRoce, {environment("NCCL_IB_TC=106")}, {"tos=106"}},
      {"env.nccl_traffic_class", kWarn, kRoce, {environment("NCCL_IB_TC=41")}, {"tos=106"}},
      {"env.nccl_traffic_class", kWarn, kRoce, {environment("NCCL_IB_TC=256")}},
      {"env.nccl_service_level", kPass, kRoce, {environment("NCCL_IB_SL=3")}},
      {"env.nccl_service_level", kWarn, kRoce, {environment("NCCL_IB_SL=16")}},
      {"env.nccl_timeout", kPass, kRoce, {environment("NCCL_IB_TIMEOUT=22")}},
      {"env.nccl_timeout", kWarn, kRoce, {environment("NCCL_IB_TIMEOUT=0")}},
      {"env.nccl_timeout", kWarn, kRoce, {environment("NCCL_IB_TIMEOUT=23")}},
      {"env.nccl_retries", kPass, kRoce, {environment("NCCL_IB_RETRY_CNT=7")}},
      {"env.nccl_retries", kWarn, kRoce, {environment("NCCL_IB_RETRY_CNT=0")}},
      {"env.nccl_retries", kWarn, kRoce, {environment("NCCL_IB_RETRY_CNT=13")}},
      {"env.nccl_disabled", kWarn, kRoce, {environment("NCCL_P2P_DISABLE=1")}},
      {"env.nccl_disabled", kPass, kRoce, {environment("NCCL_P2P_DISABLE=2")}},
      {"env.nccl_disabled", kWarn, kRoce, {environment("NCCL_SHM_DISABLE=1")}},
      {"env.nccl_disabled", kWarn, kRoce, {environment("NCCL_NET_GDR_LEVEL=LOC")}},
      {"env.nccl_disabled", kWarn, kRoce, {environment("NCCL_NET_GDR_LEVEL=0")}},
      {"env.nccl_disabled", kWarn, kRoce, {environment("NCCL_NET_GDR_LEVEL=pxb")}},
      {"env.nccl_disabled", kWarn, kRoce, {environment("NCCL_NET_GDR_READ=0")}},
      {"env.nccl_disabled", kPass, kRoce, {environment("NCCL_NET_GDR_LEVEL=SYS")}},
      {"env.nccl_disabled", kPass, kRoce, {environment("NCCL_NET_GDR_LEVEL=5")}},
      {"env.nccl_debug", kWarn, kRoce, {environment("NCCL_DEBUG=TRACE")}},
      {"env.nccl_debug", kPass, kRoce, {environment("NCCL_DEBUG=INFO")}},
      {"env.ucx_tls", kWarn, kRoce, {environment("UCX_TLS=tcp,sm")}},
      {"env.ucx_tls", kPass, kRoce, {environment("UCX_TLS=rc,sm,self")}},
      {"env.ucx_tls", kPass, kRoce, {environment("UCX_TLS=rc_mlx5,sm,self")}},
      {"env.ucx_tls", kPass, kRoce, {environment("UCX_TLS=rc_x,cuda")}},
      {"env.ucx_tls", kPass, kRoce, {environment("UCX_TLS=self,ud_verbs")}},
      {"env.ucx_tls", kPass, kRoce, {environment("UCX_TLS=\\\\rc_verbs")}},
      {"env.ucx_tls", kWarn, kRoce, {environment("UCX_TLS=\\\\rc")}},
      {"env.ucx_tls", kWarn, kRoce, {environment("UCX_TLS=rc:aux,tcp")}},
      {"env.ucx_tls", kPass, kRoce, {environment("UCX_TLS=^rc")}},  // ud and dc are left
      {"env.ucx_tls", kWarn, kRoce, {environment("UCX_TLS=^ib")}},
      {"env.ucx_tls", kWarn, kRoce, {environment("UCX_TLS=^rc,ud,dc")}},
      {"env.ucx_tls", kPass, kRoce, {environment("UCX_TLS=^rc_mlx5")}},
      {"env.ucx_tls", kPass, kRoce, {environment("UCX_TLS=^tcp")}},
      {"env.ucx_tls", kWarn, "irdma", {environment("UCX_TLS=rc_mlx5,sm")}},
      {"env.ucx_tls", kPass, kEfa, {environment("UCX_TLS=srd,sm")}},
      {"env.ucx_net_devices", kPass, kRoce, {environment("UCX_NET_DEVICES=mlx5_0:1,ens1np0")}},
      {"env.ucx_net_devices", kPass, kRoce, {environment("UCX_NET_DEVICES=mlx5_[0-3]:1")}},
      {"env.ucx_net_devices", kPass, kRoce, {environment("UCX_NET_DEVICES=mlx5_0")}},
      {"env.ucx_net_devices", kPass, kRoce, {environment("UCX_NET_DEVICES=^ens1np0")}},
      {"env.ucx_net_devices", kWarn, kRoce, {environment("UCX_NET_DEVICES=mlx5_[0-4]:1")}},
      {"env.ucx_net_devices", kWarn, kRoce, {environment("UCX_NET_DEVICES=ens1np0")}},
      {"env.ucx_net_devices", kWarn, kRoce, {environment("UCX_NET_DEVICES=^mlx5_[0-3]")}},
      {"env.ucx_net_devices", kWarn, kRoce, {environment("UCX_NET_DEVICES=mlx5_9:1")}},
      {"env.ucx_gid_index", kPass, kRoce, {environment("UCX_IB_GID_INDEX=auto")}},
      {"env.ucx_gid_index", kPass, kRoce, {environment("UCX_IB_GID_INDEX=3")}},
      {"env.ucx_gid_index", kWarn, kRoce, {environment("UCX_IB_GID_INDEX=2")}},
      {"env.ucx_gid_index", kWarn, kRoce, {environment("UCX_IB_GID_INDEX=three")}},
      {"env.ucx_gid_index", kSkip, kIb, {environment("UCX_IB_GID_INDEX=0")}},
      {"env.fi_provider", kWarn, kEfa, {environment("FI_PROVIDER=tcp;ofi_rxm")}},
      {"env.fi_provider", kWarn, kRoce, {environment("FI_PROVIDER=tcp,shm")}},
      {"env.fi_provider", kWarn, kRoce, {environment("FI_PROVIDER=^verbs")}},
      {"env.fi_provider", kPass, kRoce, {environment("FI_PROVIDER=^tcp,efa")}},
      {"env.fi_provider", kPass, kRoce, {environment("FI_PROVIDER=shm,verbs;ofi_rxm")}},
      {"env.fi_provider", kPass, kEfa, {environment("FI_PROVIDER=efa")}},
      {"env.efa_device_rdma", kWarn, kEfa, {environment("FI_EFA_USE_DEVICE_RDMA=0")}},
      {"env.efa_device_rdma", kWarn, kEfa, {environment("FI_EFA_USE_DEVICE_RDMA=off")}},
      {"env.efa_device_rdma", kWarn, kEfa, {environment("FI_EFA_USE_DEVICE_RDMA=2")}},
      {"env.efa_device_rdma", kPass, kEfa, {environment("FI_EFA_USE_DEVICE_RDMA=True")}},
      {"env.efa_device_rdma", kPass, kRoce, {environment("FI_EFA_USE_DEVICE_RDMA=0")}},
      {"env.fork_safe", kPass, kEfa, {environment("FI_EFA_FORK_SAFE=1")}},  // 6.1 needs it not
      {"env.fork_safe", kWarn, kEfa, {environment("FI_EFA_FORK_SAFE=1"), kOldKernel}},
      {"env.fork_safe", kWarn, kEfa, {environment("RDMAV_HUGEPAGES_SAFE="), kOldKernel}},
      {"env.fork_safe", kPass, kEfa, {environment("RDMAV_FORK_SAFE=0"), kOldKernel}},
      {"env.fork_safe",
       kSkip,
       kEfa,
       {environment("IBV_FORK_SAFE=1"), "proc/sys/kernel/osrelease: 4.18.0-553.el8_10.x86_64\\n"}},
      {"env.single_threaded", kWarn, kRoce, {environment("MLX5_SINGLE_THREADED=1")}},
      {"env.single_threaded", kPass, kRoce, {environment("MLX5_SINGLE_THREADED=0")}},
  };
  for (const std::string check :
       {"env.nccl_ib_disable", "env.nccl_net", "env.nccl_ib_hca", "env.nccl_socket_ifname",
        "env.nccl_gid_index", "env.nccl_traffic_class", "env.nccl_service_level",
        "env.nccl_timeout", "env.nccl_retries", "env.nccl_disabled", "env.nccl_debug",
        "env.ucx_tls", "env.ucx_net_devices", "env.ucx_gid_index", "env.fi_provider",
        "env.efa_device_rdma", "env.fork_safe", "env.single_threaded"}) {
    cases.push_back({check, kPass, kRoce});
    cases.push_back({check, kSkip, kRoce, kNoFacts});
  }
  return cases;
}

std::string kernel_log(const std::string& lines) {
  return "rdmabench/kernel_log: " + lines + "\\n";
}

std::vector<Case> log_cases() {
  std::vector<Case> cases{
      {"log.mlx5",
       kFail,
       kIb,
       {kernel_log("mlx5_core 0000:3b:00.0: poll_health:800:(pid 0): device's health compromised - "
                   "reached miss count")}},
      {"log.mlx5",
       kFail,
       kIb,
       {kernel_log("mlx5_core 0000:3b:00.0: Port module event[error]: module 0, Cable error, "
                   "No EEPROM/retry timeout\\nmlx5_core 0000:3b:00.0: mlx5_pcie_event:299:(pid 7): "
                   "Detected insufficient power on the PCIe slot (27W).")}},
      {"log.mlx5",
       kWarn,
       kIb,
       {kernel_log("mlx5_core 0000:3b:00.0: mlx5_pcie_event:299:(pid 7): Detected insufficient "
                   "power on the PCIe slot (27W).")}},
      {"log.mlx5",
       kFail,
       kIb,
       {kernel_log("mlx5_core 0000:1b:00.0: poll_health:825:(pid 0): Fatal error 1 detected")}},
      {"log.mlx5",
       kWarn,
       kIb,
       {kernel_log("mlx5_core 0000:1b:00.2: poll_health:825:(pid 0): Fatal error 3 detected")}},
      {"log.bnxt",
       kFail,
       kRoce,
       {kernel_log("bnxt_en 0000:01:00.0: QPLIB: cmdq[0x1a2]=0x3 timedout (20000)msec")}},
      {"log.bnxt",
       kWarn,
       kRoce,
       {kernel_log("NETDEV WATCHDOG: eth2 (bnxt_en): transmit queue 1 timed out")}},
      {"log.efa",
       kFail,
       kEfa,
       {kernel_log("infiniband efa_0: efa 0000:00:1d.0: The device didn't send any completion for "
                   "admin cmd CREATE_QP(1) status 0")}},
      {"log.intel", kFail, kRoce, {kernel_log("ice: probe of 0000:31:00.0 failed with error -5")}},
      {"log.intel",
       kWarn,
       kRoce,
       {kernel_log("ice 0000:31:00.0: Malicious Driver Detection event 6 on TX queue 1 PF# 0 VF# "
                   "0")}},
      {"log.xid",
       kFail,
       kIb,
       {kernel_log("NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.\\nNVRM: Xid "
                   "(PCI:0000:2c:00): 31, pid=7, MMU Fault")}},
      {"log.xid", kWarn, kIb, {kernel_log("NVRM: Xid (PCI:0000:2b:00): 31, pid=7, MMU Fault")}},
      {"log.xid", kWarn, kIb, {kernel_log("NVRM: Xid (PCI:0000:2b:00): 999, pid=7, new")}},
      {"log.sxid",
       kFail,
       kIb,
       {kernel_log("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 26 LTSSM Fault "
                   "Up")}},
      {"log.sxid",
       kWarn,
       kIb,
       {kernel_log("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20009, Non-fatal, Link 32 RX "
                   "Short Error Rate")}},
      {"log.pcie",
       kFail,
       kIb,
       {kernel_log("pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: "
                   "0000:3b:00.0")}},
      {"log.pcie",
       kWarn,
       kIb,
       {kernel_log("pcieport 0000:3a:00.0: AER: Multiple Corrected error received: "
                   "0000:3b:00.0")}},
  };
  for (const char* id :
       {"log.mlx5", "log.bnxt", "log.efa", "log.intel", "log.xid", "log.sxid", "log.pcie"}) {
    cases.push_back({id, kPass, kIb, {kernel_log("mlx5_core 0000:3b:00.0: firmware version")}});
    cases.push_back({id, kSkip, kIb});
    cases.push_back({id, kSkip, kIb, {"rdmabench/kernel_log !EACCES"}});
  }
  return cases;
}

}  // namespace

std::span<const Case> cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> rows;
    for (const auto group :
         {device_cases, port_cases, counter_cases, address_cases, qos_cases, pcie_cases,
          iommu_cases, gpu_cases, gpu_health_cases, numa_cases, cpu_cases, os_cases, limit_cases,
          software_cases, env_cases, log_cases}) {
      for (Case& one : group()) rows.push_back(std::move(one));
    }
    return rows;
  }();
  return all;
}

}  // namespace rdmabench::inline v1::health
