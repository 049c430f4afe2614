#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "health/run_watch.h"
#include "rdmabench/base/error.h"

namespace rdmabench::health {
namespace {

using report::Fact;

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

TEST(ConditionsFacts, ComeBackAsTheyWere) {
  const report::Facts facts = to_facts(full_truth());
  const RunConditions conditions = conditions_from_facts(facts);
  ASSERT_EQ(conditions.counters.size(), 3U);
  EXPECT_EQ(conditions.counters[0].device, "rxe0:1");
  EXPECT_EQ(conditions.counters[0].name, "ack_timeouts");
  EXPECT_EQ(conditions.counters[0].kind, "retransmission");
  EXPECT_EQ(conditions.counters[0].source, "hw_counters/RTO x");
  EXPECT_EQ(conditions.counters[0].change, 12U);
  EXPECT_FALSE(conditions.counters[0].at_least);
  EXPECT_TRUE(conditions.counters[1].at_least);
  EXPECT_EQ(conditions.counters[2].change, std::nullopt);
  ASSERT_EQ(conditions.threads.size(), 2U);
  EXPECT_EQ(conditions.threads[0].migrations, 0U);
  EXPECT_EQ(conditions.threads[0].sibling_busy, 0.25);
  EXPECT_EQ(conditions.threads[1].migrations, std::nullopt);
  EXPECT_EQ(conditions.threads[1].cpu_begin, -1);
  EXPECT_EQ(conditions.noise.gaps, 7U);
  EXPECT_EQ(conditions.devices.size(), 1U) << "an unknown node is not told";
  // Whatever else there is: the same facts again.
  const report::Facts again = to_facts(conditions);
  ASSERT_EQ(again.size(), facts.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    EXPECT_EQ(again[i].name, facts[i].name);
    EXPECT_EQ(again[i].value, facts[i].value) << facts[i].name;
  }
}

TEST(ConditionsFacts, OfAReportAreWithoutCounters) {
  EXPECT_EQ(condition_facts(full_truth()).size() + 3, to_facts(full_truth()).size());
  for (const Fact& fact : condition_facts(full_truth())) {
    EXPECT_FALSE(fact.name.starts_with("counter")) << fact.name;
  }
}

TEST(ConditionsFacts, SkipWhatANewerPeerMayTell) {
  const RunConditions conditions = conditions_from_facts({{"phase_of_the_moon", "full"},
                                                          {"thread0_mood", "good"},
                                                          {"threads", std::uint64_t{3}},
                                                          {"counters_read", std::uint64_t{3}},
                                                          {"noise_gaps", std::uint64_t{2}}});
  EXPECT_EQ(conditions.noise.gaps, 2U);
  EXPECT_EQ(conditions.threads.size(), 1U);
}

TEST(ConditionsFacts, TakeWholeNumbersForTimes) {
  EXPECT_EQ(conditions_from_facts({{"watched_ns", std::uint64_t{5}}}).watched_ns, 5);
}

TEST(ConditionsFacts, RefuseWhatAPeerMadeUp) {
  const std::uint64_t one = 1;
  const std::vector<Fact> bad{
      {"counter|a|b|error", one},
      {"counter|a|b|error|c|d", one},
      {"counter|a|b|no_class|c", one},
      {"counter|a|b|gauge|c", one},
      {"counter|a|b|error|c", "1"},
      {"counter|a|b|error|c", -1.0},
      {"counter_at_least|a|b|error|c", false},
      {"counter_more|a|b|error|c", one},
      {"noise_spin_ns", -1.0},
      {"noise_spin_ns", std::numeric_limits<double>::infinity()},
      {"noise_spin_ns", std::numeric_limits<double>::quiet_NaN()},
      {"noise_gaps", 1.5},
      {"thread0_cpu_end", std::uint64_t{1} << 40},
      {"thread256_cpu_end", one},
      {"thread0_governor", one},
      {"thread0_affinity", std::string(2000, '0')},
      {"device_numa_node|x", "y"},
      {std::string(2000, 'x'), one},
  };
  for (const Fact& fact : bad) {
    EXPECT_THROW(conditions_from_facts({fact}), Error) << fact.name;
  }
  EXPECT_THROW(conditions_from_facts(report::Facts(1025, {"x", one})), Error);
}

TEST(ConditionsFacts, ShowNoControlCharacterOfThePeer) {
  try {
    conditions_from_facts({{"counter|\x1b[2J", std::uint64_t{1}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos);
  }
}

TEST(ConditionsFacts, KeepTheSeparatorOutOfTheParts) {
  RunConditions conditions;
  conditions.counters = {{"a|b", "c|d", "error", "e|f", 1, false}};
  EXPECT_EQ(conditions_from_facts(to_facts(conditions)).counters[0].device, "a_b");
}

}  // namespace
}  // namespace rdmabench::health
