#include "rdmabench/control/listener.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <vector>

#include "control/pending_handshakes.h"
#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(Listener, TakesBothFamiliesWithoutAnAddress) {
  Listener listener("", 0);
  int taken = 0;
  for (const char* host : {"127.0.0.1", "::1"}) {
    try {
      if (std::string_view(host) == "::1") Listener(host, 0);  // throws where IPv6 is off
      const auto [client, server] = meet(listener, host);
      EXPECT_EQ(server.peer_ip(), host);  // and not "::ffff:127.0.0.1"
      EXPECT_EQ(server.local_ip(), host);
      ++taken;
    } catch (const Error& error) {
      EXPECT_STREQ(host, "::1") << error.what();  // IPv6 may be off
    }
  }
  EXPECT_GE(taken, 1);
}

TEST(Listener, TakesManyClientsInARow) {
  Listener listener("127.0.0.1", 0);
  constexpr int kClients = 50;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {  // more at once than may be unauthenticated
    clients.emplace_back([&] {
      EXPECT_NO_THROW({
        Channel client = Channel::connect("127.0.0.1", listener.port(), plenty());
        EXPECT_EQ(client.receive(TestMessage::hello, plenty(), "greeting"), "");
      });
    });
  }
  std::vector<Channel> servers;
  for (int i = 0; i < kClients; ++i) {
    servers.push_back(listener.accept(plenty()).value());
    servers.back().send(TestMessage::hello, "", plenty());
  }
  for (std::thread& client : clients) client.join();
}

TEST(Listener, TellsWhomItRefuses) {
  Listener listener("127.0.0.1", 0, Authentication::secret(std::string(32, 'a')));
  std::vector<RefusedPeer> told;
  listener.on_refused([&](const RefusedPeer& refused) { told.push_back(refused); });
  std::thread stranger([&] {
    complaint([&] {
      Channel::connect("127.0.0.1", listener.port(), plenty(), {},
                       Authentication::secret(std::string(32, 'b')));
    });
    complaint([&] {
      Channel::connect("127.0.0.1", listener.port(), plenty(), {}, Authentication::insecure());
    });
    listener.stop();
  });
  EXPECT_FALSE(listener.accept(plenty()).has_value());
  stranger.join();
  ASSERT_EQ(told.size(), 2);
  EXPECT_EQ(told[0].ip, "127.0.0.1");
  EXPECT_TRUE(told[0].other_secret);
  EXPECT_EQ(told[0].why, "another token");
  EXPECT_FALSE(told[1].other_secret);
  EXPECT_NE(told[0].peer, told[1].peer);
}

TEST(Listener, LeavesNoFileDescriptorBehind) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator folder("/proc/self/fd");
    return std::distance(begin(folder), end(folder));
  };
  { const Pair loads_what_is_loaded_once; }
  const auto before = open_descriptors();
  {
    Listener listener("127.0.0.1", 0);
    for (int i = 0; i < 20; ++i) {
      const Ends ends = meet(listener, "localhost");
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Listener, ReturnsNothingWhenNobodyComes) {
  Listener listener("127.0.0.1", 0);
  EXPECT_FALSE(listener.accept(brief()).has_value());
  EXPECT_FALSE(listener.stopped());
}

TEST(Listener, NamesThePortThatIsInUse) {
  const Listener first("127.0.0.1", 0);
  const std::string port = std::to_string(first.port());
  for (const char* address : {"127.0.0.1", ""}) {
    EXPECT_THAT(complaint([&] { Listener(address, first.port()); }),
                has_all("listen on port " + port, "(EADDRINUSE)", "give another `port`"));
  }
}

TEST(Listener, TakesItsPortAgainAtOnce) {
  std::uint16_t port = 0;
  {
    Pair pair;
    port = pair.listener.port();
    { const Channel first_to_close = std::move(pair.server); }  // leaves TIME_WAIT on this port
    EXPECT_TRUE(eventually([&] { return pair.client.interrupted(); }));
  }
  EXPECT_NO_THROW(Listener("127.0.0.1", port));
}

TEST(Listener, NamesAnAddressThatIsNotHere) {
  EXPECT_THAT(complaint([] { Listener("192.0.2.1", 0); }),
              has_all("of 192.0.2.1", "(EADDRNOTAVAIL)", "'ip addr"));
  const std::string label(70, 'x');
  EXPECT_THAT(complaint([&] { Listener(label, 0); }), has_all(label, "'ip addr"));
}

TEST(Listener, StopWakesAnAcceptForGood) {
  Listener listener("127.0.0.1", 0);
  std::thread stopper([&] { listener.stop(); });
  EXPECT_FALSE(listener.accept(Deadline::after(1h)).has_value());
  stopper.join();
  EXPECT_TRUE(listener.stopped());
  EXPECT_FALSE(listener.accept(Deadline::after(1h)).has_value());
}

Listener* signalled = nullptr;

TEST(Listener, AfterItsEndAClientIsRefusedAtOnce) {
  Listener listener("127.0.0.1", 0);
  const std::uint16_t port = listener.port();
  EXPECT_EQ(listener.accept(Deadline::after({})), std::nullopt);
  listener.close();
  EXPECT_TRUE(listener.stopped());
  EXPECT_EQ(listener.accept(plenty()), std::nullopt);
  EXPECT_EQ(listener.port(), port);
  try {
    Channel::connect("127.0.0.1", port, plenty());
    FAIL() << "connected";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ECONNREFUSED);
  }
}

