// Limits: how they are read, and how rows are judged by them.
#include "report/limits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "results/row.h"

namespace rdmabench::inline v1::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(std::string_view text) {
  return complaint([&] { parse_limit(text); }, Fault::usage);
}

/// A write of 64 KiB over a port of 400 Gb/s of which 346.7 Gb/s are nine tenths of the payload.
std::string bandwidth(const std::string& value, const std::string& low, const std::string& high,
                      const std::string& details =
                          R"({"rate_gbps": "400", "mtu": "4096", "link_layer": "Ethernet",
                              "gid": "192.0.2.1"})") {
  return R"({"schema": "rdmabench/1", "test": "bandwidth", "error": null,
             "resolved": {"device": "mlx5_0:1", "details": )" +
         details + R"(}, "results": [{"operation": "write", "direction": "one_way",
             "size_bytes": 65536, "bits_per_s": )" +
         value + R"(, "bits_per_s_low": )" + low + R"(, "bits_per_s_high": )" + high +
         R"(, "messages_per_s": 1000}]})";
}

nlohmann::ordered_json judged(const std::string& json, std::string_view expectation) {
  Document document = parse_documents(json, "test").at(0);
  const std::vector<Limit> one{parse_limit(expectation)};
  judge(document, one);
  EXPECT_EQ(json_of(document)["expectations"].size(), 1);
  const auto row = json_of(document)["expectations"][0];
  EXPECT_EQ(limits_failed(document), row["status"] == "FAIL");
  EXPECT_THAT(limits_text(document), HasSubstr(row["text"].get<std::string>()));
  return row;
}

/// What a run was asked for, as its document has it.
std::string config(const Facts& facts) {
  Report report;
  report.config = facts;
  return json_of(to_document(report))["config"].dump();
}

TEST(Limits, IsReadWithItsUnitAndSizes) {
  const Limit bits = parse_limit("bw>=360Gb/s");
  EXPECT_TRUE(bits.at_least);
  EXPECT_DOUBLE_EQ(bits.value, 360e9);
  EXPECT_DOUBLE_EQ(parse_limit("bw>=45GB/s").value, 360e9);
  EXPECT_DOUBLE_EQ(parse_limit("bw>=1.6Tb/s").value, 1.6e12);
  const Limit time = parse_limit("p99<=5us@8");
  EXPECT_FALSE(time.at_least);
  EXPECT_DOUBLE_EQ(time.value, 5000);
  EXPECT_EQ(time.least_size, 8);
  EXPECT_EQ(time.most_size, 8);
  const Limit bus = parse_limit("busbw>=40GB/s@64M+");
  EXPECT_DOUBLE_EQ(bus.value, 40e9);
  EXPECT_EQ(bus.least_size, 64 << 20);
  EXPECT_GT(bus.most_size, std::uint64_t{1} << 60);
  EXPECT_DOUBLE_EQ(parse_limit("rate>=2M").value, 2e6);
  EXPECT_DOUBLE_EQ(parse_limit("register_p50_ns<=1ms").value, 1e6);
  EXPECT_EQ(parse_limit("bw>=90%line").of, Limit::Of::line);
  EXPECT_EQ(parse_limit("p50<=110%a.json").baseline, "a.json");
  EXPECT_EQ(parse_limit("p50<=110%a@b.json").baseline, "a@b.json");
  EXPECT_EQ(parse_limit("p50<=110%run@2026-11.json").baseline, "run@2026-11.json");
  Limit made;
  made.of = Limit::Of::baseline;
  made.baseline = "-";  // standard input is the program's own
  EXPECT_THAT(complaint([&] { read_baseline(made); }, Fault::usage),
              HasSubstr("'-' is not a file"));
  const Limit both = parse_limit("p50<=110%a@b.json@8");
  EXPECT_EQ(both.baseline, "a@b.json");
  EXPECT_EQ(both.least_size, 8);
}

TEST(Limits, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(refusal("bw=3"), HasSubstr("it is not QUANTITY>=LIMIT"));
  EXPECT_THAT(refusal(">=3"), HasSubstr("it is not QUANTITY>=LIMIT"));
  EXPECT_THAT(refusal("speed>=3Gb/s"), has_all("'speed' is not a quantity", "bw"));
  EXPECT_THAT(refusal("bw>=5us"), HasSubstr("'us' is not a unit of bw"));
  EXPECT_THAT(refusal("p99<=fast"), HasSubstr("does not begin with a number"));
  EXPECT_THAT(refusal("p99<=-1us"), HasSubstr("does not begin with a number"));
  EXPECT_THAT(refusal("p99<=nanus"), HasSubstr("does not begin with a number"));
  EXPECT_THAT(refusal("p99<=90%line"), HasSubstr("only bw has a line rate"));
  EXPECT_THAT(refusal("bw>=90%"), HasSubstr("% must be followed by"));
  EXPECT_THAT(refusal("bw>=90%-"), has_all("'bw>=90%-'", "- is none"));
  EXPECT_THAT(refusal("bw>=90%-@8"), HasSubstr("- is none"));
  EXPECT_THAT(refusal("bw>=1Gb/s@big"), HasSubstr("invalid size 'big'"));
  EXPECT_THAT(refusal("bw>=90%line@big"), HasSubstr("invalid size 'big'"));
  EXPECT_THAT(refusal("bw>=0Gb/s"), HasSubstr("a limit of 0 holds nothing back"));
  EXPECT_THAT(refusal("bw>=1e308GB/s"), HasSubstr("the limit is too large"));
}

