#include "rdmabench/control/rendezvous.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "../has_all.h"
#include "control/admission.h"
#include "control/star.h"
#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using namespace std::chrono_literals;

/// A port that was free a moment ago.
std::uint16_t free_port() {
  return Listener("127.0.0.1", 0).port();
}

std::unique_ptr<Rendezvous> rank_of_two(std::uint32_t rank, std::uint16_t port) {
  return make_rendezvous({rank, 2, "127.0.0.1:" + std::to_string(port), 20s});
}

/// Rank 0 of two, which admits in a thread of its own until it is destroyed.
class RankZero {
 public:
  explicit RankZero(std::string run_id = "") : run_id_(std::move(run_id)) {}
  ~RankZero() {
    stop_ = true;
    admitting_.join();
  }

  std::uint16_t port() const { return listener_.port(); }

 private:
  void admit() {
    Admission admission(listener_, {.run_id = run_id_, .size = 2, .first_rank = 1});
    while (!stop_) admission.turn(brief());
  }

  std::string run_id_;
  Listener listener_{"127.0.0.1", 0};
  std::atomic<bool> stop_{false};
  std::thread admitting_{[this] { admit(); }};
};

Channel join(std::uint16_t port, std::uint32_t size = 2) {
  return join_rank_0({.port = port, .addresses = {"127.0.0.1"}}, {.rank = 1, .size = size},
                     plenty())
      .channel;
}

TEST(Rendezvous, RanksMeetAtTheAddressThatTheyWereGiven) {
  const std::uint16_t port = free_port();
  Bootstrap one = rank_of_two(1, port)->meet("use", 0, plenty());
  EXPECT_FALSE(one.listener.has_value());
  std::optional<Admitted> rank;
  std::thread early([&] {
    EXPECT_NO_THROW(rank.emplace(join_rank_0(one.address, {.rank = 1, .size = 2}, plenty())));
    rank->channel.send(TestMessage::ready, {}, plenty());
  });
  Bootstrap zero = rank_of_two(0, port)->meet("use", port, plenty());
  EXPECT_EQ(zero.address.port, port);
  Admission admission(*zero.listener, {.size = 2, .first_rank = 1, .ready = TestMessage::ready});
  EXPECT_EQ(admission.admit(plenty())[1].absent, "");
  early.join();
}

TEST(Rendezvous, OfOneRankNeedsNoAddress) {
  const auto alone = make_rendezvous({.rank = 0, .size = 1});
  const Bootstrap found = alone->meet("use", 0, plenty());
  EXPECT_EQ(alone->place().size, 1U);
  EXPECT_EQ(alone->place().source, "options");
  EXPECT_EQ(found.address.port, found.listener->port());
}

TEST(Rendezvous, RefusesAnotherPortThanThatOfTheAddress) {
  EXPECT_THAT(complaint([&] { rank_of_two(0, 18516)->meet("use", 5, plenty()); }),
              has_all("`port` is 5", "127.0.0.1:18516"));
}

TEST(Rendezvous, SaysThatItsPortIsTaken) {
  const Listener other("127.0.0.1", 0);
  EXPECT_THAT(
      complaint([&] { rank_of_two(0, other.port())->meet("use", 0, plenty()); }),
      has_all("rank 0 ", "listen on port ", "EADDRINUSE", "Does another job use this port?"));
}

/// What one program says, its ranks hear.
class Broadcast {
 public:
  RendezvousOptions of(std::uint32_t rank) {
    return {.rank = rank, .size = 2, .broadcast = [this, rank](const std::string& text) {
              if (rank != 0) return heard_.get();
              said_.set_value(text);
              return text;
            }};
  }

 private:
  std::promise<std::string> said_;
  std::future<std::string> heard_ = said_.get_future();
};

TEST(Rendezvous, RanksThatTalkAlreadyMeetAtAnyFreePort) {
  Broadcast program;
  const auto rank_0 = make_rendezvous(program.of(0));
  const auto rank_1 = make_rendezvous(program.of(1));
  Bootstrap zero = rank_0->meet("use", 0, plenty());
  const Bootstrap one = rank_1->meet("use", 0, plenty());
  EXPECT_EQ(one.address.port, zero.listener->port());
  std::optional<Admitted> rank;
  std::thread joiner([&] {
    EXPECT_NO_THROW(rank.emplace(join_rank_0(one.address, {.rank = 1, .size = 2}, plenty())));
    rank->channel.send(TestMessage::ready, {}, plenty());
  });
  Admission admission(
      *zero.listener,
      {.run_id = zero.address.run_id, .size = 2, .first_rank = 1, .ready = TestMessage::ready});
  EXPECT_EQ(admission.admit(plenty())[1].absent, "");
  joiner.join();
}

