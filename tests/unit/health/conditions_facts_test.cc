#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/walk.h"
#include "health/run_watch.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::health {
namespace {

RunConditions full_truth() {
  RunConditions conditions;
  conditions.counters = {
      {"rxe0:1", "ack_timeouts", "retransmission", "hw_counters/RTO x", 12, false},
      {"rxe0:1", "symbol_errors", "error", "counters/symbol_error", 5, true},
      {"eth0", "interface_receive_drops", "discard", "statistics/rx_dropped", std::nullopt, false}};
  ThreadPlacement pinned;
  pinned.affinity = "3";
  pinned.cpus = 1;
  pinned.cpu_begin = pinned.cpu_end = 3;
  pinned.migrations = 0;
  pinned.voluntary_switches = 4;
  pinned.involuntary_switches = 5;
  pinned.watched_ns = 1.5e9;
  pinned.numa_node = 1;
  pinned.governor = "performance";
  pinned.sibling_busy = 0.25;
  pinned.stolen = 0.125;
  conditions.threads = {pinned, ThreadPlacement()};
  conditions.noise = {20e6, 1000, 7, 4250, 9000};
  conditions.watched_ns = 1.5e9;
  conditions.devices = {{"rxe0:1", 0}, {"eth0", -1}};
  conditions.clock_source_begin = "tsc";
  conditions.clock_source_end = "hpet";
  conditions.notes = {"One.", "Two."};
  return conditions;
}

RunConditions sent(const RunConditions& conditions) {
  return read_fields<RunConditions>(write_fields(conditions));
}

TEST(RunConditions, ComeBackAsTheyWere) {
  const RunConditions conditions = sent(full_truth());
  ASSERT_EQ(conditions.counters.size(), 3U);
  EXPECT_EQ(conditions.counters[0].change, 12U);
  EXPECT_EQ(conditions.counters[2].change, std::nullopt);
  ASSERT_EQ(conditions.threads.size(), 2U);
  EXPECT_EQ(conditions.threads[0].migrations, 0U);
  EXPECT_EQ(conditions.threads[1].migrations, std::nullopt);
  EXPECT_EQ(conditions.threads[1].cpu_begin, -1);
  // Whatever else there is: the same message and the same facts again.
  EXPECT_EQ(write_fields(conditions), write_fields(full_truth()));
  const report::Facts facts = condition_facts(full_truth());
  const report::Facts again = condition_facts(conditions);
  ASSERT_EQ(again.size(), facts.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    EXPECT_EQ(again[i].name, facts[i].name);
    EXPECT_EQ(again[i].value, facts[i].value) << facts[i].name;
  }
}

TEST(RunConditions, AsFactsAreWithoutCounters) {
  for (const report::Fact& fact : condition_facts(full_truth())) {
    EXPECT_FALSE(fact.name.starts_with("counter")) << fact.name;
  }
}

TEST(RunConditions, RefuseWhatAPeerMadeUp) {
  const std::vector<std::pair<std::string, nlohmann::json>> bad{
      {"/counters/0/kind", "gauge"},
      {"/counters/0/change", -1},
      {"/counters/0/at_least", 1},
      {"/noise_spin_ns", -1.0},
      {"/noise_spin_ns", nullptr},
      {"/noise_gaps", 1.5},
      {"/threads/0/cpu_end", std::uint64_t{1} << 40},
      {"/threads/0/governor", 1},
      {"/threads/0/affinity", std::string(5000, '0')},
      {"/devices/0/numa_node", "y"},
      {"/threads", std::vector<nlohmann::json>(257, nlohmann::json::object())},
  };
  for (const auto& [place, value] : bad) {
    nlohmann::json message = write_fields(full_truth());
    message[nlohmann::json::json_pointer(place)] = value;
    EXPECT_THROW(read_fields<RunConditions>(message), Error) << place;
  }
}

TEST(RunConditions, ComeBackWhereTheyAreLong) {
  RunConditions conditions = full_truth();
  for (int cpu = 0; cpu < 512; cpu += 2) conditions.threads[0].affinity += fmt::format(",{}", cpu);
  conditions.threads[1].affinity.assign(100'000, '1');
  conditions.counters.resize(5000, conditions.counters[0]);
  conditions.counters[0].source.assign(1000, 's');
  conditions.notes.assign(1000, std::string(5000, 'n'));
  const RunConditions back = sent(conditions);
  EXPECT_EQ(back.threads[0].affinity, conditions.threads[0].affinity);
  EXPECT_FALSE(back.threads[1].affinity.empty());
  EXPECT_FALSE(back.notes.empty());
}

TEST(RunConditions, ShowNoControlCharacterOfThePeer) {
  RunConditions conditions = full_truth();
  conditions.counters[0].device = "\x1b[2J";
  conditions.notes = {"\x1b[2J"};
  EXPECT_EQ(sent(conditions).counters[0].device, "?[2J");
  EXPECT_EQ(sent(conditions).notes[0], "?[2J");
}

}  // namespace
}  // namespace rdmabench::inline v1::health