TEST(Limits, OneRunIsJudgedByHowRunsVary) {
  EXPECT_EQ(judged(bandwidth("400e9", "399e9", "401e9"), "bw>=360Gb/s")["status"], "PASS");
  EXPECT_EQ(judged(bandwidth("320e9", "319e9", "321e9"), "bw>=360Gb/s")["status"], "FAIL");
  EXPECT_EQ(judged(bandwidth("400e9", "360e9", "440e9"), "bw>=360Gb/s")["status"], "OPEN")
      << "nor within it";
  const auto open = judged(bandwidth("370e9", "369e9", "371e9"), "bw>=360Gb/s");
  EXPECT_EQ(open["status"], "OPEN");
  EXPECT_EQ(open["launches"], 1);
  EXPECT_NEAR(open["low"].get<double>(), 370e9 * std::exp(-2.16 * 0.04), 0.1e9);
  // (1.96 + 1.28) standard deviations of 4 % over a distance of 2.7 %, squared.
  EXPECT_NEAR(open["launches_needed"].get<double>(), 24, 2);
  EXPECT_EQ(open["more_runs"], open["launches_needed"].get<int>() - 1);
  EXPECT_THAT(open["text"],
              has_all("370 Gb/s in one run", "as runs vary", "launches would decide"));
  EXPECT_THAT(judged(bandwidth("400e9", "399e9", "401e9"), "bw>=100Tb/s")["text"],
              HasSubstr("100 Tb/s"));
}

/// Of one run of an epoch.
Report run_of(double bits_per_s) {
  BandwidthResult row;
  row.operation = "write";
  row.size_bytes = 65536;
  row.bits_per_s = bits_per_s;
  Report report;
  report.results = std::vector{row};
  return report;
}

TEST(Limits, AReportIsJudgedWithoutJson) {
  const std::vector<Limit> limits{parse_limit("bw>=360Gb/s")};
  const auto judged = [&](double bits_per_s) {
    const std::vector<LimitFinding> found = judge(run_of(bits_per_s), limits);
    EXPECT_EQ(found.size(), 1);
    EXPECT_EQ(failed(found), found.at(0).status == Status::fail);
    return found.at(0);
  };
  const LimitFinding pass = judged(400e9);
  EXPECT_EQ(pass.status, Status::pass);
  EXPECT_EQ(pass.limit, "bw>=360Gb/s");
  EXPECT_EQ(pass.row, "write of 64K");
  EXPECT_EQ(pass.value, 400e9);
  EXPECT_EQ(pass.bound, 360e9);
  EXPECT_EQ(pass.launches, 1);
  EXPECT_LT(pass.low, 400e9);
  EXPECT_GT(pass.high, 400e9);
  EXPECT_EQ(pass.launches_needed, std::nullopt);
  EXPECT_EQ(judged(320e9).status, Status::fail);
  const LimitFinding open = judged(370e9);
  EXPECT_EQ(open.status, Status::open);
  EXPECT_GT(open.launches_needed, 5);
  EXPECT_TRUE(failed(judge(run_of(400e9), {parse_limit("p99<=5us")}))) << "it has none";
}

TEST(Limits, FindingsStandInTheDocumentThatIsWritten) {
  Document document = to_document(run_of(320e9));
  EXPECT_TRUE(failed(judge(document, {parse_limit("bw>=360Gb/s")})));
  EXPECT_THAT(to_junit(std::array{document}), HasSubstr("<failure"));
  EXPECT_THAT(to_markdown(std::array{document}), HasSubstr("360 Gb/s"));
  EXPECT_FALSE(failed(judge(document, {parse_limit("bw>=300Gb/s@64K")}))) << "in their place";
  EXPECT_EQ(json_of(document)["expectations"].size(), 1);
}

TEST(Limits, OnlyLaunchesOfOneRunAreJudgedTogether) {
  Report latency;
  latency.results = std::vector<LatencyResult>(1);
  const std::vector<Document> mixed{to_document(run_of(1e9)), to_document(latency)};
  EXPECT_THAT(
      complaint([&] { over_launches(mixed); }, Fault::usage),
      AllOf(HasSubstr("of bandwidth"), HasSubstr("of latency"), HasSubstr("each run by itself")));
  EXPECT_THAT(complaint([] { over_launches({}); }, Fault::usage), HasSubstr("no launch"));
}

// Of rates that differ, so that they are no copies.
std::string refusal_of(Document a, Document b) {
  a.source = "a.json";
  b.source = "b.json";
  json_of(a)["results"][0]["bits_per_s"] = 1e9;
  json_of(b)["results"][0]["bits_per_s"] = 2e9;
  try {
    over_launches(std::array{a, b});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Over one back end and another, or a queue of 1 and of 128, a mean says nothing.
TEST(Limits, LaunchesOfOneRunHaveOneConfigurationAndOneSortOfDevice) {
  Report report = run_of(1e9);
  report.resolved.backend = "verbs";
  report.resolved.provider = "mlx5";
  report.resolved.device = "mlx5_0:1";
  report.config = {{"depth", std::uint64_t{1}}, {"device", std::string("mlx5_0")}};
  const auto against = [&](const auto& change) {
    Report other = report;
    change(other);
    return refusal_of(to_document(report), to_document(other));
  };
  EXPECT_EQ(against([](Report&) {}), "");
  EXPECT_EQ(against([](Report& other) {
              other.resolved.device = "mlx5_3:1";  // of another node
              other.config[1].value = std::string("mlx5_3");
            }),
            "");
  EXPECT_THAT(
      against([](Report& other) { other.config[0].value = std::uint64_t{128}; }),
      has_all("a.json has config.depth 1", "b.json has config.depth 128", "each run by itself"));
  EXPECT_THAT(against([](Report& other) {
                other.config.pop_back();
                other.config.pop_back();
              }),
              has_all("config.depth 1", "config.depth (none)"));
  EXPECT_THAT(against([](Report& other) { other.resolved.backend = "loop"; }),
              has_all("backend verbs", "backend loop"));
  EXPECT_THAT(against([](Report& other) { other.resolved.provider = "rxe"; }),
              has_all("provider mlx5", "provider rxe"));
  EXPECT_THAT(against([](Report& other) { other.resolved.device = "rxe0:1"; }),
              has_all("mlx_", "rxe"));
  Document failed = to_document(report);
  json_of(failed)["resolved"] = Json::object();
  json_of(failed)["results"] = Json::array();
  EXPECT_EQ(json_of(over_launches(std::array{failed, to_document(report)}))["results"].size(), 1)
      << "it ended before it resolved anything";
  const auto coll = [](const std::string& batch, const std::string& p50) {
    return parse_documents(R"({"schema": "rdmabench-coll/1", "backend": "nccl", "config": [)"
                           R"({"name": "batch", "value": )" +
                               batch + R"(}], "results": [{"operation": "all-reduce", "p50_ns": )" +
                               p50 + "}]}",
                           "x")
        .at(0);
  };
  EXPECT_EQ(refusal_of(coll("1", "5"), coll("1", "6")), "");
  EXPECT_THAT(refusal_of(coll("1", "5"), coll("4", "6")),
              has_all("config.batch 1", "config.batch 4"));
}

TEST(Limits, ACopyIsNoOtherLaunch) {
  const auto twice = [](Document one, Document other) {
    one.source = "a.json";
    other.source = "b.json";
    return complaint([&] { over_launches(std::array{one, other}); }, Fault::usage);
  };
  Document document = to_document(run_of(400e9));
  const Document before = document;
  EXPECT_THAT(twice(document, before),
              has_all("a.json and b.json are the same", "every launch once"));
  judge(document, {parse_limit("bw>=360Gb/s")});
  EXPECT_THAT(twice(document, before), HasSubstr("the same launch")) << "it was judged meanwhile";
  const std::string plan =
      R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[{"rank":0},{"rank":1}],"plan":{}})";
  const auto fabric = [&](const std::string& value) {
    const std::string measured =
        R"({"record":"measurement","sender":0,"receiver":1,"rail":0,"metric":"latency",)"
        R"("size_bytes":8,"notes":[],"p99_ns":null,"error":null,"value":)" +
        value + "}";
    return parse_documents(plan + "\n" + measured + "\n", "x").at(0);
  };
  EXPECT_THAT(twice(fabric("1000"), fabric("1000")), HasSubstr("the same launch"));
  EXPECT_EQ(over_launches(std::array{fabric("1000"), fabric("1100")}).pairs.size(), 1);
}

