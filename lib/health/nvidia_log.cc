#include "nvidia_log.h"

#include <algorithm>
#include <array>
#include <span>

namespace rdmabench::inline v1::health {
namespace {

/// What NVIDIA's numbers `first` to `last` mean.
struct Numbered {
  std::uint32_t first;
  std::uint32_t last;
  Status status;  ///< pass: no fault
  std::string_view meaning{};
  std::string_view remedy{};
  std::string_view action{};
};

// Sources: NVIDIA, "Analyzing Xid Errors with the Xid Catalog" (of November 2026), which has the
// action that each calls for; for 47, 65, 73, 122 to 125 and 173 to 176 nverror.h of its open
// kernel modules (595.45); for 185 the release notes of GPU Operational Events R620.
constexpr std::string_view kResetGpu = "Drain the node and reset the GPU: nvidia-smi --gpu-reset.";
constexpr std::string_view kRebootTheNode = "Drain the node and reboot it.";
constexpr std::string_view kRestart = "Look at the job that ran; restart it.";
constexpr std::string_view kWatch = "Look for jobs that failed; if it comes again, ask the vendor.";
constexpr std::string_view kSee154 = "Look for an Xid 154 beside it, which names what is due.";

constexpr Numbered of_program(std::uint32_t number, std::string_view meaning) {
  return {number, number, Status::warn, meaning, kRestart, action::kRestartJob};
}
constexpr Numbered copy_engine(std::uint32_t first, std::uint32_t last) {
  return {first, last, Status::warn, "a copy engine failed", kRestart, action::kRestartJob};
}
constexpr Numbered video_engine(std::uint32_t first, std::uint32_t last) {
  return {first, last, Status::warn, "a video engine failed", kRestart, action::kRestartJob};
}
constexpr Numbered to_reset(std::uint32_t first, std::uint32_t last, std::string_view meaning,
                            std::string_view remedy = kResetGpu) {
  return {first, last, Status::fail, meaning, remedy, action::kReboot};
}
constexpr Numbered to_watch(std::uint32_t first, std::uint32_t last, std::string_view meaning,
                            std::string_view remedy = kWatch) {
  return {first, last, Status::warn, meaning, remedy, action::kInvestigate};
}
constexpr Numbered to_ask(std::uint32_t first, std::uint32_t last, std::string_view meaning,
                          std::string_view remedy) {
  return {first, last, Status::warn, meaning, remedy, action::kAskVendor};
}

constexpr std::array kXids{
    of_program(8, "the GPU stopped a program"),
    of_program(11, "a program sent invalid commands"),
    of_program(13, "a program's error"),
    Numbered{14, 14, Status::pass},
    of_program(25, "a program sent invalid commands"),
    of_program(31, "a program read or wrote a wrong address"),
    Numbered{32, 32, Status::warn, "commands for it arrived damaged",
             "Restart the job; if it comes again, look at the card's PCIe link.",
             action::kRestartJob},
    to_watch(37, 38, "its firmware had an error"),
    copy_engine(39, 41),
    of_program(43, "a program's channel was stopped"),
    to_watch(44, 44, "a fault while it switched between programs"),
    of_program(45, "a program was ended"),
    to_reset(46, 46, "the GPU stopped working"),
    video_engine(47, 47),
    to_reset(48, 48, "its memory lost data"),
    Numbered{54, 54, Status::warn, "its power cable is not connected",
             "Connect the board's auxiliary power.", action::kReseat},
    video_engine(60, 60),
    to_reset(61, 62, "its power management failed"),
    Numbered{63, 63, Status::warn, "a row of its memory is to be replaced at the next reset",
             kResetGpu, action::kReboot},
    to_reset(64, 64, "a row of its memory could not be replaced",
             "Reset the GPU; if it comes again, replace it."),
    video_engine(65, 65),
    Numbered{66, 67, Status::warn, "the driver accessed it in a forbidden way",
             "Update the driver.", action::kUpdateSoftware},
    video_engine(68, 68),
    of_program(69, "a program's error"),
    copy_engine(70, 72),
    video_engine(73, 73),
    to_reset(74, 74, "an NVLink failed",
             "Reset the GPU; if it comes again, reseat it, then ask the vendor."),
    copy_engine(75, 77),
    Numbered{78, 78, Status::warn, "a virtual GPU could not be started",
             "Update the drivers of host and guest to versions that fit.", action::kUpdateSoftware},
    to_reset(79, 79, "the GPU has left the PCIe bus",
             "Reboot; if it comes again, reseat it, and look at its power."),
    of_program(80, "commands for it arrived damaged"),
    video_engine(82, 84),
    copy_engine(85, 85),
    video_engine(86, 86),
    video_engine(88, 89),
    to_ask(92, 92, "many single-bit errors of its memory", "Run the vendor's diagnosis."),
    to_ask(93, 93, "its configuration memory may not be written more often",
           "No job is affected. Ask the vendor how to clear the limit."),
    of_program(94, "its memory lost data of one program"),
    to_reset(95, 95, "its memory lost data of any program"),
    video_engine(96, 105),
    Numbered{106, 107, Status::pass},
    of_program(108, "a program read or wrote a wrong address over NVLink"),
    to_reset(109, 109, "it did not switch between programs"),
    to_reset(110, 110, "a security fault",
             "Undo recent changes of the hardware, and power the node off and on; if it comes "
             "again, ask the vendor."),
    to_reset(119, 119, "its system processor does not answer"),
    to_reset(120, 120, "its system processor failed"),
    Numbered{121, 121, Status::warn, "its link to the CPU corrected errors",
             "No job is affected. Reset the GPU when the node is free: nvidia-smi --gpu-reset.",
             action::kReboot},
    to_watch(122, 125, "its configuration memory could not be read or written"),
    copy_engine(126, 135),
    to_reset(136, 136, "an NVLink did not come up"),
    of_program(137, "a program read or wrote a wrong address over NVLink"),
    video_engine(139, 139),
    to_reset(140, 140, "its memory lost data"),
    to_watch(141, 141, "CUDA's fast path had an error"),
    to_watch(142, 142, "a video engine failed"),
    to_reset(143, 143, "it could not be initialized"),
    to_reset(144, 150, "an NVLink failed"),
    to_reset(151, 151, "the keys of confidential computing were not renewed",
             "Restart the virtual machine."),
    to_watch(152, 153, "a deep learning accelerator had an error"),
    to_reset(154, 154, "the driver asks for a reset of the GPU"),
    to_reset(155, 155, "software took an NVLink down"),
    to_reset(156, 156, "a faulty part of it was retired"),
    to_watch(157, 157, "a faulty part of it could not be retired"),
    to_reset(158, 158, "it did not answer in time"),
    Numbered{159, 159, Status::warn, "its link to the CPU had an error",
             "Reset the GPU if jobs use unified memory or a virtual GPU.", action::kReboot},
    to_watch(160, 161, "a channel was retired, or could not be"),
    Numbered{162, 162, Status::pass},
    to_watch(163, 163, "its power smoothing is off",
             "Look at its temperature, then reload the driver or reset the GPU."),
    to_ask(164, 165, "its power smoothing wears out",
           "Replace the GPU if the site needs power smoothing."),
    to_watch(166, 166, "an NVLink had a fault of confidential computing", kSee154),
    to_watch(167, 167, "PCIe did not answer it in time", kSee154),
    Numbered{168, 168, Status::warn, "its memory has errors and is smaller than it was",
             "Turn ECC on (nvidia-smi -e 1) and reboot.", action::kChangeSetting},
    to_watch(169, 169, "its security processor stopped", kSee154),
    to_watch(170, 170, "an NVLink had a fault of confidential computing", kSee154),
    to_reset(171, 172, "its memory lost data"),
    to_reset(173, 173, "its link to the CPU failed", kRebootTheNode),
    of_program(174, "a program was ended"),
    to_reset(175, 175, "its memory system does not answer"),  // 119 with a known cause
    Numbered{176, 176, Status::warn, "its PCIe link corrected many errors",
             "Reseat the GPU, and look at gpu.width.", action::kReseat},
    to_watch(185, 185, "a spare part of it was put to use", kSee154),
};
// Of 144 to 150 the line itself says which kind it is: "145, RLW_REMAP Nonfatal XC0 i0 Link 02".
constexpr std::string_view kNonfatal = " Nonfatal ";
constexpr Numbered kNonfatalLink =
    to_watch(144, 150, "an NVLink had an error and goes on", kSee154);
// "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)": a number of
// nvmlDeviceGpuRecoveryAction_t. 1, 4 and 6 ask for a reset.
constexpr std::uint32_t kRecovery = 154;
struct Recovery {
  std::string_view to;
  Numbered line;
};
constexpr Numbered kRebootNode =
    to_reset(kRecovery, kRecovery, "the driver asks for a reboot of the node", kRebootTheNode);
constexpr auto kRecoveries = std::to_array<Recovery>({
    {" to 0x0", {kRecovery, kRecovery, Status::pass}},
    {" to 0x2", kRebootNode},
    {" to 0x3",
     {kRecovery, kRecovery, Status::fail, "the driver asks to end traffic among GPUs",
      "Drain the node and end its jobs; then nvidia-smi -q says what else is due.",
      action::kRestartJob}},
    {" to 0x5",
     {kRecovery, kRecovery, Status::fail, "the driver asks to recover the IMEX domain",
      "Look at nvidia-imex on the nodes of the domain: nvidia-imex-ctl -N.", action::kInvestigate}},
    {" to 0x7", kRebootNode},
});
constexpr Numbered kUnknownXid = to_ask(0, 0, "an Xid that this release does not know",
                                        "Look its number up in NVIDIA's Xid catalog.");

// Sources: NVIDIA, "Fabric Manager User Guide", D.4, D.6 and D.7, NVSentinel's
// sxiderrorsmapping.csv and, for those whose line has no word for how bad it is, the switch's
// driver in NVIDIA's open kernel modules 595.45. Of the others the line says whether they are
// fatal.
constexpr Numbered of_fabric(std::uint32_t first, std::uint32_t last) {
  return to_reset(first, last, "an NVLink switch failed, and the node's whole fabric with it",
                  "Reboot; if it comes again, ask the vendor.");
}
constexpr Numbered corrected(std::uint32_t first, std::uint32_t last) {
  return to_ask(first, last, "an NVLink switch corrected errors of its memory",
                "No job is affected. Ask the vendor if many come.");
}
constexpr Numbered of_heat(std::uint32_t first, std::uint32_t last, Status status,
                           std::string_view meaning) {
  return {first, last, status, meaning, "Look at fans and air flow.", action::kAskVendor};
}
constexpr Numbered kSwitchedOff =
    of_heat(10006, 10006, Status::fail, "an NVLink switch grew too hot, and was switched off");
constexpr std::array kSxids{
    of_fabric(10003, 10003),
    of_heat(10004, 10004, Status::warn, "an NVLink switch is hot, and its links may slow down"),
    Numbered{10005, 10005, Status::pass},  // the end of 10004
    kSwitchedOff,
    of_fabric(10007, 10008),
    corrected(11012, 11012),
    corrected(11021, 11023),
    of_fabric(12020, 12020),
    corrected(12021, 12021),
    corrected(12023, 12023),
    of_fabric(12028, 12028),  // says "Non-fatal", but what the GPU asks for hangs
    corrected(15008, 15008),
    corrected(15011, 15011),
    corrected(19049, 19049),
    corrected(19055, 19055),
    corrected(19057, 19057),
    corrected(19059, 19059),
    corrected(19062, 19062),
    corrected(19065, 19065),
    corrected(19068, 19068),
    corrected(19071, 19071),
    of_fabric(19084, 19084),  // likewise
    to_watch(20001, 20001, "an NVLink sends again what was lost"),
    Numbered{20012, 20012, Status::warn, "an NVLink's connection is bad, or one end was shut down",
             "Reseat the GPU if nobody shut it down.", action::kReseat},
    of_fabric(22003, 22003),
    of_fabric(22011, 22011),
    Numbered{22013, 22013, Status::pass},
    of_fabric(23001, 23017),
    corrected(24001, 24003),
    to_reset(25010, 25010, "an NVLink did not come up",
             "Reboot; if it comes again, ask the vendor."),
    to_reset(26001, 26007, "an NVLink switch's own processor failed",
             "Reboot; if it comes again, ask the vendor."),
    Numbered{27001, 27007, Status::fail, "a cable's module of an NVLink switch failed",
             "Reseat the cable; if it comes again, replace it.", action::kReseat},
    of_heat(28001, 28001, Status::warn, "a cable's module of an NVLink switch is hot"),
    Numbered{28002, 28002, Status::pass},
    of_heat(28003, 28003, Status::fail, "a cable's module of an NVLink switch is too hot"),
    Numbered{28004, 28004, Status::pass},
    of_heat(28005, 28005, Status::fail, "a cable's module of an NVLink switch is too hot"),
};
constexpr Numbered kFatalSxid =
    to_reset(0, 0, "an NVLink switch failed", "Reboot; if it comes again, ask the vendor.");
constexpr Numbered kOtherSxid = to_ask(0, 0, "an NVLink switch had an error",
                                       "Look the number up in the Fabric Manager's user guide.");

const Numbered* find(std::span<const Numbered> table, std::uint32_t number) {
  const auto found = std::find_if(table.begin(), table.end(), [number](const Numbered& one) {
    return one.first <= number && number <= one.last;
  });
  return found == table.end() ? nullptr : &*found;
}

std::optional<KnownLine> known(LogSource source, const Numbered& one) {
  if (one.status == Status::pass) return std::nullopt;
  return KnownLine{source, "", one.status, one.meaning, one.remedy, one.action};
}

const Numbered& meaning_of_xid(std::uint32_t number, std::string_view line) {
  for (const Recovery& one : kRecoveries) {
    if (number == kRecovery && holds(line, one.to)) return one.line;
  }
  if (find({&kNonfatalLink, 1}, number) != nullptr && holds(line, kNonfatal)) return kNonfatalLink;
  const Numbered* const found = find(kXids, number);
  return found == nullptr ? kUnknownXid : *found;
}

}  // namespace

std::optional<KnownLine> of_xid(std::uint32_t number, std::string_view line) {
  return known(LogSource::gpu, meaning_of_xid(number, line));
}

std::optional<KnownLine> of_sxid(std::uint32_t number, std::string_view line) {
  // The second and third line of one error.
  if (holds(line, ", Severity ") || holds(line, ", Data {")) return std::nullopt;
  const Numbered* found = find(kSxids, number);
  if (holds(line, "Shutting Down")) found = &kSwitchedOff;
  if (found == nullptr) found = holds(line, ", Fatal, ") ? &kFatalSxid : &kOtherSxid;
  return known(LogSource::nvswitch, *found);
}

}  // namespace rdmabench::inline v1::health