TEST(Rendezvous, ARankHearsThatRankZeroCannotListen) {
  const Listener other("", 0);
  Broadcast program;
  EXPECT_THAT(
      complaint([&] { make_rendezvous(program.of(0))->meet("use", other.port(), plenty()); }),
      HasSubstr("EADDRINUSE"));
  EXPECT_THAT(complaint([&] { make_rendezvous(program.of(1))->meet("use", 0, plenty()); }),
              HasSubstr("rank 0 cannot serve the others"));
}

TEST(JoinRankZero, SaysThatRankZeroWasNotReached) {
  const BootstrapAddress nobody{
      .port = free_port(), .addresses = {"127.0.0.1"}, .may_be_starting = true};
  EXPECT_THAT(
      complaint([&] { join_rank_0(nobody, {.rank = 1, .size = 2}, Deadline::after(80ms)); }),
      has_all("rank 1 did not reach rank 0 at 127.0.0.1:", "within 80 ms", "ECONNREFUSED",
              "Is rank 0 started"));
}

TEST(JoinRankZero, IsRefusedTheSecondOfARank) {
  const RankZero zero;
  const Channel one = join(zero.port());
  EXPECT_THAT(complaint([&] { join(zero.port()); }),
              has_all("rank 1 came already, from ", "127.0.0.1", "Two processes have one rank"));
}

TEST(JoinRankZero, IsToldWhatTheServersOfTheRunAskFor) {
  const RankZero zero("label");
  const Admitted one = join_rank_0({.port = zero.port(), .addresses = {"127.0.0.1"}},
                                   {.rank = 1, .size = 2}, plenty());
  Listener server("127.0.0.1", 0, Authentication().derived("label"));
  std::thread client([&] {
    EXPECT_NO_THROW(Channel::connect("127.0.0.1", server.port(), plenty(), {}, one.authentication));
  });
  EXPECT_TRUE(server.accept(plenty()).has_value());
  client.join();
}

TEST(JoinRankZero, IsRefusedAnotherSize) {
  const RankZero zero;
  EXPECT_THAT(complaint([&] { join(zero.port(), 3); }),
              HasSubstr("rank 1 expects 3 ranks, rank 0 expects 2"));
}

TEST(JoinRankZero, TriesAgainWhenTheConnectionBreaks) {
  Listener rank_0("127.0.0.1", 0);
  std::thread joiner([&] { EXPECT_NO_THROW(join(rank_0.port())); });
  { const Channel closed = rank_0.accept(plenty()).value(); }
  std::optional<Channel> next = rank_0.accept(plenty());
  EXPECT_TRUE(next.has_value());
  if (next) {
    next->receive(AdmissionMessage::hello, plenty(), "hello");
    next->send(AdmissionMessage::welcome, {}, plenty());
  }
  joiner.join();
}

TEST(JoinRankZero, TakesAnAnswerForFinal) {
  Listener rank_0("127.0.0.1", 0);
  std::string text;
  std::thread joiner([&] { text = complaint([&] { join(rank_0.port()); }); });
  Channel channel = rank_0.accept(plenty()).value();
  channel.abort("not you");
  joiner.join();
  EXPECT_THAT(text, has_all("rank 1 was not admitted", "gave up: not you"));
}

class AdmissionTest : public ::testing::Test {
 protected:
  void serve() { admission_.turn(plenty()); }
  /// Connects and is served up to its hello.
  void arrive(const RawSocket& client) {
    client.connect(listener_.port());
    client.write(greeting(Authentication::Method::none));
    serve();
    EXPECT_EQ(client.read(kHeaderBytes), frame(HandshakeMessage::welcome));
  }

  Listener listener_{"127.0.0.1", 0, Authentication::insecure()};
  Admission admission_{listener_, {.size = 1, .ready = TestMessage::ready}};
};

TEST_F(AdmissionTest, ClosesTheOldestConnectionWithoutRefusingItsRank) {
  constexpr std::size_t kMany = 1100;  // more than may wait
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 3 * kMany) GTEST_SKIP() << "too few files";
  const RawSocket oldest;
  arrive(oldest);
  std::vector<RawSocket> others(kMany);
  for (const RawSocket& other : others) arrive(other);
  EXPECT_EQ(oldest.read(1), "");  // closed
}

