// NVLink: what connects GPUs, of a board or of a rack.
#include <algorithm>
#include <array>

#include "../nvml_abi.h"
#include "gpu_told.h"

namespace rdmabench::inline v1::health {
namespace {

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
std::uint64_t number_told(Probe& probe, const Gpu& gpu, std::string_view line,
                          std::string_view key) {
  return to_number(value_of_word(line_told(probe, gpu, line), key)).value_or(0);
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

/// Whether a service of NVIDIA runs on this node; none where that is not known.
std::optional<bool> runs(Probe& probe, std::string_view name) {
  constexpr const char* kServices = "rdmabench/services";
  if (!probe.exists(kServices)) return std::nullopt;
  const std::vector<std::string> all = lines_of(probe.try_text(kServices));
  return std::find(all.begin(), all.end(), name) != all.end();
}

void fabric_manager(Probe& probe) {
  const std::string text = probe.try_text("rdmabench/fabric_manager");
  const std::string own = version_in(text);
  if (!text.empty() && own.empty()) return probe.error("the Fabric Manager prints no version");
  const std::string driver = probe.try_line("sys/module/nvidia/version");
  const bool known = !own.empty() && !driver.empty();
  const std::size_t switches = probe.node().nvswitches;
  if ((!known || own == driver) && switches > 0 && runs(probe, "nv-fabricmanage") == false) {
    probe.observe(fmt::format("{} NVLink switches, and no Fabric Manager runs", switches));
    probe.expect("one that runs: without it CUDA fails with error 802", Source::standard);
    probe.action(action::kChangeSetting);
    return probe.fail(
        "Install nvidia-fabricmanager of the driver's version: systemctl enable --now "
        "nvidia-fabricmanager.");
  }
  if (own.empty()) return probe.skip("no Fabric Manager is installed here, or it was not asked");
  if (driver.empty()) return probe.skip("the driver's version is not known");
  probe.judge_by(own == driver, Status::fail, own, fmt::format("{}, the driver's", driver),
                 Source::derived);
}

/// Only a rack has a cluster: its GPUs reach those of other nodes by NVLink, for which a process
/// needs a channel. Source: NVIDIA IMEX Service for NVLink Networks.
void imex(Probe& probe) {
  bool rack = false;
  for (const Gpu& gpu : probe.node().gpus) {
    const std::string line = line_told(probe, gpu, "fabric");
    rack = rack || (line.starts_with("fabric state=3 ") &&
                    value_of_word(line, "cluster").find_first_not_of('0') != std::string::npos);
  }
  if (!rack) return probe.skip("no GPU belongs to an NVLink fabric of several nodes");
  const std::vector<std::string> channels = probe.list("dev/nvidia-caps-imex-channels");
  const auto service = runs(probe, "nvidia-imex");
  probe.observe(fmt::format("{} channels{}", channels.size(),
                            !service   ? ""
                            : *service ? ", nvidia-imex runs"
                                       : ", nvidia-imex does not run"));
  probe.expect("a channel, and nvidia-imex where it is turned on", Source::standard);
  if (channels.empty()) return probe.warn();
  // Slurm and Kubernetes may start it for a job alone.
  const bool wanted =
      !probe.link_name("etc/systemd/system/multi-user.target.wants/nvidia-imex.service").empty();
  if (wanted && service == false) {
    return probe.warn(
        "journalctl -u nvidia-imex says why it ended; nodes_config.cfg names all nodes.");
  }
  probe.pass();
}

constexpr std::string_view kFabricGuide = "NVIDIA Fabric Manager user guide; nvml.h";

constexpr auto kGpuNvlinkRows = std::to_array<Check>({
    {{.id = "gpu.fabric_manager",
      .title = "Fabric Manager",
      .reads =
          "nv-fabricmanager --version, sys/module/nvidia/version, proc/*/comm, sys/bus/pci/devices/*/{vendor,class}",
      .rule =
          "FAIL if it is not of that release: it does not start then; with NVLink switches FAIL unless it runs; SKIP in a container",
      .remedy = "Install nvidia-fabricmanager of the driver's version, and restart it.",
      .source = kFabricGuide,
      .as_cause = "lacks a Fabric Manager of the driver's release",
      .action = action::kUpdateSoftware},
     fabric_manager},
    {{.id = "gpu.nvlink",
      .title = "NVLinks that are up",
      .reads = kFromNvml,
      .rests_on = "gpu.recovery",
      .rule =
          "FAIL with fewer than another GPU of its model; SKIP with MIG, and where some have none",
      .remedy = "nvidia-smi nvlink -s; reset the GPU, then reseat it.",
      .source = kNvmlGuide,
      .as_cause = "has NVLinks that are down",
      .action = action::kReboot},
     nvlink},
    {{.id = "gpu.fabric",
      .title = "Registration with the NVLink fabric",
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
      .reads =
          "/dev/nvidia-caps-imex-channels, NVML, proc/*/comm, etc/systemd/system/multi-user.target.wants",
      .rests_on = "gpu.fabric",
      .rule = "racks: WARN without a channel, or if nvidia-imex is turned on and does not run",
      .remedy =
          "Load the driver with NVreg_CreateImexChannel0=1, or give the container a channel; start nvidia-imex.",
      .source = "NVIDIA IMEX Service for NVLink Networks, IMEX Channels"},
     imex},
});

}  // namespace

constinit const std::span<const Check> kGpuNvlinkChecks = kGpuNvlinkRows;

}  // namespace rdmabench::inline v1::health
