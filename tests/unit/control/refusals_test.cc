#include "control/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rdmabench::inline v1::control {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Refusals whose lines are kept, at a time of its own.
struct Kept {
  Kept() {
    refusals.on_refused([this](const RefusedPeer& one) { lines.push_back(to_text(one)); });
  }
  void add(const std::string& ip, int port, RefusalReason reason = RefusalReason::other_secret) {
    refusals.add(
        {.ip = ip, .peer = ip + ':' + std::to_string(port), .why = std::string(name_of(reason))},
        reason, now);
  }

  std::vector<std::string> lines;
  Refusals refusals;
  Refusals::Clock::time_point now{};
};

TEST(Refusals, AreOneLineForEachAddressAndThenACount) {
  Kept kept;
  for (int port = 1; port <= 240; ++port) kept.add("10.0.0.7", port);
  for (int port = 1; port <= 105; ++port) kept.add("10.0.0.9", port, RefusalReason::unreadable);
  EXPECT_THAT(
      kept.lines,
      ElementsAre("10.0.0.7:1: refused: another token",
                  "10.0.0.9:1: refused: not rdmabench, or another version of its protocol"));
  kept.lines.clear();
  kept.refusals.tell_rest();
  EXPECT_THAT(kept.lines, ElementsAre("10.0.0.7: refused: 239 more clients: another token",
                                      "10.0.0.9: refused: 104 more clients: not rdmabench, or "
                                      "another version of its protocol"));
  kept.lines.clear();
  kept.refusals.tell_rest();
  EXPECT_THAT(kept.lines, IsEmpty());
}

TEST(Refusals, AreToldMoreAndMoreSeldom) {
  Kept kept;
  EXPECT_EQ(kept.refusals.tell_due(kept.now), std::nullopt);
  std::vector<long> times;
  for (long second = 0; second < 100; ++second, kept.now += seconds(1)) {
    kept.add("10.0.0.7", 1);
    if (!kept.lines.empty()) times.push_back(second);
    kept.lines.clear();
  }
  EXPECT_THAT(times, ElementsAre(0, 10, 30, 70));
}

TEST(Refusals, BeginAnewAfterAPause) {
  Kept kept;
  kept.add("10.0.0.7", 1);
  EXPECT_EQ(kept.refusals.tell_due(kept.now), kept.now + Refusals::kFirst);
  kept.now += Refusals::kFirst;
  EXPECT_EQ(kept.refusals.tell_due(kept.now), std::nullopt);
  kept.add("10.0.0.7", 2);
  EXPECT_THAT(kept.lines, ElementsAre("10.0.0.7:1: refused: another token",
                                      "10.0.0.7:2: refused: another token"));
}

}  // namespace
}  // namespace rdmabench::inline v1::control
