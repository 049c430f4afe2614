#include "rdmabench/analysis/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../complaint.h"
#include "../folder.h"
#include "documents.h"
#include "rdmabench/base/error.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::analysis {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  return complaint([&] { read_launches(text, "x.json"); }, Fault::usage);
}

Json good() {
  return Json::parse(report::to_json(bandwidth_report({{64, 1e9}, {128, 2e9}})));
}

TEST(ReadLaunches, TakesWhatTheReportWrites) {
  const Launch launch = launch_of(latency_report({{8, 1000}}, 61));
  EXPECT_EQ(launch.test, "latency");
  EXPECT_EQ(launch.pair, "node1 node2");
  ASSERT_TRUE(launch.time_s);
  EXPECT_EQ(static_cast<std::int64_t>(*launch.time_s) % 86400, 61 * 60);
  std::string later = report::to_json(latency_report({{8, 1000}}, 61));
  later.replace(later.find(":00Z"), 4, ":00.250Z");
  EXPECT_EQ(read_launches(later, "x.json").at(0).time_s, *launch.time_s + 0.25);
  EXPECT_EQ(launch.facts.at("environment.client.kernel"), "6.1.0");
  EXPECT_EQ(launch.facts.at("config.depth"), "128");
  EXPECT_EQ(launch.facts.at("resolved.provider"), "mlx5");
  Json untold = good();  // of another tool's text
  untold["results"][0]["depth"] = nullptr;
  EXPECT_EQ(read_launches(untold.dump(), "x.json").at(0).rows[0].facts.count("depth"), 0U);
  EXPECT_EQ(launch.facts.at("details.mtu"), "4096");
  ASSERT_EQ(launch.rows.size(), 1U);
  EXPECT_EQ(launch.rows[0].operation, "write");
  EXPECT_EQ(launch.rows[0].facts.at("completion"), "delivery");
  ASSERT_EQ(launch.rows[0].percentiles.size(), 5U);
  EXPECT_EQ(launch.rows[0].percentiles[0].value_ns, 1000);
  EXPECT_TRUE(launch.rows[0].percentiles[4].supported);
}

TEST(ReadLaunches, TakesAReportWithoutItsText) {
  const report::Report report = latency_report({{8, 1000}}, 61);
  EXPECT_EQ(to_launch(report).document, launch_of(report).document);
  EXPECT_EQ(to_launch(report).source, "the result");
  const Launch named = to_launch(report, "night 3");
  EXPECT_THAT(complaint([&] { refuse_copies({named}, {to_launch(report)}); }, Fault::usage),
              has_all("night 3 and the result"));
  const std::vector<report::Document> both{report::to_document(report),
                                           report::to_document(latency_report({{8, 1100}}))};
  EXPECT_THAT(complaint([&] { to_launch(report::over_launches(both)); }, Fault::usage),
              HasSubstr("it is of several launches"));
}

TEST(ReadLaunches, KnowsTheRemediesOfSuspicions) {
  report::Report report = bandwidth_report({{64, 1e9}});
  report.suspicions = {{"noise", "text", "client", "the machine is noisy", "use another CPU"}};
  EXPECT_EQ(launch_of(report).remedies.at("noise"), "use another CPU");
  Json old = Json::parse(report::to_json(report));
  old["suspicions"][0].erase("remedy");  // as an older release wrote it
  EXPECT_TRUE(read_launches(old.dump(), "x.json").at(0).remedies.empty());
}

TEST(ReadLaunches, KnowsWhichPercentilesAreUnsupported) {
  const Launch launch = launch_of(latency_report({{8, 1000}}, 0, 500));
  EXPECT_TRUE(launch.rows[0].percentiles[1].supported) << "p90 of 500";
  EXPECT_FALSE(launch.rows[0].percentiles[2].supported) << "p99 of 500";
}

TEST(ReadLaunches, TakesSeveralDocuments) {
  const std::vector<report::Report> reports{bandwidth_report({{64, 1e9}}),
                                            latency_report({{64, 1e3}})};
  const auto launches = read_launches(report::to_json(reports), "demo.json");
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[0].source, "demo.json#1");
  EXPECT_EQ(launches[1].test, "latency");
}

