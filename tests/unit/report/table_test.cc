#include "rdmabench/results/result.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "../has_all.h"
#include "report/launches.h"
#include "report/run_text.h"
#include "results/row.h"
#include "results/text_table.h"
#include "samples.h"

namespace rdmabench::inline v1::report {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::StartsWith;

LatencyResult& latency_row(Report& report, std::size_t index) {
  return std::get<std::vector<LatencyResult>>(report.results)[index];
}

TEST(Table, ShowsLatencyInMicroseconds) {
  EXPECT_EQ(to_table(latency_sample()),
            R"(back end verbs, provider rxe, device rxe0:1, transport rc
chosen: RoCE v2 GID 1 10.0.0.1: on the route to 10.0.0.2

write latency, half round trip (service time of a closed loop)
completion: delivery, arrival seen by: memory-poll, data validated
size  min[us]  p50[us]  p90[us]  p99[us]  p99.9[us]  max[us]  mean[us]
   8     1.00     1.25     1.50        -          -     12.5      1.30
 64K     16.0     20.0     24.0     28.0       32.0      200      20.8
left out: stddev[us], iterations; --wide shows all
-: fewer than 10 samples lie beyond this percentile
warning: not stable, spread of the epochs: 64K (12.5 %)
note: size 64K: The target's CPU was idle.
suspect: 3 packets were sent again.
)");
}

TEST(Table, ShowsBandwidthWithItsInterval) {
  EXPECT_EQ(to_table(bandwidth_sample()),
            R"(back end ofi, provider tcp;ofi_rxm, device lo, transport rdm

send bandwidth, one way, depth 128
completion: receiver confirmed
size  iterations  bw[Gb/s]  +/- in run[%]  bw[MiB/s]  rate[Mmsg/s]  elapsed[s]
  64     5000000      1.28            2.3        153          2.50        2.00
 64K      100000      52.4              -       6250         0.100        1.00
note: The governor is powersave.
note: Both sides share one CPU.
)");
}

TEST(Table, FitsEightyColumnsUpToSeconds) {
  Report report = latency_sample();
  LatencyResult& row = latency_row(report, 1);
  for (double measure::LatencySummary::*time :
       {&measure::LatencySummary::min_ns, &measure::LatencySummary::p50_ns,
        &measure::LatencySummary::p90_ns, &measure::LatencySummary::p99_ns,
        &measure::LatencySummary::p999_ns, &measure::LatencySummary::max_ns,
        &measure::LatencySummary::mean_ns, &measure::LatencySummary::stddev_ns}) {
    row.latency.*time = 9999999123.0;
  }
  row.iterations = 9999999999;
  std::vector<std::size_t> widths;
  for (const std::string& line : lines(to_table(report))) widths.push_back(line.size());
  EXPECT_THAT(widths, Each(Le(80U)));
  EXPECT_THAT(to_table(std::span(&report, 1), false, kAnyWidth),
              AllOf(HasSubstr("stddev[us]"), Not(HasSubstr("left out"))));
}

/// A curve whose knee is at the row of that index.
Report curve(std::size_t knee, bool reliable, double rate) {
  Report report = latency_sample();
  std::vector<LoadResult> rows;
  for (std::size_t i = 0; i < 4; ++i) {
    LoadResult row{.latency = latency_row(report, 0)};
    row.load = 0.3 * static_cast<double>(i + 1);
    row.offered_messages_per_s = row.achieved_messages_per_s = rate * static_cast<double>(i + 1);
    row.knee = i == knee;
    row.saturated = i > knee && (reliable || i != 3);
    row.knee_reliable = i != knee || reliable;
    rows.push_back(row);
  }
  report.results = rows;
  report.suspicions.clear();
  return report;
}

TEST(Table, SaysWhetherAKneeIsReliable) {
  EXPECT_THAT(to_table(curve(1, true, 1e6)),
              AllOf(has_all("knee: ", "above 2 Mmsg/s, 60 % of capacity\n"),
                    Not(HasSubstr("not reliable"))));
  EXPECT_THAT(to_table(curve(1, false, 1e6)),
              has_all("knee: not reliable: ", "at 120 % it was normal again"));
  EXPECT_THAT(to_table(curve(9, true, 1e6)), has_all("does not rise", "highest load"));
  Report early = curve(9, true, 1e6);
  for (LoadResult& row : std::get<std::vector<LoadResult>>(early.results)) row.saturated = true;
  EXPECT_THAT(to_table(early), HasSubstr("already at the lowest load"));
  LoadResult& third = std::get<std::vector<LoadResult>>(early.results)[2];
  third.saturated = false;
  EXPECT_THAT(to_table(early), has_all("knee: not reliable: ", "lowest load", "again at 90 %"));
}

std::string over_text(std::span<const Report> launches) {
  std::vector<Document> documents;
  for (const Report& one : launches) {
    documents.push_back(to_document(one));
    json_of(documents.back())["environment"]["of"] = documents.size();  // no two are the same
  }
  return launches_text(over_launches(documents), 300);
}

TEST(Launches, GiveAKneeAnInterval) {
  std::vector<Report> launches{curve(1, true, 1e6), curve(2, true, 1e6), curve(1, false, 2e6)};
  EXPECT_THAT(over_text(launches),
              has_all("in 3 of 3 launches: 3 Mmsg/s (2 to 4)", "60 % of capacity (60 to 90 %)",
                      "minimum and maximum", "1 of 3 curves are not reliable"));
  for (int i = 0; i < 3; ++i) launches.push_back(curve(1, true, 1e6));
  EXPECT_THAT(over_text(launches), has_all("in 6 of 6 launches", "95 % interval of"));
  EXPECT_THAT(to_table(curve(1, true, 1e6)), Not(HasSubstr("launches")));
  for (std::size_t i = 1; i < launches.size(); ++i) launches[i] = curve(9, true, 1e6);
  EXPECT_THAT(over_text(launches), has_all("in 1 of 6 launches", "no interval"));
  launches[1] = curve(1, true, 1e6);
  EXPECT_THAT(over_text(launches), HasSubstr("in 2 of 6 launches: above the highest load (2 to"));
}

TEST(Table, ShowsNoDigitBelowTheClocksResolution) {
  Report report = latency_sample();
  report.clock->resolution_ns = 40;  // 20 ns of half a round trip
  EXPECT_THAT(to_table(report), AllOf(HasSubstr("  1.25 "), Not(HasSubstr("1.250"))));
  report.clock->resolution_ns = 1e9;
  EXPECT_THAT(to_table(report), Not(HasSubstr("1.2")));
}

TEST(Launches, WithoutAKneeCountAsBeyondTheirLoads) {
  std::vector<Report> launches(6, curve(1, true, 1e6));
  launches[4] = launches[5] = curve(9, true, 1e6);
  EXPECT_THAT(over_text(launches),
              has_all("in 4 of 6 launches: 2 Mmsg/s (2 to above the", "without a knee"));
  launches[5].error = "interrupted by SIGINT";
  EXPECT_THAT(over_text(launches), HasSubstr("in 4 of 5 launches")) << "its curve was cut";
}

TEST(Launches, AtARateThatWasAskedForAreOneRowWhateverItsShareOfTheCapacity) {
  std::vector<Document> launches;
  for (const double rate : {1e6, 2e6}) {
    Report report = curve(9, true, rate);
    std::get<std::vector<LoadResult>>(report.results).resize(1);
    std::get<std::vector<LoadResult>>(report.results)[0].load = rate / 1e7;
    report.config.push_back({"rate_messages_per_s", 1e6});
    launches.push_back(to_document(report));
  }
  EXPECT_EQ(json_of(over_launches(launches))["results"].size(), 1);
}

TEST(Launches, OfACollectiveTellTheirRowsApartAndKeepALaterBisection) {
  const std::string one = R"({"operation": "all-reduce", "size_bytes": 1024, "p50_ns": 1500,)"
                          R"( "unsupported_percentiles": ["p50_ns"], "in_place": )";
  std::vector<Document> launches;
  for (const char* const suspects : {"", R"("node2")"}) {
    launches.push_back(parse_documents(
        R"({"schema": "rdmabench-coll/1", "bisected": {"suspects": [)" + std::string(suspects) +
            R"(]}, "results": [)" + one + "false}, " + one + "true}]}",
        "x")[0]);
  }
  const Document over = over_launches(launches);
  EXPECT_THAT(launches_text(over, 80), AllOf(ContainsRegex("all-reduce +out .* 1.5"),
                                             ContainsRegex("all-reduce +in .* 1.5")));
  EXPECT_EQ(json_of(over)["bisected"]["suspects"].size(), 1);
}

const std::string kFabricPlan =
    R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[{"rank":0},{"rank":1},{"rank":2}],"plan":{})";