TEST(Limits, LaunchesAreJudgedByTheirOwnInterval) {
  const auto judged_over = [](const std::vector<std::string>& values, std::string_view limit) {
    std::vector<Document> launches;
    for (const std::string& value : values) {
      launches.push_back(parse_documents(bandwidth(value, "null", "null"), "test").at(0));
    }
    Document document = launches.front();
    judge(document, std::vector{parse_limit(limit)}, launches);
    return json_of(document)["expectations"][0];
  };
  const std::vector<std::string> five{"365e9", "368e9", "370e9", "371e9", "376e9"};
  const auto pass = judged_over(five, "bw>=360Gb/s");
  EXPECT_EQ(pass["status"], "PASS");
  EXPECT_EQ(pass["launches"], 5);
  EXPECT_THAT(pass["text"], HasSubstr("370 Gb/s over 5 launches (365 Gb/s to 375.1 Gb/s)"));
  EXPECT_EQ(judged_over(five, "bw>=380Gb/s")["status"], "FAIL");
  EXPECT_GT(judged_over(five, "bw>=368Gb/s")["launches_needed"], 5);
  const std::vector<std::string> four(five.begin(), five.end() - 1);
  EXPECT_EQ(judged_over(four, "bw>=360Gb/s")["status"], "OPEN") << "too few";
  EXPECT_EQ(judged_over({"300e9", "600e9", "301e9", "302e9"}, "bw>=250Gb/s")["status"], "OPEN")
      << "they differ by more than is usual";
}

// What breaks a limit by chance once in 100 rows is no failure of all of them.
TEST(Limits, RowsThatFailAreJudgedTogether) {
  Document document = parse_documents(bandwidth("325e9", "null", "null"), "test").at(0);
  judge(document, std::vector{parse_limit("bw>=360Gb/s")});
  EXPECT_EQ(json_of(document)["expectations"][0]["status"], "FAIL");
  const auto row = json_of(document)["results"][0];
  for (int i = 0; i < 50; ++i) {
    json_of(document)["results"].push_back(row);
    json_of(document)["results"].back()["bits_per_s"] = 400e9;
  }
  judge(document, std::vector{parse_limit("bw>=360Gb/s")});
  EXPECT_EQ(json_of(document)["expectations"][0]["status"], "OPEN");
  EXPECT_THAT(json_of(document)["expectations"][0]["text"], HasSubstr("among 51 rows"));
  json_of(document)["results"][0]["bits_per_s"] = 180e9;
  judge(document, std::vector{parse_limit("bw>=360Gb/s")});
  EXPECT_EQ(json_of(document)["expectations"][0]["status"], "FAIL") << "half of it always fails";
}

TEST(Limits, JudgesAMeanByItsStandardError) {
  const auto status = [](const std::string& deviation, const std::string& samples) {
    const std::string text =
        R"({"schema": "rdmabench/1", "test": "latency", "resolved": {}, "results": [{"size_bytes": 8,)"
        R"( "mean_ns": 1000, "iterations": )" +
        samples + R"(, "stddev_ns": )" + deviation + "}]}";
    return judged(text, "mean<=1.1us")["status"];
  };
  EXPECT_EQ(status("100", "10000"), "PASS");  // 1000 +- 2
  EXPECT_EQ(status("2000", "10000"), "OPEN");
  EXPECT_EQ(status("null", "10000"), "PASS") << "by the value";
  EXPECT_EQ(status("2000", "50"), "PASS") << "too few samples for an interval";
}

TEST(Limits, IsJudgedByTheValueWhereThereIsNoInterval) {
  EXPECT_EQ(judged(bandwidth("400e9", "null", "null"), "bw>=360Gb/s")["status"], "PASS");
  EXPECT_EQ(judged(bandwidth("320e9", "null", "null"), "bw>=360Gb/s")["status"], "FAIL");
  EXPECT_EQ(judged(bandwidth("359e9", "null", "null"), "rate<=2k")["status"], "PASS");
  EXPECT_EQ(judged(bandwidth("100", "90", "110"), "rate>=1k")["status"], "OPEN") << "as of bw";
}