TEST(Listener, StopMayBeCalledByASignalHandler) {
  Listener listener("127.0.0.1", 0);
  signalled = &listener;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { signalled->stop(); };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::thread killer([self = pthread_self()] { pthread_kill(self, SIGUSR1); });
  EXPECT_FALSE(listener.accept(Deadline::after(1h)).has_value());
  killer.join();
  sigaction(SIGUSR1, &before, nullptr);
}

/// So many connections may wait while this lives.
class WithPending {
 public:
  explicit WithPending(rlim_t most) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit limit{4 * most, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(Listener::max_pending(), most);
  }
  ~WithPending() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  WithPending(const WithPending&) = delete;
  WithPending& operator=(const WithPending&) = delete;

 private:
  rlimit before_{};
};

class Pending : public ::testing::Test {
 protected:
  /// A connection that counts as this host's.
  std::optional<std::uint64_t> add(const std::string& host) {
    return pending.add(meet(listener, "127.0.0.1", kInsecure).server, host);
  }

  const Authentication kInsecure = Authentication::insecure();
  Listener listener{"127.0.0.1", 0, kInsecure};
  PendingHandshakes pending{kInsecure};
};

TEST_F(Pending, HaveAQuarterOfTheDescriptors) {
  const WithPending few(64);
  for (int i = 0; i < 100; ++i) add("host " + std::to_string(i));
  EXPECT_EQ(pending.size(), 64U);
}

TEST_F(Pending, OfTheHostThatHasMostMakeRoom) {
  const WithPending few(16);
  const auto honest = add("honest");
  const auto first = add("crowd");
  for (int i = 0; i < 7; ++i) add("crowd");
  for (int i = 0; i < 7; ++i) add("other crowd");
  EXPECT_EQ(pending.size(), 16U);
  const auto late = Deadline::after(2 * PendingHandshakes::kGrace);
  EXPECT_TRUE(eventually([&] { return late.passed(); }));
  EXPECT_TRUE(add("newcomer"));
  EXPECT_EQ(pending.size(), 16U);
  pending.drop(first.value());  // it was the oldest of the most
  EXPECT_EQ(pending.size(), 16U);
  pending.drop(honest.value());
  EXPECT_EQ(pending.size(), 15U);
}

TEST_F(Pending, OfOneHostLeaveRoomForAnother) {
  const WithPending few(8);
  for (int i = 0; i < 8; ++i) add("crowd");
  EXPECT_EQ(pending.size(), 4U);
  EXPECT_TRUE(add("newcomer"));
}

TEST(Listener, SurvivesRunningOutOfFileDescriptors) {
  Listener listener("127.0.0.1", 0, Authentication::insecure());
  const RawSocket client;
  client.connect(listener.port());
  client.write(greeting(Authentication::Method::none));
  // UndefinedBehaviorSanitizer looks at the type of an object it has not seen before through a
  // pipe.
  EXPECT_THAT(complaint([] { throw Error(Fault::failed, "seen"); }), HasSubstr("seen"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = dup(0);
  ASSERT_EQ(close(lowest_free), 0);
  const rlimit limit{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::string text = complaint([&] { listener.accept(plenty()); });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(text, has_all("(EMFILE)", "Raise 'ulimit -n'"));
  EXPECT_EQ(listener.accept(plenty()).value().peer_ip(), "127.0.0.1");
}

}  // namespace
}  // namespace rdmabench::inline v1::control
