#include "health/suspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmabench::health {
namespace {

using report::Suspicion;

constexpr double kSwitchesPerSecond = 20;  // a CPU of its own sees one or two
constexpr double kBusySibling = 0.1;
constexpr double kStolen = 0.01;
constexpr double kNoisy = 0.01;  // what lies beyond p99
constexpr double kNsPerS = 1e9;
constexpr double kNsPerUs = 1e3;

struct Side {
  std::string_view name;
  const RunConditions* conditions;
};

/// What growth of a class of counters means. The text follows what grew.
struct Verdict {
  CounterClass kind;
  std::string_view code;
  std::string_view text;
};
constexpr std::array<Verdict, 5> kVerdicts{{
    {CounterClass::retransmission, "retransmissions",
     "packets were sent again, because they were lost, reordered or answered too late, so the tail "
     "of the latency and the bandwidth are of a lossy path; look for drops in the switches, bad "
     "cables, flow control (PFC, ECN), and a peer that is short of CPU"},
    {CounterClass::receiver_not_ready, "receiver_not_ready",
     "messages found no receive buffer and had to wait for the retry timer or were lost; use more "
     "receive buffers (--depth), or a faster receiver"},
    {CounterClass::congestion, "congestion",
     "congestion control slowed the senders, so the rate is the network's present share and not "
     "the hardware's limit; run it on an idle path, or say what else ran"},
    {CounterClass::discard, "discards",
     "packets were thrown away on this machine, perhaps of another program; look at the device's "
     "ring and buffer sizes"},
    {CounterClass::error, "errors",
     "errors were counted that a healthy run does not have; check cable, transceiver, firmware and "
     "the kernel's log"},
}};

std::string change_text(const Side& side, const report::Counter& counter) {
  const std::string file = counter.source.substr(counter.source.rfind('/') + 1);
  return fmt::format("{} {} {} +{}{}{}", side.name, counter.device, counter.name,
                     counter.change.value_or(0), counter.at_least ? " or more" : "",
                     file == counter.name ? "" : fmt::format(" ({})", file));
}

void judge_counters(std::span<const Side> sides, std::vector<Suspicion>& found) {
  for (const Verdict& verdict : kVerdicts) {
    std::vector<std::string> grown;
    for (const Side& side : sides) {
      for (const report::Counter& counter : side.conditions->counters) {
        const bool grew = counter.change.value_or(0) > 0;
        if (counter.kind == name(verdict.kind) && grew) {
          grown.push_back(change_text(side, counter));
        }
      }
    }
    if (grown.empty()) continue;
    found.push_back(
        {std::string(verdict.code), fmt::format("{}: {}.", fmt::join(grown, ", "), verdict.text)});
  }
}

void judge_resets(std::span<const Side> sides, std::vector<Suspicion>& found) {
  for (const Side& side : sides) {
    std::vector<std::string> names;
    for (const report::Counter& counter : side.conditions->counters) {
      if (!counter.change) names.push_back(fmt::format("{} {}", counter.device, counter.name));
    }
    if (names.empty()) continue;
    found.push_back({"counter_reset",
                     fmt::format("{}: {} went backwards during the run, so it is not known what "
                                 "happened; was the device reset, or a counter cleared?",
                                 side.name, fmt::join(names, ", "))});
  }
}

void judge_clock(const Side& side, const report::Report& report, std::vector<Suspicion>& found) {
  const RunConditions& conditions = *side.conditions;
  if (conditions.clock_source_begin == conditions.clock_source_end) return;
  const bool timed = side.name == "client" && report.clock && report.clock->source == "tsc";
  found.push_back(
      {"clock", fmt::format("{}: the kernel changed its clock source from '{}' to '{}' "
                            "during the run{}; see the kernel's log, and run again.",
                            side.name, conditions.clock_source_begin, conditions.clock_source_end,
                            timed ? ", and the times were taken with the old one" : "")});
}

/// "client", or "client's thread 2" where there are several.
std::string thread_name(const Side& side, std::size_t index) {
  return side.conditions->threads.size() == 1
             ? fmt::format("{}: the measuring thread", side.name)
             : fmt::format("{}: measuring thread {}", side.name, index);
}

void judge_schedule(const std::string& who, const Placement& thread,
                    std::vector<Suspicion>& found) {
  if (const std::uint64_t moves = thread.moves(); moves > 0) {
    found.push_back(
        {"migration", fmt::format("{} was moved to another CPU {} (from CPU {} to {} in the "
                                  "end); pin it with --cpu.",
                                  who, moves == 1 ? "once" : fmt::format("{} times", moves),
                                  thread.cpu_begin, thread.cpu_end)});
  }
  const double seconds = thread.watched_ns / kNsPerS;
  const auto switches = static_cast<double>(thread.involuntary_switches);
  if (switches > kSwitchesPerSecond && switches > kSwitchesPerSecond * seconds) {
    found.push_back({"preemption",
                     fmt::format("{} lost its CPU to others {} times in {:.2f} s; keep other work "
                                 "off that CPU, or pin to a free one with --cpu.",
                                 who, thread.involuntary_switches, seconds)});
  }
}

void judge_core(const std::string& who, const Placement& thread, std::vector<Suspicion>& found) {
  if (thread.sibling_busy.value_or(0) > kBusySibling) {
    found.push_back(
        {"smt_sibling", fmt::format("{} shared its core: the other hardware thread was busy for "
                                    "{:.0f} % of the time; keep it idle.",
                                    who, *thread.sibling_busy * 100)});
  }
  if (thread.stolen.value_or(0) > kStolen) {
    found.push_back({"stolen", fmt::format("{} ran on a virtual CPU of which the hypervisor took "
                                           "{:.1f} %; give the guest CPUs of its own.",
                                           who, *thread.stolen * 100)});
  }
}

void judge_distance(const std::string& who, const Placement& thread,
                    const RunConditions& conditions, std::vector<Suspicion>& found) {
  if (thread.cpus == 1 || thread.numa_node < 0) return;  // somebody chose that CPU
  for (const DeviceNode& device : conditions.devices) {
    if (device.numa_node < 0 || device.numa_node == thread.numa_node) continue;
    found.push_back(
        {"remote_numa", fmt::format("{} ran on NUMA node {}, but {} is attached to node {}; pin it "
                                    "near the device with --cpu.",
                                    who, thread.numa_node, device.device, device.numa_node)});
    return;
  }
}

/// The smallest p99 of the results; none where they are no latencies.
std::optional<double> smallest_p99(const report::Report& report) {
  std::optional<double> smallest;
  const auto look = [&]<class Result>(const std::vector<Result>& results) {
    if constexpr (requires(const Result& result) { result.latency.p99_ns; }) {
      for (const Result& result : results) {
        const double p99 = result.latency.p99_ns;
        if (std::isfinite(p99) && p99 > 0) smallest = std::min(smallest.value_or(p99), p99);
      }
    }
  };
  std::visit(look, report.results);
  return smallest;
}

void judge_noise(const Side& side, std::optional<double> p99, std::vector<Suspicion>& found) {
  const Noise& noise = side.conditions->noise;
  if (noise.lost() < kNoisy || (p99 && noise.largest_gap_ns <= *p99)) return;
  std::string text = fmt::format(
      "{}: the machine is noisy: {} gaps took {:.1f} % of a spin of {:.0f} ms, the largest "
      "{:.1f} us",
      side.name, noise.gaps, noise.lost() * 100, noise.spin_ns / 1e6,
      noise.largest_gap_ns / kNsPerUs);
  if (p99) text += fmt::format(", more than a p99 of {:.1f} us", *p99 / kNsPerUs);
  found.push_back({"noise", text + "; use an isolated CPU (--cpu, isolcpus), or stop other work."});
}

}  // namespace

std::vector<Suspicion> judge(const RunConditions& client, const RunConditions* server,
                             const report::Report& report) {
  std::vector<Side> sides{{"client", &client}};
  if (server != nullptr) sides.push_back({"server", server});
  std::vector<Suspicion> found;
  judge_counters(sides, found);
  judge_resets(sides, found);
  const std::optional<double> p99 = smallest_p99(report);
  for (const Side& side : sides) {
    judge_clock(side, report, found);
    for (std::size_t i = 0; i < side.conditions->threads.size(); ++i) {
      const Placement& thread = side.conditions->threads[i];
      const std::string who = thread_name(side, i);
      judge_schedule(who, thread, found);
      judge_core(who, thread, found);
      judge_distance(who, thread, *side.conditions, found);
    }
    judge_noise(side, p99, found);
  }
  return found;
}

void attach(report::Report& report, const RunConditions& client, const RunConditions* server) {
  report.suspicions = judge(client, server, report);
  report.counters.client = client.counters;
  report.conditions.client = condition_facts(client);
  if (server != nullptr) {
    report.counters.server = server->counters;
    report.conditions.server = condition_facts(*server);
  }
}

}  // namespace rdmabench::health
