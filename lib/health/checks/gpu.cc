// GPUs as the network sees them: whether a device can reach their memory, and how far they are.
#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/pci_path.h"
#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

void gpu_count(Probe& probe) {
  const std::size_t gpus = probe.node().gpus.size();
  probe.compare("gpus", std::to_string(gpus), Status::fail);
}

void driver(Probe& probe, const Gpu& gpu) {
  const std::string name = probe.link_name(gpu.pci.folder + "/driver");
  probe.observe(name.empty() ? "none" : name);
  probe.expect(gpu.nvidia ? "nvidia" : "a driver", Source::standard);
  if (name == "vfio-pci") return probe.skip("the GPU is lent to a virtual machine");
  probe.judge_by(gpu.nvidia ? name == "nvidia" : !name.empty(), Status::fail);
}

void width(Probe& probe, const Gpu& gpu) {
  const auto current = probe.line(gpu.pci.folder + "/current_link_width");
  if (!current) return;
  const std::uint32_t now = parse_link_width(*current);
  std::uint32_t most = parse_link_width(probe.try_line(gpu.pci.folder + "/max_link_width"));
  if (now == 0 || most == 0) return probe.skip("the function reports no link, as virtual ones do");
  const std::uint32_t slot =
      gpu.pci.above.empty()
          ? 0
          : parse_link_width(probe.try_line(gpu.pci.above.back().folder + "/max_link_width"));
  if (slot > 0) most = std::min(most, slot);
  probe.judge_by(now >= most, Status::fail, fmt::format("x{}", now),
                 fmt::format("x{}, which GPU and slot could do", most), Source::derived);
}

bool has_pair(Probe& probe) {
  const bool both = !probe.node().gpus.empty() && !probe.node().devices.empty();
  if (!both) probe.skip("no GPU and RDMA device on one node");
  return both;
}

/// Whether amdgpu exports its memory as a dma-buf that stays where it is: perftest asks for both
/// options too. None if the kernel's options cannot be read. Source: perftest src/rocm_memory.c.
std::optional<bool> amd_dma_buf(Probe& probe) {
  const std::string options = probe.try_text("rdmabench/kernel_options");
  if (options.empty()) return std::nullopt;
  return value_after(options, "CONFIG_DMABUF_MOVE_NOTIFY") == "y" &&
         value_after(options, "CONFIG_PCI_P2PDMA") == "y";
}

void peer_memory(Probe& probe) {
  if (!has_pair(probe)) return;
  const auto& gpus = probe.node().gpus;
  const bool known = std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
    return gpu.nvidia || probe.try_line(gpu.pci.folder + "/vendor") == "0x1002";
  });
  if (!known) return probe.skip("only the routes to NVIDIA's and AMD's GPUs are known");
  std::string routes;
  const auto add = [&](std::string_view route) {
    routes += fmt::format("{}{}", routes.empty() ? "" : ", ", route);
  };
  for (const std::string_view module : {"nvidia_peermem", "efa_nv_peermem"}) {
    if (probe.exists(fmt::format("sys/module/{}", module))) add(module);
  }
  for (const std::string_view client : {"nv_mem", "nv_mem_nc", "amdkfd"}) {
    if (probe.exists(fmt::format("sys/kernel/mm/memory_peers/{}", client))) add(client);
  }
  const bool open_modules =
      probe.try_text("proc/driver/nvidia/version").find("Open Kernel Module") != std::string::npos;
  const bool new_enough = kernel_is(probe, 5, 12);  // rdma-core's documentation
  if (new_enough && open_modules) add("dma-buf");
  bool unknown = false;
  if (new_enough && probe.exists("sys/module/amdgpu")) {
    const auto amd = amd_dma_buf(probe);
    if (amd.value_or(false)) add("dma-buf");
    unknown = !amd;
  }
  probe.observe(routes.empty() ? "none" : routes);
  probe.expect("a peer memory module, or dma-buf", Source::standard);
  if (routes.empty() && unknown) {
    return probe.skip("amdgpu's dma-buf depends on the kernel's options, which cannot be read");
  }
  probe.judge_by(!routes.empty(), Status::fail);
}

void gdrcopy(Probe& probe) {
  if (!has_pair(probe)) return;
  if (!probe.node().gpus.front().nvidia) return probe.skip("only NVIDIA's GPUs use it");
  const bool there = probe.exists("sys/module/gdrdrv");
  probe.judge_by(there, Status::warn, there ? "loaded" : "not loaded", "loaded", Source::standard);
}