/// With one measurement: the members of it and of the verdict that differ.
std::string fabric_launch(int number, const std::string& measured, const std::string& verdict) {
  return kFabricPlan + R"(,"launch":)" + std::to_string(number) + "}\n" +
         R"({"record":"measurement","sender":0,"receiver":1,"rail":0,"metric":"latency",)"
         R"("size_bytes":8,"notes":[],"p99_ns":null,)" +
         measured + "}\n" + R"({"record":"verdict","summary":"s",)" + verdict + "}\n";
}

TEST(Launches, OfAFabricKeepThatAPairFailedInOne) {
  const std::vector<Document> launches = parse_documents(
      fabric_launch(1, R"("value":null,"error":"refused")", R"("not_judged":[])") +
          fabric_launch(2, R"("value":1000,"error":null)", R"("not_judged":["too few"])") +
          kFabricPlan + ",\"over_launches\":2}\n" + kFabricPlan + "}\n",
      "x");
  ASSERT_EQ(launches.size(), 4) << "the last is a run of its own";
  const Document over = over_launches(std::span(launches).first(2));
  EXPECT_THAT(over.pairs.at(0).notes, Each("Only 1 of 2 launches have a value."));
  EXPECT_EQ(over.pairs[0].notes.size(), 1);
  EXPECT_THAT(launches_text(over, 80), has_all("too few", "in some of the 2 launches alone: 1."));
}

