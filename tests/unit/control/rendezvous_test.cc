#include "rdmabench/control/rendezvous.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <vector>

#include "control/admission.h"
#include "control/readiness.h"
#include "control/rendezvous_messages.h"
#include "peers.h"
#include "rdmabench/control/bootstrap.h"

namespace rdmabench::control {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

/// A port that was free a moment ago.
std::uint16_t free_port() {
  return Listener("127.0.0.1", 0).port();
}

/// The ranks of one job on this host.
class Job {
 public:
  explicit Job(std::uint32_t size) : size_(size) {}

  std::uint16_t port() const { return port_; }

  std::unique_ptr<Rendezvous> start(std::uint32_t rank,
                                    std::chrono::milliseconds timeout = 20s) const {
    return make_rendezvous({rank, size_, "127.0.0.1:" + std::to_string(port_), timeout});
  }

  /// Runs `body` as every rank of `ranks`, each in a thread, rank 0 outliving the others.
  void run(const std::vector<std::uint32_t>& ranks, const auto& body) const {
    std::barrier done(static_cast<std::ptrdiff_t>(ranks.size()));
    std::vector<std::thread> threads;
    for (const std::uint32_t rank : ranks) {
      threads.emplace_back([&, rank] {
        try {
          const auto rendezvous = start(rank);
          body(*rendezvous);
          done.arrive_and_wait();
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
          done.arrive_and_drop();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::uint32_t size_;
  std::uint16_t port_ = free_port();
};

TEST(Rendezvous, OfOneRankWorks) {
  const auto alone = make_rendezvous({.rank = 0, .size = 1});
  alone->put("a", "b");
  EXPECT_EQ(alone->get(0, "a", plenty()), "b");
  alone->barrier(plenty());
  EXPECT_EQ(alone->place().size, 1U);
  EXPECT_EQ(alone->place().source, "options");
}

TEST(Rendezvous, EveryRankReadsWhatEveryRankPut) {
  constexpr std::uint32_t kSize = 8;
  std::atomic<int> arrived{0};
  Job(kSize).run({0, 1, 2, 3, 4, 5, 6, 7}, [&](Rendezvous& self) {
    const std::string own = std::to_string(self.place().rank);
    self.put("name", "rank " + own + " \xc3\xa9\n\"{}");
    for (std::uint32_t other = 0; other < kSize; ++other) {
      EXPECT_EQ(self.get(other, "name", plenty()),
                "rank " + std::to_string(other) + " \xc3\xa9\n\"{}");
    }
    for (int round = 1; round <= 3; ++round) {
      ++arrived;
      self.barrier(plenty());
      EXPECT_GE(arrived, round * static_cast<int>(kSize));
    }
  });
}

TEST(Rendezvous, CarriesTheLongestValue) {
  Job(2).run({0, 1}, [](Rendezvous& self) {
    // JSON needs six bytes for each of these.
    const std::string longest(kMaxValue, '\x1f');
    if (self.place().rank == 1) self.put("long", longest);
    EXPECT_EQ(self.get(1, "long", plenty()), longest);
  });
}

TEST(Rendezvous, GetWaitsForARankThatIsLate) {
  const Job job(2);
  std::thread late([&] {
    std::this_thread::sleep_for(50ms);
    const auto self = job.start(1);
    std::this_thread::sleep_for(50ms);
    self->put("k", "v");
    self->barrier(plenty());
  });
  const auto self = job.start(0);
  EXPECT_EQ(self->get(1, "k", plenty()), "v");
  self->barrier(plenty());
  late.join();
}

TEST(Rendezvous, ARankWaitsForRankZeroToStart) {
  const Job job(2);
  std::unique_ptr<Rendezvous> early;
  std::thread first([&] { early = job.start(1); });
  std::this_thread::sleep_for(50ms);
  const auto zero = job.start(0);
  first.join();
  EXPECT_EQ(early->place().rank, 1U);
}

TEST(Rendezvous, NamesTheRankThatNeverCame) {
  const Job job(4);
  const auto zero = job.start(0);
  const auto two = job.start(2);
  EXPECT_THAT(complaint([&] { zero->get(3, "k", brief()); }),
              ContainsRegex("^rank 3 did not come within [0-9]+ ms$"));
  EXPECT_THAT(complaint([&] { zero->barrier(brief()); }),
              ContainsRegex("^ranks 1 and 3 did not come within [0-9]+ ms, and rank 2 of " +
                            two->place().host +
                            " .127.0.0.1. did not reach the barrier within [0-9]+ ms$"));
}

TEST(Rendezvous, NamesTheRankThatPutNothing) {
  const Job job(2);
  const auto zero = job.start(0);
  const auto one = job.start(1);
  EXPECT_THAT(complaint([&] { zero->get(1, "k", brief()); }),
              AllOf(StartsWith("rank 1 of "), HasSubstr("is here, but did not put 'k' within")));
  one->put("k", "late");
  EXPECT_EQ(zero->get(1, "k", plenty()), "late");
}

TEST(Rendezvous, NamesTheRankThatLeftWhileOthersWait) {
  const Job job(3);
  const auto zero = job.start(0);
  const auto one = job.start(1);
  auto two = job.start(2);
  std::thread leaver([&] {
    std::this_thread::sleep_for(30ms);
    two.reset();
  });
  std::string getting;
  std::thread getter([&] { getting = complaint([&] { one->get(2, "k", plenty()); }); });
  EXPECT_THAT(complaint([&] { zero->barrier(plenty()); }),
              AllOf(StartsWith("rank 2 of "), HasSubstr("left before the barrier")));
  leaver.join();
  getter.join();
  EXPECT_THAT(getting, HasSubstr("left without putting 'k'"));
  EXPECT_THAT(complaint([&] { one->barrier(plenty()); }), HasSubstr("rank 2 of "));
}

TEST(Rendezvous, RefusesTheSecondOfARank) {
  const Job job(2);
  const auto zero = job.start(0);
  const auto one = job.start(1);
  EXPECT_THAT(complaint([&] { job.start(1); }),
              AllOf(HasSubstr("rank 1 came already, from "), HasSubstr("127.0.0.1"),
                    HasSubstr("Two processes have one rank")));
  zero->put("k", "v");
  EXPECT_EQ(one->get(0, "k", plenty()), "v");  // the first one stays
}

TEST(Rendezvous, RefusesARankOfAnotherSize) {
  const Job job(2);
  const auto zero = job.start(0);
  EXPECT_THAT(complaint([&] {
                make_rendezvous({1, 3, "127.0.0.1:" + std::to_string(job.port()), 20s});
              }),
              HasSubstr("rank 1 expects 3 ranks, rank 0 expects 2"));
}

TEST(Rendezvous, SaysThatItsPortIsTaken) {
  const Listener other("127.0.0.1", 0);
  EXPECT_THAT(complaint([&] {
                make_rendezvous({0, 2, "127.0.0.1:" + std::to_string(other.port()), 20s});
              }),
              AllOf(HasSubstr("rank 0 cannot serve the others: listen on port "),
                    HasSubstr("EADDRINUSE"), HasSubstr("Does another job use this port?")));
}

TEST(Rendezvous, SaysThatRankZeroWasNotReached) {
  const Job job(2);
  EXPECT_THAT(
      complaint([&] { job.start(1, 80ms); }),
      AllOf(HasSubstr("rank 1 did not reach rank 0 at 127.0.0.1:"), HasSubstr("within 80 ms"),
            HasSubstr("ECONNREFUSED"), HasSubstr("Is rank 0 started")));
}

TEST(Rendezvous, SaysThatRankZeroHasLeft) {
  const Job job(2);
  auto zero = job.start(0);
  const auto one = job.start(1);
  zero.reset();
  EXPECT_THAT(complaint([&] { one->barrier(plenty()); }), StartsWith("rank 0: "));
}

TEST(Rendezvous, RefusesWrongKeysValuesAndRanks) {
  const auto alone = make_rendezvous({.rank = 0, .size = 1});
  EXPECT_THAT(complaint([&] { alone->put("", "v"); }), HasSubstr("invalid key ''"));
  EXPECT_THAT(complaint([&] { alone->put("a b", "v"); }), HasSubstr("invalid key 'a b'"));
  EXPECT_THAT(complaint([&] { alone->put(std::string(kMaxKey + 1, 'k'), "v"); }),
              HasSubstr("It has to be 1 to 64"));
  EXPECT_THAT(complaint([&] { alone->put("k", std::string("\0", 1)); }), HasSubstr("without NUL"));
  EXPECT_THAT(complaint([&] { alone->put("k", "\xff"); }), HasSubstr("UTF-8"));
  EXPECT_THAT(complaint([&] { alone->put("k", std::string(kMaxValue + 1, 'v')); }),
              HasSubstr("at most 131072 bytes"));
  alone->put("k", "");
  EXPECT_THAT(complaint([&] { alone->put("k", "v"); }), HasSubstr("'k' was put before"));
  EXPECT_EQ(alone->get(0, "k", plenty()), "");
  EXPECT_THAT(complaint([&] { alone->get(1, "k", plenty()); }), HasSubstr("invalid rank 1"));
}

/// Asks to be rank 1 of 2.
Channel join(const Listener& rank_0) {
  return join_rank_0({.port = rank_0.port(), .addresses = {"127.0.0.1"}}, {.rank = 1, .size = 2},
                     plenty());
}

TEST(JoinRankZero, TriesAgainWhenTheConnectionBreaks) {
  Listener rank_0("127.0.0.1", 0);
  std::thread joiner([&] { EXPECT_NO_THROW(join(rank_0)); });
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
  std::thread joiner([&] { text = complaint([&] { join(rank_0); }); });
  Channel channel = rank_0.accept(plenty()).value();
  channel.abort("not you");
  joiner.join();
  EXPECT_THAT(text, AllOf(HasSubstr("rank 1 was not admitted"), HasSubstr("gave up: not you")));
}

class AdmissionTest : public ::testing::Test {
 protected:
  void serve() {
    for (const std::uint64_t key : readiness_.wait(plenty())) admission_.handle(key);
  }
  /// Connects and is served up to its hello.
  void arrive(const RawSocket& client) {
    client.connect(listener_.port());
    client.write(greeting(Authentication::Method::none));
    serve();
    EXPECT_EQ(client.read(kHeaderBytes), frame(HandshakeMessage::welcome));
  }

  Listener listener_{"127.0.0.1", 0, Authentication::insecure()};
  Readiness readiness_;
  Admission admission_{listener_, readiness_, {.run_id = "", .size = 1}};
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

TEST_F(AdmissionTest, GivesASeatAgainThatIsVacated) {
  for (int i = 0; i < 2; ++i) {
    const RawSocket client;
    arrive(client);
    client.write(frame(AdmissionMessage::hello, to_text(RankHello{})));
    serve();
    EXPECT_EQ(client.read(kHeaderBytes), frame(AdmissionMessage::welcome));
    EXPECT_TRUE(admission_.complete());
    admission_.vacate(0);
    EXPECT_FALSE(admission_.complete());
    EXPECT_EQ(admission_.missing().size(), 1U);
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
  EXPECT_FALSE(admission_.complete());
  const RawSocket again;
  say_hello(again);
  serve();
  EXPECT_TRUE(admission_.complete());
  EXPECT_EQ(again.read(kHeaderBytes), frame(AdmissionMessage::welcome));
}

/// Whether ranks 0 and 1 meet with what `hostile` did before rank 1 came.
void expect_shrugged_off(const auto& hostile) {
  const Job job(2);
  const auto zero = job.start(0);
  [[maybe_unused]] const auto peer = hostile(job.port());
  const auto one = job.start(1);
  one->put("k", "v");
  EXPECT_EQ(zero->get(1, "k", plenty()), "v");
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

/// One that has the secret and takes rank 1, but leaves before that comes.
TEST(Rendezvous, FreesTheSeatOfARankThatLeaves) {
  expect_shrugged_off([](std::uint16_t port) {
    Channel rogue = Channel::connect("127.0.0.1", port, plenty());
    rogue.send(AdmissionMessage::hello, to_text(RankHello{.rank = 1, .size = 2, .host = "x"}),
               plenty());
    EXPECT_EQ(rogue.receive(AdmissionMessage::welcome, plenty(), "welcome"), "");
    rogue.send(RendezvousMessage::call, to_text(Call{PutCall{"k", "rogue"}}), plenty());
    EXPECT_EQ(parse_answer(rogue.receive(RendezvousMessage::answer, plenty(), "answer")).error, "");
    return 0;
  });
}

TEST(Rendezvous, ShrugsOffStrangers) {
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
  expect_shrugged_off(RendezvousMessage::call, to_text(Call{BarrierCall{1ms}}));
  expect_shrugged_off(TestMessage::bye, "");
}

TEST(Rendezvous, ARankThatBreaksTheRulesIsTheOneThatLeft) {
  using Breach = std::vector<std::pair<MessageType, std::string>>;
  const MessageType call = RendezvousMessage::call;
  const auto request = [](const Call& of) { return to_text(of); };
  for (const Breach& breach :
       {Breach{{call, "{}"}}, Breach{{AdmissionMessage::hello, "{}"}},
        Breach{{call, request(GetCall{2, "k", 1ms})}},
        Breach{{call, request(GetCall{0, "k", 10s})}, {call, request(BarrierCall{10s})}},
        Breach{{call, R"({"call":"put","key":"a b","value":""})"}},
        Breach{{call, R"({"call":"put","key":"a","value":"\u0000"})"}}}) {
    const Job job(2);
    const auto zero = job.start(0);
    Channel hostile = Channel::connect("127.0.0.1", job.port(), plenty());
    hostile.send(AdmissionMessage::hello, to_text(RankHello{.rank = 1, .size = 2, .host = "evil"}),
                 plenty());
    for (const auto& [type, payload] : breach) hostile.send(type, payload, plenty());
    EXPECT_THAT(complaint([&] { zero->barrier(plenty()); }),
                HasSubstr("rank 1 of evil (127.0.0.1) left before the barrier"));
  }
}

}  // namespace
}  // namespace rdmabench::control
