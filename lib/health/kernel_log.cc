#include "kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/number.h"
#include "nvidia_log.h"

namespace rdmabench::inline v1::health {
namespace {

using enum LogSource;

/// Of a driver, by its name in "mlx5_core 0000:41:00.0: ...", "mlx5_ib.rdma: probe of ..." or
/// "NETDEV WATCHDOG: eth0 (ice): ...".
struct Driver {
  std::string_view name;
  LogSource source;
};
constexpr std::array kDrivers{Driver{"mlx5_core", mlx5}, Driver{"mlx5_ib", mlx5},
                              Driver{"bnxt_en", bnxt},   Driver{"bnxt_re", bnxt},
                              Driver{"efa", efa},        Driver{"irdma", intel},
                              Driver{"ice", intel}};

constexpr std::string_view kLookForIt =
    "Look at whether the device is back: rdma link; if it is not, reboot.";
constexpr std::string_view kBackOrReboot = "Reboot if the port is not back; update the firmware.";
constexpr std::string_view kRebootAndUpdate = "Reboot, and update the firmware.";
constexpr std::string_view kSendLines =
    "Reboot, update the firmware, and send the lines to NVIDIA.";
constexpr std::string_view kNoAnswer = "it does not answer over PCIe";
constexpr std::string_view kRebootOrReseat = "Reboot; if it comes again, reseat the card.";
constexpr std::string_view kNotSupported = "the card refuses the cable or its module";
constexpr std::string_view kSupported = "Replace it by one that the card's vendor supports.";
constexpr std::string_view kRdmaReset = "its RDMA engine failed, and the card was reset";
constexpr std::string_view kUpdateBoth = "Update the driver and the firmware together.";
constexpr std::string_view kReseatOrMove = "Reseat the card; if it comes again, try another slot.";
constexpr std::string_view kUnanswered = "a command of the driver was not answered";
constexpr std::string_view kTooHot = "it is too hot";
constexpr std::string_view kCoolIt = "Look at fans and air flow.";

// Sources: Linux 6.1 and 6.12 (mlx5/core/{health,events,cmd}.c, bnxt/{bnxt,bnxt_hwrm}.c,
// bnxt_re/qplib_rcfw.c, efa_com.c, ice_main.c, irdma/{hw,main}.c, pci/pcie/{aer,dpc}.c) and
// NVIDIA's open kernel modules 595.45 (osapi.c, osinit.c).
constexpr auto kKnown = std::to_array<KnownLine>({
    {mlx5, "health compromised", Status::fail, "its firmware has stopped",
     "Reboot; if it comes again, update the firmware or replace the card.", action::kReboot},
    // The syndrome of the firmware's health buffer; ones only where the card does not answer.
    {mlx5, " synd 0x0: ", Status::pass, "", "", ""},
    {mlx5, " synd 0x10: ", Status::fail, kTooHot, kCoolIt, action::kAskVendor},
    {mlx5, " synd 0xff: ", Status::fail, kNoAnswer, kRebootOrReseat, action::kReboot},
    {mlx5, " synd 0x", Status::fail, "its firmware reports an error of its own", kSendLines,
     action::kReboot},
    {mlx5, "PCI slot is unavailable", Status::fail, kNoAnswer, kRebootOrReseat, action::kReboot},
    {mlx5, "PCI reads still not working", Status::fail, kNoAnswer, kRebootOrReseat,
     action::kReboot},
    {mlx5, "health recovery failed", Status::fail, "the kernel could not recover it", kSendLines,
     action::kReboot},
    {mlx5, "Fatal error 1 detected", Status::fail, kNoAnswer, kRebootOrReseat, action::kReboot},
    // The kernel recovers from these or says that it could not, or a virtual function was taken
    // away.
    {mlx5, "Fatal error 2 detected", Status::warn, "the kernel took it offline for a while",
     kLookForIt, action::kInvestigate},
    {mlx5, "Fatal error 3 detected", Status::warn, "its interface to the host was disabled",
     kLookForIt, action::kInvestigate},
    {mlx5, "Fatal error 4 detected", Status::warn, "another function of the card reset it",
     kLookForIt, action::kInvestigate},
    {mlx5, "Fatal error 5 detected", Status::fail, "its firmware asks for a reset", kSendLines,
     action::kReboot},
    {mlx5, "Cable error, High Temperature", Status::warn, "a port's module is too hot", kCoolIt,
     action::kAskVendor},
    {mlx5, "insufficient/unadvertised power", Status::fail,
     "a port is off, for the slot does not announce enough power",
     "Look at the power of the PCIe slot; ask the vendor for a BIOS.", action::kAskVendor},
    {mlx5, "Power budget exceeded", Status::fail, kNotSupported, kSupported, action::kReplaceCable},
    {mlx5, "Long Range for non MLNX cable", Status::fail, kNotSupported, kSupported,
     action::kReplaceCable},
    {mlx5, "Enforce part number list", Status::fail, kNotSupported, kSupported,
     action::kReplaceCable},
    {mlx5, "Port module event[error]", Status::fail, "the cable or its module is faulty",
     "Reseat the cable; if it comes again, replace it.", action::kReseat},
    {mlx5, "High temperature on sensors", Status::warn, kTooHot, kCoolIt, action::kAskVendor},
    {mlx5, "insufficient power on the PCIe slot", Status::warn,
     "the slot does not announce enough power; harmless on some systems",
     "Compare its bandwidth with a node that does not say so; else ask the vendor for a BIOS.",
     action::kAskVendor},
    {mlx5, "Will cause a leak of a command resource", Status::fail, kUnanswered, kRebootAndUpdate,
     action::kReboot},
    // Up to Linux 5.15, and since.
    {bnxt, "Firmware fatal reset event", Status::fail, "its firmware was reset", kBackOrReboot,
     action::kReboot},
    {bnxt, "Fatal firmware reset event", Status::fail, "its firmware was reset", kBackOrReboot,
     action::kReboot},
    {bnxt, "Firmware non-fatal reset event", Status::warn, "its firmware was reset", kLookForIt,
     action::kInvestigate},
    {bnxt, "Non-fatal firmware reset event", Status::warn, "its firmware was reset", kLookForIt,
     action::kInvestigate},
    {bnxt, "Detected firmware fatal condition", Status::fail, "its firmware was reset",
     kBackOrReboot, action::kReboot},
    {bnxt, "Firmware not responding", Status::fail, "its firmware has stopped", kRebootAndUpdate,
     action::kReboot},
    {bnxt, "Firmware reset aborted", Status::fail, "its firmware did not come back",
     kRebootAndUpdate, action::kReboot},
    // Of bnxt_re up to Linux 6.4, and since; of bnxt_en.
    {bnxt, " timedout (", Status::fail, kUnanswered, kRebootAndUpdate, action::kReboot},
    {bnxt, "FW STALL Detected", Status::fail, kUnanswered, kRebootAndUpdate, action::kReboot},
    {bnxt, "Error (timeout: ", Status::fail, kUnanswered, kRebootAndUpdate, action::kReboot},
    {bnxt, "Chip temperature has gone above", Status::warn, kTooHot, kCoolIt, action::kAskVendor},
    {efa, "didn't send any completion for admin cmd", Status::fail, "the device does not answer",
     "Stop and start the instance.", action::kReboot},
    {efa, "didn't receive any MSI-X interrupt", Status::fail, "an interrupt of the device was lost",
     "Stop and start the instance.", action::kReboot},
    {efa, "Wait for completion (polling) timeout", Status::fail, "the device does not answer",
     "Stop and start the instance.", action::kReboot},
    {efa, "Reading register timed out", Status::fail, "the device does not answer",
     "Stop and start the instance.", action::kReboot},
    {intel, "Malicious Driver Detection event", Status::warn,
     "the card refused what a queue asked for, and stopped it", kUpdateBoth, action::kAskVendor},
    {intel, "critical PE Error", Status::warn, kRdmaReset, kUpdateBoth, action::kUpdateSoftware},
    {intel, "HMC Error", Status::warn, kRdmaReset, kUpdateBoth, action::kUpdateSoftware},
    {intel, "Entering Safe Mode", Status::warn, "it has no DDP package, and no RDMA then",
     "Install the package (intel/ice/ddp/ice.pkg) and load ice again.", action::kUpdateSoftware},
    {intel, "Rebuild failed, unload", Status::fail, "it did not come back after a reset",
     "Unload and load the driver ice, or reboot.", action::kReboot},
    {intel, "unrecoverable", Status::fail, "the kernel could not recover it",
     "Unload and load the driver ice, or reboot.", action::kReboot},
    {intel, "abnormal ae_id", Status::warn, "a queue pair failed",
     "Look for jobs that ended by themselves; update the firmware if they are many.",
     action::kRestartJob},
    {pcie, "(Fatal)", Status::fail, "a PCIe link lost data", kReseatOrMove, action::kReseat},
    // Downstream port containment: the port cuts the link off, and no message of AER follows.
    {pcie, "ERR_FATAL", Status::fail, "a PCIe link was cut off", kReseatOrMove, action::kReseat},
    {pcie, "DPC: containment event", Status::warn, "a PCIe link was cut off", kReseatOrMove,
     action::kReseat},
    {pcie, "(Non-Fatal)", Status::warn, "a PCIe transfer failed", kReseatOrMove, action::kReseat},
    // What the firmware reports, with no other word for how bad it was.
    {pcie, "aer_uncor_severity: ", Status::warn, "a PCIe transfer failed", kReseatOrMove,
     action::kReseat},
    {pcie, "Multiple Correct", Status::warn, "a PCIe link repeats much",
     "Reseat the card, and compare pcie.width and pcie.speed.", action::kReseat},
    // Of a GPU without an Xid: at the load of the driver, or beside Xid 79.
    {gpu, "fallen off the bus", Status::fail, "the GPU has left the PCIe bus",
     "Reboot; if it comes again, reseat it, and look at its power.", action::kReboot},
    {gpu, "requiring os reboot to recover", Status::fail,
     "the driver asks for a reboot of the node", "Drain the node and reboot it.", action::kReboot},
    {gpu, "RmInitAdapter failed", Status::fail, "it could not be initialized",
     "Drain the node and reset the GPU: nvidia-smi --gpu-reset.", action::kReboot},
});

/// "NVRM: Xid (PCI:0000:2b:00): 79, pid=..." behind "NVRM: Xid (": 79.
std::optional<std::uint32_t> number_after(std::string_view line, std::string_view mark) {
  const std::size_t begin = line.find("): ", line.find(mark));
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin + 3);
  const std::string_view digits = line.substr(0, line.find_first_not_of("0123456789"));
  if (digits.empty()) return std::nullopt;
  return parse_number<std::uint32_t>(digits).value_or(0);
}

/// Whether `name` is in the line as a word: "ice" is not in "device".
bool holds_word(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    const std::string_view end = line.substr(at + name.size());
    if ((at == 0 || line[at - 1] == ' ' || line[at - 1] == '(') && !end.empty() &&
        std::string_view(" :.)").find(end.front()) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::optional<LogSource> source_of(std::string_view line) {
  if (holds(line, "NVRM: ")) return gpu;
  if (holds(line, "AER: ") || holds(line, "DPC: ") || holds(line, "PCIe Bus Error: ")) return pcie;
  for (const Driver& driver : kDrivers) {
    if (holds_word(line, driver.name)) return driver.source;
  }
  return std::nullopt;
}

/// What the kernel itself says of a driver (base/dd.c and net/sched/sch_generic.c).
std::optional<KnownLine> of_any_driver(LogSource source, std::string_view line) {
  // "probe of 0000:03:00.0 failed with error -22"; from Linux 6.8 on "probe with driver mlx5_core
  // failed with error -22". A file of firmware fails with an error too.
  if (holds(line, "probe ") && holds(line, " failed with error -22")) {  // EINVAL
    return KnownLine{source,
                     "",
                     Status::fail,
                     "its driver could not start it, as one that does not fit the firmware",
                     "Update the driver (the kernel), or the firmware, so that the two fit.",
                     action::kUpdateSoftware};
  }
  if (holds(line, "probe ") && holds(line, " failed with error ")) {
    return KnownLine{source,
                     "",
                     Status::fail,
                     "its driver could not start it",
                     "Read the lines before this one; load the driver again, or reboot.",
                     action::kReboot};
  }
  if (holds(line, "NETDEV WATCHDOG: ")) {
    return KnownLine{source,
                     "",
                     Status::warn,
                     "a queue of it did not send for seconds",
                     "Update the firmware and the driver if it comes again.",
                     action::kUpdateSoftware};
  }
  return std::nullopt;
}

}  // namespace

std::optional<KnownLine> known_line(std::string_view line) {
  if (const auto xid = number_after(line, "NVRM: Xid (")) return of_xid(*xid, line);
  if (const auto sxid = number_after(line, "SXid (")) return of_sxid(*sxid, line);
  const std::optional<LogSource> source = source_of(line);
  if (!source) return std::nullopt;
  if (const auto line_of_any = of_any_driver(*source, line)) return line_of_any;
  for (const KnownLine& one : kKnown) {
    if (one.source != *source || !holds(line, one.text)) continue;
    return one.status == Status::pass ? std::nullopt : std::optional(one);
  }
  return std::nullopt;
}

constexpr std::size_t kMostBytes = 1U << 19U;  // of the lines of each status

void KnownLines::add(std::string_view line) {
  const std::optional<KnownLine> known = known_line(line);
  if (!known) return;
  std::string& lines = known->status == Status::fail ? fails_ : warns_;
  if (lines.size() < kMostBytes) lines.append(line) += '\n';  // more are read for a fault's
}

std::string known_lines_of_kernel(int& error) {
  constexpr int kMostRecords = 1 << 20;
  error = 0;
  const int descriptor = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    error = errno;
    return "";
  }
  lseek(descriptor, 0, SEEK_DATA);  // after what dmesg --clear has acknowledged
  KnownLines lines;
  std::array<char, 8192> record{};
  for (int i = 0; i < kMostRecords; ++i) {
    // Each read(2) gives one record: "6,339,5140900,-;the line", and lines of its own below.
    const ssize_t size = read(descriptor, record.data(), record.size());
    if (size < 0 && errno == EPIPE) continue;  // it was overwritten meanwhile
    if (size < 0 && errno != EAGAIN) error = errno;
    if (size <= 0) break;
    std::string_view line(record.data(), static_cast<std::size_t>(size));
    line.remove_prefix(std::min(line.find(';') + 1, line.size()));
    lines.add(line.substr(0, line.find('\n')));
  }
  close(descriptor);
  return lines.text();
}

}  // namespace rdmabench::inline v1::health
