// The rows and the facts of a report.
#include "rdmabench/results/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "rdmabench/report/documents.h"
#include "results/not_rdma.h"

namespace rdmabench::inline v1::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Report, GivesItsRowsByTheirShape) {
  Report report;
  report.results = std::vector<LatencyResult>(2);
  EXPECT_EQ(report.latency().size(), 2);
  report.results = std::vector<LoadResult>(3);
  EXPECT_EQ(report.load().size(), 3);
  EXPECT_THAT(complaint([&] { report.latency(); }, Fault::usage),
              AllOf(HasSubstr("latency()"), HasSubstr("load run"), HasSubstr("Ask it for load()")));
  report.results = std::vector<BandwidthResult>(1);
  EXPECT_EQ(report.bandwidth().size(), 1);
}

TEST(Report, FindsAFactByTheNameThatCompareGivesIt) {
  Report report;
  report.config = {{"depth", std::uint64_t{8}}};
  report.resolved.details = {{"mtu", "4096"}};
  report.environment.client = {{"kernel", "6.1"}};
  report.environment.server = {{"kernel", "6.8"}};
  report.conditions.server = {{"watched_ns", 5.0}};
  const auto text = [&](std::string_view name) {
    const Fact* const fact = report.find(name);
    return fact == nullptr ? "none" : std::get<std::string>(fact->value);
  };
  EXPECT_EQ(std::get<std::uint64_t>(report.find("config.depth")->value), 8);
  EXPECT_EQ(text("details.mtu"), "4096");
  EXPECT_EQ(text("environment.client.kernel"), "6.1");
  EXPECT_EQ(text("environment.server.kernel"), "6.8");
  EXPECT_EQ(std::get<double>(report.find("conditions.server.watched_ns")->value), 5);
  for (const char* const name :
       {"", "config.", "depth", "config.dept", "environment.kernel", "resolved.device"}) {
    EXPECT_EQ(text(name), "none") << name;
  }
}

TEST(Report, SaysThatItIsNotRdmaWhereNobodyAskedForTcp) {
  Report report;
  report.resolved.backend = "ofi";
  report.resolved.provider = "tcp;ofi_rxm";
  report.resolved.device = "eth0";
  report.environment.client = {{"hostname", "a"}, {"rdma_devices", std::uint64_t{0}}};
  report.environment.server = {{"hostname", "b"}, {"rdma_devices", std::uint64_t{0}}};
  EXPECT_EQ(
      not_rdma(report),
      "NOT RDMA: measured over ofi, provider tcp;ofi_rxm, device eth0, no RDMA device on 2 of "
      "2 nodes");
  EXPECT_THAT(to_table({&report, 1}, false), StartsWith("NOT RDMA: "));
  EXPECT_THAT(to_json(report), HasSubstr("\"not_rdma\": \"NOT RDMA: "));
  const Document document = to_document(report);
  EXPECT_THAT(to_markdown({&document, 1}), HasSubstr("NOT RDMA: measured over ofi"));
  report.environment.server = report.environment.client;
  EXPECT_THAT(not_rdma(report), HasSubstr(" 1 of 1 nodes"));
  report.config = {{"provider", "tcp"}};
  EXPECT_EQ(not_rdma(report), "");
  report.config = {{"ucx_tls", "tcp"}};
  EXPECT_EQ(not_rdma(report), "");
  report.config.clear();
  report.resolved.provider = "efa";
  EXPECT_EQ(not_rdma(report), "");
}

}  // namespace
}  // namespace rdmabench::inline v1::report
