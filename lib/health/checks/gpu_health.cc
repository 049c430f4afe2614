// What NVIDIA's management library tells of its GPUs (nvml.h).
#include <algorithm>
#include <array>

#include "../firmware.h"
#include "../nvml_abi.h"
#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::string_view kNvmlFile = "rdmabench/nvml";

/// None where the library answered; else what it, or nobody, said.
std::string no_answer(Probe& probe) {
  const std::string line = probe.try_line(std::string(kNvmlFile));
  if (line.empty())
    return "NVML was not asked: the GPU has not NVIDIA's driver, or the tree is older";
  if (line.starts_with(kNotTold)) return line.substr(kNotTold.size());
  return line == "init=0" ? "" : fmt::format("NVML does not start: {}", line);
}

/// A line of the GPU's facts; none, with the finding SKIP, where there is none.
std::optional<std::string> fact(Probe& probe, const Gpu& gpu, std::string_view key) {
  if (!gpu.nvidia) {
    probe.skip("only NVIDIA's GPUs are asked");
    return std::nullopt;
  }
  const std::string text = probe.try_text("rdmabench/gpu/" + gpu.pci.address);
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' ')) return line;
  }
  std::string why = text.empty() ? no_answer(probe) : "";
  probe.skip(why.empty() ? "this GPU or its driver does not tell" : std::move(why));
  return std::nullopt;
}

/// A number of such a line; an ERROR where it is none.
std::optional<std::uint64_t> number_of(Probe& probe, const std::string& line,
                                       std::string_view key) {
  const std::string text = value_of_word(line, key);
  const auto value = text.starts_with("0x") ? hex_number(text) : to_number(text);
  if (!value) probe.error(fmt::format("'{}' has no number {}", line, key));
  return value;
}

/// Several of them; none is missing.
template <std::size_t n>
std::optional<std::array<std::uint64_t, n>> numbers(Probe& probe, const Gpu& gpu,
                                                    std::string_view fact_key,
                                                    const std::array<std::string_view, n>& keys) {
  const auto line = fact(probe, gpu, fact_key);
  if (!line) return std::nullopt;
  std::array<std::uint64_t, n> values{};
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = number_of(probe, *line, keys[i]);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  return values;
}

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

/// Bits of the mask of health, and the value that is a fault. Source: nvml.h,
/// NVML_GPU_FABRIC_HEALTH_MASK_*.
struct Health {
  unsigned shift;
  Status status;
  std::string_view meaning;
};
constexpr auto kHealths = std::to_array<Health>({
    {4, Status::fail, "its route is unhealthy"},
    {6, Status::warn, "it recovers from timeouts"},
    {2, Status::warn, "its route is being recovered"},
    {0, Status::warn, "its bandwidth is less than it should be"},
});
constexpr std::array<std::string_view, 9> kConfigurations{"",
                                                          "",
                                                          "its system's GUID is wrong",
                                                          "its chassis' serial number is wrong",
                                                          "it is in no partition",
                                                          "it has too few NVLinks",
                                                          "its firmware does not fit",
                                                          "its place in the chassis is wrong",
                                                          "its state is not valid"};

void fabric(Probe& probe, const Gpu& gpu) {
  const auto told = numbers<4>(probe, gpu, "fabric", {"state", "status", "health", "summary"});
  if (!told) return;
  const auto [state, status, health, summary] = *told;
  if (state == nvml::kFabricNotSupported) return probe.skip("the GPU belongs to no NVLink fabric");
  probe.expect("completed and healthy", Source::standard);
  const auto find = [&](Status kind, std::string observed) {
    probe.observe(std::move(observed));
    kind == Status::fail ? probe.fail() : probe.warn();
  };
  if (state == nvml::kFabricNotStarted) return find(Status::fail, "it has not registered");
  if (state == nvml::kFabricInProgress)
    return find(Status::fail, "it has not finished to register");
  if (state != nvml::kFabricCompleted) return find(Status::fail, fmt::format("state {}", state));
  if (status != 0) return find(Status::fail, fmt::format("registered with error {}", status));
  const std::uint64_t configuration = health >> 8 & 0xfU;
  if (configuration > 1) {
    return find(Status::fail, configuration < kConfigurations.size()
                                  ? std::string(kConfigurations[configuration])
                                  : fmt::format("configuration {}", configuration));
  }
  for (const Health& one : kHealths) {
    if ((health >> one.shift & 3U) == 1) return find(one.status, std::string(one.meaning));
  }
  if (summary == 2) return find(Status::fail, "it is unhealthy");
  if (summary == 3) return find(Status::warn, "it has less capacity than it should");
  probe.observe("completed");
  probe.pass();
}

