// Converts a side's run conditions to facts for the control channel, and back.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "health/run_watch.h"
#include "rdmabench/base/error.h"

namespace rdmabench::health {
namespace {

using report::Fact;
using report::Facts;

constexpr std::size_t kMostFacts = 1024;
constexpr std::size_t kMostThreads = 256;
constexpr std::size_t kMostFactBytes = 1024;  // of a name or a text
constexpr std::uint64_t kMostCpu = 65535;
constexpr char kSeparator = '|';

// The prefix of a counter fact's name gives the kind of its value.
constexpr std::string_view kChange = "counter";
constexpr std::string_view kAtLeast = "counter_at_least";
constexpr std::string_view kUnknown = "counter_unknown";
constexpr std::string_view kDeviceNode = "device_numa_node|";
constexpr std::string_view kThread = "thread";
constexpr std::string_view kNote = "note";

std::string part(std::string text) {
  std::replace(text.begin(), text.end(), kSeparator, '_');
  return text;
}

Fact to_fact(const report::Counter& counter) {
  const std::string_view state = !counter.change ? kUnknown : counter.at_least ? kAtLeast : kChange;
  std::string name = fmt::format("{}|{}|{}|{}|{}", state, part(counter.device), part(counter.name),
                                 part(counter.kind), part(counter.source));
  if (!counter.change) return {std::move(name), false};
  return {std::move(name), *counter.change};
}

void add_thread(Facts& facts, std::size_t index, const ThreadPlacement& thread) {
  const auto add = [&](std::string_view field, auto value) {
    facts.push_back({fmt::format("{}{}_{}", kThread, index, field), std::move(value)});
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

[[noreturn]] void refuse(const Fact& fact, std::string_view why) {
  throw Error(
      Fault::failed,
      fmt::format("the peer's run conditions have an invalid fact '{}'", ascii_only(fact.name, 80)),
      why);
}

std::uint64_t get_uint(const Fact& fact,
                       std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  const auto* const value = std::get_if<std::uint64_t>(&fact.value);
  if (value == nullptr || *value > most) refuse(fact, "It should be a whole number in its range.");
  return *value;
}

int get_small(const Fact& fact) {
  return static_cast<int>(get_uint(fact, kMostCpu));
}

/// A whole double may have become an integer in JSON.
double get_double(const Fact& fact) {
  double value = -1;
  if (const auto* const whole = std::get_if<std::uint64_t>(&fact.value)) {
    value = static_cast<double>(*whole);
  } else if (const auto* const number = std::get_if<double>(&fact.value)) {
    value = *number;
  }
  if (!std::isfinite(value) || value < 0) refuse(fact, "It should be a number from 0 up.");
  return value;
}

const std::string& get_text(const Fact& fact) {
  const auto* const text = std::get_if<std::string>(&fact.value);
  if (text == nullptr || text->size() > kMostFactBytes) refuse(fact, "It should be a short text.");
  return *text;
}

/// "counter|DEVICE|NAME|CLASS|SOURCE".
report::Counter counter_from(const Fact& fact) {
  const std::vector<std::string_view> parts = split(fact.name, kSeparator);
  if (parts.size() != 5) refuse(fact, "A counter's name has five parts.");
  if (!is_reported_class(parts[3])) refuse(fact, "Its class is unknown.");
  report::Counter counter{std::string(parts[1]), std::string(parts[2]), std::string(parts[3]),
                          std::string(parts[4]), std::nullopt,          false};
  if (parts[0] == kUnknown) return counter;
  counter.at_least = parts[0] == kAtLeast;
  if (!counter.at_least && parts[0] != kChange) refuse(fact, "The kind of counter is unknown.");
  counter.change = get_uint(fact);
  return counter;
}

/// "threadN_FIELD"; false for a name of another form.
bool take_thread(const Fact& fact, std::vector<ThreadPlacement>& threads) {
  const std::string_view name = fact.name;
  if (!name.starts_with(kThread)) return false;
  std::size_t index = 0;
  const char* const begin = name.data() + kThread.size();
  const char* const end = name.data() + name.size();
  const auto [stopped, status] = std::from_chars(begin, end, index);
  if (status != std::errc() || stopped == end || *stopped != '_') return false;
  if (index >= kMostThreads) refuse(fact, "There are too many threads.");
  if (threads.size() <= index) threads.resize(index + 1);
  ThreadPlacement& thread = threads[index];
  const std::string_view field(stopped + 1, static_cast<std::size_t>(end - stopped - 1));
  if (field == "affinity") thread.affinity = get_text(fact);
  if (field == "cpus_allowed") thread.cpus = static_cast<std::uint32_t>(get_uint(fact, kMostCpu));
  if (field == "cpu_begin") thread.cpu_begin = get_small(fact);
  if (field == "cpu_end") thread.cpu_end = get_small(fact);
  if (field == "migrations") thread.migrations = get_uint(fact);
  if (field == "voluntary_switches") thread.voluntary_switches = get_uint(fact);
  if (field == "involuntary_switches") thread.involuntary_switches = get_uint(fact);
  if (field == "watched_ns") thread.watched_ns = get_double(fact);
  if (field == "numa_node") thread.numa_node = get_small(fact);
  if (field == "governor") thread.governor = get_text(fact);
  if (field == "smt_sibling_busy") thread.sibling_busy = get_double(fact);
  if (field == "stolen") thread.stolen = get_double(fact);
  return true;
}

void take_other(const Fact& fact, RunConditions& conditions) {
  const std::string_view name = fact.name;
  Noise& noise = conditions.noise;
  if (name == "noise_spin_ns") noise.spin_ns = get_double(fact);
  if (name == "noise_threshold_ns") noise.threshold_ns = get_double(fact);
  if (name == "noise_gaps") noise.gaps = get_uint(fact);
  if (name == "noise_largest_gap_ns") noise.largest_gap_ns = get_double(fact);
  if (name == "noise_gaps_total_ns") noise.gaps_total_ns = get_double(fact);
  if (name == "watched_ns") conditions.watched_ns = get_double(fact);
  if (name == "clock_source_begin") conditions.clock_source_begin = get_text(fact);
  if (name == "clock_source_end") conditions.clock_source_end = get_text(fact);
  if (name.starts_with(kDeviceNode)) {
    conditions.devices.push_back({std::string(name.substr(kDeviceNode.size())), get_small(fact)});
  }
  if (name.starts_with(kNote)) conditions.notes.push_back(get_text(fact));
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
        {std::string(kDeviceNode) + device.device, static_cast<std::uint64_t>(device.numa_node)});
  }
  for (std::size_t i = 0; i < conditions.threads.size(); ++i)
    add_thread(facts, i, conditions.threads[i]);
  for (std::size_t i = 0; i < conditions.notes.size(); ++i) {
    facts.push_back({fmt::format("{}{}", kNote, i), conditions.notes[i].substr(0, kMostFactBytes)});
  }
  return facts;
}

report::Facts to_facts(const RunConditions& conditions) {
  Facts facts = condition_facts(conditions);
  for (const report::Counter& counter : conditions.counters) facts.push_back(to_fact(counter));
  return facts;
}

RunConditions conditions_from_facts(const report::Facts& facts) {
  if (facts.size() > kMostFacts) {
    throw Error(Fault::failed, fmt::format("the peer's run conditions have {} facts, more than "
                                           "the {} that are taken",
                                           facts.size(), kMostFacts));
  }
  RunConditions conditions;
  for (const Fact& fact : facts) {
    if (fact.name.size() > kMostFactBytes) refuse(fact, "Its name is too long.");
    if (fact.name.starts_with(kChange) && fact.name.find(kSeparator) != std::string::npos) {
      conditions.counters.push_back(counter_from(fact));
    } else if (!take_thread(fact, conditions.threads)) {
      take_other(fact, conditions);
    }
  }
  return conditions;
}

}  // namespace rdmabench::health
