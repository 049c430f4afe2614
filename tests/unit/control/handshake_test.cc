// Who is let in, who is not, and what happens to the frames of those who are.
#include "control/handshake.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "control/pending_handshakes.h"
#include "control/seal.h"
#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

constexpr std::size_t kFrameOfRefusal = kHeaderBytes + 2;

const std::string kRight(kMinSecret, 'r');
const std::string kWrong(kMinSecret, 'w');

Authentication right() {
  return Authentication::secret(kRight);
}

/// What the client says whose server accepts in its own thread and gets nobody.
std::string refusal(const Authentication& server, const Authentication& client) {
  Listener listener("127.0.0.1", 0, server);
  std::thread serving([&] { EXPECT_FALSE(listener.accept(Deadline::after(1h))); });
  const std::string text =
      complaint([&] { Channel::connect("127.0.0.1", listener.port(), plenty(), {}, client); });
  listener.stop();
  serving.join();
  return text;
}

TEST(Handshake, LetsTheRightSecretIn) {
  Listener listener("127.0.0.1", 0, right());
  auto [client, server] = meet(listener, "127.0.0.1", right());
  for (int i = 0; i < 3; ++i) {
    client.send(TestMessage::hello, "one", plenty());
    EXPECT_EQ(server.receive(TestMessage::hello, plenty(), "greeting"), "one");
    server.send(TestMessage::ready, std::string(kMaxPayload, 'x'), plenty());
    EXPECT_EQ(client.receive(TestMessage::ready, plenty(), "start").size(), kMaxPayload);
  }
}

TEST(Handshake, RefusesAnotherSecretAndNamesTheFileOfThisSide) {
  EXPECT_THAT(refusal(right(), Authentication::secret(kWrong)),
              has_all("has another token", "the same `token_file`"));
  const std::string path = ::testing::TempDir() + "handshake_test.token";
  std::ofstream(path) << kWrong;
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_THAT(refusal(right(), Authentication::token_file(path)),
              HasSubstr("Give both sides the same `token_file`; this side's is '" + path + "'."))
      << "where the peer has its own is not known";
  std::filesystem::remove(path);
}

TEST(Handshake, NamesTheSideThatIsInsecure) {
  EXPECT_THAT(
      refusal(right(), Authentication::insecure()),
      has_all("uses a token", "this side no authentication (`insecure`)", "to both or to neither"));
  EXPECT_THAT(refusal(Authentication::insecure(), right()),
              has_all("uses no authentication (`insecure`)", "this side a token"));
}

/// HMAC takes both of each pair for the same key (RFC 2104).
TEST(Handshake, RefusesASecretThatIsTheSameKeyOfHmac) {
  EXPECT_THAT(refusal(right(), Authentication::secret(kRight + '\0')),
              HasSubstr("has another token"));
  EXPECT_THAT(refusal(Authentication::secret(std::string(100, 'x')),
                      Authentication::secret(bytes_of(
                          "09ecb6ebc8bcefc733f6f2ec44f791abeed6a99edf0cc31519637898aebd52d8"))),
              HasSubstr("has another token"));  // its SHA-256
}

/// Computed with hmac of Python's library, from docs/security.md.
TEST(Handshake, GivesTheseValues) {
  std::string secret;
  for (char byte = 0; byte < 32; ++byte) secret += byte;
  const Transcript transcript{.version = 9,
                              .method = Authentication::Method::token,
                              .client_nonce = std::string(kNonce, '\xc1'),
                              .server_nonce = std::string(kNonce, '\x5e'),
                              .client_end = "10.0.0.1:40000",
                              .server_end = "10.0.0.2:18515"};
  const Digest key = handshake_key(secret);
  EXPECT_EQ(view(key),
            bytes_of("e231e94c32a72eb0cccd9989a4ede068b7c31657596b95cadb2b3ed469e1162d"));
  EXPECT_EQ(view(proof_of(transcript, key, "client")),
            bytes_of("a164954be6905e72c0a0eacf6bcc0b2d3dd504bc6b3c62d294d6521ebff7258a"));
  EXPECT_EQ(view(proof_of(transcript, key, "client", false)),
            bytes_of("1d546fc1fba21d4d79d5d385e8ab23c0f60e7ffd7ec5142725dd1ba897ade20f"));
  EXPECT_EQ(view(proof_of(transcript, key, "server")),
            bytes_of("6a9ff9e668e07f58444f7a8ff6f1b5c78f7150dc5f58285293370fd3fe5ce121"));
  const SessionKeys keys = session_keys(transcript, key);
  EXPECT_EQ(view(keys.client_to_server),
            bytes_of("e86b32b74bf31e158f5f762151c5bb5e8e67f16e8b8c1e39ee88653df95d4393"));
  EXPECT_EQ(view(keys.server_to_client),
            bytes_of("53b675b8190f4b8ad0a227d137cc2f72c4d4cc3c10593195f7e7dd08dd6f58cd"));
  Seal seal(view(keys.client_to_server));
  const Code of_header = seal.next(std::string_view("RDMB\0\x9\x7f\0\0\0\0\3", kHeaderBytes));
  EXPECT_EQ(std::string(of_header.data(), of_header.size()),
            bytes_of("bedf2f075bc3b68405b79b6ea8e7e595"));
  const Code of_payload = seal.next("one");
  EXPECT_EQ(std::string(of_payload.data(), of_payload.size()),
            bytes_of("72fd9eedc9726badbf941de0fe70cc6e"));
}