/// A word of the GPU's facts, without a verdict: 0 where it does not tell.
std::uint64_t number_told(Probe& probe, const Gpu& gpu, std::string_view line_key,
                          std::string_view key) {
  for (const std::string& line : lines_of(probe.try_text("rdmabench/gpu/" + gpu.pci.address))) {
    if (line.starts_with(line_key) && line.substr(line_key.size()).starts_with(' ')) {
      return to_number(value_of_word(line, key)).value_or(0);
    }
  }
  return 0;
}

/// The NVLinks that are up of the other GPUs of one model that are not divided.
struct OtherLinks {
  std::size_t gpus = 0;
  std::uint64_t most = 0;
  bool all_have = true;
};

OtherLinks links_of_others(Probe& probe, const Gpu& gpu) {
  const auto model = [&](const Gpu& one) {
    return probe.try_line(one.pci.folder + "/vendor") + probe.try_line(one.pci.folder + "/device");
  };
  const std::string own = model(gpu);
  OtherLinks others;
  for (const Gpu& other : probe.node().gpus) {
    const bool same = other.pci.address != gpu.pci.address && model(other) == own;
    if (!same || number_told(probe, other, "mig", "now") != 0) continue;
    const std::uint64_t up = number_told(probe, other, "nvlink", "active");
    ++others.gpus;
    others.most = std::max(others.most, up);
    others.all_have = others.all_have && up != 0;
  }
  return others;
}

