#include "kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rdmabench::health {
namespace {

using enum LogSource;

/// Of a driver, by the name that its lines begin with.
struct Driver {
  std::string_view name;
  LogSource source;
};
constexpr std::array kDrivers{Driver{"mlx5_core ", mlx5}, Driver{"bnxt_en ", bnxt},
                              Driver{"bnxt_re ", bnxt},   Driver{"efa ", efa},
                              Driver{"irdma", intel},     Driver{"ice ", intel}};

// Sources: the drivers in Linux (mlx5/core/health.c, events.c and cmd.c, bnxt.c, bnxt_re's
// qplib_rcfw.c, efa_com.c, ice_main.c, irdma/hw.c, pci/pcie/aer.c).
constexpr std::array kKnown{
    KnownLine{mlx5, "health compromised", Status::fail, "its firmware has stopped",
              "Reboot; if it comes again, update the firmware or replace the card.",
              action::kReboot},
    KnownLine{mlx5, "assert_var[", Status::fail, "its firmware failed an assertion",
              "Reboot, update the firmware, and send the lines to NVIDIA.", action::kReboot},
    KnownLine{mlx5, "Port module event[error]", Status::fail, "the cable or its module is faulty",
              "Reseat the cable; if it comes again, replace it.", action::kReseat},
    KnownLine{mlx5, "High temperature on sensors", Status::warn, "it is too hot",
              "Look at fans and air flow.", action::kAskVendor},
    KnownLine{
        mlx5, "insufficient power on the PCIe slot", Status::warn,
        "the slot does not announce enough power; harmless on some systems",
        "Compare its bandwidth with a node that does not say so; else ask the vendor for a BIOS.",
        action::kAskVendor},
    KnownLine{mlx5, "Will cause a leak of a command resource", Status::fail,
              "a command of the driver was not answered", "Reboot, and update the firmware.",
              action::kReboot},
    KnownLine{bnxt, "Firmware fatal reset event", Status::fail, "its firmware was reset",
              "Reboot if the port is not back; update the firmware.", action::kReboot},
    KnownLine{bnxt, " timedout (", Status::fail, "a command of the driver was not answered",
              "Reboot, and update the firmware.", action::kReboot},
    KnownLine{efa, "didn't send any completion for admin cmd", Status::fail,
              "the device does not answer", "Stop and start the instance.", action::kReboot},
    KnownLine{efa, "didn't receive any MSI-X interrupt", Status::fail,
              "an interrupt of the device was lost", "Stop and start the instance.",
              action::kReboot},
    KnownLine{efa, "Reading register timed out", Status::fail, "the device does not answer",
              "Stop and start the instance.", action::kReboot},
    KnownLine{intel, "Malicious Driver Detection event", Status::warn,
              "the card refused what a queue asked for, and stopped it",
              "Update the driver and the firmware together.", action::kAskVendor},
    KnownLine{intel, "abnormal ae_id", Status::warn, "a queue pair failed",
              "Look for jobs that ended by themselves; update the firmware if they are many.",
              action::kRestartJob},
    KnownLine{pcie, "AER: Uncorrected (Fatal)", Status::fail, "a PCIe link lost data",
              "Reseat the card; if it comes again, try another slot.", action::kReseat},
    KnownLine{pcie, "AER: Uncorrectable (Fatal)", Status::fail, "a PCIe link lost data",
              "Reseat the card; if it comes again, try another slot.", action::kReseat},
    KnownLine{pcie, "AER: Multiple Correctable error", Status::warn, "a PCIe link repeats much",
              "Reseat the card, and compare pcie.width and pcie.speed.", action::kReseat},
    KnownLine{nvswitch, ", Fatal, ", Status::fail, "an NVLink switch failed",
              "Reboot; if it comes again, ask the vendor.", action::kReboot},
    KnownLine{nvswitch, ", Non-fatal, ", Status::warn, "an NVLink switch had an error",
              "Look the number up in the Fabric Manager's user guide.", action::kAskVendor},
};

// Source: NVIDIA, "Analyzing Xid Errors with the Xid Catalog" (of November 2026).
constexpr std::string_view kResetGpu = "Drain the node and reset the GPU: nvidia-smi --gpu-reset.";
constexpr std::string_view kRestart = "Look at the job that ran; restart it.";
constexpr std::array kXids{
    KnownLine{gpu, "13", Status::warn, "a program's error", kRestart, action::kRestartJob},
    KnownLine{gpu, "31", Status::warn, "a program read or wrote a wrong address", kRestart,
              action::kRestartJob},
    KnownLine{gpu, "43", Status::warn, "a program's channel was stopped", kRestart,
              action::kRestartJob},
    KnownLine{gpu, "45", Status::warn, "a program was ended", kRestart, action::kRestartJob},
    KnownLine{gpu, "46", Status::fail, "the GPU stopped working", kResetGpu, action::kReboot},
    KnownLine{gpu, "48", Status::fail, "its memory lost data", kResetGpu, action::kReboot},
    KnownLine{gpu, "61", Status::fail, "its power management failed", kResetGpu, action::kReboot},
    KnownLine{gpu, "62", Status::fail, "its power management failed", kResetGpu, action::kReboot},
    KnownLine{gpu, "63", Status::warn, "a row of its memory is to be replaced at the next reset",
              kResetGpu, action::kReboot},
    KnownLine{gpu, "64", Status::fail, "a row of its memory could not be replaced",
              "Reset the GPU; if it comes again, replace it.", action::kReboot},
    KnownLine{gpu, "74", Status::fail, "an NVLink failed",
              "Reset the GPU; if it comes again, reseat it, then ask the vendor.", action::kReboot},
    KnownLine{gpu, "79", Status::fail, "the GPU has left the PCIe bus",
              "Reboot; if it comes again, reseat it, and look at its power.", action::kReboot},
    KnownLine{gpu, "92", Status::warn, "many single-bit errors of its memory",
              "Run the vendor's diagnosis.", action::kAskVendor},
    KnownLine{gpu, "94", Status::warn, "its memory lost data of one program", kRestart,
              action::kRestartJob},
    KnownLine{gpu, "95", Status::fail, "its memory lost data of any program", kResetGpu,
              action::kReboot},
    KnownLine{gpu, "109", Status::fail, "it did not switch between programs", kResetGpu,
              action::kReboot},
    KnownLine{gpu, "119", Status::fail, "its system processor does not answer", kResetGpu,
              action::kReboot},
    KnownLine{gpu, "120", Status::fail, "its system processor failed", kResetGpu, action::kReboot},
    KnownLine{gpu, "140", Status::fail, "its memory lost data", kResetGpu, action::kReboot},
    KnownLine{gpu, "154", Status::fail, "the driver asks for a reset of the GPU", kResetGpu,
              action::kReboot},
};
// Its line: "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)".
constexpr std::string_view kToNone = " to 0x0";
constexpr std::string_view kToReboot = " to 0x2";
constexpr KnownLine kRebootNode{gpu,
                                "154",
                                Status::fail,
                                "the driver asks for a reboot of the node",
                                "Drain the node and reboot it.",
                                action::kReboot};

bool holds(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

/// "NVRM: Xid (PCI:0000:2b:00): 79, pid=...": 79.
std::string_view xid_of(std::string_view line) {
  const std::size_t mark = line.find("NVRM: Xid (");
  if (mark == std::string_view::npos) return {};
  const std::size_t begin = line.find("): ", mark);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + 3);
  return line.substr(0, line.find_first_not_of("0123456789"));
}

std::optional<LogSource> source_of(std::string_view line) {
  if (holds(line, "SXid (")) return nvswitch;
  if (holds(line, "AER: ")) return pcie;
  for (const Driver& driver : kDrivers) {
    if (holds(line, driver.name)) return driver.source;
  }
  return std::nullopt;
}

}  // namespace