/// What is typical in a launch, and what its three nodes are called. The first sends at `ratio`.
std::string fabric_verdict(double typical, double noise, double ratio,
                           std::array<const char*, 3> words, const std::string& more) {
  const std::string slice = R"({"metric":"latency","size_bytes":8,)";
  std::string nodes;
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    nodes += fmt::format(
        R"({}{}"rank":{},"sender_ratio":{},"receiver_ratio":0,"partners":{},"verdict":"{}"}})",
        rank > 0 ? "," : "", slice, rank, rank == 0 ? ratio : 1, typical > 1000 ? 3 : 2,
        words.at(rank));
  }
  return fmt::format(R"("typical":[{}"value":{},"noise":{},"cells":9,"failed":9}}],)"
                     R"("rails":[{}"rail":0,"ratio":{}}}],"nodes":[{}],{})",
                     slice, typical, noise, slice, ratio, nodes, more);
}

TEST(Launches, OfAFabricHaveOneBasisForTypicalAndPairs) {
  const std::string different = R"({"rank":1,"check":"gpu.count","status":"FAIL"})";
  const Document over = over_launches(parse_documents(
      fabric_launch(1, R"("value":1000,"error":null)",
                    fabric_verdict(1000, 0.1, 1, {"ambiguous", "ambiguous", "ambiguous"},
                                   R"("not_judged":["one rail","two groups"])")) +
          fabric_launch(2, R"("value":4000,"error":null)",
                        fabric_verdict(4000, 0, 4, {"good", "good", "not-enough-evidence"},
                                       R"("not_judged":["one rail"],"node_differences":[)" +
                                           different + R"(],"not_rdma":{"over":"tcp"})")) +
          fabric_launch(3, R"("value":2000,"error":null)",
                        fabric_verdict(
                            2000, 0.7, 2, {"good", "slow", "not-enough-evidence"},
                            R"("not_judged":["one rail"],"node_differences":[)" + different + "]")),
      "x"));
  const auto& verdict = json_of(over)["verdict"];
  const auto& typical = verdict["typical"].at(0);
  EXPECT_NEAR(over.pairs.at(0).value, 2000, 1e-6);
  EXPECT_NEAR(typical["value"].get<double>(), 2000, 1e-6);
  EXPECT_NEAR(typical["noise"].get<double>(), 0.5, 1e-9) << "of the launches that had one";
  EXPECT_EQ(typical["cells"], 1);
  EXPECT_EQ(typical["failed"], 0);
  EXPECT_NEAR(verdict["rails"].at(0)["ratio"].get<double>(), 2, 1e-9);
  const auto& nodes = verdict["nodes"];
  ASSERT_EQ(nodes.size(), 3);
  EXPECT_NEAR(nodes[0]["sender_ratio"].get<double>(), 2, 1e-9);
  EXPECT_EQ(nodes[0]["receiver_ratio"], 0) << "it never was one";
  EXPECT_EQ(nodes[0]["partners"], 3);
  EXPECT_EQ(nodes[0]["verdict"], "good");
  EXPECT_EQ(nodes[0]["launches"], 2);
  EXPECT_EQ(nodes[1]["verdict"], "slow");
  EXPECT_EQ(nodes[2]["verdict"], "not-enough-evidence");
  EXPECT_EQ(verdict["not_judged"].dump(),
            R"x(["one rail","two groups (in 1 of 3 launches)",)x"
            R"("latency of 8: nodes were judged in 2 of 3 launches alone."])");
  EXPECT_EQ(verdict["node_differences"].size(), 1);
  EXPECT_EQ(verdict["not_rdma"]["over"], "tcp");
  EXPECT_THAT(launches_text(over, 300), has_all("good (2 of 3)", "slow (1 of 3)", " 100 %"));
}

TEST(Launches, OfAFabricThatEndAlikeAreCountedTogether) {
  const std::string measured = R"("value":1000,"error":null)";
  const std::string findings = R"("findings":[{"part":"sender","a":0,"text":"slow"}],"nodes":[)";
  const Document over = over_launches(
      parse_documents(fabric_launch(1, measured, findings + "]") +
                          fabric_launch(2, measured,
                                        findings + R"({"rank":0,"metric":"latency","size_bytes":8,)"
                                                   R"("verdict":"slow"}])"),
                      "x"));
  EXPECT_EQ(json_of(over)["verdict"]["summary"], "1 finding in 2 of 2 launches")
      << "of one alone it is told that a node was judged, which the sentence leaves out";
}

TEST(Launches, OfAFabricKeepTheDoubtsOfEarlierFiles) {
  const std::string measured = R"("value":1000,"error":null)";
  const Document over =
      over_launches(parse_documents(fabric_launch(1, measured, R"("doubts":["one rail"])") +
                                        fabric_launch(2, measured, R"("not_judged":["too few"])"),
                                    "x"));
  EXPECT_EQ(json_of(over)["verdict"]["not_judged"].dump(),
            R"x(["one rail (in 1 of 2 launches)","too few (in 1 of 2 launches)"])x");
  EXPECT_FALSE(json_of(over)["verdict"].contains("doubts"));
  EXPECT_THAT(launches_text(over, 300), has_all("one rail", "too few"));
}