TEST(Limits, WithoutARowFails) {
  const auto row = judged(bandwidth("361e9", "null", "null"), "p99<=5us");
  EXPECT_EQ(row["status"], "FAIL");
  EXPECT_THAT(row["text"], has_all("no row", "has p99"));
  EXPECT_THAT(judged(bandwidth("361e9", "null", "null"), "bw>=1Gb/s@1M+")["text"],
              has_all("no row", "has bw at 1M"));
}

TEST(Limits, OfAProfileIsOpenWithoutARowWhereAnotherOneApplies) {
  const auto statuses = [](const std::vector<std::string>& texts) {
    std::vector<Limit> profile;
    for (const std::string& text : texts) profile.push_back(parse_limit(text));
    for (Limit& one : profile) one.of_profile = true;
    Document document = parse_documents(bandwidth("361e9", "null", "null"), "f").front();
    judge(document, profile);
    std::vector<std::string> found;
    for (const auto& one : json_of(document)["expectations"]) found.push_back(one["status"]);
    return found;
  };
  EXPECT_THAT(statuses({"bw>=1Gb/s", "p99<=5us@8"}), ElementsAre("PASS", "OPEN"));
  EXPECT_THAT(statuses({"bw>=1Gb/s@1M+", "p99<=5us"}), ElementsAre("FAIL", "FAIL"));
}

TEST(Limits, KnowsWhatTheLinkCarries) {
  // Around 4,096 bytes of payload 38 of Ethernet, 20 of IPv4, 8 of UDP and 16 of InfiniBand.
  const auto row = judged(bandwidth("390e9", "389e9", "391e9"), "bw>=90%line");
  EXPECT_EQ(row["status"], "PASS");
  EXPECT_NEAR(row["limit"].get<double>(), 0.9 * 400e9 * 4096 / (4096 + 82), 1);
  EXPECT_THAT(row["text"], has_all("90 % of 392 Gb/s (400 Gb/s of mlx5_0:1",
                                   "less 82 bytes of headers for every 4096"));
  const auto infiniband = judged(
      bandwidth("380e9", "379e9", "381e9",
                R"({"rate_gbps": "400", "mtu": "4096", "link_layer": "InfiniBand", "path": "x"})"),
      "bw>=90%line");
  EXPECT_NEAR(infiniband["limit"].get<double>(), 0.9 * 400e9 * 4096 / (4096 + 26), 1);
  const auto global = judged(bandwidth("380e9", "379e9", "381e9",
                                       R"({"rate_gbps": "400", "mtu": "4096", "path": "x",)"
                                       R"( "link_layer": "InfiniBand", "global_header": "true"})"),
                             "bw>=90%line");
  EXPECT_NEAR(global["limit"].get<double>(), 0.9 * 400e9 * 4096 / (4096 + 66), 1);
}

TEST(Limits, TakesNoHeadersOffALinkWhosePacketsAreNotKnown) {
  const auto row = judged(bandwidth("90e9", "89e9", "91e9",
                                    R"({"rate_gbps": "100", "mtu": "4096", "link_layer": "EFA"})"),
                          "bw>=90%line");
  EXPECT_NEAR(row["limit"].get<double>(), 90e9, 1);
}

TEST(Limits, NamesThePcieLinkThatCarriesLessThanThePort) {
  const auto row = judged(
      bandwidth("90e9", "89e9", "91e9",
                R"({"rate_gbps": "126.03", "rate_of": "the PCIe link of the server's mlx5_0",)"
                R"( "mtu": "4096", "link_layer": "InfiniBand", "path": "x"})"),
      "bw>=90%line");
  EXPECT_EQ(row["status"], "FAIL");
  EXPECT_THAT(row["text"],
              has_all("(126.03 Gb/s of the PCIe link", "server's mlx5_0 less 26 bytes"));
}

// Each of two threads with one queue pair uses one port of a bond: the same, or another one.
TEST(Limits, IsOpenWhereThreadsShareABond) {
  auto document = nlohmann::ordered_json::parse(
      bandwidth("99e9", "98e9", "100e9",
                R"({"rate_gbps": "100", "mtu": "4096",)"
                R"( "rate_of": "one port of the bond of the client's mlx5_bond_0",)"
                R"( "rate_of_bond": "true"})"));
  document["config"] = Json::parse(config({{"threads", std::uint64_t{1}}}));
  EXPECT_EQ(judged(document.dump(), "bw>=85%line")["status"], "PASS");
  document["config"] = Json::parse(config({{"threads", std::uint64_t{2}}}));
  const auto row = judged(document.dump(), "bw>=95%line");
  EXPECT_EQ(row["status"], "OPEN");
  EXPECT_THAT(row["text"], HasSubstr("ports of a bond"));
}

TEST(Limits, IsOpenWhereTheLinkIsNotKnown) {
  const auto row = judged(bandwidth("380e9", "379e9", "381e9", "{}"), "bw>=90%line");
  EXPECT_EQ(row["status"], "OPEN");
  EXPECT_EQ(row["limit"], nullptr);
  EXPECT_THAT(row["text"], HasSubstr("rate of the link"));
}

TEST(Limits, ComparesWithTheSameRowOfABaseline) {
  const std::string path = ::testing::TempDir() + "baseline.json";
  std::ofstream(path) << bandwidth("380e9", "null", "null");
  const std::string expectation = "bw>=95%" + path;
  EXPECT_EQ(judged(bandwidth("420e9", "null", "null"), expectation)["status"], "PASS");
  EXPECT_EQ(judged(bandwidth("370e9", "null", "null"), expectation)["status"], "OPEN");
  EXPECT_EQ(judged(bandwidth("300e9", "null", "null"), expectation)["status"], "FAIL");
  std::filesystem::remove(path);
  EXPECT_THROW(judged(bandwidth("350e9", "null", "null"), expectation), Error);
}

