// What ucx_perftest wrote, read as documents. The files of tests/imported were printed by that of
// UCX 1.13; the texts here have the forms of other releases and of pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "rdmabench/base/error.h"
#include "rdmabench/report/documents.h"
#include "report/body.h"

namespace rdmabench::inline v1::import {
namespace {

using report::parse_documents;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::string file_text(const std::string& name) {
  std::ifstream file(std::string(IMPORTED_REAL) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

std::vector<Json> all(const std::string& text, const std::string& source = "x",
                      const std::string& program = "") {
  std::vector<Json> bodies;
  for (const auto& document : parse_documents(text, source, program)) {
    bodies.push_back(json_of(document));
  }
  return bodies;
}

Json one(const std::string& text, const std::string& source = "x") {
  const std::vector<Json> bodies = all(text, source);
  EXPECT_EQ(bodies.size(), 1U);
  return bodies.at(0);
}

std::string why_refused(const std::string& text, const std::string& source) {
  try {
    all(text, source);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::usage);
    return std::string(error.what()) + " " + error.remedy();
  }
  return "";
}

constexpr const char* kNew =
    "+--------------+--------------+------------------------------+---------------------+----------+\n"
    "|              |              |       overhead (usec)        |   bandwidth (MB/s)  | message  |\n"
    "|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  | "
    " overall  |\n";
constexpr const char* kOld =
    "|              |       latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |\n"
    "| # iterations | typical | average | overall |  average |  overall |   average |   overall |\n";

TEST(UcxPerftest, APingPongHasTheWholesMeanAndTheLastSamplesMedian) {
  const Json body = one(file_text("ucx_tag_lat.txt"), "tag_lat.txt");
  EXPECT_EQ(body["test"], "latency");
  EXPECT_EQ(body["error"], nullptr);
  EXPECT_EQ(body["resolved"]["backend"], "ucx");
  EXPECT_EQ(body["config"]["test"], "tag_lat");
  ASSERT_EQ(body["results"].size(), 1U) << "rows of each second are not results";
  const Json& row = body["results"][0];
  EXPECT_EQ(row["operation"], "send");
  EXPECT_EQ(row["kind"], "half_round_trip");
  EXPECT_EQ(row["iterations"], 100000);
  EXPECT_DOUBLE_EQ(row["p50_ns"], 9087);
  EXPECT_DOUBLE_EQ(row["mean_ns"], 81752) << "of the whole, not of its last second";
  EXPECT_EQ(row["size_bytes"], 8) << "0.09 MB/s, 12232 messages: no other whole number fits";
  EXPECT_THAT(body["notes"].dump(), HasSubstr("last 2048 samples"));
  EXPECT_THAT(body["notes"].dump(), HasSubstr("size was computed"));
}

TEST(UcxPerftest, WithoutItsCommandOnlyTheOperationIsUnknown) {
  const Json body = one(file_text("ucx_tag_lat.txt"));
  EXPECT_EQ(body["test"], "latency");
  EXPECT_EQ(body["results"][0]["operation"], "unknown");
  EXPECT_EQ(body["results"][0]["kind"], "unknown");
}

TEST(UcxPerftest, ANameThatTheTableDeniesIsNotTaken) {
  const std::string latency = file_text("ucx_tag_lat.txt");
  EXPECT_EQ(one(latency, "tag_bw.txt")["test"], "latency") << "the name of a file";
  EXPECT_EQ(one(latency, "tag_bw.txt")["results"][0]["operation"], "unknown");
  try {
    all(latency, "x", "tag_bw");
    ADD_FAILURE() << "--as";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a table of latency, and no test tag_bw"));
  }
}

TEST(UcxPerftest, ItsServerSaysTheRest) {
  const Json body = one(file_text("ucx_am_lat.txt"));
  EXPECT_EQ(body["config"]["test"], "ucp_am_lat");
  EXPECT_EQ(body["results"][0]["operation"], "send");
  EXPECT_EQ(body["resolved"]["transport"], "am");
  EXPECT_EQ(body["results"][0]["size_bytes"], 8);
  EXPECT_THAT(body["notes"].dump(), ::testing::Not(HasSubstr("computed")));
}

TEST(UcxPerftest, MegabytesAreMebibytes) {
  const Json body = one(file_text("ucx_tag_bw_v.txt"), "tag_bw.csv");
  EXPECT_EQ(body["test"], "bandwidth");
  ASSERT_EQ(body["results"].size(), 1U);
  const Json& row = body["results"][0];
  EXPECT_EQ(row["size_bytes"], 4096);
  EXPECT_EQ(row["iterations"], 100000);
  EXPECT_EQ(row["depth"], 32);
  EXPECT_DOUBLE_EQ(row["bits_per_s"], 337.95 * 1024 * 1024 * 8);
  EXPECT_EQ(row["messages_per_s"], 86514);
}

TEST(UcxPerftest, EachTestOfABatchIsARun) {
  for (const char* name : {"ucx_batch.txt", "ucx_batch_f.txt", "ucx_batch_v.txt"}) {
    const std::vector<Json> bodies = all(file_text(name));
    ASSERT_EQ(bodies.size(), 2U) << name;
    EXPECT_EQ(bodies[0]["config"]["test"], "tag_lat_8") << name;
    EXPECT_EQ(bodies[0]["test"], "latency") << name;
    EXPECT_EQ(bodies[1]["config"]["test"], "tag_bw_64") << name;
    EXPECT_EQ(bodies[1]["test"], "bandwidth") << name;
    EXPECT_EQ(bodies[1]["results"][0]["size_bytes"], 64) << name;
  }
}

TEST(UcxPerftest, ThreadsHaveNoPercentile) {
  const Json body = one(file_text("ucx_threads.txt"));
  EXPECT_EQ(body["error"], nullptr);
  EXPECT_EQ(body["results"][0]["iterations"], 20000);
  EXPECT_EQ(body["results"][0]["p50_ns"], nullptr);
  EXPECT_DOUBLE_EQ(body["results"][0]["mean_ns"], 616974);
}

TEST(UcxPerftest, TheCommandBeforeATableTellsTestSizeAndMemory) {
  const std::string text =
      "$ UCX_TLS=rc,cuda UCX_NET_DEVICES=mlx5_0:1 ucx_perftest node2 -t ucp_put_bw -s 65536 -m cuda "
      "\\\n  -O 16 -n 1000\n" +
      std::string(kNew) +
      "Final:   1000   0.2   5.9   5.9   10600.00   10600.00   169600   169600\n";
  const Json body = one(text);
  EXPECT_EQ(body["results"][0]["operation"], "write");
  EXPECT_EQ(body["results"][0]["size_bytes"], 65536);
  EXPECT_EQ(body["results"][0]["memory"], "cuda");
  EXPECT_EQ(body["results"][0]["depth"], 16) << "the command goes on in the next line";
  EXPECT_EQ(body["resolved"]["details"]["ucx_tls"], "rc,cuda");
}

TEST(UcxPerftest, TestsOfUctAreThoseOfAnotherLayer) {
  const std::string text =
      "$ ucx_perftest node2 -t am_bw -n 10000 -s 2046 -x rc_mlx5 -d mlx5_0:1\n" +
      std::string(kNew) +
      "Final:     10000     0.716     0.741     0.741    2633.63    2633.63   1349871   1349871\n";
  const Json body = one(text);
  EXPECT_EQ(body["resolved"]["backend"], "uct");
  EXPECT_EQ(body["resolved"]["transport"], "rc_mlx5");
  EXPECT_EQ(body["resolved"]["device"], "mlx5_0:1");
  EXPECT_EQ(body["results"][0]["size_bytes"], 2046);
}

TEST(UcxPerftest, AnOldTableMarksNoRowAndCallsAllOfThemLatency) {
  const std::string rows =
      "      995752    14.897    15.049    15.064      32.45      32.41       66449       66383\n"
      "     1000000    14.879    15.112    15.064      32.31      32.41       66172       66382\n";
  const Json body = one("+ ucx_perftest -m cuda -t tag_bw -s 512 -w 10 10.0.26.2\n" +
                        std::string(kOld) + rows + "+ sleep 2\n");
  EXPECT_EQ(body["test"], "bandwidth");
  EXPECT_EQ(body["error"], nullptr);
  ASSERT_EQ(body["results"].size(), 1U);
  EXPECT_EQ(body["results"][0]["iterations"], 1000000);
  EXPECT_THAT(why_refused(kOld + rows, "x.txt"), HasSubstr("--as tag_lat"));
  EXPECT_EQ(one(kOld + rows, "tag_bw.txt")["test"], "bandwidth");
  EXPECT_EQ(all(kOld + rows, "x.txt", "tag_lat")[0]["test"], "latency");
}

TEST(UcxPerftest, AnOldMedianOfFewSamplesIsNone) {
  const Json body = one("$ ucx_perftest n2 -t tag_lat -n 1000\n" + std::string(kOld) +
                        "  1000   0.000   2.000   2.000   3.81   3.81   500000   500000\n");
  EXPECT_EQ(body["results"][0]["p50_ns"], nullptr);
  EXPECT_EQ(body["results"][0]["mean_ns"], 2000);
  EXPECT_THAT(body["notes"].dump(), HasSubstr("typical time was left out"));
}

TEST(UcxPerftest, ATableThatStopsIsAFailedRun) {
  const std::string cut =
      std::string(kNew) +
      "[thread 0]   9996   0.080   100.353   100.353   622.80   622.80   9965   "
      "9965\n";
  EXPECT_THAT(one(cut)["error"].get<std::string>(), HasSubstr("without its final row"));
  // 2 of the 1,000,000 that it runs unless told; and the last row was cut within.
  const std::string old = "$ ucx_perftest -d mlx5_1:1 -x rc_mlx5 -t put_lat\n" + std::string(kOld) +
                          "   586527   0.845   0.852   0.852   4.47   4.47   586527   586527\n"
                          "  1000000   0.844   0.848   0.851   4.50   4.48   589339\n";
  EXPECT_THAT(one(old)["error"].get<std::string>(), HasSubstr("without its final row"));
}

TEST(UcxPerftest, WhatUcxSaysOfAFailureIsTheError) {
  const std::string error =
      "[1750835683.514020] [n1:1392 :0]         libperf.c:1183 UCX  ERROR ucp_ep_create() failed: "
      "Destination is unreachable\n";
  const Json failed = one("$ ucx_perftest n2 -t ucp_put_bw -n 10000\n" + std::string(kNew) + error);
  EXPECT_EQ(failed["error"], "ucp_ep_create() failed: Destination is unreachable");
  EXPECT_TRUE(failed["results"].empty());
  // No table at all.
  const Json refused = one(
      "$ ucx_perftest n2 -t tag_lat\n"
      "[1.5] [n1:7:0]    perftest.c:430  UCX  ERROR client failed. connect() failed: Connection "
      "refused\n");
  EXPECT_THAT(refused["error"].get<std::string>(), HasSubstr("Connection refused"));
}

TEST(UcxPerftest, WhatMakesNoSenseIsRefusedOrLeftOut) {
  const std::string row = "Final:  10  1.0  1.0  1.0  3.81  3.81  500000  500000\n";
  EXPECT_EQ(one("|  %ile # iterations average overall |\n" + row, "tag_lat")["error"], nullptr);
  const Json huge = one("API: protocol layer\nMessage size: 18446744073709551615\n" +
                            std::string(kNew) + "Final:  10  1.0  1.0  1.0  0.00  0.00  0  0\n",
                        "tag_lat");
  EXPECT_TRUE(huge["results"].empty());
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += kNew + row;
  EXPECT_THAT(why_refused(many, "x"), HasSubstr("more than 10000"));
  // A server's own failure stands behind its lines.
  const Json failed =
      one("| API:          protocol layer     |\n| Test:         tag match latency  |\n+----+\n"
          "[1.5] [n1:7:0]  libperf.c:1580 UCX  ERROR Cannot use it: no such device\n");
  EXPECT_EQ(failed["error"], "Cannot use it: no such device");
}

TEST(UcxPerftest, AnErrorIsOfTheCommandBeforeIt) {
  const std::string error =
      "[1.5] [n1:7:0]     perftest.c:131  UCX  ERROR recv() remote closed connection\n";
  const std::string good = "$ ucx_perftest n2 -t tag_bw -n 1000 -s 4096\n" + std::string(kNew) +
                           "Final:  1000  0.2  1.000  1.000  3906.25  3906.25  1000000  1000000\n";
  const std::vector<Json> bodies = all("$ ucx_perftest n2 -t tag_lat\n" + error + "\n" + good);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(bodies[0]["error"], "recv() remote closed connection");
  EXPECT_EQ(bodies[1]["error"], nullptr);
  EXPECT_FALSE(bodies[1]["suspect"]);
  // One that ended all the same.
  const Json disturbed = one(good + error);
  EXPECT_EQ(disturbed["error"], nullptr);
  EXPECT_TRUE(disturbed["suspect"]);
}

TEST(UcxPerftest, WarningsAreNotes) {
  const Json body =
      one("$ ucx_perftest n2 -t tag_lat -n 10\n"
          "[1.5] [n1:7:0]   perftest.c:808  UCX  WARN  CPU affinity is not set (bound to 80 cpus). "
          "Performance may be impacted.\n" +
          std::string(kNew) + "Final:    10   2.0   2.0   2.0   3.81   3.81   500000   500000\n");
  EXPECT_EQ(body["error"], nullptr);
  EXPECT_THAT(body["notes"].dump(), HasSubstr("CPU affinity is not set"));
}

TEST(UcxPerftest, AScriptsHeadlineNamesTheTest) {
  const std::string row =
      "Final:    1000     0.240  1675.942  1671.351  46615.58  46743.62   597   598\n";
  const std::vector<Json> bodies = all("====== tag_bw ======\n" + std::string(kNew) + row +
                                       "\n==== tag_sync_bw ====\n" + kNew + row);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(bodies[0]["results"][0]["operation"], "send");
  EXPECT_EQ(bodies[0]["results"][0]["size_bytes"], 81920000)
      << "the rate times the time is near it, and people write such numbers";
  EXPECT_EQ(bodies[1]["results"][0]["operation"], "send-synchronous");
}

TEST(UcxPerftest, TheCsvOfThreadsHadALabelWithinItsRows) {
  const std::string text =
      "message_size,iterations,typical_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
      "8,Final:    10000000,0.126,121.09,15871492\n"
      "4096,Final:    10000000,0.737,10598.49,2713214\n";
  const std::vector<Json> bodies = all(text, "tag_bw.csv");
  ASSERT_EQ(bodies.size(), 2U) << "the names of a batch's tests differ";
  EXPECT_EQ(bodies[0]["results"][0]["size_bytes"], 8);
  EXPECT_EQ(bodies[1]["results"][0]["size_bytes"], 4096);
  EXPECT_EQ(bodies[1]["results"][0]["messages_per_s"], 2713214);
}

TEST(UcxPerftest, ALoopOverSizesIsOneCurve) {
  std::string text;
  for (const auto& [size, rate] : {std::pair{1024, "1024.00"}, std::pair{2048, "2048.00"}}) {
    text += "$ ucx_perftest n2 -t tag_bw -n 1000 -s " + std::to_string(size) + "\n" + kNew +
            "Final:    1000     0.2  0.954  0.954  " + rate + "  " + rate +
            "   1048576   1048576\n";
  }
  const Json body = one(text);
  ASSERT_EQ(body["results"].size(), 2U);
  EXPECT_EQ(body["results"][1]["size_bytes"], 2048);
}

TEST(UcxPerftest, ASizeThatItsRateDeniesIsNotTaken) {
  const Json body =
      one("$ ucx_perftest n2 -t tag_bw -n 1000 -s $((1024*4))\n" + std::string(kNew) +
          "Final:   1000   0.2   1.000   1.000   3906.25   3906.25   1000000   1000000\n");
  EXPECT_EQ(body["results"][0]["size_bytes"], 4096);
  const Json denied =
      one("$ ucx_perftest n2 -t tag_bw -n 1000 -s 64K\n" + std::string(kNew) +
          "Final:   1000   0.2   1.000   1.000   61.04   61.04   1000000   1000000\n");
  EXPECT_EQ(denied["results"][0]["size_bytes"], 64) << "as it reads 64K";
  const Json few =
      one(std::string(kNew) + "Final:   100   0.2   0.2   350.000   0.00   0.00   2   2857\n");
  EXPECT_TRUE(few["results"].empty());
  EXPECT_THAT(few["error"].get<std::string>(), HasSubstr("size is not told"));
}

TEST(UcxPerftest, GroupsOfDigitsTagsAndComments) {
  std::string text;
  for (const std::string& line :
       {std::string("|    Stage     | # iterations | 50.0%ile | average | overall |  average |  "
                    "overall |  average  |  overall  |"),
        std::string("Final:     1,000,000   2.457   2.460   2.463   3.10   3.10   406,432   "
                    "406,036")}) {
    text += "[1,0]<stdout>:" + line + "\n";
  }
  const Json body = one(text, "tag_lat.log");
  EXPECT_EQ(body["results"][0]["iterations"], 1000000);
  EXPECT_EQ(body["results"][0]["size_bytes"], 8);
}

}  // namespace
}  // namespace rdmabench::inline v1::import
