#include "rdmabench/report/writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples.h"

namespace rdmabench::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Csv, NamesTheColumnsAsInJson) {
  EXPECT_EQ(
      to_csv(bandwidth_sample()),
      "operation,backend,provider,device,direction,completion,size_bytes,iterations,"
      "warmup_iterations,depth,bits_per_s,bits_per_s_low,bits_per_s_high,messages_per_s,"
      "elapsed_ns,duty,peak_bits_per_s,offered_messages_per_s,lost,succeeded,intervals,validated,stable,complete,spread,launches,notes,suspect\r\n"
      "send,ofi,tcp;ofi_rxm,lo,one_way,receiver_confirmed,64,5000000,1000,128,1280000000,"
      "1250000000,1300000000,2500000,2000000000,1,,,,,,false,true,true,0.015625,1,"
      "The governor is powersave.,false\r\n"
      "send,ofi,tcp;ofi_rxm,lo,one_way,receiver_confirmed,65536,100000,1000,128,52428800000,"
      ",,100000,1000000000,1,,,,,,false,true,true,0.015625,1,The governor is powersave.,false\r\n");
}

TEST(Csv, HasAHeaderEvenWithoutResults) {
  const std::string text = to_csv(failed_sample());
  EXPECT_THAT(text, HasSubstr("size_bytes,iterations,warmup_iterations,min_ns,p50_ns"));
  EXPECT_EQ(text.find("\r\n"), text.size() - 2);
}

TEST(Csv, QuotesCommasQuotesAndLineEnds) {
  Report report = bandwidth_sample();
  report.resolved.device = "a,b";
  auto& rows = std::get<std::vector<BandwidthResult>>(report.results);
  rows[0].notes = {"say \"no\"", "one\r\ntwo"};
  const std::string text = to_csv(report);
  EXPECT_THAT(text, HasSubstr(",\"a,b\","));
  EXPECT_THAT(text, HasSubstr(",\"say \"\"no\"\"; one\r\ntwo\",false\r\n"));
}

TEST(Csv, HasNoControlCharacters) {
  Report report = bandwidth_sample();
  report.resolved.device = "\x1b[31mred";
  EXPECT_THAT(to_csv(report), HasSubstr(",?[31mred,"));
}

TEST(Csv, MarksEveryRowOfASuspectRun) {
  EXPECT_THAT(to_csv(latency_sample()), HasSubstr(",The target's CPU was idle.,true\r\n"));
  EXPECT_THAT(to_csv(latency_sample()), Not(HasSubstr("false\r\n")));
}

TEST(Csv, LeavesFieldsWithoutAValueEmpty) {
  const std::string text = to_csv(hostile_sample());
  EXPECT_THAT(text, HasSubstr(",8,0,100,,,,"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace rdmabench::report