TEST(Limits, OfABaselineThatHasNoneOfTheRowsFails) {
  const std::string path = ::testing::TempDir() + "other.json";
  std::string other = bandwidth("380e9", "null", "null");
  std::ofstream(path) << other.replace(other.find("65536"), 5, "4096");
  Document document = parse_documents(bandwidth("370e9", "null", "null"), "test").at(0);
  judge(document, std::vector{parse_limit("bw>=95%" + path)});
  const auto& rows = json_of(document)["expectations"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["status"], "OPEN");
  EXPECT_EQ(rows[1]["status"], "FAIL");
  EXPECT_THAT(rows[1]["text"], HasSubstr("none of the rows"));
  std::filesystem::remove(path);
}

TEST(Limits, OfSeveralLaunchesOfABaselineTheMeanAndTheNoiseCount) {
  const std::string path = ::testing::TempDir() + "launches.json";
  const auto with = [&](const std::vector<std::string>& values, const std::string& run) {
    std::string list;
    for (const std::string& one : values) {
      list += (list.empty() ? "" : ",") + bandwidth(one, "null", "null");
    }
    std::ofstream(path) << R"({"schema": "rdmabench/1", "documents": [)" << list << "]}";
    return judged(bandwidth(run, "null", "null"), "bw>=50%" + path);
  };
  EXPECT_NEAR(with({"100e9", "400e9"}, "370e9")["limit"].get<double>(), 100e9, 1);
  EXPECT_EQ(with({"100e9", "400e9"}, "370e9")["status"], "OPEN") << "nobody knows how it varies";
  const std::vector<std::string> five{"379e9", "379.5e9", "380e9", "381e9", "382e9"};
  EXPECT_EQ(with(five, "172e9")["status"], "FAIL");
  EXPECT_EQ(with(five, "185e9")["status"], "OPEN") << "that it varied by 0.3 % is no run of today";
  EXPECT_EQ(with(five, "190e9")["status"], "OPEN");
  EXPECT_THAT(with(five, "195e9")["text"], HasSubstr("(5 launches)"));
  EXPECT_EQ(with({"380e9", "380e9", "380e9", "380e9", "380e9"}, "195e9")["text"],
            with({"380e9"}, "195e9")["text"])
      << "copies are one launch";
  EXPECT_NEAR(with({"0", "-1", "380e9"}, "195e9")["limit"].get<double>(), 190e9, 1);
  std::string over = bandwidth("1e9", "null", "null");
  over.insert(1, R"("over_launches": 2, )");
  std::ofstream(path) << over;
  const std::string why = complaint(
      [&] { judged(bandwidth("195e9", "null", "null"), "bw>=50%" + path); }, Fault::usage);
  EXPECT_THAT(why, HasSubstr("the whole file that --launches wrote"));
  std::ofstream(path) << R"({"schema": "rdmabench/1", "documents": [)" << over << ","
                      << bandwidth("380e9", "null", "null") << "]}";
  EXPECT_NEAR(judged(bandwidth("195e9", "null", "null"), "bw>=50%" + path)["limit"].get<double>(),
              190e9, 1);
  std::filesystem::remove(path);
}

TEST(Limits, ARowOfABaselineIsOfTheSameMemoryAndWasNotCutOff) {
  const auto with = [](const Facts& facts, const std::string& complete) {
    std::string text = bandwidth("100e9", "null", "null");
    text.insert(1, R"("config": )" + config(facts) + ", ");
    return text.insert(text.rfind("}]"), R"(, "complete": )" + complete);
  };
  const Facts huge{{"memory", "huge"}};
  const std::string path = ::testing::TempDir() + "memory.json";
  const auto statuses = [&](const std::string& baseline, const std::string& run) {
    std::ofstream(path) << baseline;
    Document document = parse_documents(run, "test").at(0);
    judge(document, std::vector{parse_limit("bw>=1%" + path)});
    std::string all;
    for (const auto& row : json_of(document)["expectations"]) {
      all += row["status"].get<std::string>() + " ";
    }
    return all;
  };
  EXPECT_EQ(statuses(with(huge, "true"), with(huge, "true")), "PASS ");
  EXPECT_EQ(statuses(with(huge, "true"), with({}, "true")), "OPEN FAIL ");
  EXPECT_EQ(statuses(with({}, "false"), with({}, "true")), "OPEN FAIL ");
  EXPECT_EQ(statuses(with({}, "true"), with({}, "false")), "FAIL ") << "it is not judged";
  std::filesystem::remove(path);
}

TEST(Limits, TheLatencyOfALoadThatIsTooMuchIsNotJudged) {
  const auto load = [](const Facts& facts) {
    return R"({"schema": "rdmabench/1", "test": "load", "error": null, "config": )" +
           config(facts) +
           R"(, "results": [{"operation": "send", "size_bytes": 8, "p99_ns": 5000, "load": 0.5,)"
           R"( "saturated": false}, {"operation": "send", "size_bytes": 8, "p99_ns": 900000,)"
           R"( "load": 1.1, "saturated": true}]})";
  };
  EXPECT_EQ(judged(load({}), "p99<=6us")["status"], "PASS");
  Document asked = parse_documents(load({{"rate_messages_per_s", 1000.0}}), "test").at(0);
  judge(asked, std::vector{parse_limit("p99<=6us")});
  EXPECT_TRUE(limits_failed(asked)) << "this rate was asked for";
}

TEST(Limits, ALoadIsComparedByTheRateThatWasAskedFor) {
  const auto load = [](const std::string& share, const Facts& facts) {
    return R"({"schema": "rdmabench/1", "test": "load", "error": null, "config": )" +
           config(facts) +
           R"(, "results": [{"operation": "send-imm", "size_bytes": 8, "p99_ns": 5000, "load": )" +
           share + R"(, "achieved_messages_per_s": 100000}]})";
  };
  const Facts asked{{"rate_messages_per_s", 100000.0}};
  const std::string path = ::testing::TempDir() + "load.json";
  const std::string expectation = "p99<=120%" + path;
  std::ofstream(path) << load("0.0624105", asked);
  EXPECT_EQ(judged(load("0.0711", asked), expectation)["status"], "PASS");
  std::ofstream(path) << load("0.8999999999999999", {});
  EXPECT_EQ(judged(load("0.9", {}), expectation)["status"], "PASS");
  EXPECT_EQ(judged(load("0.9", {}), "rate>=50k")["row"], "send-imm load 90 % of 8");
  std::filesystem::remove(path);
}

