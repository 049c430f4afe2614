// Whole sessions in GPU memory: the transfer that is verified before any is timed, and the step
// down to the next way of registering it, on both sides.
#include <algorithm>
#include <chrono>
#include <thread>

#include "on_fake_gpu.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/server.h"

namespace rdmabench::run {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config config_of(const std::string& memory = "cuda:0") {
  Config config;
  config.backend = "verbs";
  config.devices = {"rxe0"};
  config.gid_index = 1;
  config.memory = memory;
  config.operation = transport::OperationCode::send;
  config.shape = workload::Shape::stream;
  config.sizes = {4096};
  config.depth = 8;
  config.stop = measure::StopRule::iterations(50);
  config.timeout = std::chrono::seconds(2);
  config.watch = false;
  return config;
}

std::string fact(const report::Facts& facts, std::string_view name) {
  for (const report::Fact& one : facts) {
    if (one.name != name) continue;
    const auto* const text = std::get_if<std::string>(&one.value);
    return text != nullptr ? *text : "no text";
  }
  return "no such fact";
}

class GpuSession : public OnFakeGpu {
 protected:
  /// One session of a server that serves no other, as `ib_write_bw` without a host does.
  report::Report measure(const Config& config) {
    Server server({.address = "127.0.0.1",
                   .port = 0,
                   .sessions = 1,
                   .device = "rxe0",
                   .gid_index = 1,
                   .timeout = config.timeout},
                  [this](std::string_view line) { said_ += line; });
    std::thread serving([&] { server.run(); });
    report::Report report;
    try {
      report = run(config, "127.0.0.1", server.port(), nullptr, nullptr);
    } catch (const Error& thrown) {
      report.error = thrown.what();
      server.stop();  // it may not have heard of us
    }
    serving.join();
    return report;
  }

  static const std::vector<report::BandwidthResult>& rows(const report::Report& report) {
    return std::get<std::vector<report::BandwidthResult>>(report.results);
  }

  static std::string notes(const report::Report& report) {
    std::string all;
    for (const std::string& note : report.notes) all += note + '\n';
    return all;
  }

