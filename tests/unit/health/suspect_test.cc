#include "health/suspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmabench::inline v1::health {
namespace {

using report::Suspicion;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

auto is(const char* code) {
  return Field(&Suspicion::code, code);
}

/// A run without anything wrong.
RunConditions calm() {
  RunConditions conditions;
  conditions.counters = {
      {"mlx5_0:1", "received_packets", "traffic", "hw_counters/x", 123456, false},
      {"mlx5_0:1", "ack_timeouts", "retransmission", "hw_counters/local_ack_timeout_err", 0, false},
      {"mlx5_0:1", "flushed_completions", "other", "hw_counters/req_cqe_flush_error", 9, false}};
  ThreadPlacement thread;
  thread.affinity = "0-7";
  thread.cpus = 8;
  thread.cpu_begin = thread.cpu_end = 2;
  thread.migrations = 0;
  thread.involuntary_switches = 3;
  thread.watched_ns = 1e9;
  thread.numa_node = 0;
  thread.governor = "powersave";
  thread.sibling_busy = 0.02;
  thread.stolen = 0;
  conditions.threads = {thread};
  conditions.noise = {20e6, 1000, 5, 4000, 15000};
  conditions.devices = {{"mlx5_0:1", 0}};
  conditions.clock_source_begin = conditions.clock_source_end = "tsc";
  conditions.watched_ns = 1e9;
  return conditions;
}

report::Report latency_report(double p99_ns) {
  report::LatencyResult result;
  result.latency.p99_ns = p99_ns;
  report::Report report;
  report.results = std::vector{result};
  return report;
}

std::vector<Suspicion> judge_client(const RunConditions& client) {
  return judge(client, nullptr, latency_report(2000));
}

TEST(Suspect, IsNotACalmRun) {
  const RunConditions conditions = calm();
  EXPECT_THAT(judge(conditions, &conditions, latency_report(2000)), IsEmpty());
  EXPECT_THAT(judge(RunConditions(), nullptr, report::Report()), IsEmpty());
}

TEST(Suspect, IsAStreamThatRestsOrExceedsItsLink) {
  report::BandwidthResult row;
  row.bits_per_s = 1.5e9;
  const auto found = [&row] {
    report::Report report;
    report.resolved.details = {{"rate_gbps", "1"}};
    report.results = std::vector{row};
    return judge(calm(), nullptr, report);
  };
  EXPECT_THAT(found(), ElementsAre(is("above_line")));
  row.direction = "both_ways";
  row.duty = 0.951;
  EXPECT_THAT(found(), IsEmpty());
  row.duty = 0.78;
  EXPECT_THAT(found(), ElementsAre(is("rests")));
  EXPECT_THAT(found()[0].text, HasSubstr("78.0 %"));
}

TEST(Suspect, IsARunWithRetransmissions) {
  RunConditions client = calm();
  client.counters[1].change = 12;
  const auto found = judge_client(client);
  ASSERT_THAT(found, ElementsAre(is("retransmissions")));
  EXPECT_THAT(found[0].text,
              AllOf(HasSubstr("client mlx5_0:1 ack_timeouts +12 (local_ack_timeout_err)"),
                    HasSubstr("lossy path")));
}

TEST(Suspect, IsNoRunOnAMachineThatSentAFewSegmentsOfManyAgain) {
  RunConditions client = calm();
  client.counters.push_back({"machine", "tcp_sent_segments", "traffic", "snmp", 1'000'000, false});
  report::Counter& again = client.counters.emplace_back(report::Counter{
      "machine", "tcp_retransmitted_segments", "retransmission", "snmp", 100, false});
  EXPECT_THAT(judge_client(client), IsEmpty());
  again.change = 101;  // more than one in 10,000
  EXPECT_THAT(judge_client(client), ElementsAre(is("retransmissions")));
  client.counters.erase(client.counters.end() - 2);  // nothing to hold it against
  client.counters.back().change = 1;
  EXPECT_THAT(judge_client(client), ElementsAre(is("retransmissions")));
}

TEST(Suspect, IsARunWhoseServerSawThem) {
  RunConditions client = calm();
  RunConditions server = calm();
  client.counters[1].change = 1;
  server.counters[1].change = 2;
  server.counters[1].at_least = true;
  const auto found = judge(client, &server, report::Report());
  ASSERT_THAT(found, ElementsAre(is("retransmissions"))) << "one suspicion, not two";
  EXPECT_THAT(found[0].text, AllOf(HasSubstr("client mlx5_0:1 ack_timeouts +1 ("),
                                   HasSubstr("server mlx5_0:1 ack_timeouts +2 or more")));
}

TEST(Suspect, NamesEachClassOfCounters) {
  for (const auto& [kind, code] : {std::pair{"receiver_not_ready", "receiver_not_ready"},
                                   {"congestion", "congestion"},
                                   {"discard", "discards"},
                                   {"error", "errors"}}) {
    RunConditions client = calm();
    client.counters[1].kind = kind;
    client.counters[1].change = 1;
    EXPECT_THAT(judge_client(client), ElementsAre(is(code)));
  }
}

TEST(Suspect, IsARunWithACounterThatWentBackwards) {
  RunConditions client = calm();
  client.counters[1].change.reset();
  const auto found = judge_client(client);
  ASSERT_THAT(found, ElementsAre(is("counter_reset")));
  EXPECT_THAT(found[0].text, HasSubstr("mlx5_0:1 ack_timeouts"));
}

TEST(Suspect, IsNotACounterThatStuckLongAgo) {
  RunConditions client = calm();
  client.counters.push_back({"mlx5_0:1", "symbol_errors", "error", "counters/x", 0, true});
  EXPECT_THAT(judge_client(client), IsEmpty());
}

TEST(Suspect, IsAThreadThatMoved) {
  RunConditions client = calm();
  client.threads[0].migrations = 3;
  auto found = judge_client(client);
  ASSERT_THAT(found, ElementsAre(is("migration")));
  EXPECT_THAT(found[0].text, AllOf(HasSubstr("3 times"), HasSubstr("pin it with `cpus`")));
  client.threads[0].migrations.reset();
  client.threads[0].cpu_end = 4;
  found = judge_client(client);
  ASSERT_THAT(found, ElementsAre(is("migration")));
  EXPECT_THAT(found[0].text, AllOf(HasSubstr("once"), HasSubstr("from CPU 2 to CPU 4")));
}

TEST(Suspect, NamesTheCpusOfAThreadThatCameBack) {
  RunConditions client = calm();
  client.threads[0].migrations = 2;
  client.threads[0].affinity = "0-3";
  EXPECT_THAT(judge_client(client).at(0).text,
              HasSubstr("2 times: from CPU 2 and back to it, within CPUs 0-3"));
  client.threads[0].cpu_end = 4;
  EXPECT_THAT(judge_client(client).at(0).text,
              HasSubstr("2 times: from CPU 2 to CPU 4 in the end"));
}

TEST(Suspect, NamesTheThreadAmongSeveral) {
  RunConditions client = calm();
  client.threads.push_back(client.threads[0]);
  client.threads[1].migrations = 1;
  EXPECT_THAT(judge_client(client),
              ElementsAre(Field(&Suspicion::text, HasSubstr("measuring thread 1 was moved"))));
}

TEST(Suspect, IsAThreadThatSharedItsCpu) {
  RunConditions client = calm();
  client.threads[0].involuntary_switches = 21;
  EXPECT_THAT(judge_client(client), ElementsAre(is("preemption")));
  client.threads[0].watched_ns = 10e9;
  EXPECT_THAT(judge_client(client), IsEmpty());
  client.threads[0].watched_ns = 1e6;  // a run too short for a rate
  client.threads[0].involuntary_switches = 2;
  EXPECT_THAT(judge_client(client), IsEmpty());
}

TEST(Suspect, IsABusySiblingAndAGreedyHypervisor) {
  RunConditions client = calm();
  client.threads[0].sibling_busy = 0.5;
  client.threads[0].stolen = 0.03;
  EXPECT_THAT(judge_client(client),
              ElementsAre(AllOf(is("smt_sibling"), Field(&Suspicion::text, HasSubstr("50 %"))),
                          AllOf(is("stolen"), Field(&Suspicion::text, HasSubstr("3.0 %")))));
}

TEST(Suspect, IsARemoteNodeThatNobodyChose) {
  RunConditions client = calm();
  client.devices[0].numa_node = 1;
  EXPECT_THAT(judge_client(client), ElementsAre(is("remote_numa")));
  client.threads[0].cpus = 1;
  EXPECT_THAT(judge_client(client), IsEmpty()) << "it was pinned there";
  client.threads[0].cpus = 8;
  client.devices[0].numa_node = -1;
  EXPECT_THAT(judge_client(client), IsEmpty());
}

TEST(Suspect, IsAClockThatTheKernelGaveUp) {
  RunConditions client = calm();
  client.clock_source_end = "hpet";
  report::Report report = latency_report(2000);
  report.clock = report::Clock{.source = "tsc", .reason = ""};
  EXPECT_THAT(judge(client, nullptr, report),
              ElementsAre(AllOf(is("clock"), Field(&Suspicion::text, HasSubstr("the old one")))));
  report.clock->source = "CLOCK_MONOTONIC_RAW";
  EXPECT_THAT(judge(client, nullptr, report),
              ElementsAre(Field(&Suspicion::text, Not(HasSubstr("the old one")))));
}

TEST(Suspect, IsNoiseThatReachesThePercentiles) {
  RunConditions server = calm();
  server.noise = {20e6, 1000, 3, 4.2e6, 4.3e6};
  const RunConditions client = calm();
  const auto found = judge(client, &server, latency_report(50000));
  ASSERT_THAT(found, ElementsAre(is("noise")));
  EXPECT_THAT(found[0].text, AllOf(HasSubstr("server"), HasSubstr("4200.0 us"),
                                   HasSubstr("p99 of 50.0 us"), HasSubstr("21.5 %")));
  EXPECT_THAT(judge(client, &server, latency_report(5e6)), IsEmpty()) << "below p99";
  server.noise.gaps_total_ns = 0.1e6;
  server.noise.largest_gap_ns = 0.09e6;
  EXPECT_THAT(judge(client, &server, latency_report(50000)), IsEmpty()) << "0.5 % of the time";
}

TEST(Suspect, TakesNoiseOfAFiftiethForBandwidthToo) {
  RunConditions client = calm();
  client.noise = {20e6, 1000, 40, 10000, 0.4e6};
  report::Report report;
  report.results = std::vector<report::BandwidthResult>(1);
  EXPECT_THAT(judge(client, nullptr, report), ElementsAre(is("noise")));
}

TEST(Suspect, IsWrittenIntoTheReport) {
  RunConditions client = calm();
  client.counters[1].change = 12;
  const RunConditions server = calm();
  report::Report report = latency_report(2000);
  attach(report, client, &server);
  EXPECT_THAT(report.suspicions, ElementsAre(is("retransmissions")));
  EXPECT_EQ(report.counters.client.size(), 3U);
  EXPECT_EQ(report.counters.server.size(), 3U);
  EXPECT_FALSE(report.conditions.client.empty());
  EXPECT_FALSE(report.conditions.server.empty());
  attach(report, calm(), nullptr);
  EXPECT_THAT(report.suspicions, IsEmpty());
}

}  // namespace
}  // namespace rdmabench::inline v1::health
