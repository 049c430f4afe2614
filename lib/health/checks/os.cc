// Settings of the operating system that disturb measurements.
#include <array>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

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

void overcommit(Probe& probe) {
  const auto value = probe.line("proc/sys/vm/overcommit_memory");
  if (!value) return;
  probe.judge_by(*value == "0" || *value == "1", Status::warn, *value, "0 or 1", Source::standard);
}

/// False, with the finding SKIP, for others. Source: Linux drivers/firmware/smccc/soc_id.c; 036b is
/// NVIDIA's number of JEP106.
bool is_grace(Probe& probe) {
  const bool grace = probe.try_line("sys/bus/soc/devices/soc0/soc_id").starts_with("jep106:036b");
  if (!grace) probe.skip("only for NVIDIA's processors");
  return grace;
}

void page_size(Probe& probe) {
  if (!is_grace(probe)) return;
  const auto size = probe.number("rdmabench/page_size");
  if (!size) return;
  probe.judge_by(*size == 65536, Status::warn, fmt::format("{} KiB", *size / 1024), "64 KiB",
                 Source::standard);
}

void init_on_alloc(Probe& probe) {
  if (!is_grace(probe)) return;
  const auto line = probe.line("proc/cmdline");
  if (!line) return;
  std::string set;
  for (const std::string& word : words_of(*line)) {
    if (word.starts_with("init_on_alloc=")) set = word;
  }
  probe.observe(set.empty() ? "no option" : set);
  probe.expect("init_on_alloc=0", Source::standard);
  if (!set.empty()) {
    const std::string value = set.substr(set.find('=') + 1);
    return probe.judge_by(value == "0" || value == "off" || value == "n", Status::warn);
  }
  // Ubuntu and Debian build their kernels with it on.
  const std::string release = probe.try_text("etc/os-release");
  const bool on =
      release.find("Ubuntu") != std::string::npos || release.find("Debian") != std::string::npos;
  if (!on) return probe.skip("whether this kernel was built with it is not known");
  probe.warn();
}

constexpr auto kOsRows = std::to_array<Check>({
    {{.id = "os.swap",
      .title = "Swapping",
      .reads = "proc/swaps",
      .rule = "WARN if anything is swapped out",
      .remedy = "swapoff -a; find out what took the memory.",
      .source = "imbue-ai/cluster-health health_checks/health_checks.py"},
     swap},
    {{.id = "os.huge_pages",
      .title = "Huge pages",
      .reads = "proc/meminfo",
      .rule = "FAIL with fewer free than expected; EFA: WARN with none",
      .remedy = "sysctl -w vm.nr_hugepages=N, early after the start.",
      .source = "fi_efa(7); mlnx-tools python/mlnx_tune"},
     huge_pages},
    {{.id = "os.tainted",
      .title = "What has happened to the kernel",
      .reads = "proc/sys/kernel/tainted",
      .rule = "WARN after a machine check, an oops or a soft lockup",
      .remedy = "Read the kernel's log, and restart the node.",
      .source = "Linux admin-guide/tainted-kernels",
      .action = action::kReboot},
     tainted},
    {{.id = "os.overcommit",
      .title = "Promising of memory",
      .reads = "proc/sys/vm/overcommit_memory",
      .rule = "WARN if 2: large mappings that are never touched are refused then",
      .remedy = "sysctl -w vm.overcommit_memory=0.",
      .source = "Linux mm/overcommit-accounting",
      .compares = true},
     overcommit},
    {{.id = "os.page_size",
      .title = "Size of pages",
      .reads = "sysconf(3), sys/bus/soc/devices/soc0/soc_id",
      .rule = "NVIDIA Grace: WARN unless 64 KiB",
      .remedy =
          "Install the kernel with 64 KiB pages: linux-nvidia-64k of Ubuntu, kernel-64k of RHEL.",
      .source = "NVIDIA Grace Performance Tuning Guide",
      .action = action::kUpdateSoftware,
      .compares = true},
     page_size},
    {{.id = "os.init_on_alloc",
      .title = "Clearing of memory that the kernel hands out",
      .reads = "proc/cmdline, etc/os-release, sys/bus/soc/devices/soc0/soc_id",
      .rule = "NVIDIA Grace: WARN unless off",
      .remedy = "Add init_on_alloc=0 to the kernel's options: it slows what allocates GPU memory.",
      .source = "NVIDIA Grace Performance Tuning Guide; Linux mm/mm_init.c",
      .compares = true},
     init_on_alloc},
});

}  // namespace

constinit const std::span<const Check> kOsChecks = kOsRows;

}  // namespace rdmabench::inline v1::health
