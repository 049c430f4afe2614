// Channel::interrupted(): yes for a peer that is gone or gives up, no for everything else.
#include <atomic>

#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

TEST(Interrupted, IsFalseWhileNothingComes) {
  RawPair pair;
  EXPECT_FALSE(pair.server->interrupted());
}

TEST(Interrupted, IsFalseWhileAMessageWaits) {
  RawPair pair;
  pair.client.write(frame(TestMessage::epoch, "payload"));
  EXPECT_FALSE(pair.server->interrupted());
  EXPECT_EQ(pair.server->receive(TestMessage::epoch, plenty(), "epoch"), "payload");
  EXPECT_FALSE(pair.server->interrupted());
}

TEST(Interrupted, IsFalseForAMessageThatHidesTheEnd) {
  RawPair pair;
  pair.client.write(frame(TestMessage::result));
  pair.client.close();
  EXPECT_FALSE(pair.server->interrupted());
  pair.server->receive(TestMessage::result, plenty(), "result");
  EXPECT_TRUE(eventually([&] { return pair.server->interrupted(); }));
}

TEST(Interrupted, IsTrueForAnAbortAndLeavesItToBeRead) {
  RawPair pair;
  pair.client.write(frame(TestMessage::abort, "reason"));
  EXPECT_TRUE(pair.server->interrupted());
  EXPECT_TRUE(pair.server->interrupted());
  EXPECT_EQ(pair.server->receive(plenty(), "reason").payload, "reason");
  EXPECT_FALSE(pair.server->interrupted());
}

TEST(Interrupted, IsFalseForHalfAHeaderUntilThePeerLeaves) {
  RawPair pair;
  pair.client.write(frame(TestMessage::abort).substr(0, 6));
  EXPECT_FALSE(pair.server->interrupted());
  pair.client.close();
  EXPECT_TRUE(eventually([&] { return pair.server->interrupted(); }));
}

TEST(Interrupted, IsTrueOnceThePeerHasClosed) {
  RawPair pair;
  pair.client.close();
  EXPECT_TRUE(eventually([&] { return pair.server->interrupted(); }));
  EXPECT_TRUE(pair.server->interrupted());
}

TEST(Interrupted, StaysTrueAfterAReset) {
  RawPair pair;
  pair.client.reset();
  EXPECT_TRUE(eventually([&] { return pair.server->interrupted(); }));
  EXPECT_TRUE(pair.server->interrupted());
}

TEST(Interrupted, MayBeAskedWhileAnotherThreadReceives) {
  Pair pair;
  std::atomic<bool> done{false};
  std::thread receiver([&] {
    for (int i = 0; i < 200; ++i) pair.server.receive(TestMessage::epoch, plenty(), "epoch");
    done = true;
  });
  for (int i = 0; i < 200; ++i) pair.client.send(TestMessage::epoch, "payload", plenty());
  while (!done) EXPECT_FALSE(pair.server.interrupted());
  receiver.join();
}

}  // namespace
}  // namespace rdmabench::inline v1::control
