#include "health/kernel_log.h"

#include <gmock/gmock.h>

#include <string>

namespace rdmabench::inline v1::health {
namespace {

using testing::HasSubstr;

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
  EXPECT_EQ(action_for("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM"),
            action::kReboot);
  for (const char* other :
       {"mlx5_core 0000:41:00.0: Port module event: module 2, Cable plugged",
        "eth0: health compromised", "pcieport 0000:40:01.1: AER: enabled with IRQ 31"}) {
    EXPECT_FALSE(known_line(other)) << other;
  }
}

Status status_of(std::string_view line) {
  const std::optional<KnownLine> known = known_line(line);
  return known ? known->status : Status::pass;
}

// Of base/dd.c before and since Linux 6.8, and of the drivers of auxiliary devices.
TEST(KernelLog, ADriverThatDidNotStartIsAFault) {
  for (const char* line :
       {"mlx5_core: probe of 0000:03:00.0 failed with error -22",
        "mlx5_core 0000:81:00.0: probe with driver mlx5_core failed with error -110",
        "mlx5_ib.rdma: probe of mlx5_core.rdma.0 failed with error -12",
        "bnxt_en: probe of 0000:af:00.1 failed with error -1",
        "efa: probe of 0000:00:1d.0 failed with error -62",
        "irdma.gen_2: probe of ice.roce.0 failed with error -12"}) {
    EXPECT_EQ(status_of(line), Status::fail) << line;
  }
  for (const char* other :
       {"e1000: probe of 0000:02:00.0 failed with error -5",
        "ice 0000:01:00.0: Direct firmware load for intel/ice/ddp/ice.pkg failed with error -2",
        "mlx5_core: probe of 0000:03:00.0 returned 0 after 1800 usecs"}) {
    EXPECT_FALSE(known_line(other)) << other;
  }
}

// print_health_info() of health.c: Linux 4.14 to 6.12 give the syndrome, in this form.
TEST(KernelLog, TheSyndromeSaysWhatMlx5sFirmwareReports) {
  const std::string card = "mlx5_core 0000:61:00.0: ";
  const auto hot = known_line(card + "print_health_info:520:(pid 0): synd 0x10: High temperature");
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->meaning, "it is too hot");
  EXPECT_EQ(hot->action, action::kAskVendor);
  EXPECT_THAT(known_line(card + "synd 0x7: irisc not responding")->meaning,
              HasSubstr("error of its own"));
  EXPECT_THAT(known_line(card + "synd 0xff: unrecognized error")->meaning, HasSubstr("PCIe"));
  for (const char* other :
       {"synd 0x0: unrecognized error", "ext_synd 0x40d0", "assert_var[0] 0x00000001"}) {
    EXPECT_FALSE(known_line(card + other)) << other;
  }
}

// ice_main.c and irdma/main.c of Linux 6.1 to 6.12.
TEST(KernelLog, IntelsCardIsResetOrLost) {
  const std::string card = "ice 0000:4c:00.0 rocep76s0: ";
  for (const char* text : {"critical PE Error, GLPE_CRITERR=0x00011424", "HMC Error"}) {
    EXPECT_EQ(status_of(card + text), Status::warn) << text;
  }
  EXPECT_EQ(action_for("ice 0000:01:00.0: The DDP package file was not found or could not be read. "
                       "Entering Safe Mode"),
            action::kUpdateSoftware);
  for (const char* text : {"Rebuild failed, unload and reload driver",
                           "tx_timeout recovery unsuccessful, device is in unrecoverable state."}) {
    EXPECT_EQ(status_of("ice 0000:4c:00.0: " + std::string(text)), Status::fail) << text;
  }
  for (const char* other :
       {"The DDP package was successfully loaded: ICE OS Default Package version 1.3.36.0",
        "Rebuild failed with new queues, try with current number of queues"}) {
    EXPECT_FALSE(known_line("ice 0000:65:00.0: " + std::string(other))) << other;
  }
}

