#include "rdmabench/control/channel.h"

#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using namespace std::chrono_literals;

bool have_ipv6() {
  try {
    Listener("::1", 0);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Channel, CarriesMessagesBothWays) {
  Pair pair;
  pair.client.send(TestMessage::hello, "one", plenty());
  pair.client.send(TestMessage::ready, "", plenty());
  EXPECT_EQ(pair.server.receive(TestMessage::hello, plenty(), "greeting"), "one");
  EXPECT_EQ(pair.server.receive(TestMessage::ready, plenty(), "start"), "");
  pair.server.send(TestMessage::result, std::string("a\0b", 3), plenty());
  const Message message = pair.client.receive(plenty(), "result");
  EXPECT_EQ(message.type, TestMessage::result);
  EXPECT_EQ(message.payload, std::string("a\0b", 3));
}

TEST(Channel, NamesItsTwoEnds) {
  Pair pair;
  EXPECT_EQ(pair.client.peer(), "127.0.0.1:" + std::to_string(pair.listener.port()));
  EXPECT_EQ(pair.client.peer_ip(), "127.0.0.1");
  EXPECT_EQ(pair.client.local_ip(), "127.0.0.1");
  EXPECT_EQ(pair.server.peer_ip(), "127.0.0.1");
  EXPECT_THAT(pair.server.peer(), MatchesRegex("127\\.0\\.0\\.1:[0-9]+"));
}

TEST(Channel, CarriesMessagesOverIpv6) {
  if (!have_ipv6()) GTEST_SKIP() << "no ::1 on this machine";
  Pair pair("::1");
  pair.client.send(TestMessage::hello, "six", plenty());
  EXPECT_EQ(pair.server.receive(TestMessage::hello, plenty(), "greeting"), "six");
  EXPECT_EQ(pair.client.peer(), "[::1]:" + std::to_string(pair.listener.port()));
  EXPECT_EQ(pair.server.peer_ip(), "::1");
}

TEST(Channel, CarriesTheLargestPayloadWhole) {
  Pair pair;
  std::string payload(kMaxPayload, '\0');
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * 7 / 5);
  std::thread sender([&] { pair.client.send(TestMessage::offer, payload, plenty()); });
  const std::string received = pair.server.receive(TestMessage::offer, plenty(), "offer");
  sender.join();
  EXPECT_TRUE(received == payload);
}

TEST(Channel, RefusesToSendMoreThanTheLimit) {
  Pair pair;
  EXPECT_THAT(complaint([&] {
                pair.client.send(TestMessage::offer, std::string(kMaxPayload + 1, 'x'), plenty());
              }),
              has_all("'offer' message of 1048577 bytes", "1048576"));
  pair.client.send(TestMessage::hello, "still whole", plenty());
  EXPECT_EQ(pair.server.receive(TestMessage::hello, plenty(), "greeting"), "still whole");
}

TEST(Channel, MovesWithItsConnection) {
  Pair pair;
  Channel moved = std::move(pair.client);
  moved.send(TestMessage::hello, "moved", plenty());
  EXPECT_EQ(pair.server.receive(TestMessage::hello, plenty(), "greeting"), "moved");
  Pair other;
  other.client = std::move(moved);  // ends the connection it had
  EXPECT_TRUE(eventually([&] { return other.server.interrupted(); }));
  other.client.send(TestMessage::bye, "", plenty());
  EXPECT_EQ(pair.server.receive(TestMessage::bye, plenty(), "end"), "");
}

TEST(Channel, SaysWhatDidNotComeInTime) {
  Pair pair;
  EXPECT_THAT(complaint([&] { pair.server.receive(TestMessage::hello, brief(), "greeting"); }),
              testing::ContainsRegex("no greeting .*127\\.0\\.0\\.1:[0-9]+ within [0-9.]+ ms"));
}

TEST(Channel, ReceivesAfterADeadlineThatPassed) {
  Pair pair;
  EXPECT_THROW(pair.server.receive(brief(), "greeting"), Error);
  pair.client.send(TestMessage::hello, "late", plenty());
  EXPECT_EQ(pair.server.receive(TestMessage::hello, plenty(), "greeting"), "late");
}

TEST(Channel, TakesWhatIsThereEvenWithoutTimeLeft) {
  RawPair pair;
  pair.client.write(frame(TestMessage::hello, "here"));
  EXPECT_EQ(pair.server->receive(TestMessage::hello, Deadline::after(0s), "greeting"), "here");
}

