// Installed software, mainly for comparison with peers.
#include <array>
#include <set>
#include <utility>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

/// What every back end needs. Other libraries are for some nodes only.
void libraries(Probe& probe) {
  const auto facts = probe.text("rdmabench/libraries");
  if (!facts) return;
  const bool verbs = !probe.node().devices.empty();
  std::string missing;
  for (const std::string& line : lines_of(*facts)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 2 || words[1] != "missing:") continue;
    const bool needed = words[0] == "libfabric.so.1" ||
                        (verbs && (words[0] == "libibverbs.so.1" || words[0] == "librdmacm.so.1"));
    if (needed) missing += (missing.empty() ? "" : " ") + words[0];
  }
  probe.judge_by(
      missing.empty(), Status::warn, missing.empty() ? "all there" : "not there: " + missing,
      verbs ? "libibverbs.so.1 librdmacm.so.1 libfabric.so.1" : "libfabric.so.1", Source::standard);
}

void kernel(Probe& probe) {
  const auto release = probe.line("proc/sys/kernel/osrelease");
  if (release) probe.compare("kernel", *release);
}

void os(Probe& probe) {
  const auto text = probe.text("etc/os-release");
  if (!text) return;
  std::string name = value_after(*text, "PRETTY_NAME");
  std::erase(name, '"');
  if (name.empty()) return probe.skip("etc/os-release has no PRETTY_NAME");
  probe.compare("os", name);
}

void driver(Probe& probe, const RdmaDevice& device) {
  if (!device.physical()) return probe.skip("a device without a PCI function");
  const std::string name = probe.link_name(device.folder + "/device/driver");
  if (name.empty()) return probe.skip("the device does not report its driver");
  const std::string version = probe.try_line("sys/module/" + name + "/version");
  if (version.empty()) return probe.skip(name + " is the kernel's own, without a version");
  probe.compare("driver", version);
}

void gpu_driver(Probe& probe) {
  if (probe.node().gpus.empty()) return probe.skip("this node has no GPU");
  for (const std::string name : {"nvidia", "amdgpu"}) {
    const std::string version = probe.try_line("sys/module/" + name + "/version");
    if (!version.empty()) return probe.compare("gpu_driver", version);
  }
  probe.skip("no module of a GPU reports its version");
}

void bios(Probe& probe) {
  const auto version = probe.line("sys/class/dmi/id/bios_version");
  if (version) probe.compare("bios", *version);
}

void product(Probe& probe) {
  const auto name = probe.line("sys/class/dmi/id/product_name");
  if (!name) return;
  const std::string vendor = probe.try_line("sys/class/dmi/id/sys_vendor");
  probe.observe(vendor.empty() ? *name : vendor + ' ' + *name);
  probe.skip(std::string(kNothingToCompare));
}

void machine(Probe& probe) {
  if (!probe.text("proc/cpuinfo")) return;
  std::string kind = probe.node().virtual_machine ? "virtual machine" : "no hypervisor seen";
  const bool contained = probe.exists(".dockerenv") || probe.exists("run/.containerenv");
  if (contained) kind += ", in a container";
  probe.observe(kind);
  probe.skip(std::string(kNothingToCompare));
}

void duplicate(Probe& probe) {
  if (probe.node().devices.empty()) return probe.skip("this node has no RDMA device");
  const bool own = probe.exists("sys/module/mlx_compat");
  const std::string core = probe.try_line("sys/module/mlx5_core/version");
  const std::string verbs = probe.try_line("sys/module/mlx5_ib/version");
  if (core.empty() || verbs.empty()) {
    return probe.skip("the kernel's own drivers, which belong together");
  }
  probe.judge_by(core == verbs, Status::fail,
                 fmt::format("mlx5_core {}, mlx5_ib {}{}", core, verbs, own ? ", mlx_compat" : ""),
                 "one version", Source::derived);
}

constexpr std::string_view kAlike = "Bring all nodes to one release.";

constexpr auto kSoftwareRows = std::to_array<Check>({
    {{.id = "software.libraries",
      .title = "Libraries that the back ends load",
      .reads = "the loader's folders, dlopen(3)",
      .rule =
          "WARN if libfabric does not exist, or, on a node with an RDMA device, libibverbs or librdmacm does not load",
      .remedy = "Install what is missing: 'rdmabench devices' names the packages.",
      .source = "dlinfo(3), ld.so(8)",
      .action = action::kUpdateSoftware},
     libraries},
    {{.id = "software.one_release",
      .title = "Releases of the driver's parts",
      .reads = "sys/module/{mlx5_core,mlx5_ib}/version",
      .rule = "FAIL if they differ",
      .remedy = "Install NVIDIA's driver again, rebuild the initramfs and restart the node.",
      .source = "NVIDIA DOCA-Host",
      .action = action::kUpdateSoftware},
     duplicate},
    {{.id = "software.kernel",
      .title = "Kernel",
      .reads = "proc/sys/kernel/osrelease",
      .rule = "WARN if not the expected one",
      .remedy = kAlike,
      .source = "GoogleCloudPlatform/cluster-health-scanner cli/config_differ.py",
      .action = action::kUpdateSoftware,
      .compares = true},
     kernel},
    {{.id = "software.os",
      .title = "Operating system",
      .reads = "etc/os-release",
      .rule = "WARN if not the expected one",
      .remedy = kAlike,
      .source = "os-release(5)",
      .action = action::kUpdateSoftware,
      .compares = true},
     os},
    {{.id = "software.driver",
      .title = "Version of the device's driver",
      .reads = "D/driver, sys/module/*/version",
      .rule = "WARN if not the expected one",
      .remedy = kAlike,
      .source = "Linux sysfs-module",
      .action = action::kUpdateSoftware,
      .compares = true},
     driver},
    {{.id = "software.gpu_driver",
      .title = "Version of the GPU's driver",
      .reads = "sys/module/{nvidia,amdgpu}/version",
      .rests_on = "gpu.driver",
      .rule = "WARN if not the expected one",
      .remedy = kAlike,
      .source = "Linux sysfs-module",
      .action = action::kUpdateSoftware,
      .compares = true},
     gpu_driver},
    {{.id = "software.bios",
      .title = "BIOS",
      .reads = "sys/class/dmi/id/bios_version",
      .rule = "WARN if not the expected one",
      .remedy = kAlike,
      .source = "Linux sysfs-firmware-dmi-tables",
      .action = action::kUpdateSoftware,
      .compares = true},
     bios},
    {{.id = "software.product",
      .title = "Kind of machine",
      .reads = "sys/class/dmi/id/{sys_vendor,product_name}",
      .rule = "compared with peers",
      .remedy = "Do not compare results of different machines.",
      .source = "Linux dmi-id",
      .action = action::kInvestigate,
      .compares = true},
     product},
    {{.id = "software.virtual",
      .title = "Virtual machine or container",
      .reads = "proc/cpuinfo, .dockerenv, run/.containerenv",
      .rule = "compared with peers",
      .remedy = "Do not compare a virtual machine with bare metal.",
      .source = "systemd-detect-virt(1)",
      .action = action::kInvestigate,
      .compares = true},
     machine},
});

}  // namespace

constinit const std::span<const Check> kSoftwareChecks = kSoftwareRows;

}  // namespace rdmabench::inline v1::health