TEST(KernelLog, EfaPollsForAnAnswer) {
  EXPECT_EQ(status_of("efa 0000:4f:00.0 rdmap79s0: Wait for completion (polling) timeout"),
            Status::fail);
}

// mlx5_pme_error_to_string() of events.c.
TEST(KernelLog, AModuleThatIsHotOrRefusedIsNotABadCable) {
  const std::string begin =
      "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, ";
  EXPECT_EQ(status_of(begin + "High Temperature"), Status::warn);
  EXPECT_EQ(action_for(begin + "High Temperature"), action::kAskVendor);
  EXPECT_EQ(action_for(begin + "One or more network ports have been powered down due to "
                               "insufficient/unadvertised power on the PCIe slot"),
            action::kAskVendor);
  for (const char* refused :
       {"Power budget exceeded", "Long Range for non MLNX cable", "Enforce part number list"}) {
    EXPECT_EQ(action_for(begin + refused), action::kReplaceCable) << refused;
    EXPECT_EQ(status_of(begin + refused), Status::fail) << refused;
  }
  for (const char* faulty : {"Bus stuck (I2C or data shorted)", "No EEPROM/retry timeout",
                             "Unknown identifier", "Bad or shorted cable/module"}) {
    EXPECT_EQ(action_for(begin + faulty), action::kReseat) << faulty;
  }
}

TEST(KernelLog, ACardThatTheKernelCouldNotRecoverIsLost) {
  const std::string card = "mlx5_core 0000:c4:00.0: mlx5_health_try_recover:338:(pid 250): ";
  EXPECT_EQ(status_of(card + "health recovery failed"), Status::fail);
  EXPECT_EQ(status_of(card + "health recovery flow aborted, PCI reads still not working"),
            Status::fail);
  EXPECT_EQ(status_of("mlx5_core 0000:c4:00.0: print_health_info:432: PCI slot is unavailable"),
            Status::fail);
  EXPECT_FALSE(known_line(card + "health recovery succeeded"));
  EXPECT_FALSE(known_line(card + "handling bad device here"));
}

// Of bnxt.c, bnxt_hwrm.c and qplib_rcfw.c of Linux 5.10 to 6.12.
TEST(KernelLog, BnxtsFirmwareInTheWordsOfEveryKernel) {
  const std::string port = "bnxt_en 0000:21:00.0 eth0: ";
  for (const char* text : {"Firmware fatal reset event, data1: 0x1a0205",
                           "Fatal firmware reset event, data1: 0x1a0205",
                           "Detected firmware fatal condition, initiating reset",
                           "Firmware not responding, status: 0x89021",
                           "Firmware reset aborted, PCI config space invalid",
                           "Error (timeout: 500015) msg {0x0 0x0} len:0"}) {
    EXPECT_EQ(status_of(port + text), Status::fail) << text;
  }
  for (const char* text :
       {"cmdq[0x1a2]=0x3 timedout (20000)msec",
        "QPLIB: bnxt_re_is_fw_stalled: FW STALL Detected. cmdq[0xe]=0x3 waited (103641 > 100000) "
        "msec active 1"}) {
    EXPECT_THAT(known_line("bnxt_en 0000:12:00.0: " + std::string(text))->meaning,
                HasSubstr("command"));
  }
  for (const char* text : {"Firmware non-fatal reset event, data1: 0x1",
                           "Non-fatal firmware reset event, data1: 0x1a0105",
                           "Chip temperature has gone above the critical thermal threshold!"}) {
    EXPECT_EQ(status_of(port + text), Status::warn) << text;
  }
  for (const char* text : {"Normal firmware reset event, data1: 0x0, data2: 0x8000",
                           "Chip temperature has gone below the warning thermal threshold!",
                           "hwrm req_type 0x8e seq id 0x12f error 0x4"}) {
    EXPECT_FALSE(known_line(port + text)) << text;
  }
}

