// Each GPU by itself: whether it answers, its memory, and what holds it back.
#include <array>

#include "../firmware.h"
#include "../nvml_abi.h"
#include "gpu_told.h"

namespace rdmabench::inline v1::health {
namespace {

/// What NVML's refusals mean. Others say nothing of the GPU: a container may not reach it.
struct Refusal {
  nvml::Result code;
  std::string_view meaning;
  std::string_view remedy;
  std::string_view action;
};
constexpr auto kRefusals = std::to_array<Refusal>({
    {nvml::kPowerCables, "its power cables are not connected", "Connect the board's power.",
     action::kReseat},
    {nvml::kIrqIssue, "its interrupts do not arrive",
     "Reboot; look at the BIOS and the kernel's log.", action::kReboot},
    {nvml::kLost, "it has left the PCIe bus",
     "Reboot; if it comes again, reseat it, and look at its power.", action::kReboot},
    {nvml::kResetRequired, "it has to be reset",
     "Drain the node and reset the GPU: nvidia-smi --gpu-reset.", action::kReboot},
});
constexpr std::string_view kReloadDriver =
    "The driver was updated while an older one runs: reboot, or stop all that uses the GPUs and "
    "load the modules again.";

void answers(Probe& probe, const Gpu& gpu) {
  if (!gpu.nvidia) return probe.skip("only NVIDIA's GPUs are asked");
  probe.expect("an answer of NVML", Source::standard);
  if (const std::string line = probe.try_line(std::string(kNvmlFile)); line.starts_with("init=")) {
    const auto code = number_of(probe, line, "init");
    if (!code) return;
    if (*code == nvml::kVersionMismatch) {
      probe.observe("libnvidia-ml and the running driver are of two releases");
      return probe.fail(kReloadDriver);
    }
  }
  const std::string line = probe.try_line("rdmabench/gpu/" + gpu.pci.address);
  if (line.empty()) {
    const std::string why = no_answer(probe);
    return probe.skip(why.empty() ? "NVML has not told of it" : why);
  }
  const auto code = number_of(probe, line, "answer");
  if (!code) return;
  for (const Refusal& one : kRefusals) {
    if (*code != static_cast<std::uint64_t>(one.code)) continue;
    probe.observe(std::string(one.meaning));
    probe.action(one.action);
    return probe.fail(one.remedy);
  }
  if (*code != nvml::kSuccess) {
    return probe.skip(fmt::format("NVML refuses, with {}: this process may not reach it", *code));
  }
  probe.observe("it answers");
  probe.pass();
}

/// nvmlDeviceGpuRecoveryAction_t.
constexpr auto kRecoveries = std::to_array<Refusal>({
    {1, "a reset", "Drain the node and reset the GPU: nvidia-smi --gpu-reset.", action::kReboot},
    {2, "a reboot of the node", "Drain the node and reboot it.", action::kReboot},
    {3, "an end of traffic among GPUs", "Drain the node and end its jobs.", action::kRestartJob},
    {4, "an end of traffic among GPUs, and a reset",
     "Drain the node and reset the GPU: nvidia-smi --gpu-reset.", action::kReboot},
    {5, "a recovery of the IMEX domain",
     "Look at nvidia-imex on the nodes of the domain: nvidia-imex-ctl -N.", action::kInvestigate},
});

void recovery(Probe& probe, const Gpu& gpu) {
  const auto due = numbers<1>(probe, gpu, "recovery", {"action"});
  if (!due) return;
  probe.expect("nothing", Source::standard);
  if ((*due)[0] == 0) {
    probe.observe("nothing");
    return probe.pass();
  }
  for (const Refusal& one : kRecoveries) {
    if ((*due)[0] != static_cast<std::uint64_t>(one.code)) continue;
    probe.observe(std::string(one.meaning));
    probe.action(one.action);
    return probe.fail(one.remedy);
  }
  probe.observe(fmt::format("action {}", (*due)[0]));
  probe.fail();
}

void ecc(Probe& probe, const Gpu& gpu) {
  const auto line = fact(probe, gpu, "ecc");
  if (!line) return;
  if (value_of_word(*line, "mode") == "0") return probe.skip("ECC is off");
  if (value_of_word(*line, "uncorrected").empty()) return probe.skip("the GPU does not count them");
  const auto count = number_of(probe, *line, "uncorrected");
  if (!count) return;
  probe.judge_by(*count == 0, Status::warn, std::to_string(*count),
                 "none since the driver was loaded", Source::standard);
}

void remapped_rows(Probe& probe, const Gpu& gpu) {
  const auto told =
      numbers<4>(probe, gpu, "rows", {"corrected", "uncorrected", "pending", "failed"});
  if (!told) return;
  const auto [corrected, uncorrected, pending, failed] = *told;
  probe.observe(fmt::format("{} replaced{}{}", corrected + uncorrected,
                            pending != 0 ? ", more at the next reset" : "",
                            failed != 0 ? ", and one could not be" : ""));
  probe.expect("none waits, and none failed", Source::standard);
  if (failed != 0) {
    probe.action(action::kAskVendor);
    return probe.fail("Replace the GPU: it has no spare rows left where they are needed.");
  }
  probe.judge_by(pending == 0, Status::warn);
}

void slowed(Probe& probe, const Gpu& gpu) {
  const auto line = fact(probe, gpu, "slowed");
  if (!line) return;
  const auto words = words_of(*line);
  const auto bits = words.size() == 2 ? hex_number(words[1]) : std::nullopt;
  if (!bits) return probe.error(fmt::format("'{}' has no number", *line));
  struct Reason {
    unsigned long long bit;
    std::string_view name;
  };
  static constexpr auto kReasons = std::to_array<Reason>({{nvml::kHwThermal, "heat"},
                                                          {nvml::kSwThermal, "heat, early"},
                                                          {nvml::kPowerBrake, "the power brake"},
                                                          {nvml::kHwSlowdown, "hardware"}});
  std::string found;
  for (const Reason& one : kReasons) {
    // The third and first of the list set "hardware" too.
    if ((*bits & one.bit) == 0 || (one.bit == nvml::kHwSlowdown && !found.empty())) continue;
    found += fmt::format("{}{}", found.empty() ? "by " : ", ", one.name);
  }
  const bool hard = (*bits & (nvml::kHwThermal | nvml::kPowerBrake)) != 0;
  probe.judge_by(found.empty(), hard ? Status::fail : Status::warn,
                 found.empty() ? "it is not" : found, "not by heat, and not by the power supply",
                 Source::standard);
}

void mig(Probe& probe, const Gpu& gpu) {
  const auto told = numbers<2>(probe, gpu, "mig", {"now", "next"});
  if (!told) return;
  const auto [now, next] = *told;
  const auto word = [](std::uint64_t on) { return on != 0 ? "on" : "off"; };
  if (now != next) {
    probe.observe(fmt::format("{}, and {} from the next reset on", word(now), word(next)));
    probe.expect("the same now and then", Source::derived);
    return probe.warn();
  }
  if (probe.expectation("mig") != nullptr) return probe.compare("mig", word(now));
  probe.observe(word(now));
  probe.expect("off: its parts do not reach each other by NVLink", Source::standard);
  if (now != 0) return probe.skip("it is divided (MIG): say --expect mig=on or mig=off");
  probe.pass();
}

void persistence(Probe& probe, const Gpu& gpu) {
  const auto told = numbers<1>(probe, gpu, "persistence", {"on"});
  if (!told) return;
  const bool on = (*told)[0] != 0;
  probe.judge_by(on, Status::warn, on ? "on" : "off", "on", Source::standard);
}

void clock(Probe& probe, const Gpu& gpu) {
  const auto told = numbers<2>(probe, gpu, "clock", {"mhz", "default_mhz"});
  if (!told) return;
  const auto [now, usual] = *told;
  if (usual == 0) return probe.skip("this GPU or its driver does not tell");
  probe.judge_by(now >= usual, Status::warn, fmt::format("{} MHz", now),
                 fmt::format("{} MHz, its default", usual), Source::derived);
}

constexpr std::string_view kResetIt = "Drain the node and reset the GPU: nvidia-smi --gpu-reset.";
constexpr std::string_view kMemoryGuide = "NVIDIA GPU Memory Error Management";

constexpr auto kGpuHealthRows = std::to_array<Check>({
    {{.id = "gpu.answers",
      .title = "Answer of the GPU to its driver",
      .reads = kFromNvml,
      .rests_on = "gpu.driver",
      .rule = "FAIL if library and driver differ, or the GPU is lost, without power or to be reset",
      .remedy = "Drain the node and reboot it.",
      .source = kNvmlGuide,
      .as_cause = "does not answer NVML",
      .action = action::kReboot},
     answers},
    {{.id = "gpu.recovery",
      .title = "What the driver says is due",
      .reads = kFromNvml,
      .rests_on = "gpu.answers",
      .rule = "FAIL if anything is",
      .remedy = "nvidia-smi -q says what is due.",
      .source = kNvmlGuide,
      .as_cause = "is to be reset, or its node",
      .action = action::kReboot},
     recovery},
    {{.id = "gpu.remapped_rows",
      .title = "Replaced rows of the GPU's memory",
      .reads = kFromNvml,
      .rests_on = "gpu.recovery",
      .rule = "FAIL if one could not be replaced, WARN if one is to be",
      .remedy = kResetIt,
      .source = kMemoryGuide,
      .as_cause = "has rows of memory to replace",
      .action = action::kReboot},
     remapped_rows},
    {{.id = "gpu.ecc",
      .title = "Lost data of the GPU's memory",
      .reads = kFromNvml,
      .rests_on = "gpu.remapped_rows",
      .rule = "WARN above 0 since the driver was loaded",
      .remedy = kResetIt,
      .source = kMemoryGuide,
      .action = action::kReboot},
     ecc},
    {{.id = "gpu.slowed",
      .title = "Clocks that are held down",
      .reads = kFromNvml,
      .rests_on = "gpu.recovery",
      .rule = "FAIL if by heat or the power brake, WARN if by what comes before them",
      .remedy = "Look at fans, air flow and power supplies.",
      .source = kNvmlGuide,
      .action = action::kAskVendor},
     slowed},
    {{.id = "gpu.mig",
      .title = "Division of the GPU (MIG)",
      .reads = kFromNvml,
      .rests_on = "gpu.answers",
      .rule = "WARN if it changes at the next reset, or is not as expected",
      .remedy = "nvidia-smi -mig 0 or 1, and reset the GPU.",
      .source = "NVIDIA Multi-Instance GPU User Guide"},
     mig},
    {{.id = "gpu.persistence",
      .title = "Driver between jobs",
      .reads = kFromNvml,
      .rests_on = "gpu.answers",
      .rule = "WARN if off",
      .remedy = "Start nvidia-persistenced: else each job waits for the GPUs to start.",
      .source = "NVIDIA Driver Persistence"},
     persistence},
    {{.id = "gpu.clock",
      .title = "Clock for applications",
      .reads = kFromNvml,
      .rests_on = "gpu.answers",
      .rule = "WARN below its default",
      .remedy = "nvidia-smi -rac.",
      .source = kNvmlGuide},
     clock},
});

}  // namespace

constinit const std::span<const Check> kGpuHealthChecks = kGpuHealthRows;

}  // namespace rdmabench::inline v1::health