/// A parameter of NVIDIA's kernel module; none, with the finding SKIP, where no GPU of NVIDIA could
/// post to an RDMA device, or the file cannot be read.
std::optional<std::string> module_parameter(Probe& probe, std::string_view name) {
  if (!has_pair(probe)) return std::nullopt;
  if (!probe.node().gpus.front().nvidia) {
    probe.skip("a parameter of NVIDIA's driver");
    return std::nullopt;
  }
  const auto text = probe.text("proc/driver/nvidia/params");
  if (!text) return std::nullopt;
  return value_after(*text, name);
}

/// The release of NVIDIA's driver, such as 570; 0 if unknown.
std::uint64_t driver_release(Probe& probe) {
  const std::string version = one_line(probe.try_text("sys/module/nvidia/version"));
  return to_number(version.substr(0, version.find('.'))).value_or(0);
}

void stream_mem_ops(Probe& probe) {
  constexpr std::uint64_t kByDefault = 515;  // the driver of CUDA 11.7
  const auto value = module_parameter(probe, "EnableStreamMemOPs");
  if (!value) return;
  const std::uint64_t release = driver_release(probe);
  probe.judge_by(*value == "1" || release >= kByDefault, Status::warn,
                 fmt::format("EnableStreamMemOPs {}, driver {}", value->empty() ? "absent" : *value,
                             release == 0 ? "unknown" : std::to_string(release)),
                 fmt::format("driver {} or newer, or EnableStreamMemOPs 1", kByDefault),
                 Source::standard);
}

/// The size of the largest window on the function's memory. Source: sysfs-bus-pci, `resource`.
void window(Probe& probe, const Gpu& gpu) {
  const auto text = probe.text(gpu.pci.folder + "/resource");
  if (!text) return;
  std::uint64_t largest = 0;
  for (const std::string& line : lines_of(*text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() != 3) continue;
    const auto first = hex_number(words[0]);
    const auto last = hex_number(words[1]);
    if (first && last && *last > *first) largest = std::max(largest, *last - *first + 1);
  }
  if (largest == 0) return probe.skip("the function reports no window");
  constexpr std::uint64_t kMiB = 1U << 20;
  constexpr std::uint64_t kWanted = 1024;
  // The kernel shows these files of a GPU whose window can be resized.
  const bool fixed = kernel_is(probe, 5, 19) &&
                     !probe.exists(gpu.pci.folder + "/resource0_resize") &&
                     !probe.exists(gpu.pci.folder + "/resource1_resize");
  probe.judge_by(largest / kMiB >= kWanted, Status::warn, fmt::format("{} MiB", largest / kMiB),
                 fmt::format("at least {} MiB", kWanted), Source::standard,
                 fixed
                     ? "Register GPU memory in pieces below that, or take another GPU: this one's "
                       "window cannot grow."
                     : "");
}

PciPath path_of(Probe& probe, const PciFunction& function) {
  PciPath path = pci_path(function.folder);
  path.numa_node = parse_number<int>(probe.try_line(function.folder + "/numa_node")).value_or(-1);
  return path;
}

void nearest(Probe& probe, const Gpu& gpu) {
  const RdmaDevice* found = nullptr;
  PciDistance least = PciDistance::unknown;
  const bool one_node = numa_nodes(probe) == 1;
  const PciPath own = path_of(probe, gpu.pci);
  for (const RdmaDevice& device : probe.node().devices) {
    if (!device.physical()) continue;
    const PciDistance distance = pci_distance(own, path_of(probe, device.pci), one_node);
    if (found != nullptr && distance >= least) continue;
    found = &device;
    least = distance;
  }
  if (found == nullptr) return probe.skip("this node has no RDMA device with a PCI function");
  probe.observe(fmt::format("{} at {}", found->name, name(least)));
  probe.expect("PIX, PXB, PHB or NODE", Source::derived);
  if (least == PciDistance::unknown)
    return probe.skip("their places on PCI, or their NUMA nodes, are not known");
  if (least == PciDistance::sys && probe.node().virtual_machine) {
    return probe.skip("a virtual machine need not show how the host is wired");
  }
  probe.judge_by(least != PciDistance::sys, Status::warn);
}

