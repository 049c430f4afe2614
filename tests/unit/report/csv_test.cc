#include "rdmabench/results/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "results/csv.h"
#include "samples.h"

namespace rdmabench::inline v1::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Csv, NamesTheColumnsAsInJson) {
  const std::vector<std::string> all = lines(to_csv(bandwidth_sample()));
  ASSERT_EQ(all.size(), 3U);
  std::string names;
  const auto document = nlohmann::ordered_json::parse(to_json(bandwidth_sample()));
  for (const auto& [key, value] : document["results"][0].items()) names += key + ",";
  EXPECT_EQ(all[0], names + "suspect,not_rdma\r");
  EXPECT_THAT(all[1],
              StartsWith("send,ofi,tcp;ofi_rxm,lo,one_way,receiver_confirmed,64,5000000,1000,128,"
                         "1280000000,1250000000,1300000000,2500000,2000000000,1,"));
  EXPECT_THAT(all[2],
              StartsWith("send,ofi,tcp;ofi_rxm,lo,one_way,receiver_confirmed,65536,100000,1000,128,"
                         "52428800000,,,100000,1000000000,1,"));
  for (const std::string& row : {all[1], all[2]}) {
    EXPECT_THAT(row,
                EndsWith(",,,,,,false,true,true,0.015625,1,The governor is powersave.,false,\r"));
    EXPECT_EQ(std::count(row.begin(), row.end(), ','),
              static_cast<std::ptrdiff_t>(document["results"][0].size() + 1));
  }
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
  EXPECT_THAT(text, HasSubstr(",\"say \"\"no\"\"; one\r\ntwo\",false,\r\n"));
}

TEST(Csv, HasNoControlCharacters) {
  Report report = bandwidth_sample();
  report.resolved.device = "\x1b[31mred";
  EXPECT_THAT(to_csv(report), HasSubstr(",?[31mred,"));
}

TEST(Csv, MarksEveryRowOfASuspectRun) {
  EXPECT_THAT(to_csv(latency_sample()), HasSubstr(",The target's CPU was idle.,true,\r\n"));
  EXPECT_THAT(to_csv(latency_sample()), Not(HasSubstr("false,\r\n")));
}

TEST(Csv, SaysInEachRowThatItWasNotRdma) {
  Report report = bandwidth_sample();
  report.config.clear();  // nobody named the provider
  const std::string csv = to_csv(report);
  for (const std::string& row : {lines(csv).at(1), lines(csv).at(2)}) {
    EXPECT_THAT(row, HasSubstr(",false,\"NOT RDMA: measured over ofi, provider tcp;ofi_rxm, "));
  }
  const std::string records = RunRecords(RunRecords::As::json_lines).more(report, true);
  for (const std::string& line : lines(records)) {
    EXPECT_THAT(nlohmann::ordered_json::parse(line)["not_rdma"].get<std::string>(),
                StartsWith("NOT RDMA: "));
  }
}

/// The report with its first row alone, as it is while the second one is measured.
Report begun(Report report) {
  std::get<std::vector<LatencyResult>>(report.results).resize(1);
  report.suspicions.clear();
  return report;
}

TEST(Csv, ComesRowByRow) {
  const Report report = latency_sample();
  RunRecords records(RunRecords::As::csv);
  const std::vector<std::string> first = lines(records.more(begun(report), false));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_THAT(first[1], EndsWith(",,\r")) << "whether it is suspect is not known yet";
  EXPECT_EQ(records.more(begun(report), false), "");
  const std::vector<std::string> last = lines(records.more(report, true));
  const std::vector<std::string> whole = lines(to_csv(report));
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(first[0], whole[0]);
  EXPECT_EQ(last[0], whole[2]);
}

TEST(JsonLines, HaveARowEach) {
  const Report report = latency_sample();
  RunRecords records(RunRecords::As::json_lines);
  std::string text = records.more(begun(report), false);
  text += records.more(report, true);
  const auto document = nlohmann::ordered_json::parse(to_json(report));
  const std::vector<std::string> all = lines(text);
  ASSERT_EQ(all.size(), 2U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto row = nlohmann::ordered_json::parse(all[i]);
    EXPECT_EQ(row["suspect"], i == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(true));
    EXPECT_TRUE(row["not_rdma"].is_null());
    row.erase("suspect");
    row.erase("not_rdma");
    EXPECT_EQ(row, document["results"][i]);
  }
}

TEST(Csv, LeavesFieldsWithoutAValueEmpty) {
  const std::string text = to_csv(hostile_sample());
  EXPECT_THAT(text, HasSubstr(",8,0,100,,,,"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace rdmabench::inline v1::report