TEST(KernelLog, AQueueThatStoppedForAWhileIsNotWorthADrain) {
  const auto known =
      known_line("NETDEV WATCHDOG: ens1f0 (mlx5_core): transmit queue 3 timed out 5120 ms");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->source, LogSource::mlx5);
  EXPECT_EQ(known->status, Status::warn);
  EXPECT_FALSE(known_line("NETDEV WATCHDOG: eno1 (igb): transmit queue 0 timed out"));
}

TEST(KernelLog, ADriversNameIsAWord) {
  EXPECT_FALSE(known_line("i40e: a device 0000:01:00.0: Malicious Driver Detection event 2"));
  EXPECT_TRUE(known_line("ice 0000:01:00.0: Malicious Driver Detection event 2"));
}

// Of aer.c of Linux 4.18 to 6.12.
TEST(KernelLog, PciesErrorsInTheWordsOfEveryKernel) {
  const std::string port = "pcieport 0000:40:01.1: AER: ";
  for (const char* end : {" error received: id=0008", " error received: 0000:41:00.0",
                          " error message received from 0000:41:00.0"}) {
    for (const char* multiple : {"", "Multiple "}) {
      const std::string begin = port + multiple;
      for (const char* word : {"Uncorrected", "Uncorrectable"}) {
        EXPECT_EQ(status_of(begin + word + " (Fatal)" + end), Status::fail) << word << end;
        EXPECT_EQ(status_of(begin + word + " (Non-Fatal)" + end), Status::warn) << word << end;
      }
      const Status corrected = *multiple != 0 ? Status::warn : Status::pass;
      EXPECT_EQ(status_of(begin + "Corrected" + end), corrected);
      EXPECT_EQ(status_of(begin + "Correctable" + end), corrected);
    }
  }
  const std::string card = "mlx5_core 0000:41:00.0: ";
  EXPECT_EQ(status_of(card + "PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
                             "Layer, (Receiver ID)"),
            Status::fail);
  EXPECT_EQ(status_of(card + "AER: PCIe Bus Error: severity=Uncorrectable (Fatal), "
                             "type=Inaccessible, (Unregistered Agent ID)"),
            Status::fail);
  EXPECT_EQ(status_of(card + "PCIe Bus Error: severity=Correctable, type=Physical Layer, "
                             "(Receiver ID)"),
            Status::pass);
  EXPECT_EQ(status_of(card + "AER: aer_status: 0x00004000, aer_mask: 0x00000000"), Status::pass);
  EXPECT_EQ(status_of(card + "AER: aer_uncor_severity: 0x00462030"), Status::warn);
  EXPECT_EQ(action_for(port + "Uncorrected (Fatal) error received: 0000:41:00.0"), action::kReseat);
}

// Of dpc.c: older kernels write two lines, newer ones write one.
TEST(KernelLog, APortThatCutItsLinkOff) {
  const std::string port = "pcieport 0000:30:03.0: DPC: ";
  EXPECT_EQ(status_of(port + "ERR_FATAL detected"), Status::fail);
  EXPECT_EQ(status_of(port + "containment event, status:0x200d, ERR_FATAL received from "
                             "0015:01:00.0"),
            Status::fail);
  for (const char* text :
       {"containment event, status:0x0005 source:0x3400",
        "containment event, status:0x1f01: unmasked uncorrectable error detected",
        "containment event, status:0x1f03, ERR_NONFATAL received from 0000:ba:00.0"}) {
    EXPECT_EQ(status_of(port + text), Status::warn) << text;
  }
  EXPECT_FALSE(known_line(port + "error containment capabilities: Int Msg #0, RPExt+"));
  EXPECT_FALSE(known_line(port + "enabled with IRQ 34"));
}