std::optional<KnownLine> known_line(std::string_view line) {
  if (const std::string_view number = xid_of(line); !number.empty()) {
    if (number == kRebootNode.text && holds(line, kToNone)) return std::nullopt;
    if (number == kRebootNode.text && holds(line, kToReboot)) return kRebootNode;
    for (const KnownLine& known : kXids) {
      if (known.text == number) return known;
    }
    return KnownLine{gpu,
                     "",
                     Status::warn,
                     "an Xid that this release does not know",
                     "Look its number up in NVIDIA's Xid catalog.",
                     action::kAskVendor};
  }
  const std::optional<LogSource> source = source_of(line);
  if (!source) return std::nullopt;
  for (const KnownLine& known : kKnown) {
    if (known.source == *source && holds(line, known.text)) return known;
  }
  return std::nullopt;
}

std::string known_lines_of_kernel(int& error) {
  constexpr std::size_t kMostBytes = 1U << 20U;
  constexpr int kMostRecords = 1 << 20;
  error = 0;
  const int descriptor = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    error = errno;
    return "";
  }
  lseek(descriptor, 0, SEEK_DATA);  // after what dmesg --clear has acknowledged
  std::string text;
  std::array<char, 8192> record{};
  for (int i = 0; i < kMostRecords && text.size() < kMostBytes; ++i) {
    // Each read(2) gives one record: "6,339,5140900,-;the line", and lines of its own below.
    const ssize_t size = read(descriptor, record.data(), record.size());
    if (size < 0 && errno == EPIPE) continue;  // it was overwritten meanwhile
    if (size < 0 && errno != EAGAIN) error = errno;
    if (size <= 0) break;
    std::string_view line(record.data(), static_cast<std::size_t>(size));
    line.remove_prefix(std::min(line.find(';') + 1, line.size()));
    line = line.substr(0, line.find('\n'));
    if (known_line(line)) text.append(line) += '\n';
  }
  close(descriptor);
  return text;
}

}  // namespace rdmabench::health
