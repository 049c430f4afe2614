// What a server says of clients that are broken, foreign or hostile.
#include <random>

#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using namespace std::string_literals;

/// What receive() says after the peer wrote `bytes` and stays connected.
std::string answer_to(std::string_view bytes) {
  RawPair pair;
  pair.client.write(bytes);
  return complaint([&] { pair.server->receive(TestMessage::hello, brief(), "greeting"); });
}

/// The same when the peer leaves after its bytes.
std::string answer_to_last(std::string_view bytes) {
  RawPair pair;
  pair.client.write(bytes);
  pair.client.close();
  return complaint([&] { pair.server->receive(TestMessage::hello, plenty(), "greeting"); });
}

TEST(HostilePeer, ThatSpeaksHttpIsRecognised) {
  EXPECT_THAT(
      answer_to("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
      has_all("the peer at 127.0.0.1:", "does not speak", "47 45 54 20", "'rdmabench serve'"));
}

TEST(HostilePeer, ThatSpeaksAnotherVersionIsNamedWithIt) {
  EXPECT_THAT(
      answer_to("RDMB\0\2\0\1\0\0\0\0"s),
      HasSubstr("speaks protocol version 2, this is version " + std::to_string(kProtocolVersion)));
}

TEST(HostilePeer, ThatAnnouncesFourGigabytesIsRefused) {
  EXPECT_THAT(answer_to(kStart + "\0\1\xff\xff\xff\xff"s), HasSubstr("4294967295 bytes"));
}

TEST(HostilePeer, ThatAnnouncesOneByteTooManyIsRefused) {
  EXPECT_THAT(answer_to(kStart + "\0\1\0\x10\0\1"s), HasSubstr("1048577 bytes"));
}

TEST(HostilePeer, ThatSendsRandomBytesIsRefusedEveryTime) {
  std::mt19937 random(18515);
  for (int round = 0; round < 20; ++round) {
    std::string bytes(4 + random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_THAT(answer_to(bytes), HasSubstr("does not speak the rdmabench protocol"));
  }
}

TEST(HostilePeer, ThatIsRefusedOnceStaysRefused) {
  RawPair pair;
  pair.client.write("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(complaint([&] { pair.server->receive(plenty(), "greeting"); }),
                HasSubstr("47 45 54 20"));
  }
}

TEST(HostilePeer, ThatSaysNothingIsGivenUp) {
  EXPECT_THAT(answer_to(""), MatchesRegex("no greeting from .* within [0-9.]+ ms"));
}

TEST(HostilePeer, ThatStopsInTheHeaderIsGivenUp) {
  EXPECT_THAT(answer_to(kStart), has_all("no greeting", "6 of 12 bytes of its header"));
}

TEST(HostilePeer, ThatLeavesInTheHeaderIsReported) {
  EXPECT_THAT(answer_to_last("RDM"),
              has_all("closed the connection", "greeting", "3 of 12 bytes of its header"));
}

TEST(HostilePeer, ThatLeavesInThePayloadIsReported) {
  EXPECT_THAT(answer_to_last(frame(TestMessage::hello, "payload").substr(0, 15)),
              has_all("closed the connection", "greeting", "3 of 7 bytes of its payload"));
}

TEST(HostilePeer, ThatResetsIsReportedWithTheErrno) {
  RawPair pair;
  pair.client.reset();
  EXPECT_THAT(complaint([&] { pair.server->receive(plenty(), "greeting"); }),
              has_all("greeting", "ECONNRESET"));
}

TEST(HostilePeer, ThatIsOnlySlowIsReadToTheEnd) {
  RawPair pair;
  const std::string bytes = frame(TestMessage::hello, "slow");
  for (const char& byte : bytes) {
    EXPECT_THROW(pair.server->receive(Deadline::after({}), "greeting"), Error);
    pair.client.write({&byte, 1});
  }
  EXPECT_EQ(pair.server->receive(TestMessage::hello, plenty(), "greeting"), "slow");
}

}  // namespace
}  // namespace rdmabench::inline v1::control