TEST(Handshake, DerivedSecretsDifferByTheirLabel) {
  Listener listener("127.0.0.1", 0, right().derived("job 1"));
  EXPECT_NO_THROW(meet(listener, "127.0.0.1", right().derived("job 1")));
  EXPECT_THAT(refusal(right().derived("job 1"), right().derived("job 2")),
              HasSubstr("another token"));
  EXPECT_THAT(refusal(right().derived("job 1"), right()), HasSubstr("another token"));
}

/// A server of the test's own that follows the protocol, as far as it can without the secret.
class RogueServer {
 public:
  RogueServer() : port_(listening_.bind()) { listening_.listen(1); }

  /// What the client says to this answer to its proof.
  std::string answer(std::string_view welcome) {
    std::thread serving([&] {
      const int client = accept(listening_.handle(), nullptr, nullptr);
      const auto take = [&](std::size_t count) {
        std::string bytes(count, '\0');
        EXPECT_EQ(recv(client, bytes.data(), count, MSG_WAITALL), static_cast<ssize_t>(count));
      };
      take(kHeaderBytes + 1 + kNonce);
      const std::string challenge = frame(HandshakeMessage::challenge, std::string(kNonce, 's'));
      EXPECT_GT(send(client, challenge.data(), challenge.size(), MSG_NOSIGNAL), 0);
      take(kHeaderBytes + 2 * kDigest);
      EXPECT_GT(send(client, welcome.data(), welcome.size(), MSG_NOSIGNAL), 0);
      close(client);
    });
    const std::string text =
        complaint([&] { Channel::connect("127.0.0.1", port_, plenty(), {}, right()); });
    serving.join();
    return text;
  }

 private:
  RawSocket listening_;
  std::uint16_t port_;
};

TEST(Handshake, TheClientRefusesAServerWithoutTheSecret) {
  EXPECT_THAT(RogueServer().answer(frame(HandshakeMessage::welcome, std::string(kDigest, 'p'))),
              HasSubstr("did not prove"));
  EXPECT_THAT(RogueServer().answer(frame(HandshakeMessage::welcome)), HasSubstr("did not prove"));
  EXPECT_THAT(RogueServer().answer(frame(TestMessage::hello, "x")), HasSubstr("was due"));
}

TEST(Handshake, TheClientDoesNotRepeatWhatAStrangerSays) {
  EXPECT_THAT(RogueServer().answer(frame(TestMessage::abort, "type your password here")),
              AllOf(HasSubstr("did not prove"), Not(HasSubstr("password"))));
}

/// A client that has the secret, but writes its frames itself.
class RawClient {
 public:
  explicit RawClient(Listener& listener, std::string_view secret = kRight,
                     const std::string& seen_as = "127.0.0.1") {
    socket.connect(listener.port());
    socket.write(greeting(Authentication::Method::token));
    EXPECT_FALSE(listener.accept(brief()));  // it answers, and waits for the proof
    const std::string challenge = socket.read(kHeaderBytes + kNonce);
    transcript = {.method = Authentication::Method::token,
                  .client_nonce = std::string(kNonce, 'n'),
                  .server_nonce = challenge.substr(kHeaderBytes),
                  .client_end = seen_as + ":" + std::to_string(socket.port()),
                  .server_end = "127.0.0.1:" + std::to_string(listener.port())};
    const Digest key = handshake_key(secret);
    keys = session_keys(transcript, key);
    proof = std::string(view(proof_of(transcript, key, "client")));
    proof += view(proof_of(transcript, key, "client", false));
    socket.write(frame(HandshakeMessage::proof, proof));
  }

