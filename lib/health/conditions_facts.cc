// A side's run conditions as facts of a report, and as a message.
#include <fmt/format.h>

#include <algorithm>

#include "base/walk.h"
#include "health/run_watch.h"
#include "rdmabench/base/error.h"
#include "results/facts_fields.h"

namespace rdmabench::inline v1::health {

using report::Facts;

namespace {

constexpr std::size_t kMostCounters = 4096;  // of a node with many virtual functions
constexpr std::size_t kMostThreads = 256;
constexpr std::size_t kMostDevices = 256;
constexpr std::uint64_t kMostCpu = 65535;
constexpr std::size_t kMostAffinity = 4096;  // bytes: every second CPU of many
constexpr double kMostNs = 1e18;

void add_thread(Facts& facts, std::size_t index, const ThreadPlacement& thread) {
  const auto add = [&](std::string_view field, auto value) {
    facts.push_back({fmt::format("thread{}_{}", index, field), std::move(value)});
  };
  const auto add_small = [&](std::string_view field, int value) {
    if (value >= 0) add(field, static_cast<std::uint64_t>(value));
  };
  if (!thread.affinity.empty()) add("affinity", thread.affinity);
  add("cpus_allowed", std::uint64_t{thread.cpus});
  add_small("cpu_begin", thread.cpu_begin);
  add_small("cpu_end", thread.cpu_end);
  if (thread.migrations) add("migrations", *thread.migrations);
  add("voluntary_switches", thread.voluntary_switches);
  add("involuntary_switches", thread.involuntary_switches);
  add("watched_ns", thread.watched_ns);
  add_small("numa_node", thread.numa_node);
  if (!thread.governor.empty()) add("governor", thread.governor);
  if (thread.sibling_busy) add("smt_sibling_busy", *thread.sibling_busy);
  if (thread.stolen) add("stolen", *thread.stolen);
}

}  // namespace

report::Facts condition_facts(const RunConditions& conditions) {
  Facts facts{{"watched_ns", conditions.watched_ns}};
  if (conditions.noise.spin_ns > 0) {
    facts.push_back({"noise_spin_ns", conditions.noise.spin_ns});
    facts.push_back({"noise_threshold_ns", conditions.noise.threshold_ns});
    facts.push_back({"noise_gaps", conditions.noise.gaps});
    facts.push_back({"noise_largest_gap_ns", conditions.noise.largest_gap_ns});
    facts.push_back({"noise_gaps_total_ns", conditions.noise.gaps_total_ns});
  }
  facts.push_back({"clock_source_begin", conditions.clock_source_begin});
  facts.push_back({"clock_source_end", conditions.clock_source_end});
  for (const DeviceNode& device : conditions.devices) {
    if (device.numa_node < 0) continue;
    facts.push_back(
        {"device_numa_node|" + device.device, static_cast<std::uint64_t>(device.numa_node)});
  }
  for (std::size_t i = 0; i < conditions.threads.size(); ++i)
    add_thread(facts, i, conditions.threads[i]);
  for (std::size_t i = 0; i < conditions.notes.size(); ++i) {
    facts.push_back({fmt::format("note{}", i), conditions.notes[i]});
  }
  return facts;
}

void walk(MessageFields& fields, ThreadPlacement& thread) {
  const auto share = [&](const char* key, std::optional<double>& value) {
    fields.optional(key, value, [&](double& given) { fields.real(key, 0, kMostNs, given); });
  };
  report::walk_text(fields, "affinity", thread.affinity, kMostAffinity);
  fields.number("cpus", 0, kMostCpu, thread.cpus);
  fields.number("cpu_begin", -1, kMostCpu, thread.cpu_begin);
  fields.number("cpu_end", -1, kMostCpu, thread.cpu_end);
  fields.optional("migrations", thread.migrations,
                  [&](std::uint64_t& moves) { fields.number("migrations", moves); });
  fields.number("voluntary_switches", thread.voluntary_switches);
  fields.number("involuntary_switches", thread.involuntary_switches);
  fields.real("watched_ns", 0, kMostNs, thread.watched_ns);
  fields.number("numa_node", -1, kMostCpu, thread.numa_node);
  report::walk_text(fields, "governor", thread.governor);
  share("sibling_busy", thread.sibling_busy);
  share("stolen", thread.stolen);
}

void walk(MessageFields& fields, DeviceNode& device) {
  report::walk_text(fields, "device", device.device);
  fields.number("numa_node", -1, kMostCpu, device.numa_node);
}

void walk(MessageFields& fields, RunConditions& conditions) {
  Noise& noise = conditions.noise;
  conditions.counters.resize(std::min(conditions.counters.size(), kMostCounters));
  fields.list("counters", kMostCounters, conditions.counters);
  fields.list("threads", kMostThreads, conditions.threads);
  fields.list("devices", kMostDevices, conditions.devices);
  fields.real("noise_spin_ns", 0, kMostNs, noise.spin_ns);
  fields.real("noise_threshold_ns", 0, kMostNs, noise.threshold_ns);
  fields.number("noise_gaps", noise.gaps);
  fields.real("noise_largest_gap_ns", 0, kMostNs, noise.largest_gap_ns);
  fields.real("noise_gaps_total_ns", 0, kMostNs, noise.gaps_total_ns);
  fields.real("watched_ns", 0, kMostNs, conditions.watched_ns);
  report::walk_text(fields, "clock_source_begin", conditions.clock_source_begin);
  report::walk_text(fields, "clock_source_end", conditions.clock_source_end);
  report::walk_notes(fields, conditions.notes);
  for (const report::Counter& counter : conditions.counters) {
    if (fields.from() == nullptr || is_reported_class(counter.kind)) continue;
    throw Error(Fault::failed, fmt::format("a counter of the unknown class '{}'", counter.kind),
                "Install the same rdmabench on both sides.");
  }
}

}  // namespace rdmabench::inline v1::health
