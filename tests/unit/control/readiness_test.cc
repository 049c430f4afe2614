#include "control/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(Take, GivesWholeMessagesAndNeverWaits) {
  Pair pair;
  EXPECT_FALSE(pair.server.receive_ready("next message"));
  pair.client.send(TestMessage::hello, "one", plenty());
  pair.client.send(TestMessage::ready, "", plenty());
  ASSERT_TRUE(pair.server.readable(std::chrono::seconds(20)));
  const std::optional<Message> first = pair.server.receive_ready("next message");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, TestMessage::hello);
  EXPECT_EQ(first->payload, "one");
  std::optional<Message> second;
  ASSERT_TRUE(
      eventually([&] { return (second = pair.server.receive_ready("next message")).has_value(); }));
  EXPECT_EQ(second->type, TestMessage::ready);
  EXPECT_FALSE(pair.server.receive_ready("next message"));
}

TEST(Take, KeepsAPartOfAMessageForLater) {
  RawPair pair;
  const std::string bytes = frame(TestMessage::hello, "hi");
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    pair.client.write(bytes.substr(i, 1));
    EXPECT_FALSE(pair.server->receive_ready("next message"));
  }
  pair.client.write(bytes.substr(bytes.size() - 1));
  const std::optional<Message> message = pair.server->receive_ready("next message");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->payload, "hi");
}

TEST(Take, SaysThatThePeerLeftOrSendsNonsense) {
  {
    Pair pair;
    { const Channel gone = std::move(pair.client); }
    ASSERT_TRUE(pair.server.readable(std::chrono::seconds(20)));
    EXPECT_THAT(complaint([&] { pair.server.receive_ready("next message"); }), HasSubstr("closed"));
  }
  RawPair pair;
  pair.client.write("GET / HTTP/1.1\r\n");
  EXPECT_THAT(complaint([&] { pair.server->receive_ready("next message"); }),
              HasSubstr("does not speak"));
}

TEST(ReadinessTest, NamesThoseThatHaveSomething) {
  Pair one;
  Pair two;
  Pair three;
  Readiness readiness;
  readiness.watch(one.server, 11);
  readiness.watch(two.server, 22);
  readiness.watch(three.server, 33);
  EXPECT_THAT(readiness.wait(brief()), IsEmpty());
  one.client.send(TestMessage::hello, "", plenty());
  three.client.send(TestMessage::hello, "", plenty());
  ASSERT_TRUE(one.server.readable(std::chrono::seconds(20)));
  ASSERT_TRUE(three.server.readable(std::chrono::seconds(20)));
  EXPECT_THAT(readiness.wait(plenty()), UnorderedElementsAre(11, 33));
  static_cast<void>(one.server.receive_ready("next message"));
  EXPECT_THAT(readiness.wait(plenty()), ElementsAre(33));  // for as long as it is there
  static_cast<void>(three.server.receive_ready("next message"));
  { const Channel gone = std::move(two.client); }
  EXPECT_THAT(readiness.wait(plenty()), ElementsAre(22));  // an end is something too
  { const Channel gone = std::move(two.server); }
  EXPECT_THAT(readiness.wait(brief()), IsEmpty());  // let go of by itself
}

TEST(ReadinessTest, MayWaitForTheEndAlone) {
  Pair one;
  Readiness readiness;
  readiness.watch(one.server, 11);
  one.client.send(TestMessage::hello, "", plenty());
  EXPECT_THAT(readiness.wait(plenty()), ElementsAre(11));
  readiness.watch_end(one.server, 12);
  EXPECT_THAT(readiness.wait(brief()), IsEmpty());
  { const Channel gone = std::move(one.client); }
  EXPECT_THAT(readiness.wait(plenty()), ElementsAre(12));
  EXPECT_TRUE(one.server.receive_ready("next message"));
}

TEST(ReadinessTest, WatchesAListener) {
  Listener listener("127.0.0.1", 0);
  Readiness readiness;
  readiness.watch(listener, 7);
  EXPECT_THAT(readiness.wait(brief()), IsEmpty());
  const RawSocket client;
  client.connect(listener.port());
  EXPECT_THAT(readiness.wait(plenty()), ElementsAre(7));
}

TEST(ReadinessTest, IsWokenByAnotherThreadAlsoBeforeItWaits) {
  Readiness readiness;
  readiness.wake();
  EXPECT_THAT(readiness.wait(plenty()), IsEmpty());
  std::thread waker([&] { readiness.wake(); });
  EXPECT_THAT(readiness.wait(plenty()), IsEmpty());
  waker.join();
}

}  // namespace
}  // namespace rdmabench::inline v1::control
