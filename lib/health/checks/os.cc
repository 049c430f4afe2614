// Settings of the operating system that disturb measurements.
#include <array>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

void irq_affinity(Probe& probe, const PciFunction& function) {
  const std::string near = probe.try_line(function.folder + "/local_cpulist");
  if (near.empty()) return probe.skip("the device reports no CPUs near it");
  std::size_t away = 0;
  std::size_t all = 0;
  for (const std::string& irq : probe.list(function.folder + "/msi_irqs")) {
    if (!to_number(irq)) continue;
    std::string cpus = probe.try_line("proc/irq/" + irq + "/effective_affinity_list");
    if (cpus.empty()) cpus = probe.try_line("proc/irq/" + irq + "/smp_affinity_list");
    if (cpus.empty()) continue;
    ++all;
    if (!lists_overlap(cpus, near)) ++away;
  }
  if (all == 0) return probe.skip("the device's interrupts do not report their CPUs");
  probe.judge_by(away == 0, Status::warn,
                 fmt::format("{} of {} interrupts go elsewhere", away, all),
                 fmt::format("all to CPUs near the device, {}", near), Source::derived);
}

void transparent_huge_pages(Probe& probe) {
  const auto text = probe.line("sys/kernel/mm/transparent_hugepage/enabled");
  if (!text) return;
  const std::string chosen = chosen_word(*text);
  probe.observe(chosen);
  probe.expect("madvise or never", Source::standard);
  if (chosen.empty()) return probe.error(fmt::format("nothing is chosen in '{}'", *text));
  probe.judge_by(chosen != "always", Status::warn);
}

void swap(Probe& probe) {
  const auto text = probe.text("proc/swaps");
  if (!text) return;
  std::uint64_t used = 0;
  for (const std::string& line : lines_of(*text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() == 5) used += to_number(words[3]).value_or(0);
  }
  probe.judge_by(used == 0, Status::warn, fmt::format("{} KiB used", used), "nothing swapped out",
                 Source::standard);
}

void watchdog(Probe& probe) {
  const auto value = probe.number("proc/sys/kernel/nmi_watchdog");
  if (!value) return;
  probe.judge_by(*value == 0, Status::warn, std::to_string(*value), "0", Source::standard);
}

void huge_pages(Probe& probe) {
  const auto info = probe.text("proc/meminfo");
  if (!info) return;
  const auto free = to_number(value_after(*info, "HugePages_Free"));
  if (!free) return probe.skip("the kernel reports no huge pages");
  probe.observe(fmt::format("{} free of {}", *free, value_after(*info, "HugePages_Total")));
  if (const Expectation* const wanted = probe.expectation("hugepages")) {
    probe.expect("at least " + wanted->value, wanted->source);
    return probe.judge_by(*free >= to_number(wanted->value).value_or(0), Status::fail);
  }
  for (const RdmaDevice& device : probe.node().devices) {
    if (device.driver != "efa") continue;
    probe.expect("some: libfabric's efa provider takes its buffers from them", Source::standard);
    return probe.judge_by(*free > 0, Status::warn);
  }
  probe.skip(std::string(kNothingToCompare));
}

void tainted(Probe& probe) {
  const auto value = probe.number("proc/sys/kernel/tainted");
  if (!value) return;
  std::string bad;
  if ((*value >> 4 & 1U) != 0) bad += " machine check";
  if ((*value >> 7 & 1U) != 0) bad += " oops";
  if ((*value >> 14 & 1U) != 0) bad += " soft lockup";
  probe.judge_by(
      bad.empty(), Status::warn,
      bad.empty() ? fmt::format("{}: nothing bad", *value) : fmt::format("{}:{}", *value, bad),
      "no machine check, oops or soft lockup since the start", Source::standard);
}

void load(Probe& probe) {
  const auto text = probe.line("proc/loadavg");
  if (!text) return;
  const auto running = leading_number(*text);
  if (!running) return probe.error(fmt::format("'{}' begins with no number", *text));
  const std::uint64_t cpus = list_count(probe.try_line("sys/devices/system/cpu/online"));
  if (cpus == 0) return probe.skip("the node does not report its CPUs");
  const double most = 0.25 * static_cast<double>(cpus);
  probe.judge_by(*running <= most, Status::warn,
                 fmt::format("{:g} threads want to run, on {} CPUs", *running, cpus),
                 fmt::format("at most {:g}: an idle node", most), Source::derived);
}

void overcommit(Probe& probe) {
  const auto value = probe.line("proc/sys/vm/overcommit_memory");
  if (!value) return;
  probe.judge_by(*value == "0" || *value == "1", Status::warn, *value, "0 or 1", Source::standard);
}

constexpr auto kOsRows = std::to_array<Check>({
    {{.id = "os.irq_affinity",
      .title = "Interrupts near the device",
      .reads = "D/{msi_irqs,local_cpulist}, proc/irq/*/effective_affinity_list",
      .rule = "WARN if one goes to a CPU of another NUMA node",
      .remedy = "set_irq_affinity_bynode.sh NODE IF, and stop irqbalance.",
      .source = "mlnx_tune; ngc_multinode_perf"},
     irq_affinity},
    {{.id = "os.transparent_huge_pages",
      .title = "Transparent huge pages",
      .reads = "sys/kernel/mm/transparent_hugepage/enabled",
      .rule = "WARN if always",
      .remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled.",
      .source = "mlnx_tune",
      .compares = true},
     transparent_huge_pages},
    {{.id = "os.swap",
      .title = "Swapping",
      .reads = "proc/swaps",
      .rule = "WARN if anything is swapped out",
      .remedy = "swapoff -a; find out what took the memory.",
      .source = "imbue-ai/cluster-health"},
     swap},
    {{.id = "os.nmi_watchdog",
      .title = "NMI watchdog",
      .reads = "proc/sys/kernel/nmi_watchdog",
      .rule = "WARN unless 0",
      .remedy = "sysctl -w kernel.nmi_watchdog=0: its interrupts are noise in latencies.",
      .source = "mlnx_tune",
      .compares = true},
     watchdog},
    {{.id = "os.huge_pages",
      .title = "Huge pages",
      .reads = "proc/meminfo",
      .rule = "FAIL with fewer free than expected; EFA: WARN with none",
      .remedy = "sysctl -w vm.nr_hugepages=N, early after the start.",
      .source = "fi_efa(7); mlnx_tune"},
     huge_pages},
    {{.id = "os.tainted",
      .title = "What has happened to the kernel",
      .reads = "proc/sys/kernel/tainted",
      .rule = "WARN after a machine check, an oops or a soft lockup",
      .remedy = "Read the kernel's log, and restart the node.",
      .source = "Linux admin-guide/tainted-kernels",
      .action = action::kReboot},
     tainted},
    {{.id = "os.load",
      .title = "The node is idle",
      .reads = "proc/loadavg, sys/devices/system/cpu/online",
      .rule = "WARN above a quarter of the CPUs",
      .remedy = "Look for what is left of an earlier job: ps, squeue.",
      .source = "Linux proc(5)",
      .action = action::kInvestigate},
     load},
    {{.id = "os.overcommit",
      .title = "Promising of memory",
      .reads = "proc/sys/vm/overcommit_memory",
      .rule = "WARN if 2: large mappings that are never touched are refused then",
      .remedy = "sysctl -w vm.overcommit_memory=0.",
      .source = "Linux mm/overcommit-accounting",
      .compares = true},
     overcommit},
});

}  // namespace

constinit const std::span<const Check> kOsChecks = kOsRows;

}  // namespace rdmabench::inline v1::health