  std::string said_;  ///< by the server
};

TEST_F(GpuSession, TheFirstWayThatWorksIsKept) {
  const report::Report report = measure(config_of());
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_EQ(rows(report).size(), 1U);
  EXPECT_EQ(fact(report.resolved.details, "memory_route"), "dma-buf, mapping default");
  EXPECT_THAT(fact(report.resolved.details, "gpu_flush"), HasSubstr("not needed"));
  EXPECT_EQ(notes(report).find("failed"), std::string::npos) << notes(report);
}

TEST_F(GpuSession, AMappingThatMovesWrongBytesIsLeftForTheNextOnBothSides) {
  for (const auto operation : {transport::OperationCode::send, transport::OperationCode::write,
                               transport::OperationCode::read}) {
    SCOPED_TRACE(name(operation));
    fake_verbs::lose_bytes_of_mapping("default");
    Config config = config_of();
    config.operation = operation;
    const report::Report report = measure(config);
    EXPECT_EQ(report.error.value_or(""), "");
    ASSERT_EQ(rows(report).size(), 1U);
    EXPECT_EQ(rows(report)[0].iterations, 50U);
    for (const report::Facts* side : {&report.resolved.details, &report.environment.server}) {
      EXPECT_EQ(fact(*side, "memory_route"), "dma-buf, mapping pcie");
      EXPECT_THAT(
          fact(*side, "memory_routes_refused"),
          HasSubstr("dma-buf, mapping default: it registered, and the transfer to verify it "
                    "failed: "));
    }
    EXPECT_THAT(notes(report), AllOf(HasSubstr("verified before any is timed failed, with the "
                                               "client's cuda:0 by dma-buf, mapping default"),
                                     HasSubstr("The next way was taken")));
    fake_verbs::lose_bytes_of_mapping("");
  }
  EXPECT_THAT(said_, HasSubstr("messages"));
}

TEST_F(GpuSession, ATransferThatDoesNotCompleteIsSuchAFailureToo) {
  fake_verbs::fail_message(IBV_WC_REM_ACCESS_ERR);
  const report::Report report = measure(config_of());
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_EQ(rows(report).size(), 1U);
  EXPECT_EQ(fact(report.resolved.details, "memory_route"), "dma-buf, mapping pcie");
  EXPECT_THAT(notes(report), HasSubstr("IBV_WC_REM_ACCESS_ERR"));
}

TEST_F(GpuSession, ASideWhoseMemoryIsTheHostsStepsNowhere) {
  fake_verbs::lose_bytes_of_mapping("default");
  Config config = config_of("host");
  config.peer_memory = "cuda:1";
  const report::Report report = measure(config);
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_EQ(fact(report.environment.server, "memory_route"), "dma-buf, mapping pcie");
}

TEST_F(GpuSession, WhenNoMappingWorksTheLastWayIsStagedAndIsSaid) {
  fake_verbs::lose_gpu_bytes(true);
  const report::Report report = measure(config_of());
  fake_verbs::lose_gpu_bytes(false);
  EXPECT_EQ(report.error.value_or(""), "");
  ASSERT_EQ(rows(report).size(), 1U);
  EXPECT_EQ(fact(report.resolved.details, "memory_route"), "staged");
  EXPECT_EQ(fact(report.environment.server, "memory_route"), "staged");
  const std::string refused = fact(report.resolved.details, "memory_routes_refused");
  EXPECT_THAT(refused, AllOf(HasSubstr("mapping default: it registered"),
                             HasSubstr("mapping pcie: it registered")));
}

TEST_F(GpuSession, AMappingThatWasAskedForFailsAndIsNotReplaced) {
  fake_verbs::lose_bytes_of_mapping("default");
  Config config = config_of();
  config.gpu_mapping = "default";
  const report::Report report = measure(config);
  EXPECT_THAT(report.error.value_or(""),
              AllOf(HasSubstr("verified before any is timed failed"),
                    HasSubstr("dma-buf, mapping default"), HasSubstr("--gpu-mapping")));
  EXPECT_THAT(rows(report), IsEmpty());
}

TEST_F(GpuSession, WhatNoWayCuresEndsWithItsReasonAndSoDoesTheServer) {
  have({{"FAKE_CUDA_FAIL", "cuLaunchKernel:0:700"}});
  const auto begin = std::chrono::steady_clock::now();
  const report::Report report = measure(config_of());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_THAT(report.error.value_or(""),
              AllOf(HasSubstr("verified before any is timed failed"), HasSubstr("cuLaunchKernel")));
  EXPECT_THAT(rows(report), IsEmpty());
  EXPECT_NE(said_, "");
}

TEST_F(GpuSession, LatencyAndSeveralLinksStepDownToo) {
  fake_verbs::lose_bytes_of_mapping("default");
  Config config = config_of();
  config.shape = workload::Shape::latency;
  EXPECT_EQ(measure(config).error.value_or(""), "");
  config.shape = workload::Shape::duplex;
  config.links = 2;
  config.lanes = 2;
  const report::Report report = measure(config);
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_EQ(fact(report.environment.server, "memory_route"), "dma-buf, mapping pcie");
}

TEST_F(GpuSession, TheFlushIsNamedOnBothSidesAndIsOutsideOfWhatIsTimed) {
  have({{"FAKE_CUDA_ORDERING", "0"}, {"FAKE_CUDA_FLUSH", "0"}});
  fake_verbs::hold_gpu_writes(true);
  Config config = config_of();
  config.validate = true;
  config.operation = transport::OperationCode::write;
  const report::Report report = measure(config);
  fake_verbs::hold_gpu_writes(false);
  EXPECT_EQ(report.error.value_or(""), "");
  for (const report::Facts* side : {&report.resolved.details, &report.environment.server}) {
    EXPECT_THAT(fact(*side, "gpu_flush"), HasSubstr("the NIC reads a byte"));
    EXPECT_EQ(fact(*side, "memory_route"), "dma-buf, mapping default") << "at the first attempt";
  }
  EXPECT_GT(fake_verbs::gpu_reads(), 0);
}

}  // namespace
}  // namespace rdmabench::run