  /// A frame with the codes of a message that has this number.
  std::string sealed(std::string_view payload, int number = 0, bool from_server = false) const {
    Seal seal(view(from_server ? keys.server_to_client : keys.client_to_server));
    for (int i = 0; i < 2 * number; ++i) seal.next("");
    const std::string whole = frame(TestMessage::hello, payload);
    std::string bytes;
    for (const std::string& part : {whole.substr(0, kHeaderBytes), whole.substr(kHeaderBytes)}) {
      const Code code = seal.next(part);
      bytes += part + std::string(code.data(), code.size());
    }
    return bytes;
  }

  RawSocket socket;
  Transcript transcript{};
  SessionKeys keys{};
  std::string proof;
};

class Frames : public ::testing::Test {
 protected:
  Frames() : server(listener.accept(plenty())) { EXPECT_TRUE(server); }

  std::string refused() {
    return complaint([this] { server->receive(TestMessage::hello, plenty(), "hello"); });
  }
  std::string taken() { return server->receive(TestMessage::hello, plenty(), "hello"); }

  const testing::Matcher<std::string> kNotThePeers =
      has_all("has a wrong authentication code", "due was hello");

  Listener listener{"127.0.0.1", 0, right()};
  RawClient client{listener};
  std::optional<Channel> server;
};

TEST_F(Frames, OfThePeerAreTakenInTurn) {
  client.socket.write(client.sealed("one") + client.sealed("two", 1));
  EXPECT_EQ(taken(), "one");
  EXPECT_EQ(taken(), "two");
}

TEST_F(Frames, ThatAreRepeatedAreRefused) {
  client.socket.write(client.sealed("one") + client.sealed("one"));
  EXPECT_EQ(taken(), "one");
  EXPECT_THAT(refused(), kNotThePeers);
}

TEST_F(Frames, InAnotherOrderAreRefused) {
  client.socket.write(client.sealed("two", 1) + client.sealed("one"));
  EXPECT_THAT(refused(), kNotThePeers);
  EXPECT_THAT(refused(), kNotThePeers);  // and nothing after them is read
}

TEST_F(Frames, OfTheServerItselfAreRefused) {
  client.socket.write(client.sealed("one", 0, true));
  EXPECT_THAT(refused(), kNotThePeers);
}

TEST_F(Frames, ThatAreChangedAreRefused) {
  std::string bytes = client.sealed("one");
  bytes[kHeaderBytes + kCodeBytes] ^= 1;
  client.socket.write(bytes);
  EXPECT_THAT(refused(), kNotThePeers);
}

TEST_F(Frames, OfAnotherTypeAreRefused) {
  std::string bytes = client.sealed("one");
  bytes.replace(0, kHeaderBytes, frame(TestMessage::offer, "one").substr(0, kHeaderBytes));
  client.socket.write(bytes);
  EXPECT_THAT(refused(), kNotThePeers);
}

/// Nothing is waited for, and no room taken, that the peer did not announce.
TEST_F(Frames, OfAnotherLengthAreRefusedBeforeTheirPayload) {
  std::string bytes = client.sealed("one");
  bytes.replace(0, kHeaderBytes, frame(TestMessage::hello, std::string(kMaxPayload, 'x')), 0,
                kHeaderBytes);
  client.socket.write(bytes);
  EXPECT_THAT(complaint([this] { server->receive_ready("hello"); }), kNotThePeers);
}

/// What is no header either is not told of as the peer's.
TEST_F(Frames, OfAnotherProtocolAreRefused) {
  client.socket.write("GET / HTTP/1.1\r\nHost: example\r\n\r\n");
  EXPECT_THAT(refused(), kNotThePeers);
}

TEST_F(Frames, WithoutACodeAreRefused) {
  client.socket.write(frame(TestMessage::hello, "one") + frame(TestMessage::abort, "four"));
  EXPECT_THAT(refused(), kNotThePeers);
}

TEST_F(Frames, ThatAreCutShortAreNotTaken) {
  const std::string bytes = client.sealed("one");
  client.socket.write(bytes.substr(0, bytes.size() - 1));
  EXPECT_FALSE(server->receive_ready("hello"));
  client.socket.close();
  EXPECT_THAT(refused(), HasSubstr("(18 of 19 bytes of its payload came)"));
}

/// Why the server refuses a peer: of the frame that it gets; nothing where it is closed without.
std::optional<RefusalReason> reason_given(Listener& listener, const RawSocket& stranger) {
  EXPECT_FALSE(listener.accept(brief()));
  const std::string answer = stranger.read(kFrameOfRefusal);
  if (answer.size() != kFrameOfRefusal) return std::nullopt;
  EXPECT_EQ(answer.substr(0, kHeaderBytes),
            frame(HandshakeMessage::refusal, "xx").substr(0, kHeaderBytes));
  return static_cast<RefusalReason>(answer[kHeaderBytes]);
}

