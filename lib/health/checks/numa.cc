// Memory and processors near the devices.
#include <algorithm>
#include <array>
#include <set>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr const char* kNodes = "sys/devices/system/node";

void affinity(Probe& probe, const PciFunction& function) {
  const auto near = probe.line(function.folder + "/local_cpulist");
  if (!near) return;
  const std::string allowed = value_after(probe.try_text("proc/self/status"), "Cpus_allowed_list");
  if (near->empty()) return probe.skip("the device reports no CPUs near it");
  if (allowed.empty()) return probe.skip("proc/self/status reports no CPUs");
  probe.judge_by(lists_overlap(*near, allowed), Status::warn,
                 fmt::format("this process may use {}", allowed),
                 fmt::format("some of {}, which are near the device", *near), Source::derived);
}

/// The numbers of a list; of one that names more than any node has CPUs, the first.
std::set<std::uint64_t> numbers_of(std::string_view list) {
  std::uint64_t left = 1U << 16;
  std::set<std::uint64_t> numbers;
  for_each_range(list, [&](std::uint64_t first, std::uint64_t last) {
    for (; left != 0; ++first, --left) {
      numbers.insert(first);
      if (first == last) break;
    }
  });
  return numbers;
}

/// The device's place by hwloc: "0000:98:00.0 cpus=0-31". hwloc corrects known errors of BIOS
/// tables.
void hwloc_locality(Probe& probe, const PciFunction& function) {
  const auto facts = probe.text("rdmabench/hwloc");
  if (!facts)
    return probe.skip(
        "hwloc was not asked: it is not installed, or this is a saved tree without facts");
  const std::string found = value_after(*facts, function.address);
  if (!found.starts_with("cpus=")) return probe.skip("hwloc does not see the device");
  const auto near = probe.line(function.folder + "/local_cpulist");
  if (!near) return;
  if (near->empty()) return probe.skip("the device reports no CPUs near it");
  // hwloc counts CPUs that are off as well.
  const std::string online = probe.try_line("sys/devices/system/cpu/online");
  const std::set<std::uint64_t> own = numbers_of(*near);
  std::set<std::uint64_t> theirs = numbers_of(found.substr(5));
  if (const std::set<std::uint64_t> on = numbers_of(online); !on.empty()) {
    std::erase_if(theirs, [&](std::uint64_t cpu) { return on.count(cpu) == 0; });
  }
  probe.judge_by(own == theirs, Status::warn, *near, found.substr(5) + ", where hwloc sees it",
                 Source::derived);
}

void balancing(Probe& probe) {
  const auto value = probe.number("proc/sys/kernel/numa_balancing");
  if (!value) return;
  probe.observe(std::to_string(*value));
  probe.expect("0", Source::standard);
  if (*value != 0 && numa_nodes(probe) == 1) {
    return probe.skip("this node has one NUMA node");
  }
  probe.judge_by(*value == 0, Status::warn);
}

void zone_reclaim(Probe& probe) {
  const auto value = probe.number("proc/sys/vm/zone_reclaim_mode");
  if (!value) return;
  probe.judge_by(*value == 0, Status::warn, std::to_string(*value), "0", Source::standard);
}

std::set<std::string> packages(Probe& probe) {
  std::set<std::string> found;
  for (const std::string& name : probe.list("sys/devices/system/cpu")) {
    if (!name.starts_with("cpu") || !to_number(std::string_view(name).substr(3))) continue;
    const std::string package =
        probe.try_line("sys/devices/system/cpu/" + name + "/topology/physical_package_id");
    if (!package.empty()) found.insert(package);
  }
  return found;
}

void per_socket(Probe& probe) {
  const auto online = probe.line(fmt::format("{}/has_cpu", kNodes));
  if (!online) return;
  const std::uint64_t nodes = list_count(*online);
  if (nodes == 0) return probe.error(fmt::format("invalid list of NUMA nodes '{}'", *online));
  if (probe.expectation("numa_nodes") != nullptr) {
    return probe.compare("numa_nodes", std::to_string(nodes));
  }
  const std::size_t sockets = packages(probe).size();
  if (sockets == 0) return probe.skip("no CPU reports its socket");
  probe.observe(fmt::format("{} with CPUs, {} sockets", nodes, sockets));
  probe.expect("at least as many as sockets", Source::derived);
  if (nodes < sockets && probe.node().virtual_machine) {
    return probe.skip("the sockets of a virtual machine are what its hypervisor calls them");
  }
  probe.judge_by(nodes >= sockets, Status::warn);
}