void nvlink(Probe& probe, const Gpu& gpu) {
  const auto links = numbers<2>(probe, gpu, "nvlink", {"active", "inactive"});
  if (!links) return;
  const auto [active, inactive] = *links;
  if (number_told(probe, gpu, "mig", "now") != 0) {
    return probe.skip("it is divided (MIG), and its parts use no NVLink");
  }
  // How many a board has wired is in no file: a chip may have more than its board connects, and of
  // cards some may have a bridge and others none.
  const OtherLinks others = links_of_others(probe, gpu);
  const std::uint64_t most = std::max(active, others.most);
  if (most == 0) return probe.skip("no GPU of its model uses NVLink here");
  const bool in_fabric = number_told(probe, gpu, "fabric", "state") != nvml::kFabricNotSupported;
  if (active == 0 && !in_fabric && !others.all_have) {
    return probe.skip("none is up, as of another GPU of its model: it may have no bridge");
  }
  if (inactive != 0 && others.gpus == 0) {
    return probe.skip(
        fmt::format("{} are up and {} not, and no other GPU of its model tells how many should be",
                    active, inactive));
  }
  probe.judge_by(active >= most, Status::fail, fmt::format("{} links are up", active),
                 fmt::format("{}, as of another GPU of its model", most), Source::derived);
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

/// A value that may be set below its default.
void default_kept(Probe& probe, const Gpu& gpu, std::string_view key,
                  const std::array<std::string_view, 2>& values, std::string_view unit,
                  std::uint64_t scale) {
  const auto told = numbers<2>(probe, gpu, key, values);
  if (!told) return;
  const auto [now, usual] = *told;
  if (usual == 0) return probe.skip("this GPU or its driver does not tell");
  probe.judge_by(now >= usual, Status::warn, fmt::format("{} {}", now / scale, unit),
                 fmt::format("{} {}, its default", usual / scale, unit), Source::derived);
}

void clock(Probe& probe, const Gpu& gpu) {
  default_kept(probe, gpu, "clock", {"mhz", "default_mhz"}, "MHz", 1);
}

void power_limit(Probe& probe, const Gpu& gpu) {
  default_kept(probe, gpu, "power", {"limit_mw", "default_mw"}, "W", 1000);
}

/// "580.65.06" of "Fabric Manager version is : 580.65.06".
std::string version_in(std::string_view text) {
  std::string found;
  for (const std::string& word : words_of(text)) {
    const bool version = word.find_first_not_of("0123456789.") == std::string::npos &&
                         word.find('.') != std::string::npos;
    if (version) found = word;
  }
  return found;
}

void fabric_manager(Probe& probe) {
  const std::string text = probe.try_text("rdmabench/fabric_manager");
  if (text.empty()) return probe.skip("no Fabric Manager is installed here, or it was not asked");
  const std::string own = version_in(text);
  if (own.empty()) return probe.error("the Fabric Manager prints no version");
  const std::string driver = probe.try_line("sys/module/nvidia/version");
  if (driver.empty()) return probe.skip("the driver's version is not known");
  probe.judge_by(own == driver, Status::fail, own, fmt::format("{}, the driver's", driver),
                 Source::derived);
}

/// Only a rack has a cluster: its GPUs reach those of other nodes by NVLink, for which a process
/// needs a channel. Source: NVIDIA IMEX Service for NVLink Networks.
void imex(Probe& probe) {
  bool rack = false;
  for (const Gpu& gpu : probe.node().gpus) {
    for (const std::string& line : lines_of(probe.try_text("rdmabench/gpu/" + gpu.pci.address))) {
      const std::string cluster =
          line.starts_with("fabric state=3 ") ? value_of_word(line, "cluster") : "";
      rack = rack || cluster.find_first_not_of('0') != std::string::npos;
    }
  }
  if (!rack) return probe.skip("no GPU belongs to an NVLink fabric of several nodes");
  const std::vector<std::string> channels = probe.list("dev/nvidia-caps-imex-channels");
  const bool service = !probe.link_name("run/systemd/units/invocation:nvidia-imex.service").empty();
  probe.judge_by(!channels.empty(), Status::warn,
                 fmt::format("{} channels, nvidia-imex {}", channels.size(),
                             service ? "runs" : "is no unit that runs here"),
                 "a channel", Source::standard);
}

constexpr std::string_view kFromNvml = "NVML, in a process of its own";
constexpr std::string_view kGuide = "NVML API Reference Guide; nvml.h";
constexpr std::string_view kFabricGuide = "NVIDIA Fabric Manager user guide; nvml.h";
constexpr std::string_view kResetIt = "Drain the node and reset the GPU: nvidia-smi --gpu-reset.";
constexpr std::string_view kMemoryGuide = "NVIDIA GPU Memory Error Management";

constexpr auto kGpuHealthRows = std::to_array<Check>({
    {{.id = "gpu.answers",
      .title = "The driver reaches the GPU",
      .reads = kFromNvml,
      .rests_on = "gpu.driver",
      .rule = "FAIL if library and driver differ, or the GPU is lost, without power or to be reset",
      .remedy = "Drain the node and reboot it.",
      .source = kGuide,
      .as_cause = "does not answer NVML",
      .action = action::kReboot},
     answers},
    {{.id = "gpu.recovery",
      .title = "What the driver says is due",
      .reads = kFromNvml,
      .rests_on = "gpu.answers",
      .rule = "FAIL if anything is",
      .remedy = "nvidia-smi -q says what is due.",
      .source = kGuide,
      .as_cause = "is to be reset, or its node",
      .action = action::kReboot},
     recovery},
    {{.id = "gpu.fabric_manager",
      .title = "The Fabric Manager is of the driver's release",
      .reads = "nv-fabricmanager --version, sys/module/nvidia/version",
      .rule = "FAIL if not: it does not start then",
      .remedy = "Install nvidia-fabricmanager of the driver's version, and restart it.",
      .source = kFabricGuide,
      .as_cause = "has a Fabric Manager of another release",
      .action = action::kUpdateSoftware},
     fabric_manager},
    {{.id = "gpu.nvlink",
      .title = "NVLinks that are up",
      .reads = kFromNvml,
      .rests_on = "gpu.recovery",
      .rule =
          "FAIL with fewer than another GPU of its model; SKIP with MIG, and where some have none",
      .remedy = "nvidia-smi nvlink -s; reset the GPU, then reseat it.",
      .source = kGuide,
      .as_cause = "has NVLinks that are down",
      .action = action::kReboot},
     nvlink},
    {{.id = "gpu.fabric",
      .title = "Registered with the NVLink fabric",
      .reads = kFromNvml,
      .rests_on = "gpu.recovery, gpu.nvlink, gpu.fabric_manager",
      .rule = "FAIL unless it is, or if it is unhealthy; WARN if bandwidth or capacity is less",
      .remedy = "systemctl status nvidia-fabricmanager (of racks nvidia-imex), then its log.",
      .source = kFabricGuide,
      .as_cause = "is not registered with its NVLink fabric",
      .action = action::kInvestigate},
     fabric},
    {{.id = "gpu.imex",
      .title = "NVLink to the GPUs of other nodes",
      .reads = "/dev/nvidia-caps-imex-channels, NVML, run/systemd/units",
      .rests_on = "gpu.fabric",
      .rule = "racks: WARN without a channel",
      .remedy =
          "Load the driver with NVreg_CreateImexChannel0=1, or give the container a channel; start nvidia-imex.",
      .source = "NVIDIA IMEX Service for NVLink Networks, IMEX Channels"},
     imex},
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
      .source = kGuide,
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
      .title = "The driver stays ready between jobs",
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
      .source = kGuide},
     clock},
    {{.id = "gpu.power_limit",
      .title = "Power limit",
      .reads = kFromNvml,
      .rests_on = "gpu.answers",
      .rule = "WARN below its default",
      .remedy = "nvidia-smi -pl DEFAULT, or leave it if the site saves power.",
      .source = kGuide},
     power_limit},
});

}  // namespace

constinit const std::span<const Check> kGpuHealthChecks = kGpuHealthRows;

}  // namespace rdmabench::inline v1::health
