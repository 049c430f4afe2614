// The writer against what perftest 4.5 printed: the same numbers must give the same bytes.
#include "report/perftest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "samples.h"

namespace rdmabench::inline v1::report {
namespace {

std::string number_text(const Report& report, PerftestNumber number,
                        const PerftestStyle& style = {}) {
  return PerftestText(style, number).more(report, true);
}

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A file of tests/perftest/real/, from the rule above the title on: warnings come before it.
std::string real(const std::string& name) {
  std::ifstream file(std::string(PERFTEST_REAL) + "/" + name + ".txt");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::size_t title = all.find("\n                    ");
  EXPECT_NE(title, std::string::npos) << name << " is not there";
  return all.substr(all.rfind('\n', title - 1) + 1);
}

struct Numbers {
  std::string_view qpn, psn, rkey = "", vaddr = "";
};

/// What Soft-RoCE's facts were in that guest.
Report report_of(const Numbers& local, const Numbers& remote) {
  constexpr std::string_view kGid = "::ffff:10.77.0.1";
  Report report;
  report.resolved.backend = "verbs";
  report.resolved.device = "rxe0:1";
  report.resolved.transport = "rc";
  Facts& facts = report.resolved.details;
  const auto add = [&](std::string name, std::string_view value) {
    if (!value.empty()) facts.push_back({std::move(name), std::string(value)});
  };
  add("link_layer", "Ethernet");
  add("mtu", "4096");
  add("gid_index", "1");
  add("inline", "0");
  add("max_rd_atomic", "128");
  add("gid", kGid);
  add("qpn", local.qpn);
  add("psn", local.psn);
  add("rkey", local.rkey);
  add("vaddr", local.vaddr);
  add("remote_gid", kGid);
  add("remote_qpn", remote.qpn);
  add("remote_psn", remote.psn);
  add("remote_rkey", remote.rkey);
  add("remote_vaddr", remote.vaddr);
  facts.push_back({"relaxed_ordering", true});
  return report;
}

void set_fact(Facts& facts, const std::string& name, const std::string& value) {
  for (Fact& fact : facts) {
    if (fact.name == name) fact.value = value;
  }
}

BandwidthResult bandwidth(const std::string& operation, std::uint64_t size,
                          std::uint64_t iterations, double peak, double average, double mpps,
                          double unit_bits = 8.0 * 1024 * 1024) {
  BandwidthResult row;
  row.operation = operation;
  row.size_bytes = size;
  row.iterations = iterations;
  row.depth = 128;
  row.bits_per_s = average * unit_bits;
  row.peak_bits_per_s = peak * unit_bits;
  row.messages_per_s = mpps * 1e6;
  return row;
}

LatencyResult latency(const std::string& operation, const std::string& kind, double min, double max,
                      double median, double mean, double stddev, double p99, double p999) {
  LatencyResult row;
  row.operation = operation;
  row.kind = kind;
  row.size_bytes = 8;
  row.iterations = 200;
  row.latency = {.count = 200,
                 .min_ns = min * 1e3,
                 .p50_ns = median * 1e3,
                 .p99_ns = p99 * 1e3,
                 .p999_ns = p999 * 1e3,
                 .max_ns = max * 1e3,
                 .mean_ns = mean * 1e3,
                 .stddev_ns = stddev * 1e3};
  return row;
}

Report bandwidth_report(Report report, const BandwidthResult& row) {
  report.config.push_back({"signal_every", std::uint64_t{100}});
  report.results = std::vector{row};
  return report;
}

TEST(Perftest, SendBandwidth) {
  const Report report = bandwidth_report(report_of({"0x12", "0x86502e"}, {"0x11", "0x8465a6"}),
                                         bandwidth("send", 4096, 200, 57.99, 33.82, 0.008658));
  EXPECT_EQ(to_perftest(report), real("ib_send_bw"));
}

TEST(Perftest, AMappedGidMayBeNamedByItsIpv4Address) {
  Report report = bandwidth_report(report_of({"0x12", "0x86502e"}, {"0x11", "0x8465a6"}),
                                   bandwidth("send", 4096, 200, 57.99, 33.82, 0.008658));
  for (Fact& fact : report.resolved.details) {
    if (fact.name.ends_with("gid")) fact.value = "10.77.0.1";
  }
  EXPECT_EQ(to_perftest(report), real("ib_send_bw"));
}

TEST(Perftest, AtomicBandwidth) {
  const Report report = bandwidth_report(report_of({"0x17", "0x747b79"}, {"0x18", "0xd210d0"}),
                                         bandwidth("fetch-add", 8, 200, 0.37, 0.26, 0.034573));
  EXPECT_EQ(to_perftest(report), real("ib_atomic_bw"));
}

TEST(Perftest, Gigabits) {
  const Numbers local{"35", "212958", "0x155a", "0x55fe8be36000"};  // decimal is as good
  const Report report =
      bandwidth_report(report_of(local, {"0x24", "0x2eed7e", "0x14ed", "0x5572ab39e000"}),
                       bandwidth("write", 4096, 200, 0.39, 0.15, 0.004688, 1e9));
  EXPECT_EQ(to_perftest(report, {.gigabits = true}), real("ib_write_bw_gbits"));
}

TEST(Perftest, FewGigabitsHaveMoreDigits) {
  const Report report =
      bandwidth_report(report_of({"0x26", "0xdce642", "0x17b5", "0x55a1769c1000"},
                                 {"0x25", "0x54fa2e", "0x1688", "0x5602f053f000"}),
                       bandwidth("write", 8, 200, 0.002807, 0.001231, 0.019239, 1e9));
  EXPECT_EQ(to_perftest(report, {.gigabits = true}), real("ib_write_bw_gbits_small"));
}

TEST(Perftest, BothWays) {
  BandwidthResult row = bandwidth("write", 4096, 200, 114.40, 72.25, 0.018495);
  row.direction = "both_ways";
  const Report report =
      bandwidth_report(report_of({"0x28", "0x388d2a", "0x187f", "0x55b0d6a90000"},
                                 {"0x27", "0xfd0762", "0x19b1", "0x560bc9586000"}),
                       row);
  EXPECT_EQ(to_perftest(report), real("ib_write_bw_b"));
}

TEST(Perftest, FourQueuePairsAndPostLists) {
  Report report = report_of({"0x32,0x33,0x34,0x35", "0xadc1ee,0x66d040,0x51ac8a,0x291211", "0x2380",
                             "0x55efb3ec7000,0x55efb3ec8000,0x55efb3ec9000,0x55efb3eca000"},
                            {"0x31,0x36,0x37,0x38", "0x9c21cd,0x9bfc33,0x75b501,0xcf96bc", "0x229e",
                             "0x562ec0b1c000,0x562ec0b1d000,0x562ec0b1e000,0x562ec0b1f000"});
  report.config = {{"queue_pairs", std::uint64_t{4}},
                   {"post_list", std::uint64_t{2}},
                   {"signal_every", std::uint64_t{2}}};
  report.results = std::vector{bandwidth("write", 4096, 800, 60.75, 56.18, 0.014382)};
  EXPECT_EQ(to_perftest(report), real("ib_write_bw_q4"));
}

TEST(Perftest, Events) {
  Report report = bandwidth_report(report_of({"0x3a", "0x60bf61"}, {"0x39", "0x755266"}),
                                   bandwidth("send", 4096, 200, 58.43, 38.54, 0.009865));
  report.config.push_back({"events", true});
  EXPECT_EQ(to_perftest(report), real("ib_send_bw_e"));
  report.config.push_back({"threads", std::uint64_t{2}});
  EXPECT_THAT(to_perftest(report), Not(HasSubstr("_comp0")));  // nor _comp1 alone
  report.config.push_back({"completion_vector", std::uint64_t{3}});
  EXPECT_THAT(to_perftest(report), HasSubstr("_comp3"));
}

TEST(Perftest, ConnectionManager) {
  Report report = bandwidth_report(report_of({"0x3f", "0x89bb0e"}, {"0x40", "0xeab45f"}),
                                   bandwidth("write", 4096, 200, 61.01, 55.90, 0.014310));
  report.config.push_back({"rdma_cm", true});
  EXPECT_EQ(to_perftest(report), real("ib_write_bw_R"));
}

Report write_latency() {
  Report report = report_of({"0x1b", "0xa1f226", "0xc5c", "0x556c65185000"},
                            {"0x1c", "0x38d436", "0xdd8", "0x55afab9ac000"});
  report.resolved.details.pop_back();  // perftest turns relaxed ordering off here
  report.results = std::vector{
      latency("write", "half_round_trip", 10.52, 227.98, 10.72, 12.18, 9.05, 129.20, 227.98)};
  return report;
}

TEST(Perftest, WriteLatency) {
  EXPECT_EQ(to_perftest(write_latency()), real("ib_write_lat"));
}

TEST(Perftest, ReadLatency) {
  Report report = report_of({"0x1e", "0xca28b4", "0xf80", "0x55ca96241000"},
                            {"0x1d", "0x873dea", "0xe19", "0x5595ec773000"});
  report.results = std::vector{
      latency("read", "completion", 33.71, 229.83, 34.30, 36.86, 15.03, 214.53, 229.83)};
  EXPECT_EQ(to_perftest(report), real("ib_read_lat"));
}

TEST(Perftest, LatencyByDurationIsShort) {
  Report report = write_latency();
  set_fact(report.resolved.details, "qpn", "0x2d");
  set_fact(report.resolved.details, "psn", "0xcfa817");
  set_fact(report.resolved.details, "rkey", "0x1e3d");
  set_fact(report.resolved.details, "vaddr", "0x557a84e6d000");
  set_fact(report.resolved.details, "remote_qpn", "0x2e");
  set_fact(report.resolved.details, "remote_psn", "0xb2a1ec");
  set_fact(report.resolved.details, "remote_rkey", "0x1f88");
  set_fact(report.resolved.details, "remote_vaddr", "0x565483f54000");
  report.config.push_back({"duration_s", 2.0});
  auto& row = std::get<std::vector<LatencyResult>>(report.results)[0];
  row.iterations = 12534;
  row.latency.mean_ns = 1e9 / 6265.87 / 2;  // two messages are one transaction
  EXPECT_EQ(to_perftest(report), real("ib_write_lat_D"));
}

TEST(Perftest, TicksAreNamedAsWhatTheyAre) {
  Report report = write_latency();
  report.clock = Clock{"tsc", "", 0.5, 0, 0, 0};
  const std::string text = to_perftest(report, {.cycles = true});
  EXPECT_THAT(text, HasSubstr("t_min[cycles]"));
  EXPECT_THAT(text, HasSubstr(" 21040.00 "));
}

TEST(Perftest, TheProcessorsAreAColumnMore) {
  const Report report =
      bandwidth_report(write_latency(), bandwidth("write", 4096, 20400, 0, 39.77, 0.010182));
  const PerftestStyle style{
      .cpu_percent = [](std::uint64_t size) { return size == 4096 ? 1.97 : 0; }};
  const std::string text = to_perftest(report, style);
  const std::string theirs = real("ib_write_bw_cpu");
  EXPECT_EQ(text.substr(text.find(" #bytes")), theirs.substr(theirs.find(" #bytes")));
}

TEST(Perftest, ComesRowByRow) {
  const Report report = bandwidth_sample();
  Report begun = report;
  std::get<std::vector<BandwidthResult>>(begun.results).resize(1);
  PerftestText text;
  const std::string first = text.more(begun, false);
  EXPECT_THAT(first, HasSubstr("\n 64  "));
  EXPECT_EQ(text.more(begun, false), "");
  EXPECT_EQ(first + text.more(report, true), to_perftest(report));
}

TEST(Perftest, NoPeakIsZero) {
  const std::string text = to_perftest(bandwidth_sample(), {.peak = false});
  EXPECT_THAT(text, HasSubstr(" 64         5000000          0.00               152.59 "));
}

TEST(Perftest, AnUnspecifiedLinkIsCalledAsPerftestDoes) {
  Report report = bandwidth_report(report_of({"0x12", "0x86502e"}, {"0x11", "0x8465a6"}),
                                   bandwidth("send", 4096, 200, 57.99, 33.82, 0.008658));
  set_fact(report.resolved.details, "link_layer", "EFA");
  EXPECT_THAT(to_perftest(report),
              AllOf(HasSubstr("Transport type : Unknown\n"), HasSubstr("Link type       : IB\n")));
}

TEST(Perftest, WithoutVerbsThereAreNoAddresses) {
  const std::string text = to_perftest(bandwidth_sample());
  EXPECT_THAT(text, Not(HasSubstr("address:")));
  EXPECT_THAT(text, HasSubstr("Transport type : ofi\n"));
  EXPECT_THAT(text, Not(HasSubstr("GID")));
}

TEST(Perftest, APeersWordsAreHarmless) {
  for (const char c : to_perftest(hostile_sample())) {
    EXPECT_TRUE(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20);
  }
  to_perftest(failed_sample());
  EXPECT_TRUE(nlohmann::json::accept(to_perftest_json(hostile_sample())));
  EXPECT_TRUE(nlohmann::json::accept(to_perftest_json(failed_sample())));
}

TEST(PerftestNumber, IsALineForEachSize) {
  EXPECT_EQ(number_text(bandwidth_sample(), PerftestNumber::bandwidth, {.gigabits = true}),
            "1.280000\n52.428800\n");
  EXPECT_EQ(number_text(bandwidth_sample(), PerftestNumber::message_rate), "2.500000\n0.100000\n");
  EXPECT_EQ(number_text(write_latency(), PerftestNumber::latency), "12.180000\n");
  EXPECT_EQ(number_text(write_latency(), PerftestNumber::bandwidth), "");
  EXPECT_EQ(number_text(bandwidth_sample(), PerftestNumber::latency), "");
}

TEST(PerftestJson, HasTheNewestReleasesKeysAndItsUnit) {
  Report report = bandwidth_sample();
  std::get<std::vector<BandwidthResult>>(report.results)[0].peak_bits_per_s = 1.4e9;
  const auto json = nlohmann::json::parse(to_perftest_json(report, {.gigabits = true}));
  EXPECT_EQ(json["test_info"]["test"], "Send_BW_Test");
  EXPECT_EQ(json["test_info"]["Number_of_qps"], 1);
  ASSERT_EQ(json["results"].size(), 2U) << "every size, not the last alone";
  EXPECT_EQ(json["results"][0]["MsgSize"], 64);
  EXPECT_DOUBLE_EQ(json["results"][0]["BW_average"], 1.28);
  EXPECT_DOUBLE_EQ(json["results"][0]["BW_peak"], 1.4);
  EXPECT_EQ(json["results"][0]["BW_unit"], "Gb/s");
}

TEST(PerftestJson, OneSizeIsAnObject) {
  const auto json = nlohmann::json::parse(to_perftest_json(write_latency()));
  EXPECT_DOUBLE_EQ(json["results"]["t_max"], 227.98);
  EXPECT_EQ(json["results"]["t_unit"], "usec");
  EXPECT_EQ(json["test_info"]["test"], "RDMA_Write_Latency_Test");
}

TEST(PerftestJson, HasTheSuspicions) {
  Report report = bandwidth_sample();
  EXPECT_FALSE(nlohmann::json::parse(to_perftest_json(report)).contains("not_rdma"));
  EXPECT_FALSE(nlohmann::json::parse(to_perftest_json(report)).contains("suspicions"));
  report.suspicions.push_back({.code = "noise", .text = "3 gaps", .side = "client"});
  const auto json = nlohmann::json::parse(to_perftest_json(report));
  ASSERT_EQ(json["suspicions"].size(), 1U);
  EXPECT_EQ(json["suspicions"][0]["code"], "noise");
  EXPECT_EQ(json["suspicions"][0]["text"], "3 gaps");
}

}  // namespace
}  // namespace rdmabench::inline v1::report