TEST(Channel, IsReadableForBytesAndForTheEnd) {
  RawPair pair;
  EXPECT_FALSE(pair.server->readable(0ms));
  EXPECT_FALSE(pair.server->readable(5ms));
  pair.client.write(frame(TestMessage::hello).substr(0, 1));
  EXPECT_TRUE(pair.server->readable(0ms));
  EXPECT_THROW(pair.server->receive(Deadline::after(0s), "greeting"), Error);  // takes the byte
  EXPECT_FALSE(pair.server->readable(0ms));
  pair.client.close();
  EXPECT_TRUE(pair.server->readable(10s));
}

TEST(Channel, SaysWhichMessageThePeerDoesNotTake) {
  Pair pair;
  const std::string payload(kMaxPayload, 'x');
  const std::string text = complaint([&] {
    for (int i = 0; i < 1000; ++i) pair.client.send(TestMessage::offer, payload, brief());
  });
  EXPECT_THAT(text, has_all("did not take", "'offer'"));
  // Half a frame is out, so nothing may follow it: the peer reads the end of the stream.
  EXPECT_THAT(complaint([&] { pair.client.send(TestMessage::bye, "", plenty()); }),
              HasSubstr("lost the peer"));
  EXPECT_THAT(complaint([&] {
                for (;;) pair.server.receive(TestMessage::offer, plenty(), "offer");
              }),
              has_all("closed the connection", "offer ("));
}

TEST(Channel, SaysThatThePeerClosed) {
  Pair pair;
  { const Channel gone = std::move(pair.client); }
  EXPECT_THAT(complaint([&] { pair.server.receive(TestMessage::ready, plenty(), "start"); }),
              AllOf(StartsWith("the peer 127.0.0.1:"), has_all("closed the connection", "start")));
}

TEST(Channel, SendingToAPeerThatLeftIsAnErrorAndNoSignal) {
  RawPair pair;
  pair.client.reset();
  EXPECT_THAT(complaint([&] {
                for (;;) pair.server->send(TestMessage::epoch, "", plenty());
              }),
              HasSubstr("while sending 'epoch'"));
}

TEST(Channel, NamesTheMessageThatWasNotDue) {
  Pair pair;
  pair.client.send(TestMessage::epoch, "", plenty());
  EXPECT_THAT(complaint([&] { pair.server.receive(TestMessage::offer, plenty(), "offer"); }),
              HasSubstr("sent 'epoch' where 'offer' was due"));
}

TEST(Channel, GivesTheReasonOfAnAbortDuringTheWait) {
  Pair pair;
  std::thread quitter([&] { pair.client.abort("no such device"); });
  const std::string text =
      complaint([&] { pair.server.receive(TestMessage::offer, plenty(), "offer"); });
  quitter.join();
  EXPECT_EQ(text, "the peer " + pair.server.peer() + " gave up: no such device");
}

TEST(Channel, HandsAnAbortToWhoTakesAnyMessage) {
  Pair pair;
  pair.client.abort("enough");
  const Message message = pair.server.receive(plenty(), "message");
  EXPECT_EQ(message.type, TestMessage::abort);
  EXPECT_EQ(message.payload, "enough");
}

TEST(Channel, GivesTheReasonOfAPeerThatLeftWhileWeSend) {
  RawPair pair;
  pair.client.write(frame(TestMessage::abort, "out of memory"));
  pair.client.reset();
  EXPECT_THAT(complaint([&] {
                for (;;) pair.server->send(TestMessage::epoch, "", plenty());
              }),
              HasSubstr("gave up: out of memory"));
}

TEST(Channel, ShowsAnAbortOnOneShortLine) {
  Pair pair;
  pair.client.abort("two\nlines and \x1b[31mred" + std::string(5000, 'x'));
  const std::string text =
      complaint([&] { pair.server.receive(TestMessage::offer, plenty(), "offer"); });
  EXPECT_THAT(text, HasSubstr("two; lines and ?[31mred"));
  EXPECT_LT(text.size(), 1200U);
}

TEST(Channel, AbortsQuietlyWhenNothingMoreCanBeSent) {
  Pair pair;
  const std::string payload(kMaxPayload, 'x');
  EXPECT_THROW(for (;;) pair.client.send(TestMessage::offer, payload, brief()), Error);
  const auto start = Deadline::Clock::now();
  pair.client.abort("no room");
  EXPECT_LT(Deadline::Clock::now() - start, 2s);
}

}  // namespace
}  // namespace rdmabench::inline v1::control