TEST(Table, ThatDoesNotFitIsAListBelowEightyColumnsToo) {
  const Section section{.columns = {{"size", true}, {"a side"}, {"another side"}, {"verdict"}},
                        .rows = {{{"8", "1.5 us", "1.6 us", "INCONCLUSIVE"}}}};
  EXPECT_EQ(to_text({section}, 60),
            "size  a side  another side  verdict\n"
            "   8  1.5 us  1.6 us        INCONCLUSIVE\n");
  EXPECT_EQ(to_text({section}, 30),
            "- 8: a side: 1.5 us; another\n"
            "  side: 1.6 us; verdict:\n"
            "  INCONCLUSIVE\n");
}

TEST(Table, CountsOneRankAsOne) {
  const auto alone = parse_documents(
      R"({"schema":"rdmabench-coll/1","backend":"mpi","ranks":[{"rank":0,"host":"a"}],"results":[]})",
      "x");
  EXPECT_THAT(to_text(alone.front(), 300), HasSubstr("1 rank on 1 host, by mpi. "));
}

TEST(Table, ComesRowByRow) {
  const Report report = latency_sample();
  Report begun = report;
  std::get<std::vector<LatencyResult>>(begun.results).clear();
  RunTable table(false, kUsualWidth, std::vector<std::uint64_t>{8, 65536});
  EXPECT_THAT(table.rows(begun, false), StartsWith("back end verbs, "));
  std::get<std::vector<LatencyResult>>(begun.results).push_back(report.latency()[0]);
  const std::string first = table.rows(begun, false);
  const std::string last = table.rows(report, true);
  EXPECT_THAT(first, has_all("\nwrite latency, half round trip", "\nleft out: ", "\nsize  ",
                             "\n   8     1.00     1.25     1.50        -          -     12.5"));
  EXPECT_THAT(last, StartsWith(" 64K     16.0     20.0     24.0     28.0       32.0      200 "));
  EXPECT_THAT(last, has_all("-: fewer than 10 samples", "warning: not stable", "note: size 64K"));
  EXPECT_THAT(table.end({&report, 1}), StartsWith("suspect: 3 packets"));
}

TEST(Table, ThatComesPartsRowsThatMeanDifferentThings) {
  Report report = latency_sample();
  latency_row(report, 1).completion = "transmit";
  Report begun = report;
  std::get<std::vector<LatencyResult>>(begun.results).resize(1);
  RunTable table;
  const std::string text = table.rows(begun, false) + table.rows(report, true);
  EXPECT_LT(text.find("\n   8 "), text.find("-: fewer than 10 samples"));
  EXPECT_LT(text.find("-: fewer than 10 samples"), text.find("completion: transmit"));
  EXPECT_LT(text.find("completion: transmit"), text.find("\n 64K "));
}

TEST(Table, PartsRowsThatMeanDifferentThings) {
  Report report = latency_sample();
  latency_row(report, 1).completion = "transmit";
  const std::string text = to_table(report);
  EXPECT_LT(text.find("completion: delivery"), text.find("\n   8 "));
  EXPECT_LT(text.find("\n   8 "), text.find("completion: transmit"));
  EXPECT_LT(text.find("completion: transmit"), text.find("\n 64K "));
}

TEST(Table, SaysThatAReadIsTimedUntilItsCompletion) {
  Report report = latency_sample();
  latency_row(report, 0).operation = "read";
  latency_row(report, 0).kind = "completion";
  EXPECT_THAT(to_table(report), HasSubstr("read latency, until completion"));
}

TEST(Table, TellsTheErrorBelowThePartialResults) {
  Report report = latency_sample();
  report.error = "the server died";
  EXPECT_EQ(lines(to_table(report)).back(), "error: the server died");
  EXPECT_THAT(to_table(report), HasSubstr("\n 64K "));
  EXPECT_THAT(to_table(failed_sample()), StartsWith("error: the server at 10.0.0.2"));
}

