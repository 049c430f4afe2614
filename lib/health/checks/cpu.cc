// Processors and clocks.
#include <algorithm>
#include <array>
#include <map>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr const char* kCpus = "sys/devices/system/cpu";

/// "cpu0", "cpu1", ...
std::vector<std::string> cpus(Probe& probe) {
  std::vector<std::string> found;
  for (const std::string& name : probe.list(kCpus)) {
    if (name.starts_with("cpu") && to_number(std::string_view(name).substr(3)))
      found.push_back(name);
  }
  return found;
}

std::string file(const std::string& cpu, std::string_view name) {
  return fmt::format("{}/{}/{}", kCpus, cpu, name);
}

void governor(Probe& probe) {
  std::map<std::string, std::size_t> seen;
  for (const std::string& cpu : cpus(probe)) {
    const std::string name = probe.try_line(file(cpu, "cpufreq/scaling_governor"));
    if (!name.empty()) ++seen[name];
  }
  if (seen.empty()) return probe.skip("no CPU reports a governor, as in most virtual machines");
  std::string observed;
  for (const auto& [name, count] : seen) {
    observed += fmt::format("{}{} on {}", observed.empty() ? "" : ", ", name, count);
  }
  probe.judge_by(seen.size() == 1 && seen.count("performance") == 1, Status::warn, observed,
                 "performance on all", Source::standard);
}

/// The highest frequency that a program can ask for. acpi-cpufreq calls the boost its highest,
/// which only the processor itself chooses; its list ends at the nominal one. Source: Linux
/// drivers/cpufreq/acpi-cpufreq.c, acpi_cpufreq_cpu_init().
std::optional<std::uint64_t> highest_frequency(Probe& probe, const std::string& cpu) {
  if (probe.try_line(file(cpu, "cpufreq/scaling_driver")) != "acpi-cpufreq") {
    return probe.try_number(file(cpu, "cpufreq/cpuinfo_max_freq"));
  }
  std::optional<std::uint64_t> most;
  for (const std::string& word :
       words_of(probe.try_line(file(cpu, "cpufreq/scaling_available_frequencies")))) {
    const auto one = to_number(word);
    if (one && *one > most.value_or(0)) most = one;
  }
  return most;
}

void limit(Probe& probe) {
  std::size_t capped = 0;
  std::size_t all = 0;
  for (const std::string& cpu : cpus(probe)) {
    const auto allowed = probe.try_number(file(cpu, "cpufreq/scaling_max_freq"));
    const auto able = highest_frequency(probe, cpu);
    if (!allowed || !able) continue;
    ++all;
    if (*allowed < *able) ++capped;
  }
  if (all == 0) return probe.skip("no CPU reports its frequencies");
  probe.judge_by(
      capped == 0, Status::warn,
      capped == 0 ? fmt::format("none of {}", all) : fmt::format("{} of {}", capped, all),
      "no CPU held below its highest frequency", Source::derived);
}

void turbo(Probe& probe) {
  const std::string forbidden = probe.try_line(fmt::format("{}/intel_pstate/no_turbo", kCpus));
  const std::string boost = probe.try_line(fmt::format("{}/cpufreq/boost", kCpus));
  if (forbidden.empty() && boost.empty()) return probe.skip("the kernel does not report it");
  const bool on = forbidden.empty() ? boost == "1" : forbidden == "0";
  // cppc_cpufreq has the switch on processors too that have nothing to switch on, as Grace: Linux
  // drivers/cpufreq/cppc_cpufreq.c.
  if (!on && probe.try_line(file("cpu0", "cpufreq/scaling_driver")) == "cppc_cpufreq") {
    const auto highest = probe.try_number(file("cpu0", "acpi_cppc/highest_perf"));
    const auto nominal = probe.try_number(file("cpu0", "acpi_cppc/nominal_perf"));
    if (!highest || !nominal || *highest <= *nominal) {
      return probe.skip("the processor has no frequency above its nominal one");
    }
  }
  probe.judge_by(on, Status::warn, on ? "on" : "off", "on", Source::standard);
}

void tsc(Probe& probe) {
  const auto info = probe.text("proc/cpuinfo");
  if (!info) return;
  const std::string flags = ' ' + value_after(*info, "flags") + ' ';
  if (flags == "  ") return probe.skip("only x86 has it; other processors' timers are constant");
  const bool constant = flags.find(" constant_tsc ") != std::string::npos;
  const bool nonstop = flags.find(" nonstop_tsc ") != std::string::npos;
  probe.judge_by(
      constant && nonstop, Status::warn,
      fmt::format("{}constant, {}stop", constant ? "" : "not ", nonstop ? "non-" : "may "),
      "constant_tsc and nonstop_tsc", Source::standard);
}

