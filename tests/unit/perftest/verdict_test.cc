#include "perftest/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmabench::inline v1::tools::perftest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

report::Report two_sizes() {
  report::BandwidthResult slow;
  slow.size_bytes = 64;
  slow.bits_per_s = 8.0 * 1024 * 1024 * 10;  // 10 MiB/s
  slow.messages_per_s = 1e5;
  report::BandwidthResult fast = slow;
  fast.size_bytes = 65536;
  fast.bits_per_s *= 100;
  report::Report report;
  report.results = std::vector{slow, fast};
  return report;
}

TEST(Verdict, EverySizeMustReachTheLimit) {
  Flags flags;
  flags.limit_bandwidth = 11;
  EXPECT_THAT(missed_limits(two_sizes(), flags, {}),
              ElementsAre(HasSubstr("size 64: 10.00 MiB/s")));
  flags.limit_bandwidth = 10;
  EXPECT_THAT(missed_limits(two_sizes(), flags, {}), IsEmpty());
  flags.limit_bandwidth = 1;
  EXPECT_THAT(missed_limits(two_sizes(), flags, {.gigabits = true}),
              ElementsAre(HasSubstr("0.08 Gb/s")));
}

TEST(Verdict, TheRateCountsWithoutABandwidthToo) {
  Flags flags;
  flags.limit_message_rate = 0.2;
  EXPECT_THAT(missed_limits(two_sizes(), flags, {}),
              ElementsAre(HasSubstr("size 64"), HasSubstr("size 64K")));
}

TEST(Counters, AreNamedAsSysfsNamesThem) {
  Flags flags;
  flags.counters = {"hw_counters/sent_pkts", "hw_counters/none", "hw_counters/back"};
  report::Report report;
  report.counters.client = {
      {"rxe0:1", "packets_sent", "traffic", "hw_counters/sent_pkts", 800, false},
      {"rxe0:1", "went_back", "traffic", "hw_counters/back", std::nullopt, false}};
  EXPECT_EQ(counter_lines(report, flags),
            "\thw_counters/sent_pkts=800\n\thw_counters/none=unknown\n"
            "\thw_counters/back=unknown\n");
  EXPECT_EQ(counter_lines(report, {}), "");
}

TEST(Verdict, NothingMeasuredReachesNothing) {
  Flags flags;
  report::Report report;
  report.results = std::vector<report::BandwidthResult>();
  EXPECT_THAT(missed_limits(report, flags, {}), IsEmpty());
  flags.limit_bandwidth = 0;
  EXPECT_THAT(missed_limits(report, flags, {}), ElementsAre(HasSubstr("no result")));
}

TEST(Verdict, SuspicionsAreOneLine) {
  report::Report report = two_sizes();
  EXPECT_EQ(suspicion_line(report), "");
  report.suspicions.push_back({.code = "noise", .text = "client: 3 gaps: stop other work"});
  EXPECT_EQ(suspicion_line(report), "suspect: client: 3 gaps: stop other work");
  for (int i = 0; i < 3; ++i) {
    report.suspicions.push_back({.code = "migration",
                                 .text = "thread " + std::to_string(i) + " was moved",
                                 .summary = "a thread was moved"});
  }
  EXPECT_EQ(suspicion_line(report),
            "suspect: noise, a thread was moved (4 findings); --out_json has them with their "
            "remedies");
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::perftest