TEST(Table, WritesASuspicionOfBothSidesOnce) {
  Report report = latency_sample();
  report.suspicions = {
      {"noise", "client: 1 %.", "client", "the machine is noisy", "stop other work"},
      {"noise", "server: 2 %.", "client, server", "the machine is noisy", "stop other work"},
      {"migration", "It moved.", "client", "a thread was moved", "pin it"}};
  const std::vector<Report> both{report, report};
  EXPECT_THAT(to_table(report),
              AllOf(HasSubstr("suspect: the machine is noisy (client, server; 2 findings); stop "
                              "other work.\nsuspect: It moved.\n"),
                    Not(HasSubstr("1 %"))));
  const std::string text = to_table(both);
  EXPECT_THAT(text, HasSubstr("suspect: the machine is noisy (client, server; 4 findings)"));
  EXPECT_THAT(text, HasSubstr("suspect: a thread was moved (client; 2 findings); pin it.\n"));
  EXPECT_EQ(text.find("back end"), text.rfind("back end")) << "what both have in common";
  EXPECT_THAT(to_table(both, true),
              AllOf(HasSubstr("suspect: server: 2 %.\n"), Not(HasSubstr("findings"))));
}

TEST(Table, LetsNoPeerBreakALineOrCommandTheTerminal) {
  const std::string text = to_table(hostile_sample());
  EXPECT_EQ(text.find_first_of(std::string("\x1b\r\0", 3)), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
  EXPECT_EQ(lines(text).size(), 13U) << text;
}

TEST(Launches, AreOneRowWithTheirInterval) {
  std::vector<Document> launches;
  for (const double p50 : {900.0, 1000.0, 1100.0}) {
    Report report = latency_sample();
    latency_row(report, 0).latency.p50_ns = p50;
    launches.push_back(to_document(report));
  }
  const Document over = over_launches(launches);
  const auto& row = json_of(over)["results"][0];
  const auto& one = json_of(launches[0])["results"][0];
  EXPECT_EQ(json_of(over)["results"].size(), json_of(launches[0])["results"].size());
  EXPECT_EQ(row["launches"], 3);
  EXPECT_EQ(row["iterations"], 3 * one["iterations"].get<std::uint64_t>());
  EXPECT_NEAR(row["p50_ns"].get<double>(), std::cbrt(900.0 * 1000 * 1100), 1e-6);
  // 4.303 standard errors of a log of 0.1005: those of three launches.
  EXPECT_NEAR(row["median_low_ns"].get<double>(), 996.65 * std::exp(-4.303 * 0.1004 / std::sqrt(3)),
              3);
  EXPECT_THAT(launches_text(over, 80), has_all("launches", "p50 low[us]"));
  Document fell_back = over;
  json_of(fell_back)["not_rdma"] = "NOT RDMA: measured over ofi, provider tcp";
  EXPECT_THAT(launches_text(fell_back, 80), testing::StartsWith("NOT RDMA: measured over ofi, "));
  json_of(fell_back)["resolved"]["provider"] = "tcp;ofi_rxm";
  EXPECT_THAT(JudgedDocument(fell_back).list.front().remedy,
              testing::EndsWith(" Where TCP is meant: --provider tcp."));
  EXPECT_EQ(launches_of(json_of(launches[0])), 1);
  json_of(launches[1])["results"][0]["complete"] = false;  // a signal ended it
  json_of(launches[2])["results"] = nlohmann::ordered_json::array();
  const Document ended = over_launches(launches);
  EXPECT_EQ(json_of(ended)["results"][0]["launches"], 1);
  EXPECT_EQ(json_of(ended)["results"][0]["complete"], true);
  EXPECT_NEAR(json_of(ended)["results"][0]["p50_ns"].get<double>(), 900, 1e-6);
  EXPECT_EQ(launches_of(json_of(ended)), 3) << "whatever its rows are of";
}

}  // namespace
}  // namespace rdmabench::inline v1::report