TEST_F(AdmissionTest, GivesTheSeatOfARankThatLeftAgain) {
  for (int i = 0; i < 2; ++i) {
    {
      const RawSocket client;
      arrive(client);
      client.write(frame(AdmissionMessage::hello, to_text(RankHello{})));
      serve();
      EXPECT_EQ(client.read(kHeaderBytes), frame(AdmissionMessage::welcome));
      EXPECT_FALSE(admission_.complete());
      client.write(frame(TestMessage::ready));
      serve();
      EXPECT_TRUE(admission_.complete());
    }
    serve();  // sees its end
    EXPECT_FALSE(admission_.complete());
  }
}

TEST_F(AdmissionTest, KeepsNoSeatForARankThatLeftBeforeItWasWelcome) {
  const auto say_hello = [&](const RawSocket& client) {
    arrive(client);
    client.write(frame(AdmissionMessage::hello, to_text(RankHello{})));
  };
  {
    const RawSocket left;
    say_hello(left);
  }
  serve();  // reads its hello
  const RawSocket again;
  say_hello(again);
  serve();
  EXPECT_EQ(again.read(kHeaderBytes), frame(AdmissionMessage::welcome));
}

/// Who speaks before the run begins, or says something else than that it is ready, is named and the
/// run goes on without it.
TEST_F(AdmissionTest, RefusesARankForWhatItSays) {
  for (const std::string& words :
       {frame(TestMessage::ready) + frame(TestMessage::ready), frame(TestMessage::bye)}) {
    Admission admission(listener_, {.size = 1, .ready = TestMessage::ready});
    const RawSocket client;
    client.connect(listener_.port());
    client.write(greeting(Authentication::Method::none) +
                 frame(AdmissionMessage::hello, to_text(RankHello{.host = "n7"})) + words);
    const std::vector<Seat> seats = admission.admit(plenty());
    EXPECT_THAT(seats[0].absent, AnyOf(HasSubstr("did not wait"), HasSubstr("sent 'bye'")));
    EXPECT_EQ(seats[0].hello.host, "n7");
  }
}

TEST(Admission, CallsRanksThatNeverComeByTheirHosts) {
  Listener listener("127.0.0.1", 0);
  std::vector<std::vector<std::string>> waited;
  Admission admission(
      listener,
      {.size = 3,
       .first_rank = 1,
       .host_of = [](std::uint32_t rank) { return rank == 1 ? "gpu07" : ""; },
       .on_wait = [&](const std::vector<std::string>& missing) { waited.push_back(missing); }});
  const std::vector<Seat> seats = admission.admit(brief());
  EXPECT_THAT(seats[1].absent, StartsWith("gpu07 never came within"));
  EXPECT_EQ(seats[1].hello.host, "gpu07");
  EXPECT_THAT(seats[2].absent, StartsWith("it never came within"));
  EXPECT_EQ(seats[2].hello.host, "");
}

TEST(Admission, AsksOnceForTheHostOfEachRankAndNotAfterTheDeadline) {
  Listener listener("127.0.0.1", 0);
  std::vector<std::uint32_t> asked;
  Admission admission(listener, {.size = 3, .first_rank = 1, .host_of = [&](std::uint32_t rank) {
                                   asked.push_back(rank);
                                   return std::string(rank == 1 ? "gpu07" : "");
                                 }});
  EXPECT_THAT(admission.missing(Deadline::after({})), ElementsAre("rank 1", "rank 2"));
  EXPECT_THAT(asked, IsEmpty());
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT(admission.missing(plenty()), ElementsAre("gpu07", "rank 2"));
  }
  EXPECT_EQ(admission.admit(brief())[1].hello.host, "gpu07");
  EXPECT_THAT(asked, ElementsAre(1, 2));
}

