#include "health/kernel_log.h"

#include <gtest/gtest.h>

namespace rdmabench::health {
namespace {

std::string_view action_for(std::string_view line) {
  const std::optional<KnownLine> known = known_line(line);
  return known ? known->action : "";
}

// Lines as the drivers print them, with the numbers of one node.
TEST(KernelLog, EachDriversLineHasItsAction) {
  EXPECT_EQ(action_for("mlx5_core 0000:41:00.0: poll_health:831:(pid 0): device's health "
                       "compromised - reached miss count"),
            action::kReboot);
  EXPECT_EQ(action_for("mlx5_core 0000:41:00.0: Port module event[error]: module 2, Cable error, "
                       "Bad or shorted cable/module"),
            action::kReseat);
  EXPECT_EQ(action_for("mlx5_core 0000:41:00.0: mlx5_pcie_event:301:(pid 7): Detected "
                       "insufficient power on the PCIe slot (27W)."),
            action::kAskVendor);
  EXPECT_EQ(action_for("bnxt_en 0000:21:00.0 eth0: Firmware fatal reset event, data1: 0x1"),
            action::kReboot);
  EXPECT_EQ(action_for("efa 0000:00:1d.0 efa_0: Reading register timed out. expected: req id[3]"),
            action::kReboot);
  EXPECT_EQ(action_for("irdma 0000:41:00.0 irdma2: abnormal ae_id = 0x503 bool qp=1 qp_id = 7"),
            action::kRestartJob);
  EXPECT_EQ(action_for("pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received: "
                       "0000:41:00.0"),
            action::kReseat);
  EXPECT_EQ(action_for("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM"),
            action::kReboot);
  for (const char* other :
       {"mlx5_core 0000:41:00.0: Port module event: module 2, Cable plugged",
        "eth0: health compromised", "pcieport 0000:40:01.1: AER: enabled with IRQ 31"}) {
    EXPECT_FALSE(known_line(other)) << other;
  }
}

TEST(KernelLog, AnXidIsKnownByItsNumber) {
  EXPECT_EQ(action_for("NVRM: Xid (PCI:0000:2b:00): 13, pid=9, name=a, Graphics Exception"),
            action::kRestartJob);
  EXPECT_EQ(action_for("NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus."),
            action::kReboot);
  EXPECT_EQ(action_for("NVRM: Xid (PCI:0000:2b:00): 999, what is to come"), action::kAskVendor);
}

TEST(KernelLog, TheDriverSaysWhichRecoveryItWants) {
  const std::string changed = "NVRM: Xid (PCI:0000:2b:00): 154, GPU recovery action changed ";
  const auto reset = known_line(changed + "from 0x0 (None) to 0x1 (GPU Reset Required)");
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->status, Status::fail);
  EXPECT_EQ(reset->meaning, "the driver asks for a reset of the GPU");
  const auto reboot = known_line(changed + "from 0x0 (None) to 0x2 (Node Reboot Required)");
  ASSERT_TRUE(reboot);
  EXPECT_EQ(reboot->meaning, "the driver asks for a reboot of the node");
  EXPECT_FALSE(known_line(changed + "from 0x1 (GPU Reset Required) to 0x0 (None)"));
}

}  // namespace
}  // namespace rdmabench::health