TEST(Limits, HoldsAPairOfAFabricAgainstTheSamePair) {
  const auto fabric = [](const std::string& first, const std::string& second) {
    const auto pair = [](int sender, const std::string& value) {
      return R"({"record":"measurement","round":0,"pattern":"round-robin","sender":)" +
             std::to_string(sender) + R"(,"receiver":)" + std::to_string(1 - sender) +
             R"(,"rail":0,"metric":"bandwidth","size_bytes":1048576,"value":)" + value +
             R"(,"p99_ns":null,"error":null,"notes":[],"confirming":false})" + "\n";
    };
    return R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[{"rank":0,"host":"a"},)"
           R"({"rank":1,"host":"b"}],"plan":{"pattern":"full"}})"
           "\n" +
           pair(0, first) + pair(1, second);
  };
  const std::string path = ::testing::TempDir() + "pairs.jsonl";
  // What was measured again replaces the first value, in a baseline too.
  const std::string again =
      R"({"record":"measurement","round":9,"pattern":"confirm","sender":1,"receiver":0,"rail":0,)"
      R"("metric":"bandwidth","size_bytes":1048576,"value":50e9,"p99_ns":null,"error":null,)"
      R"("notes":[],"confirming":true})"
      "\n";
  std::ofstream(path) << fabric("100e9", "1e9") << again;
  Document document = parse_documents(fabric("120e9", "30e9"), "test").at(0);
  judge(document, std::vector{parse_limit("bw>=90%" + path)});
  const auto& rows = json_of(document)["expectations"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["status"], "FAIL");
  EXPECT_THAT(rows[0]["row"], HasSubstr("b to a"));
  EXPECT_EQ(rows[0]["limit"], 45e9) << "of b to a, and not of the first row";
  EXPECT_EQ(rows[1]["status"], "PASS");
  EXPECT_EQ(rows[1]["limit"], 90e9);
  std::filesystem::remove(path);
}

TEST(Limits, JudgesAPairThatWasMeasuredAgainByTheLaterValue) {
  const auto pair = [](int receiver, const std::string& value, const std::string& confirming) {
    return R"({"record":"measurement","round":0,"sender":0,"receiver":)" +
           std::to_string(receiver) +
           R"(,"rail":0,"metric":"bandwidth","size_bytes":1048576,"value":)" + value +
           R"(,"p99_ns":null,"error":null,"notes":[],"confirming":)" + confirming + "}\n";
  };
  Document document =
      parse_documents(R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[{"rank":0},)"
                      R"({"rank":1},{"rank":2}],"plan":{}})"
                      "\n" +
                          pair(1, "40e9", "false") + pair(2, "98e9", "false") +
                          pair(1, "99e9", "true") + pair(2, "41e9", "true"),
                      "test")
          .at(0);
  judge(document, std::vector{parse_limit("bw>=80Gb/s")});
  const auto& rows = json_of(document)["expectations"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["status"], "FAIL");
  EXPECT_EQ(rows[0]["value"], 41e9);
  EXPECT_EQ(rows[1]["status"], "PASS");
  EXPECT_EQ(rows[1]["value"], 99e9);
}

TEST(Limits, PairsThatOneFindingExplainsAreOneLine) {
  std::string pairs;
  for (int sender = 0; sender < 3; ++sender) {
    for (int receiver = 0; receiver < 3; ++receiver) {
      if (sender == receiver) continue;
      pairs += fmt::format(
          R"({{"record":"measurement","round":0,"sender":{},"receiver":{},"rail":0,)"
          R"("metric":"bandwidth","size_bytes":1048576,"value":{},"p99_ns":null,"error":null,)"
          R"("notes":[],"confirming":false}})"
          "\n",
          sender, receiver, sender == 2 || receiver == 1 ? "4e8" : "1e9");
    }
  }
  Document document =
      parse_documents(R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[)"
                      R"({"rank":0,"host":"a"},{"rank":1,"host":"b"},{"rank":2,"host":"c"}],)"
                      R"("plan":{}})"
                      "\n" +
                          pairs +
                          R"({"record":"verdict","findings":[{"part":"sender","a":2,)"
                          R"("metric":"bandwidth","size_bytes":1048576,"ratio":0.4}]})"
                          "\n",
                      "test")
          .at(0);
  judge(document, std::vector{parse_limit("bw>=0.8Gb/s")});
  const auto& rows = json_of(document)["expectations"];
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [](const auto& row) { return row.contains("cause"); }),
            2);
  const std::string text = limits_text(document);
  EXPECT_THAT(text, HasSubstr("FAIL bw>=0.8Gb/s: 2 pairs: c sends at 40 % of typical\n"));
  EXPECT_THAT(text, HasSubstr("FAIL bw>=0.8Gb/s: a to b"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("FAIL bw>=0.8Gb/s: c to a")));
}