TEST(Admission, SaysWhoCameWithAnotherToken) {
  const auto own = Authentication::secret(std::string(32, 'a'));
  Listener listener("127.0.0.1", 0, own);
  std::vector<RefusedPeer> told;
  Admission admission(listener,
                      {.size = 2,
                       .first_rank = 1,
                       .host_of = [](std::uint32_t) { return std::string("localhost"); },
                       .on_refused = [&](const RefusedPeer& one) { told.push_back(one); }});
  std::atomic<bool> over{false};
  std::string answer;
  std::thread stranger([&] {
    const auto come = [&](const Authentication& with) {
      return complaint([&] { Channel::connect("127.0.0.1", listener.port(), plenty(), {}, with); });
    };
    come(Authentication::insecure());  // what came before from there does not hide it
    answer = come(Authentication::secret(std::string(32, 'b')));
    over = true;
  });
  while (!over) admission.turn(brief());
  stranger.join();
  EXPECT_THAT(answer, HasSubstr("another token"));
  ASSERT_EQ(told.size(), 2);
  EXPECT_THAT(to_text(told[1]), has_all("127.0.0.1:", "another token"));
  EXPECT_THAT(admission.admit(brief())[1].absent,
              has_all("localhost (127.0.0.1)", "another token"));
}

TEST(Star, DeliversWhatRanksSayAndHowTheyEnd) {
  Pair said;
  Pair aborted;
  Pair gone;
  std::vector<std::optional<Channel>> channels;
  for (Pair* pair : {&said, &aborted, &gone}) channels.push_back(std::move(pair->server));
  channels.emplace_back();  // a rank that never came
  Listener late("127.0.0.1", 0);
  Star star(std::move(channels), &late);
  said.client.send(TestMessage::result, "12", plenty());
  aborted.client.abort("no device");
  { const Channel leaves = std::move(gone.client); }
  star.send(3, TestMessage::offer, {});
  std::vector<Ranks::Event> events;
  while (events.size() < 3) star.wait(plenty(), events);
  std::sort(events.begin(), events.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  EXPECT_FALSE(events[0].ended);
  EXPECT_EQ(events[0].type, TestMessage::result);
  EXPECT_EQ(events[0].text, "12");
  EXPECT_TRUE(events[1].ended);
  EXPECT_EQ(events[1].type, TestMessage::abort);
  EXPECT_EQ(events[1].text, "no device");
  EXPECT_TRUE(events[2].ended);
  EXPECT_THAT(events[2].text, HasSubstr("closed the connection"));
  star.drop(0, "not needed");
  EXPECT_THAT(complaint([&] { said.client.receive(TestMessage::offer, plenty(), "offer"); }),
              HasSubstr("not needed"));
  auto too_late = std::async(std::launch::async, [&] {
    return complaint([&] {
      join_rank_0({.port = late.port(), .addresses = {"127.0.0.1"}}, {.rank = 3, .size = 4},
                  plenty());
    });
  });
  while (too_late.wait_for(0s) != std::future_status::ready) star.wait(brief(), events);
  EXPECT_THAT(too_late.get(), HasSubstr("already started"));
}

/// Whether rank 1 is admitted after what `hostile` did.
void expect_shrugged_off(const auto& hostile) {
  const RankZero zero;
  const auto peer = hostile(zero.port());
  EXPECT_NO_THROW(join(zero.port()));
}

/// A stranger that says `bytes` must cost rank 0 nothing but its connection.
void expect_stranger_shrugged_off(const std::string& bytes) {
  expect_shrugged_off([&](std::uint16_t port) {
    auto stranger = std::make_unique<RawSocket>();
    stranger->connect(port);
    stranger->write(bytes);
    return stranger;
  });
}

/// And so must one that has the secret, but is no rank of this run.
void expect_shrugged_off(MessageType type, const std::string& payload) {
  expect_shrugged_off([&](std::uint16_t port) {
    Channel known = Channel::connect("127.0.0.1", port, plenty());
    known.send(type, payload, plenty());
    return known;
  });
}

TEST(Admission, ShrugsOffStrangers) {
  expect_stranger_shrugged_off("");
  expect_stranger_shrugged_off("GET / HTTP/1.1\r\n\r\n");
  expect_stranger_shrugged_off(frame(AdmissionMessage::hello, "{}").substr(0, 9));
  // What a stranger took rank 1 with once: a right hello.
  expect_stranger_shrugged_off(
      frame(AdmissionMessage::hello, to_text(RankHello{.rank = 1, .size = 2, .host = "x"})));
  expect_shrugged_off(AdmissionMessage::hello, "[1]");
  expect_shrugged_off(AdmissionMessage::hello,
                      to_text(RankHello{.rank = 7, .size = 2, .host = "x"}));
  expect_shrugged_off(AdmissionMessage::hello,
                      to_text(RankHello{.rank = 0, .size = 2, .host = "x"}));
  expect_shrugged_off(TestMessage::bye, "");
}

}  // namespace
}  // namespace rdmabench::inline v1::control
