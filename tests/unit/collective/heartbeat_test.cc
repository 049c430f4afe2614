#include "collective/heartbeat.h"

#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "../has_all.h"
#include "commands.h"
#include "packing.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::inline v1::collective {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RankStatus sign(std::uint32_t rank, std::uint64_t iteration, milliseconds age = milliseconds(10),
                std::string gone = "") {
  return {.identity = {.rank = rank, .host = "n" + std::to_string(rank), .process = 100 + rank},
          .where = {.phase = Phase::running, .size_bytes = 65536, .iteration = iteration},
          .age = age,
          .gone = std::move(gone)};
}

Blame judge_signs(const std::vector<RankStatus>& statuses) {
  return who_hangs(statuses, milliseconds(500));
}

TEST(WhoHangs, TheSilentOneIsNamed) {
  const Blame blame = judge_signs({sign(0, 17), sign(1, 17), sign(2, 17, milliseconds(2000))});
  EXPECT_THAT(blame.ranks, ElementsAre(2));
  EXPECT_THAT(blame.text, has_all("rank 2 (n2, process 102) hangs", "2.00 s",
                                  "all-reduce of 64K, iteration 17"));
}

TEST(WhoHangs, TheOneThatIsGoneComesFirst) {
  const Blame blame = judge_signs(
      {sign(0, 17), sign(1, 17, milliseconds(900)), sign(2, 16, milliseconds(1), "closed")});
  EXPECT_THAT(blame.ranks, ElementsAre(2));
  EXPECT_THAT(blame.text, HasSubstr("is gone (closed)"));
}

TEST(WhoHangs, TheOneBehindIsNamedWhereAllSpeak) {
  const Blame blame = judge_signs({sign(0, 17), sign(1, 12), sign(2, 17)});
  EXPECT_THAT(blame.ranks, ElementsAre(1));
  EXPECT_THAT(blame.text, HasSubstr("is behind"));
}

TEST(WhoHangs, NobodyWhereAllAreAlike) {
  const Blame blame = judge_signs({sign(0, 17), sign(1, 17)});
  EXPECT_THAT(blame.ranks, IsEmpty());
  EXPECT_THAT(blame.text, HasSubstr("all ranks are alive"));
}

/// A rank alone, whose heartbeat ends the run after a guarded call of more than 5 ms.
class Ending : public testing::Test {
 protected:
  HeartbeatOptions options() {
    return {.interval = milliseconds(5), .on_stuck = [this](const std::string& reason) {
              struck_ = true;
              for (int i = 0; i < 20; ++i) {
                std::this_thread::sleep_for(milliseconds(2));
                results_.push_back(reason);
              }
            }};
  }
  /// Comes back from a call that took too long, but not before the run is being ended.
  void come_back_late(Heartbeat& heartbeat) {
    const Heartbeat::Guard guard(heartbeat, "opening", Deadline::after(milliseconds(5)));
    const Deadline deadline = Deadline::after(std::chrono::seconds(10));
    while (!struck_ && !deadline.passed()) std::this_thread::sleep_for(milliseconds(1));
  }

  LiveRankState state_;
  std::atomic<bool> struck_{false};
  std::vector<std::string> results_;  // what a run has found: no lock of its own
};

TEST_F(Ending, AThreadThatComesBackLateWaitsUntilTheResultsAreWritten) {
  Heartbeat heartbeat({{}}, {}, true, state_, options());
  come_back_late(heartbeat);
  ASSERT_TRUE(struck_);
  EXPECT_EQ(results_.size(), 20);
  results_.emplace_back("its own");
  EXPECT_THAT(results_.front(), HasSubstr("opening did not return in time"));
}

TEST_F(Ending, ComesOnce) {
  Heartbeat heartbeat({{}}, {}, true, state_, options());
  come_back_late(heartbeat);
  come_back_late(heartbeat);
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_EQ(results_.size(), 20);
}

TEST_F(Ending, DoesNotComeWhereTheCallCameBackInTime) {
  Heartbeat heartbeat({{}}, {}, true, state_, options());
  { const Heartbeat::Guard guard(heartbeat, "opening", Deadline::after(std::chrono::minutes(1))); }
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_FALSE(struck_);
}

TEST_F(Ending, ThatIsItselfStuckIsLeftToTheOtherThread) {
  std::atomic<bool> released{false};
  bool left = false;
  HeartbeatOptions stuck = options();
  stuck.on_stuck = [&](const std::string&) {
    struck_ = true;
    while (!released) std::this_thread::sleep_for(milliseconds(1));
  };
  stuck.ending_limit = milliseconds(20);
  stuck.on_ending_stuck = [&] { left = true; };
  Heartbeat heartbeat({{}}, {}, true, state_, stuck);
  come_back_late(heartbeat);
  EXPECT_TRUE(left);
  released = true;
}