TEST(Limits, NodesOfOneHostAreToldApartAndPairsWithoutALineAreOneLine) {
  const std::string plan = R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[)"
                           R"({"rank":0,"host":"vm"},{"rank":1,"host":"vm"}],"plan":{}})"
                           "\n";
  const auto pair = [](int sender) {
    return fmt::format(
        R"({{"record":"measurement","round":0,"sender":{},"receiver":{},"rail":0,)"
        R"("metric":"bandwidth","size_bytes":1048576,"value":9e9,"p99_ns":null,"error":null,)"
        R"("notes":[],"confirming":false}})"
        "\n",
        sender, 1 - sender);
  };
  Document one = parse_documents(plan + pair(0), "test").at(0);
  judge(one, std::vector{parse_limit("bw>=90Gb/s"), parse_limit("bw>=90%line")});
  EXPECT_THAT(limits_text(one), has_all("FAIL bw>=90Gb/s: vm (0) to vm (1), rail 0",
                                        "OPEN bw>=90%line: vm (0) to vm (1), rail 0"));
  Document both = parse_documents(plan + pair(0) + pair(1), "test").at(0);
  judge(both, std::vector{parse_limit("bw>=90%line")});
  EXPECT_EQ(limits_text(both),
            "OPEN bw>=90%line: 2 pairs: the rate of the link is not known: give an absolute "
            "limit\n");
}

TEST(Limits, HoldsAPairOfAFabricAgainstItsOwnLine) {
  const auto judgements = [](const std::string& fields) {
    Document document =
        parse_documents(R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[{"rank":0},)"
                        R"({"rank":1}],"plan":{}})"
                        "\n"
                        R"({"record":"measurement","round":0,"sender":0,"receiver":1,"rail":0,)"
                        R"("metric":"bandwidth","size_bytes":1048576,"value":90e9,"p99_ns":null,)"
                        R"("error":null,"notes":[],"confirming":false)" +
                            fields + "}\n",
                        "test")
            .at(0);
    judge(document, std::vector{parse_limit("bw>=80%line")});
    return json_of(document)["expectations"][0];
  };
  const std::string line = R"(,"line_bits_per_s":100e9,"line_origin":"100 Gb/s of mlx5_0")";
  EXPECT_EQ(judgements(line)["status"], "PASS");
  EXPECT_THAT(judgements(line)["text"].get<std::string>(), HasSubstr("100 Gb/s of mlx5_0"));
  EXPECT_EQ(judgements(R"(,"line_bits_per_s":200e9)")["status"], "FAIL");
  EXPECT_EQ(judgements(line + R"(,"low":80e9,"high":100e9)")["status"], "OPEN");
  EXPECT_EQ(judgements("")["status"], "OPEN") << "the link's rate is not known";
  EXPECT_EQ(judgements(line + R"(,"pattern":"many-to-one")")["status"], "OPEN")
      << "several pairs share the link";
  Document document{.source = "x", .schema = "", .body = {}};
  json_of(document)["expectations"].push_back(
      to_json(LimitFinding{"bw", "a\nPASS b", Status::fail, "\x1b[2J of a file"}));
  const std::string text = limits_text(document);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Limits, JudgesBusBandwidthByTheIntervalOfTheMedian) {
  const std::string coll =
      R"({"schema": "rdmabench-coll/1", "backend": "nccl", "error": null, "ranks": [{}, {}],
          "results": [{"operation": "all-reduce", "size_bytes": 67108864, "p50_ns": 1000,
                       "median_low_ns": 800, "median_high_ns": 1250, "bus_bytes_per_s": 40e9}]})";
  const auto row = judged(coll, "busbw>=45GB/s@64M+");
  EXPECT_EQ(row["status"], "OPEN");
  EXPECT_LT(row["low"].get<double>(), 32e9);
  EXPECT_GT(row["high"].get<double>(), 50e9);
  std::string few = coll;
  few.replace(few.find("800"), 3, "0").replace(few.find("1250"), 4, "null");
  EXPECT_EQ(judged(few, "busbw>=4GB/s")["status"], "OPEN") << "of fewer than 6 samples";
  EXPECT_EQ(judged(few, "busbw>=80GB/s")["status"], "FAIL") << "half of it fails";
}

TEST(Limits, OfACollectiveTakesTheSizeThatWasAskedFor) {
  const std::string coll =
      R"({"schema": "rdmabench-coll/1", "backend": "mpi", "error": null, "ranks": [{}, {}, {}],
          "results": [{"operation": "all-gather", "size_bytes": 1048572, "count": 87381,
                       "p50_ns": 1000, "bus_bytes_per_s": 40e9}]})";
  EXPECT_EQ(judged(coll, "busbw>=1GB/s@1M")["status"], "PASS");
  EXPECT_EQ(judged(coll, "busbw>=45GB/s@1M+")["status"], "FAIL");
  EXPECT_THAT(judged(coll, "busbw>=1GB/s@2M")["text"], HasSubstr("no row"));
}

TEST(Limits, JudgesAPercentileByItsInterval) {
  const auto latency = [](const std::string& low, const std::string& high) {
    return R"({"schema": "rdmabench/1", "test": "latency", "error": null, "results": [
        {"operation": "write", "size_bytes": 8, "p99_ns": 4900, "p99_low_ns": )" +
           low + R"(, "p99_high_ns": )" + high + "}]}";
  };
  EXPECT_EQ(judged(latency("4800", "4950"), "p99<=6us")["status"], "PASS");
  EXPECT_EQ(judged(latency("4800", "7000"), "p99<=6us")["status"], "OPEN");
  EXPECT_EQ(judged(latency("4800", "7000"), "p99<=4us")["status"], "FAIL");
  const auto few = judged(latency("4800", "null"), "p99<=6us");
  EXPECT_EQ(few["status"], "OPEN");
  EXPECT_TRUE(few["more_runs"].is_null());
  EXPECT_THAT(few["text"].get<std::string>(), HasSubstr("a longer run would decide"));
  EXPECT_EQ(judged(latency("4800", "null"), "p99<=4us")["status"], "FAIL");
  EXPECT_EQ(judged(latency("null", "null"), "p99<=6us")["status"], "PASS") << "as older files";
}

TEST(Limits, ATailVariesMoreFromRunToRun) {
  const auto status = [](std::string_view quantity) {
    return judged(R"({"schema": "rdmabench/1", "test": "latency", "error": null, "results": [
        {"operation": "write", "size_bytes": 8, "p99_ns": 4900, "p999_ns": 4900, "max_ns": 4900}]})",
                  fmt::format("{}<=6us", quantity))["status"];
  };
  EXPECT_EQ(status("p99"), "PASS");
  EXPECT_EQ(status("p999"), "OPEN");
  EXPECT_EQ(status("max"), "OPEN");
}

