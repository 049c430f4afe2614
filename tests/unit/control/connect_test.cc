#include "control/tcp.h"
#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

TEST(Connect, SaysHowToStartTheServerThatRefuses) {
  const RawSocket socket;
  const std::uint16_t port = socket.bind();
  EXPECT_THAT(complaint([&] { Channel::connect("127.0.0.1", port, plenty()); }),
              has_all("127.0.0.1:" + std::to_string(port), "ECONNREFUSED", "server on 127.0.0.1",
                      "'rdmabench serve'", "`port`"));
}

TEST(Connect, NamesTheAddressesThatItTried) {
  const RawSocket socket;
  const std::uint16_t port = socket.bind();
  EXPECT_THAT(complaint([&] { Channel::connect("localhost", port, plenty()); }),
              AllOf(StartsWith("connect to localhost:"), has_all("127.0.0.1", "(ECONNREFUSED)")));
}

TEST(Connect, TriesEveryAddressOfAName) {
  Listener listener("127.0.0.1", 0);  // "localhost" is often ::1 first
  const auto [client, server] = meet(listener, "localhost");
  EXPECT_EQ(client.peer_ip(), "127.0.0.1");
  EXPECT_EQ(client.peer(), "localhost:" + std::to_string(listener.port()));
}

TEST(Connect, TakesAnAddressInBrackets) {
  for (const char* host : {"::1", "[::1]"}) {
    const LookUp found(host, 7);
    ASSERT_EQ(found.endpoints.size(), 1U) << host << ": " << found.error;
    EXPECT_EQ(found.endpoints.front().address(), "::1");
    EXPECT_EQ(host_and_port(host, 7), "[::1]:7");
  }
  EXPECT_FALSE(LookUp("[]", 7).error.empty());
}

TEST(Connect, WaitsForAServerThatIsStillStarting) {
  const std::uint16_t port = Listener("127.0.0.1", 0).port();
  std::thread starter([&] {
    std::this_thread::sleep_for(30ms);
    Listener listener("127.0.0.1", port);
    EXPECT_TRUE(listener.accept(plenty()));
  });
  EXPECT_NO_THROW(Channel::connect("127.0.0.1", port, plenty(), 10s));
  starter.join();
}

TEST(Connect, StopsAskingWhenItsPatienceEnds) {
  const RawSocket socket;
  const std::uint16_t port = socket.bind();
  const auto start = Deadline::Clock::now();
  EXPECT_THROW(Channel::connect("127.0.0.1", port, plenty(), 50ms), Error);
  EXPECT_GE(Deadline::Clock::now() - start, 50ms);
  EXPECT_THROW(Channel::connect("127.0.0.1", port, brief(), 1h), Error);
  EXPECT_LT(Deadline::Clock::now() - start, 10s);
}

TEST(Connect, SaysThatItWasStoppedWhateverCameOfIt) {
  const RawSocket socket;
  const std::uint16_t port = socket.bind();
  std::stop_source stop;
  stop.request_stop();
  try {
    Channel::connect("127.0.0.1", port, plenty(), {}, {}, stop.get_token());
    ADD_FAILURE() << "connected";
  } catch (const Cancelled& cancelled) {
    EXPECT_EQ(cancelled.failure().peer, "127.0.0.1:" + std::to_string(port));
  }
}

TEST(Connect, SaysThatNothingAnsweredInTime) {
  // A backlog that is full makes the kernel drop what else comes, as a firewall would.
  const RawSocket server;
  const std::uint16_t port = server.bind();
  server.listen(0);
  const RawSocket first;
  first.connect(port);
  EXPECT_THAT(complaint([&] { Channel::connect("127.0.0.1", port, brief()); }),
              has_all("connect to 127.0.0.1:" + std::to_string(port) + " within ",
                      "ms: Connection timed out (ETIMEDOUT)", "firewall"));
}

TEST(Connect, SaysThatTheServerWasBusyTheWholeTime) {
  const RawSocket server;
  const std::uint16_t port = server.bind();
  server.listen(8);
  std::thread serving([&] {
    const std::array<char, 2> reason{static_cast<char>(RefusalReason::busy), 0};
    const auto header = encode_header({HandshakeMessage::refusal, reason.size()});
    for (int client = 0; (client = accept(server.handle(), nullptr, nullptr)) >= 0; close(client)) {
      send(client, header.data(), header.size(), MSG_NOSIGNAL | MSG_MORE);
      send(client, reason.data(), reason.size(), MSG_NOSIGNAL);
      std::array<char, kHeaderBytes + 1 + kNonce> greeting{};
      recv(client, greeting.data(), greeting.size(), MSG_WAITALL);  // or closing would reset it
    }
  });
  EXPECT_THAT(complaint([&] {
                Channel::connect("127.0.0.1", port, Deadline::after(300ms), {},
                                 Authentication::of_this_process());
              }),
              HasSubstr("too many connections to the peer"));
  shutdown(server.handle(), SHUT_RDWR);  // ends accept()
  serving.join();
}

TEST(Connect, NamesAnUnknownHost) {
  const std::string label(70, 'x');  // longer than DNS allows, so no name server is asked
  EXPECT_THAT(complaint([&] { Channel::connect(label, 1, plenty()); }),
              AllOf(StartsWith("unknown host '" + label + "'"), HasSubstr("Check the spelling")));
  EXPECT_THAT(complaint([] { Channel::connect("", 1, plenty()); }), HasSubstr("empty host name"));
}

}  // namespace
}  // namespace rdmabench::inline v1::control
