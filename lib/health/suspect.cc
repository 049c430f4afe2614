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

#include "rdmabench/base/units.h"
#include "results/line_rate.h"

namespace rdmabench::inline v1::health {
namespace {

using report::Suspicion;

constexpr double kSwitchesPerSecond = 20;  // a dedicated CPU has one or two
constexpr double kBusySibling = 0.1;
constexpr double kStolen = 0.01;
constexpr double kNoisy = 0.01;  // the share beyond p99
constexpr double kDuty = 0.95;
constexpr double kAbove = 1.01;  // clocks and rounded rates differ by less

struct NamedConditions {
  std::string_view name;
  const RunConditions* conditions;
};

/// A code of report::Suspicion and the common text of its findings.
struct SuspicionText {
  std::string_view code;
  std::string_view summary;
  std::string_view remedy;
};
constexpr SuspicionText kReset{"counter_reset",
                               "a counter went backwards, so what happened is not known",
                               "look whether the device was reset or a counter cleared"};
constexpr SuspicionText kClock{"clock", "the kernel changed its clock source during the run",
                               "see the kernel's log, and run again"};
constexpr SuspicionText kMigration{"migration", "a measuring thread was moved to another CPU",
                                   "pin it with `cpus`"};
constexpr SuspicionText kPreemption{
    "preemption", "a measuring thread lost its CPU to others",
    "keep other work off that CPU, or pin to a free one with `cpus`"};
constexpr SuspicionText kSibling{"smt_sibling", "the other hardware thread of the core was busy",
                                 "keep it idle"};
constexpr SuspicionText kStolenTime{"stolen", "the hypervisor took time from the virtual CPU",
                                    "give the guest dedicated CPUs"};
constexpr SuspicionText kRemoteNuma{"remote_numa", "a measuring thread ran far from its device",
                                    "pin it near the device with `cpus`"};
constexpr SuspicionText kNoise{"noise", "the machine is noisy",
                               "use an isolated CPU (`cpus`, isolcpus), or stop other work"};

constexpr SuspicionText kRests{"rests", "the stream rested",
                               "keep other work away from both machines"};
constexpr SuspicionText kAboveLine{
    "above_line", "a rate is above that of the link",
    "look whether the bytes took another way, and whether the port's rate is what it says"};

/// What the growth of a class of counters means.
struct Meaning {
  CounterClass kind;
  SuspicionText suspicion;
  std::string_view text;
};
constexpr std::array<Meaning, 5> kMeanings{{
    {CounterClass::retransmission,
     {"retransmissions", "packets were sent again",
      "look for drops in the switches, bad cables, flow control (PFC, ECN), and a peer that is "
      "short of CPU"},
     "packets were lost, reordered or answered too late and were sent again, so latency and "
     "bandwidth are those of a lossy path"},
    {CounterClass::receiver_not_ready,
     {"receiver_not_ready", "messages found no receive buffer",
      "use more receive buffers (`depth`), or a faster receiver"},
     "messages found no receive buffer and waited for the retry timer or were lost"},
    {CounterClass::congestion,
     {"congestion", "congestion control slowed the senders",
      "run it on an idle path, or say what else ran"},
     "congestion control slowed the senders, so the rate is the share that the network had left "
     "and not the limit of the hardware"},
    {CounterClass::discard,
     {"discards", "this machine discarded packets", "look at the device's ring and buffer sizes"},
     "this machine discarded packets, perhaps of another program"},
    {CounterClass::error,
     {"errors", "errors were counted", "check cable, transceiver, firmware and the kernel's log"},
     "errors were counted that a healthy run does not have"},
}};

void add(std::vector<Suspicion>& found, const SuspicionText& suspicion, std::string side,
         std::string_view details) {
  found.push_back({std::string(suspicion.code), fmt::format("{}; {}.", details, suspicion.remedy),
                   std::move(side), std::string(suspicion.summary), std::string(suspicion.remedy)});
}

std::string change_text(const NamedConditions& side, const report::Counter& counter) {
  const std::string file = counter.source.substr(counter.source.rfind('/') + 1);
  return fmt::format("{} {} {} +{}{}{}", side.name, counter.device, counter.name,
                     counter.change.value_or(0), counter.at_least ? " or more" : "",
                     file == counter.name ? "" : fmt::format(" ({})", file));
}

/// Counters of every connection of the machine. A few segments of others that were sent again say
/// nothing of this run.
bool is_rare(const RunConditions& conditions, const report::Counter& counter) {
  constexpr std::uint64_t kOneIn = 10'000;  // what TCP sends
  if (counter.name != "tcp_retransmitted_segments" && counter.name != "tcp_timeouts") return false;
  const auto& all = conditions.counters;
  const auto sent = std::find_if(all.begin(), all.end(), [&](const report::Counter& other) {
    return other.device == counter.device && other.name == "tcp_sent_segments";
  });
  return sent != all.end() && sent->change && counter.change.value_or(0) <= *sent->change / kOneIn;
}

void judge_counters(std::span<const NamedConditions> sides, std::vector<Suspicion>& found) {
  for (const Meaning& meaning : kMeanings) {
    std::vector<std::string> grown;
    std::vector<std::string_view> where;
    for (const NamedConditions& side : sides) {
      for (const report::Counter& counter : side.conditions->counters) {
        if (counter.kind != name(meaning.kind) || counter.change.value_or(0) == 0) continue;
        if (is_rare(*side.conditions, counter)) continue;
        grown.push_back(change_text(side, counter));
        if (where.empty() || where.back() != side.name) where.push_back(side.name);
      }
    }
    if (grown.empty()) continue;
    add(found, meaning.suspicion, fmt::format("{}", fmt::join(where, ", ")),
        fmt::format("{}: {}", fmt::join(grown, ", "), meaning.text));
  }
}

void judge_resets(std::span<const NamedConditions> sides, std::vector<Suspicion>& found) {
  for (const NamedConditions& side : sides) {
    std::vector<std::string> names;
    for (const report::Counter& counter : side.conditions->counters) {
      if (!counter.change) names.push_back(fmt::format("{} {}", counter.device, counter.name));
    }
    if (names.empty()) continue;
    add(found, kReset, std::string(side.name),
        fmt::format("{}: {} went backwards during the run, so what happened is not known",
                    side.name, fmt::join(names, ", ")));
  }
}

void judge_clock(const NamedConditions& side, const report::Report& report,
                 std::vector<Suspicion>& found) {
  const RunConditions& conditions = *side.conditions;
  if (conditions.clock_source_begin == conditions.clock_source_end) return;
  const bool timed = side.name == "client" && report.clock && report.clock->source == "tsc";
  add(found, kClock, std::string(side.name),
      fmt::format("{}: the kernel changed its clock source from '{}' to '{}' during the run{}",
                  side.name, conditions.clock_source_begin, conditions.clock_source_end,
                  timed ? ", and the times were taken with the old one" : ""));
}

/// "was moved to another CPU once: from CPU 0 to CPU 1". Where it was between is not known.
std::string moves_text(const ThreadPlacement& thread) {
  const std::uint64_t moves = thread.moves();
  std::string text = "was moved to another CPU " +
                     (moves == 1 ? std::string("once") : fmt::format("{} times", moves));
  if (thread.cpu_begin < 0 || thread.cpu_end < 0) return text;
  if (thread.cpu_begin != thread.cpu_end) {
    text += fmt::format(": from CPU {} to CPU {}", thread.cpu_begin, thread.cpu_end);
    return moves == 1 ? text : text + " in the end";
  }
  text += fmt::format(": from CPU {} and back to it", thread.cpu_begin);
  return thread.affinity.empty() ? text : text + fmt::format(", within CPUs {}", thread.affinity);
}

void judge_thread(const NamedConditions& side, std::size_t index, std::vector<Suspicion>& found) {
  const ThreadPlacement& thread = side.conditions->threads[index];
  const std::string who = side.conditions->threads.size() == 1
                              ? fmt::format("{}: the measuring thread", side.name)
                              : fmt::format("{}: measuring thread {}", side.name, index);
  const auto add_thread = [&](const SuspicionText& suspicion, const std::string& details) {
    add(found, suspicion, std::string(side.name), fmt::format("{} {}", who, details));
  };
  if (thread.moves() > 0) add_thread(kMigration, moves_text(thread));
  const double seconds = thread.watched_ns / kNsPerSecond;
  const auto switches = static_cast<double>(thread.involuntary_switches);
  if (switches > kSwitchesPerSecond && switches > kSwitchesPerSecond * seconds) {
    add_thread(kPreemption, fmt::format("lost its CPU to others {} times in {:.2f} s",
                                        thread.involuntary_switches, seconds));
  }
  if (thread.sibling_busy.value_or(0) > kBusySibling) {
    add_thread(kSibling, fmt::format("shared its core: the other hardware thread was busy for "
                                     "{:.0f} % of the time",
                                     *thread.sibling_busy * 100));
  }
  if (thread.stolen.value_or(0) > kStolen) {
    add_thread(kStolenTime,
               fmt::format("ran on a virtual CPU of which the hypervisor took {:.1f} %",
                           *thread.stolen * 100));
  }
  if (thread.cpus == 1 || thread.numa_node < 0) return;  // the user chose that CPU
  for (const DeviceNode& device : side.conditions->devices) {
    if (device.numa_node < 0 || device.numa_node == thread.numa_node) continue;
    add_thread(kRemoteNuma, fmt::format("ran on NUMA node {}, but {} is attached to node {}",
                                        thread.numa_node, device.device, device.numa_node));
    return;
  }
}

/// The smallest p99 of the results; none if they are not latencies.
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

void judge_noise(const NamedConditions& side, std::optional<double> p99,
                 std::vector<Suspicion>& found) {
  const Noise& noise = side.conditions->noise;
  if (noise.lost() < kNoisy || (p99 && noise.largest_gap_ns <= *p99)) return;
  std::string text = fmt::format(
      "{}: the machine is noisy: {} gaps took {:.1f} % of a spin of {:.0f} ms, the largest "
      "{:.1f} us",
      side.name, noise.gaps, noise.lost() * 100, noise.spin_ns / 1e6,
      noise.largest_gap_ns / kNsPerUs);
  if (p99) text += fmt::format(", more than a p99 of {:.1f} us", *p99 / kNsPerUs);
  add(found, kNoise, std::string(side.name), text);
}

/// A shaper or a buffer recovers while a stream rests between epochs, and then carries more than it
/// can for long. What rests within an epoch is in its rate.
void judge_rates(const report::Report& report, std::vector<Suspicion>& found) {
  const auto* const rows = std::get_if<std::vector<report::BandwidthResult>>(&report.results);
  if (rows == nullptr) return;
  const double line = report::line_rate(report.resolved).bits_per_s;
  for (const report::BandwidthResult& row : *rows) {
    if (row.duty < kDuty) {
      add(found, kRests, "client",
          fmt::format(
              "client: messages of {} were under way for {:.1f} % of the time: with a number of "
              "iterations the rate leaves the rests out and is too high where something recovers "
              "meanwhile, else it counts them and is too low",
              format_size(row.size_bytes), row.duty * 100));
    }
    const double most = line * (row.direction == "both_ways" ? 2 : 1);
    if (row.bits_per_s > kAbove * most) {
      add(found, kAboveLine, "client",
          fmt::format(
              "client: {:.4g} Gb/s with messages of {} are more than the {:.4g} Gb/s of the "
              "link",
              row.bits_per_s / kBitsPerGigabit, format_size(row.size_bytes),
              most / kBitsPerGigabit));
    }
  }
}

}  // namespace

std::vector<Suspicion> judge(const RunConditions& client, const RunConditions* server,
                             const report::Report& report) {
  std::vector<NamedConditions> sides{{"client", &client}};
  if (server != nullptr) sides.push_back({"server", server});
  std::vector<Suspicion> found;
  judge_counters(sides, found);
  judge_resets(sides, found);
  judge_rates(report, found);
  const std::optional<double> p99 = smallest_p99(report);
  for (const NamedConditions& side : sides) {
    judge_clock(side, report, found);
    for (std::size_t i = 0; i < side.conditions->threads.size(); ++i) judge_thread(side, i, found);
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

}  // namespace rdmabench::inline v1::health