TEST(UnauthenticatedPeer, BehindTranslatedAddressesIsToldSo) {
  Listener listener("127.0.0.1", 0, right());
  const RawClient client(listener, kRight, "10.0.0.1");
  EXPECT_EQ(reason_given(listener, client.socket), RefusalReason::other_addresses);
}

TEST(UnauthenticatedPeer, WithARecordedProofIsRefused) {
  Listener listener("127.0.0.1", 0, right());
  const RawClient honest(listener);
  EXPECT_TRUE(listener.accept(plenty()));
  const RawSocket thief;  // the nonce of the server is another one now
  thief.connect(listener.port());
  thief.write(greeting(Authentication::Method::token) +
              frame(HandshakeMessage::proof, honest.proof));
  EXPECT_FALSE(listener.accept(brief()));
  EXPECT_EQ(thief.read(kHeaderBytes + kNonce).size(), kHeaderBytes + kNonce);
  EXPECT_EQ(reason_given(listener, thief), RefusalReason::other_secret);
}

TEST(UnauthenticatedPeer, MayNotAnswerWithTheServersOwnProof) {
  Listener listener("127.0.0.1", 0, right());
  const RawSocket stranger;
  stranger.connect(listener.port());
  stranger.write(greeting(Authentication::Method::token));
  EXPECT_FALSE(listener.accept(brief()));
  const std::string challenge = stranger.read(kHeaderBytes + kNonce);
  stranger.write(challenge);
  EXPECT_EQ(reason_given(listener, stranger), RefusalReason::unreadable);
}

TEST(UnauthenticatedPeer, MaySendNothingButTheHandshake) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), frame(TestMessage::hello, "{}"),
        frame(HandshakeMessage::abort, "x"), frame(HandshakeMessage::greeting, "short"),
        frame(HandshakeMessage::welcome, std::string(kDigest, 'x')),
        frame(HandshakeMessage::proof, std::string(2 * kDigest, 'x')),
        std::string("RDMB\0\2\0\2\0\0\0\0", kHeaderBytes)}) {
    Listener listener("127.0.0.1", 0, right());
    const RawSocket stranger;
    stranger.connect(listener.port());
    stranger.write(bytes);
    EXPECT_EQ(reason_given(listener, stranger), RefusalReason::unreadable) << bytes;
  }
}

TEST(UnauthenticatedPeer, MaySendLessThan4KiB) {
  Listener listener("127.0.0.1", 0, right());
  const RawSocket stranger;
  stranger.connect(listener.port());
  stranger.write(frame(HandshakeMessage::greeting, std::string(4096, 'x')));
  EXPECT_EQ(reason_given(listener, stranger), RefusalReason::unreadable);
  EXPECT_LT(2 * (kHeaderBytes + kMaxUnproved), 4096);  // two frames at most
}

TEST(UnauthenticatedPeer, ThatIsSilentDelaysNobodyAndIsClosed) {
  Listener listener("127.0.0.1", 0, right());
  std::vector<RawSocket> silent(3);
  for (const RawSocket& one : silent) one.connect(listener.port());
  const auto begin = Deadline::Clock::now();
  EXPECT_NO_THROW(meet(listener, "127.0.0.1", right()));
  EXPECT_LT(Deadline::Clock::now() - begin, PendingHandshakes::kLimit);
  EXPECT_FALSE(listener.accept(Deadline::after(PendingHandshakes::kLimit + 100ms)));
  for (const RawSocket& one : silent) {
    const std::string answer = one.read(kFrameOfRefusal);
    ASSERT_EQ(answer.size(), kFrameOfRefusal);
    EXPECT_EQ(static_cast<RefusalReason>(answer[kHeaderBytes]), RefusalReason::late);
  }
}

TEST(UnauthenticatedPeer, MakesRoomForThoseWhoComeLater) {
  Listener listener("127.0.0.1", 0, right());
  constexpr std::size_t kMany = 3 * PendingHandshakes::kMaxPerHost;
  std::vector<RawSocket> silent(kMany);
  for (const RawSocket& one : silent) one.connect(listener.port());
  const auto begin = Deadline::Clock::now();
  EXPECT_NO_THROW(meet(listener, "127.0.0.1", right()));
  EXPECT_LT(Deadline::Clock::now() - begin,
            PendingHandshakes::kLimit);  // none of them waits for its end
  const std::string answer = silent.front().read(kFrameOfRefusal);
  ASSERT_EQ(answer.size(), kFrameOfRefusal);
  EXPECT_EQ(static_cast<RefusalReason>(answer[kHeaderBytes]), RefusalReason::busy);
}

}  // namespace
}  // namespace rdmabench::inline v1::control