TEST(KernelLog, AnXidHasNvidiasAction) {
  const auto status = [](int number) {
    return status_of("NVRM: Xid (PCI:0000:2b:00): " + std::to_string(number) + ", pid=9");
  };
  for (const int harmless : {14, 106, 107, 162}) EXPECT_EQ(status(harmless), Status::pass);
  for (const int of_job : {8, 13, 32, 38, 41, 69, 72, 84, 105, 121, 128, 137, 153, 174, 176, 185}) {
    EXPECT_EQ(status(of_job), Status::warn) << of_job;
  }
  for (const int to_reset : {48, 61, 95, 110, 136, 143, 144, 150, 156, 158, 171, 173, 175}) {
    EXPECT_EQ(status(to_reset), Status::fail) << to_reset;
  }
  for (const int missing : {7, 59, 118, 177, 184, 186}) {
    EXPECT_THAT(known_line("NVRM: Xid (PCI:0000:2b:00): " + std::to_string(missing))->meaning,
                HasSubstr("release does not know"));
  }
}

TEST(KernelLog, AnNvlinkErrorSaysItselfWhetherItIsFatal) {
  const std::string begin = "NVRM: Xid (PCI:0018:01:00): 145, RLW_REMAP ";
  const std::string end = " XC0 i0 Link 02 (0x00000004 0x00000001 0x00000000 0x00000000)";
  EXPECT_EQ(status_of(begin + "Nonfatal" + end), Status::warn);
  EXPECT_EQ(status_of(begin + "Fatal" + end), Status::fail);
}

TEST(KernelLog, AnSxidIsKnownByItsNumberElseByItsLine) {
  const std::string begin = "nvidia-nvswitch3: SXid (PCI:0000:08:00.0): ";
  EXPECT_EQ(status_of(begin + "22013, Non-fatal, Link 60 Minion Link DLREQ interrupt"),
            Status::pass);
  EXPECT_THAT(known_line(begin + "12021, Non-fatal, Link 3 egress ECC limit")->meaning,
              HasSubstr("corrected"));
  EXPECT_THAT(known_line(begin + "23005, Fatal, ingress packet burst error")->meaning,
              HasSubstr("whole fabric"));
  EXPECT_EQ(status_of(begin + "20009, Non-fatal, Link 04 RX Short Error Rate"), Status::warn);
  EXPECT_EQ(status_of(begin + "12028, Non-fatal, Link 32 egress non-posted PRIV error (First)"),
            Status::fail);
  EXPECT_EQ(status_of(begin + "20034, Fatal, Link 28 LTSSM Fault Up"), Status::fail);
  EXPECT_EQ(status_of(begin + "20034, Severity 5 Engine instance 28 Sub-engine instance 00"),
            Status::pass)
      << "a second line of the same error";
}

// NVSWITCH_PRINT_SXID() of the switch's driver: the line has no word for how bad it is.
TEST(KernelLog, AnSxidNeedsNoWordForHowBadItIs) {
  const std::string begin = "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): ";
  for (const char* text :
       {"10004, PMGR OVERT Threshold reached. Shutting Down",
        "10006, NVSWITCH Temperature 105C | OVERT Threshold 102C", "10007, IO failure",
        "25010, ALI Training failure. Info 0x00000000", "26006, SOE HALTED",
        "26004, Timed out while waiting for SOE command completion. Data {0x00000000, 0x00000000}",
        "27005, Module 3 faulty", "28003, OSFP Thermal Overt Activated"}) {
    EXPECT_EQ(status_of(begin + text), Status::fail) << text;
  }
  EXPECT_EQ(action_for(begin + "27005, Module 3 faulty"), action::kReseat);
  EXPECT_EQ(status_of(begin + "10004, NVSWITCH Temperature 92C | TSENSE WARN Threshold 90C"),
            Status::warn);
  EXPECT_EQ(status_of(begin + "28001, OSFP Thermal Warn Activated"), Status::warn);
  EXPECT_EQ(status_of(begin + "10009, TNVL mode is locked"), Status::warn);
  for (const char* end :
       {"10005, Thermal slowdown Disengaged", "28002, OSFP Thermal Warn Deactivated",
        "28004, OSFP Thermal Overt Deactivated", "12028, Data {0x00000000, 0x00000000}"}) {
    EXPECT_FALSE(known_line(begin + end)) << end;
  }
}