void memory(Probe& probe) {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::string observed;
  for (const std::string& name : probe.list(kNodes)) {
    if (!name.starts_with("node") || !to_number(std::string_view(name).substr(4))) continue;
    if (list_count(probe.try_line(fmt::format("{}/{}/cpulist", kNodes, name))) == 0) continue;
    for (const std::string& line :
         lines_of(probe.try_text(fmt::format("{}/{}/meminfo", kNodes, name)))) {
      const std::vector<std::string> words = words_of(line);
      if (words.size() < 4 || words[2] != "MemTotal:") continue;
      const auto kib = to_number(words[3]);
      if (!kib) return probe.error(fmt::format("invalid size {}", words[3]));
      least = observed.empty() ? *kib : std::min(least, *kib);
      most = std::max(most, *kib);
      observed += fmt::format("{}{} {:.0f} GiB", observed.empty() ? "" : ", ", name,
                              static_cast<double>(*kib) / 1048576);
    }
  }
  if (observed.empty()) return probe.skip("no NUMA node reports its memory");
  const bool even = static_cast<double>(least) >= 0.75 * static_cast<double>(most);
  probe.observe(observed);
  probe.expect("the least at least three quarters of the most", Source::derived);
  if (!even && probe.node().virtual_machine) {
    return probe.skip("a virtual machine's memory is what its hypervisor gives it");
  }
  probe.judge_by(even, Status::warn);
}

constexpr auto kNumaRows = std::to_array<Check>({
    {{.id = "numa.device_node",
      .title = "NUMA node of the device",
      .reads = "D/numa_node, sys/devices/system/node/online",
      .rule = "several NUMA nodes: FAIL if it is -1; SKIP in a virtual machine",
      .remedy = "Look for the setting in the BIOS; update it.",
      .source = "azurehpc-health-checks customTests/azure_hw_topology_check.nhc; sysfs-bus-pci",
      .as_cause = "has no NUMA node"},
     judge_numa_node},
    {{.id = "numa.affinity",
      .title = "Processors near the device",
      .reads = "D/local_cpulist, proc/self/status",
      .rests_on = "numa.device_node",
      .rule = "WARN if it may not",
      .remedy = "Ask the scheduler for cores near the device, or start with numactl --cpunodebind.",
      .source = "mlnx-tools python/mlnx_tune; sysfs-bus-pci"},
     affinity},
    {{.id = "numa.hwloc",
      .title = "Place of the device by hwloc and the kernel",
      .reads = "hwloc, D/local_cpulist, sys/devices/system/cpu/online",
      .rule = "WARN if they differ",
      .remedy = "Update the BIOS: its tables place the device wrongly.",
      .source = "hwloc documentation, I/O devices, complete_cpuset",
      .action = action::kUpdateSoftware},
     hwloc_locality},
    {{.id = "numa.balancing",
      .title = "Automatic NUMA balancing",
      .reads = "proc/sys/kernel/numa_balancing",
      .rule = "several NUMA nodes: WARN if on",
      .remedy = "sysctl -w kernel.numa_balancing=0.",
      .source = "ROCm/cvs tests/platform/host_configs_cvs.py; mlnx-tools python/mlnx_tune",
      .compares = true},
     balancing},
    {{.id = "numa.zone_reclaim",
      .title = "Reclaiming memory before going to another node",
      .reads = "proc/sys/vm/zone_reclaim_mode",
      .rule = "WARN unless 0",
      .remedy = "sysctl -w vm.zone_reclaim_mode=0.",
      .source = "mlnx-tools python/mlnx_tune; Linux admin-guide/sysctl/vm",
      .compares = true},
     zone_reclaim},
    {{.id = "numa.per_socket",
      .title = "NUMA nodes",
      .reads = "sys/devices/system/node/has_cpu, cpu*/topology/physical_package_id",
      .rule =
          "WARN with fewer than sockets, or not the expected number; fewer in a virtual machine: SKIP",
      .remedy = "Turn node interleaving off in the BIOS; on EPYC set the nodes per socket.",
      .source = "NVIDIA/nccl-tests issue 115",
      .compares = true},
     per_socket},
    {{.id = "numa.memory",
      .title = "Memory of the NUMA nodes",
      .reads = "sys/devices/system/node/node*/{cpulist,meminfo}",
      .rule = "WARN if one has less than three quarters of another's; in a virtual machine SKIP",
      .remedy = "A memory module is missing or was turned off: look into the BIOS' log.",
      .source = "Linux sysfs-devices-node",
      .action = action::kInvestigate,
      .compares = true},
     memory},
});

}  // namespace

std::uint64_t numa_nodes(Probe& probe) {
  return list_count(probe.try_line(fmt::format("{}/online", kNodes)));
}

void judge_numa_node(Probe& probe, const PciFunction& function) {
  const auto text = probe.line(function.folder + "/numa_node");
  if (!text) return;
  const auto node = parse_number<int>(*text);
  if (!node) return probe.error(fmt::format("invalid NUMA node '{}'", *text));
  probe.observe(*text);
  probe.expect("a NUMA node", Source::derived);
  if (*node < 0 && numa_nodes(probe) <= 1) return probe.skip("this node has one NUMA node");
  if (*node < 0 && probe.node().virtual_machine) {
    return probe.skip("the hypervisor does not tell a virtual machine where its devices are");
  }
  probe.judge_by(*node >= 0, Status::fail);
}

constinit const std::span<const Check> kNumaChecks = kNumaRows;

}  // namespace rdmabench::inline v1::health
