// A latency test of write, over a device whose packets may come in any order: where polling the
// last byte would be wrong, each write carries an immediate, and the row says which it was.
#include <on_fake_verbs.h>

#include "rdmabench/run/client.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMtu = 1024;  // of the fake device's port

struct Nic {
  bool data_in_order = false;
  bool last_packet_first = false;
};

class WriteArrival : public OnFakeVerbs {
 protected:
  static void have(const Nic& nic) {
    fake_verbs::Device device = fake_verbs::soft_roce();
    device.data_in_order = nic.data_in_order;
    device.last_packet_first = nic.last_packet_first;
    fake_verbs::reset({device});
  }

  static Config config() {
    Config config;
    config.backend = "verbs";
    config.traffic.operation = transport::OperationCode::write;
    config.sizes = {8, kMtu, kMtu + 1, 8 * kMtu};
    config.stop = measure::StopRule::iterations(20);
    config.warmup = 4;
    config.timeout = std::chrono::seconds(5);
    config.traffic.validate = true;
    config.traffic.watch = false;
    return config;
  }

  static std::vector<report::LatencyResult> rows(const Config& config) {
    const report::Report report = run_in_process(config);
    EXPECT_EQ(report.error.value_or(""), "");
    return std::get<std::vector<report::LatencyResult>>(report.results);
  }

  static std::vector<std::string> signals(const std::vector<report::LatencyResult>& rows) {
    std::vector<std::string> all;
    for (const report::LatencyResult& row : rows) all.push_back(row.signal);
    return all;
  }
};

TEST_F(WriteArrival, AboveOnePacketNothingIsPolledThatWasNotPromised) {
  have({.last_packet_first = true});
  const std::vector<report::LatencyResult> got = rows(config());
  EXPECT_THAT(signals(got),
              ElementsAre("memory-poll", "memory-poll", "remote-cq-data", "remote-cq-data"));
  for (const report::LatencyResult& row : got) EXPECT_EQ(row.operation, "write");
  ASSERT_EQ(got.size(), 4U);
  EXPECT_THAT(got[1].notes, ElementsAre(HasSubstr("not promised by the devices")));
  EXPECT_THAT(got[2].notes, ElementsAre(HasSubstr("an immediate: above 1024 bytes")));
}

TEST_F(WriteArrival, WhatIsPromisedIsPolledAtEverySize) {
  have({.data_in_order = true});
  const std::vector<report::LatencyResult> got = rows(config());
  EXPECT_THAT(signals(got),
              ElementsAre("memory-poll", "memory-poll", "memory-poll", "memory-poll"));
  for (const report::LatencyResult& row : got) EXPECT_THAT(row.notes, IsEmpty());
}

TEST_F(WriteArrival, WithRelaxedOrderingNothingIsPolled) {
  have({.data_in_order = true, .last_packet_first = true});
  Config relaxed = config();
  relaxed.endpoint.relaxed_ordering = true;
  const std::vector<report::LatencyResult> got = rows(relaxed);
  EXPECT_THAT(signals(got),
              ElementsAre("remote-cq-data", "remote-cq-data", "remote-cq-data", "remote-cq-data"));
  EXPECT_THAT(got.at(0).notes, ElementsAre(HasSubstr("may become visible before others")));
}

TEST_F(WriteArrival, WithAnIdleTargetTheInitiatorsCompletionIsTheSignal) {
  have({});
  Config idle = config();
  idle.traffic.validate = false;
  idle.traffic.target_idle = true;
  for (const report::LatencyResult& row : rows(idle)) EXPECT_EQ(row.signal, "completion");
}

}  // namespace
}  // namespace rdmabench::inline v1::run
