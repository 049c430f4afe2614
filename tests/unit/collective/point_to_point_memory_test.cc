#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "../has_all.h"
#include "collective/commands.h"
#include "collective/point_to_point.h"
#include "rdmabench/collective/rank_group.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::inline v1::collective {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Pair;
using testing::StartsWith;

/// Measures host memory at once, and of other kinds those that `works` names.
struct Measured {
  std::string works{};
  bool staged = false;
  std::vector<std::pair<std::string, std::string>> asked{};

  PointToPointResult operator()(const std::string& memory, const std::string& peer_memory) {
    asked.emplace_back(memory, peer_memory);
    if (memory == works || memory == "host") {
      return {.to = 1,
              .bits_per_s = 1e9,
              .route = "verbs mlx5_0:1 rc, memory " + memory,
              .staged = staged && memory != "host"};
    }
    return {.to = 1, .error = memory + " cannot be registered"};
  }
};

TEST(WireMemory, IsThatOfTheRanksWhereItCanBe) {
  Measured measured{.works = "cuda:0"};
  const PointToPointResult pair = measure_in("cuda:0", "cuda:1", true, std::ref(measured));
  EXPECT_EQ(pair.bits_per_s, 1e9);
  EXPECT_EQ(pair.route, "verbs mlx5_0:1 rc, memory cuda:0");
  EXPECT_THAT(measured.asked, ElementsAre(Pair("cuda:0", "cuda:1")));
}

TEST(WireMemory, IsTheHostsWhereTheDeviceCannotRegisterIt) {
  Measured measured;
  const PointToPointResult pair = measure_in("cuda:0", "cuda:1", true, std::ref(measured));
  EXPECT_EQ(pair.bits_per_s, 1e9);
  EXPECT_EQ(pair.error, "");
  EXPECT_THAT(pair.route,
              has_all("memory host", "cuda:0 to cuda:1", "cuda:0 cannot be registered"));
  EXPECT_THAT(measured.asked, ElementsAre(Pair("cuda:0", "cuda:1"), Pair("host", "host")));
}

TEST(WireMemory, ThatWasAskedForIsNotReplaced) {
  Measured measured;
  const PointToPointResult pair = measure_in("cuda:0", "cuda:1", false, std::ref(measured));
  EXPECT_EQ(pair.error, "cuda:0 cannot be registered");
  EXPECT_THAT(measured.asked, ElementsAre(Pair("cuda:0", "cuda:1")));
}

TEST(WireMemory, ThatIsStagedIsNotTakenForTheGpus) {
  Measured measured{.works = "cuda:0", .staged = true};
  const PointToPointResult pair = measure_in("cuda:0", "cuda:1", true, std::ref(measured));
  EXPECT_FALSE(pair.staged);
  EXPECT_THAT(pair.route, has_all("memory host", "cuda:0 to cuda:1",
                                  "staged: verbs mlx5_0:1 rc, memory cuda:0"));
  EXPECT_THAT(measured.asked, ElementsAre(Pair("cuda:0", "cuda:1"), Pair("host", "host")));
}

TEST(WireMemory, ThatWasAskedForAndIsStagedIsLabelled) {
  Measured measured{.works = "cuda:0", .staged = true};
  const PointToPointResult pair = measure_in("cuda:0", "cuda:1", false, std::ref(measured));
  EXPECT_TRUE(pair.staged);
  EXPECT_THAT(pair.route, testing::StartsWith("verbs mlx5_0:1 rc, memory cuda:0, staged: "));
  EXPECT_THAT(measured.asked, ElementsAre(Pair("cuda:0", "cuda:1")));
}

TEST(WireMemory, IsKnownFromTheBackEndsFacts) {
  EXPECT_EQ(memory_of({{"library", std::string("NCCL 2.28")}, {"memory", std::string("cuda:3")}}),
            "cuda:3");
  EXPECT_EQ(memory_of({{"mpi", std::string("MPICH")}, {"memory", std::string("host")}}), "host");
  EXPECT_EQ(memory_of({}), "host");
}

TEST(WireSteps, WithoutARowThatTheyExplainANoteSaysSo) {
  control::Listener listener("127.0.0.1", 0);
  const control::BootstrapAddress address{
      .run_id = "t", .port = listener.port(), .addresses = {"127.0.0.1"}};
  const PointToPointOptions options{
      .backend = "loop", .as_nccl = true, .duration = std::chrono::milliseconds(1)};
  const Deadline deadline = Deadline::after(std::chrono::seconds(20));
  std::thread other([&] {
    EXPECT_NO_THROW({
      const auto group = RankGroup::join(address, {1, 2}, {.rank = 1, .host = "h"}, {}, deadline);
      measure_point_to_point(*group, options, {});
    });
  });
  collective::Run run;
  {
    const auto group = RankGroup::lead(listener, address, 2, {.host = "h"}, {}, deadline);
    join(run, measure_point_to_point(*group, options, run));
  }
  other.join();
  EXPECT_THAT(run.notes, Contains(StartsWith("Wire as NCCL: not measured")));
}

TEST(WirePair, WithoutARateHasAnError) {
  EXPECT_EQ(parse<PointToPointResult>(to_text(PointToPointResult{.to = 1, .bits_per_s = 1e9}), 0, 2)
                .error,
            "");
  EXPECT_EQ(parse<PointToPointResult>(to_text(PointToPointResult{.to = 1}), 0, 2).error,
            "it measured nothing");
}

}  // namespace
}  // namespace rdmabench::inline v1::collective