TEST(Limits, JudgesThePercentileOfAPairByItsInterval) {
  const auto status = [](const std::string& fields) {
    return judged(R"({"schema":"rdmabench-fabric/1","record":"plan","nodes":[{"rank":0},)"
                  R"({"rank":1}],"plan":{}})"
                  "\n"
                  R"({"record":"measurement","round":0,"sender":0,"receiver":1,"rail":0,)"
                  R"("metric":"latency","size_bytes":8,"value":3000,"error":null,"notes":[],)"
                  R"("confirming":false,"p99_ns":4900)" +
                      fields + "}\n",
                  "p99<=6us")["status"];
  };
  EXPECT_EQ(status(R"(,"p99_low_ns":4800,"p99_high_ns":4950)"), "PASS");
  EXPECT_EQ(status(R"(,"p99_low_ns":4800,"p99_high_ns":7000)"), "OPEN");
  EXPECT_EQ(status(R"(,"p99_low_ns":4800,"p99_high_ns":null)"), "OPEN");
  EXPECT_EQ(status(""), "PASS") << "as older files";
}

TEST(Limits, JudgesTheTimesOfRegByTheirIntervals) {
  const std::string reg =
      R"({"schema": "rdmabench/1", "test": "registration", "error": null, "results": [
          {"memory": "host", "size_bytes": 1000, "iterations": 400, "route": "system",
           "register_p50_ns": 1000, "register_median_low_ns": 800, "register_median_high_ns": 1250,
           "register_p99_ns": 4900, "register_p99_low_ns": 4800, "register_p99_high_ns": null,
           "register_mean_ns": 1100, "register_stddev_ns": 1000, "register_bytes_per_s": 1e9,
           "deregister_p50_ns": 1000}]})";
  EXPECT_EQ(judged(reg, "register_p50_ns<=1100ns")["status"], "OPEN");
  EXPECT_EQ(judged(reg, "register_p50_ns<=1300ns")["status"], "PASS");
  EXPECT_EQ(judged(reg, "register_p99_ns<=5us")["status"], "OPEN");
  EXPECT_GT(judged(reg, "register_mean_ns<=1100ns")["high"], 1198);
  EXPECT_LT(judged(reg, "register_bytes_per_s>=1MB/s")["low"], 0.8e9);
  EXPECT_EQ(judged(reg, "deregister_p50_ns<=1100ns")["status"], "PASS") << "as older files";
}

TEST(Limits, ManyRowsAlikeAreCountedInTheText) {
  Document document = parse_documents(bandwidth("1e9", "1e9", "1e9"), "test").at(0);
  const auto row = json_of(document)["results"][0];
  for (int i = 0; i < 19; ++i) json_of(document)["results"].push_back(row);
  for (const char* key : {"bits_per_s", "bits_per_s_low", "bits_per_s_high"})
    json_of(document)["results"][4][key] = 1;
  judge(document, std::vector{parse_limit("bw>=1kb/s")});
  const std::string text = limits_text(document);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10) << "one that fails, eight, the rest";
  EXPECT_THAT(text, HasSubstr("FAIL bw>=1kb/s: write of 64K"));
  EXPECT_THAT(text, HasSubstr("PASS bw>=1kb/s: 11 more rows"));
}

TEST(Limits, OpenRowsComeBeforeThoseThatPassAndAllAreCounted) {
  Document document = parse_documents(bandwidth("2e9", "1e9", "3e9"), "test").at(0);
  const auto row = json_of(document)["results"][0];
  for (int i = 0; i < 99; ++i) json_of(document)["results"].push_back(row);
  for (int i = 0; i < 90; ++i) json_of(document)["results"][i]["bits_per_s_low"] = 2e9;
  judge(document, std::vector{parse_limit("bw>=1.5Gb/s")});
  const auto& rows = json_of(document)["expectations"];
  ASSERT_EQ(rows.size(), 10 + kMostJudged + 1);
  EXPECT_EQ(rows[9]["status"], "OPEN");
  EXPECT_EQ(rows[10]["status"], "PASS");
  EXPECT_THAT(rows.back()["text"], HasSubstr("26 more rows"));
  const std::string text = limits_text(document);
  EXPECT_LT(text.find("OPEN bw>=1.5Gb/s: 2 more rows"), text.find("PASS"));
}

TEST(Limits, OfAFabricGivesNoSeriesForEachPair) {
  Document document = parse_documents(R"({"schema":"rdmabench-fabric/1","record":"plan",)"
                                      R"("nodes":[{"rank":0}],"plan":{}})",
                                      "test")
                          .at(0);
  for (const char* const round : {"1", "2"}) {
    json_of(document)["expectations"].push_back(
        to_json(LimitFinding{"bw>=1b/s", std::string("a to b, round ") + round, Status::pass}));
  }
  const std::string text = to_prometheus(std::vector{document});
  EXPECT_THAT(text, ::testing::Not(HasSubstr("round")));
  EXPECT_THAT(text, HasSubstr(R"(id="bw>=1b/s")"));
}

TEST(Limits, IsAJudgementOfEveryFormat) {
  Document document = parse_documents(bandwidth("300e9", "299e9", "301e9"), "test").at(0);
  const std::vector<Limit> both{parse_limit("bw>=360Gb/s"), parse_limit("rate>=1")};
  judge(document, both);
  const std::vector<Document> documents{document};
  EXPECT_THAT(to_junit(documents), has_all("<failure", "bw>=360Gb/s"));
  EXPECT_THAT(to_prometheus(documents), HasSubstr("bw>=360Gb/s"));
  EXPECT_THAT(to_markdown(documents), HasSubstr("limit 360 Gb/s"));
  EXPECT_THAT(to_csv(documents), HasSubstr("bw>=360Gb/s"));
}

}  // namespace
}  // namespace rdmabench::inline v1::report