TEST(ReadLaunches, CountsWhatDisturbedIt) {
  report::Report report = bandwidth_report({{64, 1e9}});
  report.counters.client = {{"mlx5_0:1", "ack_timeouts", "retransmission", "f", 3, false},
                            {"mlx5_0:1", "sent_bytes", "traffic", "g", 300, false},
                            {"mlx5_0:1", "odd", "error", "h", std::nullopt, false}};
  report.counters.server = {{"mlx5_0:1", "ack_timeouts", "retransmission", "f", 4, false}};
  report.suspicions = {{"retransmissions", "text"}};
  const Launch launch = launch_of(report);
  EXPECT_THAT(launch.disturbances, ElementsAre(testing::Pair("retransmission", 7)));
  EXPECT_THAT(launch.suspicions, ElementsAre("retransmissions"));
}

TEST(ReadLaunches, KeepsTheErrorOfARunThatEndedEarly) {
  report::Report report = bandwidth_report({});
  report.error = "peer gone";
  EXPECT_EQ(launch_of(report).error, "peer gone");
}

TEST(ReadLaunches, WrongDataIsAnErrorOfTheLaunch) {
  const std::string text =
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 1 iters: 20 "
      "agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
      "#  Rank  0 Group  0 Pid  1 on n1 device  0 [0x01] GPU\n#\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
      "  algbw   busbw #wrong\n"
      "        1024           256     float     sum      -1     8.00    0.13    0.13      0     8.00 "
      "   0.13    0.13      4\n"
      "# Out of bounds values : 1 FAILED\n";
  EXPECT_THAT(read_launches(text, "x").at(0).error.value_or(""), HasSubstr("wrong"));
}