TEST(Flood, OfARankDoesNotKeepRank0FromItsEnd) {
  const auto nobody = control::Authentication::insecure();
  const Deadline deadline = Deadline::after(std::chrono::seconds(10));
  control::Listener listener("127.0.0.1", 0, nobody);
  std::thread rank([&, port = listener.port()] {
    control::Channel channel = control::Channel::connect("127.0.0.1", port, deadline, {}, nobody);
    try {
      for (;;) {  // until there is no room
        channel.send(GroupMessage::heartbeat, to_text(RankState()),
                     Deadline::after(milliseconds(100)));
      }
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
      // That is the end of it.
    }
  });
  std::vector<control::Channel> channels;
  channels.push_back(listener.accept(deadline).value());
  const int socket = dup(channels.front().handle());
  rank.join();
  const auto unread = [socket] {
    int bytes = -1;
    ioctl(socket, FIONREAD, &bytes);
    return bytes;
  };
  const int before = unread();
  const LiveRankState state;
  {
    const Heartbeat heartbeat({sign(0, 0).identity, sign(1, 0).identity}, std::move(channels), true,
                              state, {});
    while (unread() == before && !deadline.passed()) std::this_thread::yield();
  }
  EXPECT_GT(unread(), 0) << "it read everything first";
  close(socket);
}

TEST_F(Ending, ThatFailsLetsTheOtherThreadGoOn) {
  HeartbeatOptions failing = options();
  failing.on_stuck = [this](const std::string&) {
    struck_ = true;
    throw Error(Fault::failed, "no space left");
  };
  failing.ending_limit = std::chrono::minutes(1);
  Heartbeat heartbeat({{}}, {}, true, state_, failing);
  come_back_late(heartbeat);
  EXPECT_TRUE(heartbeat.over());
  EXPECT_EQ(heartbeat.reason(), "no space left");
}

TEST(Packing, IsReadAsItWasWritten) {
  const std::vector<std::string> texts{"", std::string("a\0b", 3), "c"};
  EXPECT_EQ(unpack(pack(texts), 3), texts);
  EXPECT_THROW(unpack(pack(texts), 2), Error);
  EXPECT_THROW(unpack(pack(texts), 4), Error);
  EXPECT_THROW(unpack("\xff\xff\xff\xff", 1), Error);
  const std::vector<std::uint64_t> numbers{0, 1, ~std::uint64_t{0}};
  EXPECT_EQ(unpack_numbers(pack_numbers(numbers), 3), numbers);
  EXPECT_THROW(unpack_numbers("1234567", 1), Error);
}

TEST(Orders, AreReadAsTheyWereWritten) {
  RankCommand order;
  order.what = RankCommand::What::row;
  order.call = {.operation = Operation::reduce,
                .type = DataType::half,
                .reduction = Reduction::max,
                .root = 3,
                .count = 12,
                .in_place = true};
  order.slots = 8;
  order.batch = 4;
  const RankCommand read = parse<RankCommand>(to_text(order));
  EXPECT_EQ(read.what, order.what);
  EXPECT_EQ(read.call.operation, order.call.operation);
  EXPECT_EQ(read.call.type, order.call.type);
  EXPECT_EQ(read.call.reduction, order.call.reduction);
  EXPECT_EQ(read.call.count, 12);
  EXPECT_TRUE(read.call.in_place);
  EXPECT_EQ(read.batch, 4);
  order.batch = 1'024'001;
  EXPECT_THROW(parse<RankCommand>(to_text(order)), Error);
  EXPECT_THROW(parse<RankCommand>("{}"), Error);
}

TEST(Orders, AnEpochsAnswerIsNotTrusted) {
  Epoch epoch;
  epoch.stamps = {{10, 20}, {30, 45}};
  epoch.checked = {.operations = 2, .wrong_operations = 1, .wrong_elements = 5};
  epoch.checked.first =
      Wrong{.iteration = 1, .offset_bytes = 8, .run_bytes = 20, .pattern = "zero"};
  const Epoch read = parse_epoch(to_text(epoch), 2);
  EXPECT_EQ(read.stamps[1].exit_ns, 45);
  EXPECT_EQ(read.checked.first->run_bytes, 20);
  EXPECT_THROW(parse_epoch(to_text(epoch), 3), Error);
  epoch.stamps[0].exit_ns = 5;
  EXPECT_THROW(parse_epoch(to_text(epoch), 2), Error);
  EXPECT_THROW(parse_epoch("junk", 2), Error);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective
