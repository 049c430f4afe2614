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

void limit(Probe& probe) {
  std::size_t capped = 0;
  std::size_t all = 0;
  for (const std::string& cpu : cpus(probe)) {
    const auto allowed = probe.try_number(file(cpu, "cpufreq/scaling_max_freq"));
    const auto able = probe.try_number(file(cpu, "cpufreq/cpuinfo_max_freq"));
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
    {"cpu.governor", "Frequency governor", "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
     "WARN unless performance on all", "cpupower frequency-set -g performance.", "mlnx_tune; OCI",
     governor, true},
    {"cpu.frequency_limit", "Frequency limit", "cpu*/cpufreq/{scaling,cpuinfo}_max_freq",
     "WARN if a CPU is held below its highest", "cpupower frequency-set -u HIGHEST.",
     "mlnx_tune; Linux admin-guide/pm/cpufreq", limit},
    {"cpu.turbo", "Turbo", "sys/devices/system/cpu/{intel_pstate/no_turbo,cpufreq/boost}",
     "WARN if off", "Turn it on: echo 0 > intel_pstate/no_turbo, or echo 1 > cpufreq/boost.",
     "Linux admin-guide/pm", turbo, true},
    {"cpu.tsc", "Time stamp counter", "proc/cpuinfo", "x86: WARN unless constant and non-stop",
     "Do not trust times from this node; in a virtual machine ask for an invariant TSC.",
     "perftest get_clock; Intel SDM volume 3, 18.17.1", tsc, action::kAskVendor},
    {"cpu.clock_source", "Clock source",
     "sys/devices/system/clocksource/clocksource0/current_clocksource",
     "FAIL for hpet, acpi_pm, jiffies and pit: a reading takes a microsecond",
     "Look in the kernel's log for why the TSC was given up; start it with tsc=reliable if that is unfounded.",
     "Linux admin-guide/kernel-parameters, clocksource", clock_source, action::kInvestigate, true},
    {"cpu.idle", "Idle states", "sys/devices/system/cpu/cpu0/cpuidle/*/{latency,disable,name}",
     "WARN if one takes more than 20 us to wake from",
     "For latency runs hold /dev/cpu_dma_latency at 0, or cpupower idle-set -D 20.",
     "Linux admin-guide/pm/cpuidle", idle, true},
    {"cpu.online", "CPUs in use", "sys/devices/system/cpu/{online,present,smt/control}",
     "WARN if some are there and not online",
     "echo 1 > cpuN/online; look for why it was taken out.", "Linux sysfs-devices-system-cpu",
     online, true},
    {"cpu.throttled", "Throttling by heat",
     "cpu*/thermal_throttle/package_throttle_count, proc/uptime", "WARN above 10 a day",
     "Look at fans, air flow and the power limit.", "Linux arch/x86 therm_throt", throttled,
     action::kAskVendor},
    {"cpu.model", "Model", "proc/cpuinfo", "WARN if not the expected one",
     "Do not compare results of nodes with different processors.", "Linux proc(5)", model,
     action::kInvestigate, true},
    {"cpu.microcode", "Microcode", "proc/cpuinfo", "compared with peers",
     "Bring all nodes to one BIOS and microcode package.", "Linux proc(5)", microcode,
     action::kUpdateSoftware, true},
});

}  // namespace

constinit const std::span<const Check> kCpuChecks = kCpuRows;

}  // namespace rdmabench::inline v1::health