TEST(ReadLaunches, RefusesWhatIsNoResult) {
  EXPECT_THAT(refusal(""), HasSubstr("x.json', line 1: "));
  EXPECT_THAT(refusal(" \n"), HasSubstr("no document"));
  EXPECT_THAT(refusal("{"), HasSubstr("syntax error"));
  EXPECT_THAT(refusal(good().dump() + "\n{"), HasSubstr("Line 2 was not written"));
  // A copy of such a value, or its text, takes a call for each level.
  EXPECT_THAT(refusal(R"({"schema": "rdmabench/1", "x": )" + std::string(300'000, '[')),
              HasSubstr("nested deeper than 32"));
  std::string keys = R"({"schema": "rdmabench/1")";
  for (int i = 0; i < 300; ++i) keys += ", \"k" + std::to_string(i) + "\": 0";
  EXPECT_THAT(refusal(keys + "}"), HasSubstr("an object of more than 256 keys"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("not a document"));
  EXPECT_THAT(refusal("{}"), HasSubstr("no \"schema\""));
  EXPECT_THAT(refusal(R"({"schema": "rdmabench-doctor/1", "findings": []})"),
              HasSubstr("rdmabench-doctor/1"));
  EXPECT_THAT(refusal(R"({"schema": "rdmabench/1", "documents": []})"), HasSubstr("no document"));
  EXPECT_THAT(refusal(report::to_json(bandwidth_report({}))), HasSubstr("no results"));
}

TEST(ReadLaunches, RefusesNumbersThatAreNone) {
  std::string text = good().dump();
  text.replace(text.find("\"bits_per_s\":1000000000.0"), 24, "\"bits_per_s\":NaN");
  EXPECT_THAT(refusal(text), HasSubstr("invalid literal"));
}

TEST(ReadLaunches, NamesTheKeyAndTheRow) {
  Json json = good();
  json["results"][1].erase("bits_per_s");
  EXPECT_THAT(refusal(json.dump()), HasSubstr("result 2: the key 'bits_per_s' is missing"));
  json = good();
  json["results"][0]["bits_per_s"] = "1 Gb/s";
  EXPECT_THAT(refusal(json.dump()), HasSubstr("'bits_per_s' is \"1 Gb/s\", not a number"));
  json = good();
  json["results"][0]["size_bytes"] = "64K";
  EXPECT_THAT(refusal(json.dump()), HasSubstr("'size_bytes'"));
  json = good();
  json["results"][0]["size_bytes"] = 0;
  EXPECT_THAT(refusal(json.dump()), HasSubstr("'size_bytes' is 0"));
  json = good();
  json["test"] = "registration";
  EXPECT_THAT(refusal(json.dump()), HasSubstr("'registration'"));
  json = good();
  json["environment"]["server"][0].erase("value");
  EXPECT_THAT(refusal(json.dump()), HasSubstr("x.json: the key 'value' is missing"));
  json["environment"]["server"][0] = "x";
  EXPECT_THAT(refusal(json.dump()), HasSubstr("x.json: the key 'name' is missing"));
}

TEST(ReadLaunches, LeavesUnknownKeysAlone) {
  Json json = good();
  json["news"] = {{"of", "a later release"}};
  json["results"][0]["more"] = 1;
  EXPECT_EQ(read_launches(json.dump(), "x").at(0).rows.size(), 2U);
}

class Files : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    folder_.write(name, text);
    return folder_.file(name);
  }
  const Folder folder_;
};

TEST_F(Files, OfADirectoryAreTakenByName) {
  write("b.json", report::to_json(bandwidth_report({{64, 1e9}})));
  write("a.json", report::to_json(bandwidth_report({{64, 2e9}})));
  write("notes.txt", "no result");
  const auto launches = load_launches({folder_.path()});
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_THAT(launches[0].source, HasSubstr("a.json"));
}

TEST_F(Files, MayStandBesideDocumentsThemselves) {
  const std::string one = report::to_json(bandwidth_report({{64, 1e9}}));
  const std::string path = write("b.json", report::to_json(bandwidth_report({{64, 2e9}})));
  const auto launches = load_launches({path, one});
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_THAT(launches[0].source, HasSubstr("b.json"));
  EXPECT_EQ(launches[1].source, "document 2");
  EXPECT_THROW(load_launches({one, one}), Error);
  EXPECT_THROW(load_launches({"{\"schema\":"}), Error);
}

TEST_F(Files, ThatAreCopiesAreRefused) {
  const std::string text = report::to_json(bandwidth_report({{64, 1e9}}));
  write("a.json", text);
  write("copy.json", text + "\n");
  EXPECT_THAT(complaint([&] { load_launches({folder_.path()}); }).what(),
              has_all("a.json", "copy.json", "the same launch"));
}

TEST_F(Files, OfADirectoryThatNobodyKnowsAreLeftOutByName) {
  write("a.json", report::to_json(bandwidth_report({{64, 2e9}})));
  const std::string other = write("b.json", "{\"schema\": \"other/1\"}");
  EXPECT_THROW(load_launches({folder_.path()}), Error) << "unless they are asked for";
  std::vector<std::string> left_out;
  EXPECT_EQ(load_launches({folder_.path()}, "", &left_out).size(), 1U);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_THAT(left_out[0], HasSubstr("b.json"));
  EXPECT_THROW(load_launches({other}, "", &left_out), Error) << "one that was named itself";
  const Folder none;
  none.write("b.json", "{}");
  EXPECT_THAT(complaint([&] { load_launches({none.path()}, "", &left_out); }, Fault::usage),
              HasSubstr("b.json"));
}

TEST_F(Files, ThatAreNotThereAreNamed) {
  for (const std::string& path : {std::string("nosuch.json"), folder_.path()}) {
    EXPECT_THAT(complaint([&] { load_launches({path}); }, Fault::usage), HasSubstr(path));
  }
  EXPECT_THROW(load_launches({write("empty.json", "")}), Error);
}

TEST(ParseMetric, ListsThem) {
  EXPECT_EQ(parse_metric("p99.9"), Metric::p999);
  EXPECT_THAT(complaint([&] { parse_metric("p98"); }).what(), has_all("'p98'", "bandwidth"));
}

TEST(SideNames, AreWhatTellsThePathsApart) {
  using Names = std::pair<std::string, std::string>;
  EXPECT_EQ(side_names({"ib/"}, {"roce"}), Names("ib", "roce"));
  EXPECT_EQ(side_names({"/data/runs/ib"}, {"/data/runs/roce/"}), Names("ib", "roce"));
  EXPECT_EQ(side_names({"ib/1.json", "ib/2.json"}, {"roce/1.json"}), Names("ib", "roce/1"));
  EXPECT_EQ(side_names({"ib/1.json", "ib/2.json"}, {"roce/1.json", "roce/2.json"}),
            Names("ib", "roce"));
  EXPECT_EQ(side_names({"ib/bw.json"}, {"roce/bw.json"}), Names("ib", "roce"));
  EXPECT_EQ(side_names({"old-1.json", "old-2.json"}, {"new-1.json", "new-2.json"}),
            Names("old", "new"));
  EXPECT_EQ(side_names({"a.json"}, {"b.json"}), Names("a", "b"));
  EXPECT_EQ(side_names({"runs"}, {"runs/b"}), Names("runs", "runs/b"));
  EXPECT_EQ(side_names({"1.json", "3.json"}, {"2.json", "4.json"}), Names("A", "B"));
  EXPECT_EQ(side_names({"{}"}, {"b.json"}), Names("A", "B")) << "a document has no path";
  EXPECT_EQ(side_names({"runs/ib/"}, {}), Names("ib", "B"));
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis
