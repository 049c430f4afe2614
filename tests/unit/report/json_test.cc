#include "rdmabench/results/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "results/row.h"
#include "samples.h"

namespace rdmabench::inline v1::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

TEST(DocumentText, IsAsciiAndSaysTheSame) {
  const Json document{{"node",
                       "M\xc3\xbc\xc2\x9b"
                       "31m\xe2\x80\xae"}};
  const std::string text = document_text(document);
  for (const char byte : text) EXPECT_LT(static_cast<unsigned char>(byte), 0x7F) << text;
  EXPECT_EQ(Json::parse(text), document);
}

TEST(Json, WritesOneDocument) {
  Report report = bandwidth_sample();
  std::get<std::vector<BandwidthResult>>(report.results).pop_back();
  report.environment.client = {{"hostname", "left"}, {"cpus_online", std::uint64_t{2}}};
  report.resolved.details = {{"inline", true}};
  EXPECT_EQ(to_json(report), R"({
  "schema": "rdmabench/1",
  "test": "bandwidth",
  "error": null,
  "failure": null,
  "suspect": false,
  "suspicions": [],
  "environment": {
    "client": [
      {
        "name": "hostname",
        "value": "left"
      },
      {
        "name": "cpus_online",
        "value": 2
      }
    ],
    "server": []
  },
  "config": {
    "op": "send",
    "provider": "tcp"
  },
  "resolved": {
    "backend": "ofi",
    "provider": "tcp;ofi_rxm",
    "device": "lo",
    "transport": "rdm",
    "reason": "",
    "details": {
      "inline": true
    }
  },
  "clock": {
    "source": "CLOCK_MONOTONIC_RAW",
    "reason": "",
    "ns_per_tick": 1.0,
    "relative_error": 0.0,
    "stamp_overhead_ns": 30.0,
    "resolution_ns": 25.0
  },
  "conditions": {
    "client": [],
    "server": []
  },
  "counters": {
    "client": [],
    "server": []
  },
  "results": [
    {
      "operation": "send",
      "backend": "ofi",
      "provider": "tcp;ofi_rxm",
      "device": "lo",
      "direction": "one_way",
      "completion": "receiver_confirmed",
      "size_bytes": 64,
      "iterations": 5000000,
      "warmup_iterations": 1000,
      "depth": 128,
      "bits_per_s": 1280000000.0,
      "bits_per_s_low": 1250000000.0,
      "bits_per_s_high": 1300000000.0,
      "messages_per_s": 2500000.0,
      "elapsed_ns": 2000000000.0,
      "duty": 1.0,
      "peak_bits_per_s": null,
      "offered_messages_per_s": null,
      "lost": null,
      "succeeded": null,
      "intervals": [],
      "validated": false,
      "stable": true,
      "complete": true,
      "spread": 0.015625,
      "launches": 1,
      "notes": [
        "The governor is powersave."
      ]
    }
  ],
  "notes": [
    "Both sides share one CPU."
  ]
}
)");
}

TEST(Json, CarriesEveryNumberOfALatencyExactly) {
  Report report = latency_sample();
  auto& rows = std::get<std::vector<LatencyResult>>(report.results);
  rows[0].latency.p50_ns = 1234.0625 / 3;
  const Json result = Json::parse(to_json(report))["results"][0];
  EXPECT_EQ(result["p50_ns"].get<double>(), 1234.0625 / 3);
  EXPECT_EQ(result["min_ns"], 1000);
  EXPECT_EQ(result["p90_ns"], 1500);
  EXPECT_EQ(result["p99_ns"], 1750);
  EXPECT_EQ(result["p999_ns"], 2000);
  EXPECT_EQ(result["p9999_ns"], 2250);
  EXPECT_EQ(result["max_ns"], 12500);
  EXPECT_EQ(result["mean_ns"], 1300.5);
  EXPECT_EQ(result["stddev_ns"], 250);
  EXPECT_EQ(result["mad_ns"], 125);
  EXPECT_EQ(result["median_low_ns"], 1240);
  EXPECT_EQ(result["median_high_ns"], 1260);
  EXPECT_EQ(result["kind"], "half_round_trip");
  EXPECT_EQ(result["signal"], "memory-poll");
}

TEST(Json, MarksASuspectRunAndSaysWhy) {
  const Json document = Json::parse(to_json(latency_sample()));
  EXPECT_EQ(document["suspect"], true);
  EXPECT_EQ(document["suspicions"][0]["code"], "retransmissions");
  EXPECT_EQ(document["suspicions"][0]["text"], "3 packets were sent again.");
  EXPECT_EQ(document["conditions"]["client"][0]["value"], 4250);
  EXPECT_EQ(document["conditions"]["server"][0]["name"], "thread0_cpus");
}

TEST(Json, CarriesCountersOfBothSides) {
  const Json counters = Json::parse(to_json(latency_sample()))["counters"];
  EXPECT_EQ(counters["client"][0]["device"], "rxe0:1");
  EXPECT_EQ(counters["client"][0]["name"], "sequence_naks_received");
  EXPECT_EQ(counters["client"][0]["class"], "retransmission");
  EXPECT_EQ(counters["client"][0]["source"], "hw_counters/rcvd_seq_err");
  EXPECT_EQ(counters["client"][0]["change"], 3);
  EXPECT_EQ(counters["client"][0]["at_least"], false);
  EXPECT_EQ(counters["server"][0]["at_least"], true);
  EXPECT_TRUE(counters["server"][1]["change"].is_null());
}

TEST(Json, NamesThePercentilesThatTheSamplesCannotSupport) {
  const Json results = Json::parse(to_json(latency_sample()))["results"];
  EXPECT_THAT(results[0]["unsupported_percentiles"], ElementsAre("p99_ns", "p999_ns", "p9999_ns"));
  EXPECT_THAT(results[1]["unsupported_percentiles"], IsEmpty());
}

TEST(Json, WritesNullForAnUnknownInterval) {
  const Json result = Json::parse(to_json(bandwidth_sample()))["results"][1];
  EXPECT_TRUE(result["bits_per_s_low"].is_null());
  EXPECT_TRUE(result["bits_per_s_high"].is_null());
}

TEST(Json, KeepsPartialResultsBesideTheError) {
  Report report = latency_sample();
  report.error = "the server died";
  const Json document = Json::parse(to_json(report));
  EXPECT_EQ(document["error"], "the server died");
  EXPECT_EQ(document["results"].size(), 2U);
  EXPECT_TRUE(Json::parse(to_json(failed_sample()))["clock"].is_null());
}

TEST(Json, SurvivesWhateverAPeerSays) {
  const Json document = Json::parse(to_json(hostile_sample()));
  EXPECT_EQ(document["environment"]["server"][0]["value"].get<std::string>(),
            std::string("\"a\",\r\nb\x1b[2J\xef\xbf\xbd\xc2\x9b;\0", 18));
  EXPECT_TRUE(document["environment"]["server"][1]["value"].is_null());
  EXPECT_TRUE(document["clock"]["ns_per_tick"].is_null());
  EXPECT_TRUE(document["results"][0]["max_ns"].is_null());
}

TEST(Json, HoldsSeveralDocumentsUnderOneSchema) {
  const std::array reports{latency_sample(), bandwidth_sample()};
  const Json json = Json::parse(to_json(reports));
  EXPECT_EQ(json["schema"], "rdmabench/1");
  ASSERT_EQ(json["documents"].size(), 2U);
  EXPECT_EQ(json["documents"][0], Json::parse(to_json(reports[0])));
  EXPECT_EQ(json["documents"][1]["test"], "bandwidth");
}

}  // namespace
}  // namespace rdmabench::inline v1::report