void clock_source(Probe& probe) {
  const auto name = probe.line("sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!name) return;
  static constexpr std::array<std::string_view, 5> kSlow{"hpet", "acpi_pm", "jiffies",
                                                         "refined-jiffies", "pit"};
  probe.observe(*name);
  probe.expect("one that is read without leaving the processor", Source::standard);
  const bool slow = std::find(kSlow.begin(), kSlow.end(), *name) != kSlow.end();
  probe.judge_by(!slow, Status::fail);
}

void idle(Probe& probe) {
  constexpr std::uint64_t kMostUs = 20;
  std::uint64_t longest = 0;
  std::string which;
  bool any = false;
  const std::string folder = file("cpu0", "cpuidle");
  for (const std::string& state : probe.list(folder)) {
    const auto latency = probe.try_number(fmt::format("{}/{}/latency", folder, state));
    if (!latency) continue;
    any = true;
    if (probe.try_line(fmt::format("{}/{}/disable", folder, state)) != "0") continue;
    if (*latency < longest || (which.empty() && *latency == 0)) continue;
    longest = *latency;
    which = probe.try_line(fmt::format("{}/{}/name", folder, state));
  }
  if (!any) return probe.skip("the processor reports no idle states");
  // No state is entered from which waking takes longer than any program that holds the file allows.
  const auto held = probe.text("rdmabench/cpu_dma_latency");
  if (const auto most = held ? to_number(one_line(*held)) : std::nullopt; most && *most < longest) {
    longest = *most;
    which = fmt::format("the longest that /dev/cpu_dma_latency allows");
  } else if (!held && longest > kMostUs && probe.exists("rdmabench/cpu_dma_latency")) {
    probe.observe(fmt::format("{} takes {} us to wake from", which, longest));
    return probe.skip("only root sees whether a program holds /dev/cpu_dma_latency");
  }
  probe.judge_by(longest <= kMostUs, Status::warn,
                 which.empty() ? "none that takes time to wake from"
                               : fmt::format("{} takes {} us to wake from", which, longest),
                 fmt::format("at most {} us", kMostUs), Source::standard);
}

void online(Probe& probe) {
  const auto now = probe.line(fmt::format("{}/online", kCpus));
  if (!now) return;
  const auto there = probe.line(fmt::format("{}/present", kCpus));
  if (!there) return;
  probe.observe(*now);
  probe.expect(*there, Source::derived);
  if (list_count(*now) == 0) return probe.error(fmt::format("invalid list of CPUs '{}'", *now));
  const std::string smt = probe.try_line(fmt::format("{}/smt/control", kCpus));
  if (smt == "off") return probe.skip("the second threads of the cores were turned off");
  probe.judge_by(list_count(*now) == list_count(*there), Status::warn);
}

void throttled(Probe& probe) {
  constexpr double kPerDay = 10;
  std::uint64_t most = 0;
  bool any = false;
  for (const std::string& cpu : cpus(probe)) {
    const auto count = probe.try_number(file(cpu, "thermal_throttle/package_throttle_count"));
    if (!count) continue;
    any = true;
    most = std::max(most, *count);
  }
  if (!any) return probe.skip("the processor does not count it");
  const auto up = uptime_s(probe);
  if (!up) return probe.skip("the node does not report how long it has been up");
  const double days = std::max(*up / 86400, 1.0);
  probe.judge_by(static_cast<double>(most) <= kPerDay * days, Status::warn,
                 fmt::format("{} times in {:.1f} days", most, *up / 86400),
                 fmt::format("at most {:g} a day", kPerDay), Source::standard);
}

void model(Probe& probe) {
  const auto info = probe.text("proc/cpuinfo");
  if (!info) return;
  const std::string name = value_after(*info, "model name");
  if (name.empty()) return probe.skip("the processor does not report its model");
  probe.compare("cpu", name);
}

void microcode(Probe& probe) {
  const auto info = probe.text("proc/cpuinfo");
  if (!info) return;
  const std::string version = value_after(*info, "microcode");
  if (version.empty()) return probe.skip("the processor does not report its microcode");
  probe.observe(version);
  probe.skip(std::string(kNothingToCompare));
}

constexpr auto kCpuRows = std::to_array<Check>({
    {{.id = "cpu.governor",
      .title = "Frequency governor",
      .reads = "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
      .rule = "WARN unless performance on all",
      .remedy = "cpupower frequency-set -g performance.",
      .source = "mlnx-tools python/mlnx_tune; Linux admin-guide/pm/cpufreq",
      .compares = true},
     governor},
    {{.id = "cpu.frequency_limit",
      .title = "Frequency limit",
      .reads =
          "cpu*/cpufreq/{scaling_max_freq,cpuinfo_max_freq,scaling_driver,scaling_available_frequencies}",
      .rule = "WARN if a CPU is held below its highest; with acpi-cpufreq, below its nominal one",
      .remedy = "cpupower frequency-set -u HIGHEST.",
      .source = "Linux admin-guide/pm/cpufreq; drivers/cpufreq/acpi-cpufreq.c"},
     limit},
    {{.id = "cpu.turbo",
      .title = "Turbo",
      .reads = "sys/devices/system/cpu/{intel_pstate/no_turbo,cpufreq/boost,cpu0/acpi_cppc/*_perf}",
      .rule = "WARN if off, where there is one",
      .remedy = "Turn it on: echo 0 > intel_pstate/no_turbo, or echo 1 > cpufreq/boost.",
      .source = "Linux admin-guide/pm; drivers/cpufreq/cppc_cpufreq.c",
      .compares = true},
     turbo},
    {{.id = "cpu.tsc",
      .title = "Time stamp counter",
      .reads = "proc/cpuinfo",
      .rule = "x86: WARN unless constant and non-stop",
      .remedy = "Do not trust times from this node; in a virtual machine ask for an invariant TSC.",
      .source = "perftest src/get_clock.c; Intel SDM volume 3, 18.17.1",
      .action = action::kAskVendor},
     tsc},
    {{.id = "cpu.clock_source",
      .title = "Clock source",
      .reads = "sys/devices/system/clocksource/clocksource0/current_clocksource",
      .rule = "FAIL for hpet, acpi_pm, jiffies and pit: a reading takes a microsecond",
      .remedy =
          "Look in the kernel's log for why the TSC was given up; start it with tsc=reliable if that is unfounded.",
      .source = "Linux admin-guide/kernel-parameters, clocksource",
      .action = action::kInvestigate,
      .compares = true},
     clock_source},
    {{.id = "cpu.idle",
      .title = "Idle states",
      .reads = "sys/devices/system/cpu/cpu0/cpuidle/*/{latency,disable,name}, /dev/cpu_dma_latency",
      .rule = "WARN if one takes more than 20 us to wake from",
      .remedy = "For latency runs hold /dev/cpu_dma_latency at 0, or cpupower idle-set -D 20.",
      .source = "Linux admin-guide/pm/cpuidle; power/pm_qos_interface",
      .compares = true},
     idle},
    {{.id = "cpu.online",
      .title = "CPUs in use",
      .reads = "sys/devices/system/cpu/{online,present,smt/control}",
      .rule = "WARN if some are there and not online",
      .remedy = "echo 1 > cpuN/online; look for why it was taken out.",
      .source = "Linux sysfs-devices-system-cpu",
      .compares = true},
     online},
    {{.id = "cpu.throttled",
      .title = "Throttling by heat",
      .reads = "cpu*/thermal_throttle/package_throttle_count, proc/uptime",
      .rule = "WARN above 10 a day",
      .remedy = "Look at fans, air flow and the power limit.",
      .source = "Linux drivers/thermal/intel/therm_throt.c",
      .action = action::kAskVendor},
     throttled},
    {{.id = "cpu.model",
      .title = "Model",
      .reads = "proc/cpuinfo",
      .rule = "WARN if not the expected one",
      .remedy = "Do not compare results of nodes with different processors.",
      .source = "Linux proc(5)",
      .action = action::kInvestigate,
      .compares = true},
     model},
    {{.id = "cpu.microcode",
      .title = "Microcode",
      .reads = "proc/cpuinfo",
      .rule = "compared with peers",
      .remedy = "Bring all nodes to one BIOS and microcode package.",
      .source = "Linux proc(5)",
      .action = action::kUpdateSoftware,
      .compares = true},
     microcode},
});

}  // namespace

constinit const std::span<const Check> kCpuChecks = kCpuRows;

}  // namespace rdmabench::inline v1::health