TEST(KernelLog, AnXidIsKnownByItsNumber) {
  EXPECT_EQ(action_for("NVRM: Xid (PCI:0000:2b:00): 13, pid=9, name=a, Graphics Exception"),
            action::kRestartJob);
  EXPECT_EQ(action_for("NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus."),
            action::kReboot);
  EXPECT_EQ(action_for("NVRM: Xid (PCI:0000:2b:00): 999, what is to come"), action::kAskVendor);
}

// osapi.c and osinit.c: three lines are one record of /dev/kmsg, which writes a line end as \\x0a.
TEST(KernelLog, AGpuIsLostWithoutAnXidToo) {
  for (const char* line :
       {"NVRM: The NVIDIA GPU 0000:18:00.0\\x0aNVRM: (PCI ID: 10de:2901) installed in this system "
        "has\\x0aNVRM: fallen off the bus and is not responding to commands.",
        "NVRM: GPU 0000:91:00.0: GPU has fallen off the bus.",
        "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os "
        "reboot to recover.",
        "NVRM: GPU 0000:0a:00.0: RmInitAdapter failed! (0x24:0x72:1568)"}) {
    const auto known = known_line(line);
    ASSERT_TRUE(known) << line;
    EXPECT_EQ(known->source, LogSource::gpu);
    EXPECT_EQ(known->status, Status::fail);
  }
  for (const char* other :
       {"NVRM: GPU at PCI:0000:91:00: GPU-b6c3b2be-c55b-d076-fa0e-d464e4c7e08b",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build",
        "NVRM: GPU4 RPC history (CPU -> GSP):"}) {
    EXPECT_FALSE(known_line(other)) << other;
  }
}

TEST(KernelLog, AFloodOfWarningsHidesNoFault) {
  const std::string corrected = "pcieport 0000:3a:00.0: AER: Multiple Corrected error received";
  const std::string fatal = "pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received";
  KnownLines lines;
  for (const std::string& line :
       {corrected, std::string("usb 1-1: new device"), fatal, corrected}) {
    lines.add(line);
  }
  EXPECT_EQ(lines.text(), fatal + '\n' + corrected + '\n' + corrected + '\n');
  for (int i = 0; i < 100'000; ++i) lines.add(corrected);
  lines.add(fatal);
  EXPECT_TRUE(lines.text().starts_with(fatal + '\n' + fatal + '\n'));
  EXPECT_LT(lines.text().size(), std::size_t{1} << 20U);
}

TEST(KernelLog, TheDriverSaysWhichRecoveryItWants) {
  const std::string changed = "NVRM: Xid (PCI:0000:2b:00): 154, GPU recovery action changed ";
  const auto reset = known_line(changed + "from 0x0 (None) to 0x1 (GPU Reset Required)");
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->status, Status::fail);
  EXPECT_THAT(reset->meaning, HasSubstr("reset of the GPU"));
  const auto reboot = known_line(changed + "from 0x0 (None) to 0x2 (Node Reboot Required)");
  ASSERT_TRUE(reboot);
  EXPECT_THAT(reboot->meaning, HasSubstr("reboot of the node"));
  EXPECT_FALSE(known_line(changed + "from 0x1 (GPU Reset Required) to 0x0 (None)"));
  EXPECT_THAT(known_line(changed + "from 0x0 (None) to 0x7 (System Reboot)")->meaning,
              HasSubstr("reboot of the node"));
  EXPECT_EQ(action_for(changed + "from 0x0 (None) to 0x3 (Drain P2P)"), action::kRestartJob);
  EXPECT_EQ(action_for(changed + "from 0x0 (None) to 0x5 (Recover IMEX Domain)"),
            action::kInvestigate);
  EXPECT_THAT(known_line(changed + "from 0x0 (None) to 0x4 (Drain and Reset)")->meaning,
              HasSubstr("reset of the GPU"));
}

}  // namespace
}  // namespace rdmabench::inline v1::health