constexpr auto kGpuRows = std::to_array<Check>({
    {{.id = "gpu.count",
      .title = "Number of GPUs",
      .reads = "sys/bus/pci/devices/*/{class,vendor}",
      .rule = "FAIL if not the expected number",
      .remedy =
          "Look for the missing one with lspci and in the kernel's log; restart the node or have it repaired.",
      .source = "PCI Code and ID Assignment, classes 03h and 12h",
      .action = action::kReboot,
      .compares = true},
     gpu_count},
    {{.id = "gpu.driver",
      .title = "Driver of the GPU",
      .reads = "D/driver",
      .rule = "FAIL without one, or another than nvidia",
      .remedy = "Load the vendor's driver; forbid nouveau.",
      .source = "NVIDIA Driver Installation Guide, Nouveau; sysfs-bus-pci",
      .as_cause = "has no driver"},
     driver},
    {{.id = "gpu.width",
      .title = "Width of the GPU's link",
      .reads = "D/{current,max}_link_width, and of the bridge above",
      .rule = "FAIL below what GPU and slot could do",
      .remedy = "Reseat the GPU or its riser; restart the node.",
      .source = "oci-hpc healthchecks/files/check_gpu_setup.py; sysfs-bus-pci",
      .action = action::kReseat},
     width},
    {{.id = "gpu.peer_memory",
      .title = "GPU memory for RDMA devices",
      .reads =
          "sys/module/{nvidia_peermem,efa_nv_peermem,amdgpu}, sys/kernel/mm/memory_peers, proc/driver/nvidia/version, proc/sys/kernel/osrelease, /boot/config-*",
      .rests_on = "gpu.driver",
      .rule = "NVIDIA and AMD: FAIL without any route",
      .remedy =
          "modprobe nvidia-peermem; or install the open kernel modules and a kernel from 5.12 on, for dma-buf.",
      .source =
          "NCCL src/transport/net_ib/gdr.cc; amzn-drivers efa_nv_peermem; perftest src/rocm_memory.c",
      .compares = true},
     peer_memory},
    {{.id = "gpu.gdrcopy",
      .title = "GDRCopy's module",
      .reads = "sys/module/gdrdrv",
      .rests_on = "gpu.driver",
      .rule = "NVIDIA: WARN if it is not loaded",
      .remedy = "Install GDRCopy and load gdrdrv: it makes small messages from GPU memory faster.",
      .source = "NVIDIA/gdrcopy README.md",
      .action = action::kUpdateSoftware,
      .compares = true},
     gdrcopy},
    {{.id = "gpu.stream_mem_ops",
      .title = "Waiting of streams for values in memory",
      .reads = "proc/driver/nvidia/params (EnableStreamMemOPs), sys/module/nvidia/version",
      .rests_on = "gpu.driver",
      .rule = "NVIDIA: WARN if off and the driver is older than 515",
      .remedy =
          "Install a newer driver, or set options nvidia NVreg_EnableStreamMemOPs=1 in /etc/modprobe.d/nvidia.conf.",
      .source = "CUDA 11.8 Driver API, Stream Memory Operations",
      .action = action::kUpdateSoftware,
      .compares = true},
     stream_mem_ops},
    {{.id = "gpu.window",
      .title = "Window on the GPU's memory",
      .reads = "D/resource, D/resource{0,1}_resize",
      .rule = "WARN below 1 GiB",
      .remedy = "Turn on Above 4G Decoding and Resizable BAR in the BIOS.",
      .source = "Linux sysfs-bus-pci"},
     window},
    {{.id = "gpu.nearest",
      .title = "The nearest RDMA device",
      .reads = "the folders of GPUs and devices, D/numa_node, sys/devices/system/node/online",
      .rests_on = "gpu.numa_node",
      .rule = "WARN if the nearest is on another socket (SYS)",
      .remedy = "Use a GPU that has a device near, or move cards: the traffic crosses the sockets.",
      .source = "NCCL src/graph/paths.cc; Mellanox/ngc_multinode_perf common.sh"},
     nearest},
    {{.id = "gpu.numa_node",
      .title = "NUMA node of the GPU",
      .reads = "D/numa_node",
      .rule = "several NUMA nodes: FAIL if it is -1; SKIP in a virtual machine",
      .remedy = "Look for the setting in the BIOS; update it.",
      .source = "azurehpc-health-checks customTests/azure_hw_topology_check.nhc; sysfs-bus-pci",
      .as_cause = "has no NUMA node"},
     [](Probe& probe, const Gpu& gpu) { judge_numa_node(probe, gpu.pci); }},
});

}  // namespace

constinit const std::span<const Check> kGpuChecks = kGpuRows;

}  // namespace rdmabench::inline v1::health
