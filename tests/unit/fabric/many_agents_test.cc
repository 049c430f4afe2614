// Many agents of simulated links at the other end of real control channels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "control/readiness.h"
#include "fabric/stream.h"
#include "fake_agents.h"
#include "lead.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {
namespace {

using control::Channel;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Deadline plenty() {
  return Deadline::after(std::chrono::seconds(100));
}

/// All the agents of a run in one thread.
class Crowd {
 public:
  Crowd(std::uint32_t size, std::uint16_t port, std::string run_id)
      : size_(size), port_(port), run_id_(std::move(run_id)) {}

  /// Until every one of them was sent home, or away.
  void run() {
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      channels_.push_back(Channel::connect("127.0.0.1", port_, plenty()));
      readiness_.watch(channels_.back(), rank);
      channels_.back().send(control::AdmissionMessage::hello,
                            to_text(control::RankHello{.run_id = run_id_,
                                                       .rank = rank,
                                                       .size = size_,
                                                       .host = "host" + std::to_string(rank)}),
                            plenty());
    }
    std::vector<bool> home(size_, false);
    for (std::uint32_t left = size_; left > 0;) {
      for (const std::uint64_t key : readiness_.wait(plenty())) {
        const auto rank = static_cast<std::uint32_t>(key);
        while (!home[rank]) {
          const std::optional<control::Message> message =
              channels_[rank].receive_ready("next message");
          if (!message) break;
          home[rank] = !answer(rank, *message);
          if (home[rank]) --left;
        }
      }
    }
  }

 private:
  bool answer(std::uint32_t rank, const control::Message& message) {
    Channel& channel = channels_[rank];
    if (message.type == control::AdmissionMessage::welcome) return true;
    switch (message.type.as<FabricMessage>()) {
      case FabricMessage::plan:
        plan_ = parse<PlanOrder>(message.payload).plan;
        channel.send(FabricMessage::ready,
                     to_text(Ready{.rails = {"simulated"}, .ports = {1}, .environment = {}}),
                     plenty());
        return true;
      case FabricMessage::order: {
        const MeasureOrder order = parse<MeasureOrder>(message.payload);
        channel.send(
            FabricMessage::results,
            to_text(Results{
                .number = order.number, .last = true, .cells = answers(order, plan_, rank)}),
            plenty());
        return true;
      }
      case FabricMessage::ready:
        channel.send(FabricMessage::ready, {}, plenty());
        return true;
      default:
        return false;
    }
  }

  std::uint32_t size_;
  std::uint16_t port_;
  std::string run_id_;
  FabricPlan plan_;
  std::vector<Channel> channels_;
  control::Readiness readiness_;
};

bool allow_files(rlim_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= wanted;
}

TEST(ManyAgents, GoThroughEightRounds) {
  // A slow build sees in fewer what it would see in all of them.
  constexpr std::uint32_t kAgents = RDMABENCH_SEEDS > 20 ? 1024 : 128;
  if (!allow_files(2 * kAgents + 200)) GTEST_SKIP() << "too few file descriptors";
  control::Listener listener("127.0.0.1", 0);
  FabricOptions options;
  options.plan.pattern = "random";
  options.plan.rounds = 8;
  const std::string run_id = "of this run";
  options.wait = std::chrono::seconds(100);
  options.confirm = false;
  options.output = ::testing::TempDir() + "/fabric_many_agents_test.jsonl";
  Crowd crowd(kAgents, listener.port(), run_id);
  std::thread agents([&] { crowd.run(); });
  const FabricResult outcome = lead(options, prepare(options, kAgents), run_id, listener);
  agents.join();
  EXPECT_THAT(outcome.matrix.lost, IsEmpty());
  EXPECT_THAT(outcome.matrix.measurements, SizeIs(8 * kAgents * 2));
  ASSERT_THAT(outcome.costs, SizeIs(8));
  double most = 0;
  for (const RoundCost& cost : outcome.costs) most = std::max(most, cost.own_ms);
  // A time gates nothing here; docs/fabric.md has what it was.
  std::printf("the coordinator's own time in the worst of 8 rounds of %u agents: %.1f ms\n",
              kAgents, most);
  EXPECT_THAT(read_stream(options.output).measurements, SizeIs(8 * kAgents * 2));
  std::remove(options.output.c_str());
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric
