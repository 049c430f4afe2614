// The server against clients that do not behave.
#include "rdmabench/run/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <fstream>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/worker.h"
#include "run/budget.h"
#include "run/connection.h"
#include "run/protocol.h"

namespace rdmabench::inline v1::run {
namespace {

using control::Channel;
using ::testing::HasSubstr;

/// As a client in the server's process offers it.
Offer own_loop() {
  return make_offer(find_backend("loop"), {});
}

class ServerTest : public ::testing::Test {
 protected:
  void start(ServerConfig config) {
    config.address = "127.0.0.1";
    config.port = 0;
    config.command = "rdmabench serve";
    server_ = std::make_unique<Server>(config, [this](const SessionEvent& event) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line_of(event));
    });
    thread_ = std::thread([this] { server_->run(); });
  }

  void TearDown() override {
    if (thread_.joinable()) stop();
  }

  /// Ends the server; then every session has reported.
  std::vector<std::string> stop() {
    server_->stop();
    return wait();
  }

  /// Until the server has ended by itself.
  std::vector<std::string> wait() {
    thread_.join();
    return lines_;
  }

  Channel dial() {
    return Channel::connect("127.0.0.1", server_->port(), Deadline::after(std::chrono::seconds(5)));
  }

  /// A client that asked for such a session over the loop back end, and was answered.
  Channel offered(Request request) {
    request.rails = {{own_loop()}};
    Channel channel = dial();
    channel.send(SessionMessage::request, to_text(request), soon());
    channel.receive(SessionMessage::offer, soon(), "offer");
    return channel;
  }

  /// A client whose endpoint is connected: epochs may follow.
  Channel connected(const Request& request) {
    Channel channel = offered(request);
    channel.send(SessionMessage::choice, to_text(Selection{"loop", {""}}), soon());
    channel.receive(SessionMessage::ready, soon(), "admission");
    const Introduction server =
        parse<Introduction>(channel.receive(SessionMessage::address, soon(), "address"));
    worker_ = find_backend("loop").open(endpoint_request(request.spec, true), "");
    channel.send(SessionMessage::address, to_text(Introduction{{worker_->address()}, {}}), soon());
    worker_->connect(server.addresses.at(0));
    channel.receive(SessionMessage::ready, soon(), "readiness");
    return channel;
  }

  void expect_service() {
    Config config;
    config.backend = "loop";
    config.stop = measure::StopRule::iterations(10);
    EXPECT_EQ(run(config, "127.0.0.1", server_->port()).error, std::nullopt);
  }

  bool is_served() {
    try {
      expect_service();
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  static Deadline soon() { return Deadline::after(std::chrono::seconds(5)); }

  std::unique_ptr<Server> server_;

 private:
  std::unique_ptr<Worker> worker_;  ///< of connected()
  std::thread thread_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(ServerTest, ServesOneClientAfterAnother) {
  start({});
  for (int i = 0; i < 5; ++i) expect_service();
  EXPECT_EQ(stop().size(), 5U);
}

TEST_F(ServerTest, AClientThatGoesNotOnIsCalledTheClient) {
  start({});
  Channel channel = offered({});
  channel.abort("no path to it");
  EXPECT_THROW(channel.receive(SessionMessage::ready, soon(), "end of the session"), Error);
  const std::vector<std::string> lines = stop();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], ::testing::EndsWith(": the client gave up: no path to it"));
  EXPECT_THAT(lines[0], ::testing::Not(HasSubstr("the peer")));
}

TEST_F(ServerTest, ServesTheBackEndThatItIsToldAlone) {
  EXPECT_THAT(usage_complaint([] { Server({.port = 0, .backend = "pigeon"}, nullptr); }),
              HasSubstr("'pigeon'"));
  start({.backend = "loop"});
  expect_service();
  stop();
  start({.backend = "auto"});
  expect_service();
  stop();
  if (backends().front().name == "loop") return;
  start({.backend = std::string(backends().front().name)});
  EXPECT_FALSE(is_served());
}

TEST(ServerEvents, AProgramReadsWhatBecameOfAClientAsTypes) {
  std::vector<SessionEvent> events;
  {
    Server server({.address = "127.0.0.1", .port = 0, .sessions = 1},
                  [&](const SessionEvent& event) { events.push_back(event); });
    std::thread serving([&] { server.run(); });
    Config config;
    config.backend = "loop";
    config.stop = measure::StopRule::iterations(10);
    EXPECT_EQ(run(config, "127.0.0.1", server.port()).error, std::nullopt);
    serving.join();
  }
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().kind, SessionEvent::Kind::completed);
  EXPECT_GE(events.back().messages, 10U);
  EXPECT_THAT(events.back().peer, ::testing::StartsWith("127.0.0.1:"));
  EXPECT_THAT(line_of(events.back()), has_all(events.back().peer, "latency", " messages"));
}

TEST(ServerEvents, WhatFailedSaysSoAsTypes) {
  std::vector<SessionEvent> events;
  Server server({.address = "127.0.0.1", .port = 0, .max_threads = 1},
                [&](const SessionEvent& event) { events.push_back(event); });
  std::thread serving([&] { server.run(); });
  Config config;
  config.backend = "loop";
  config.traffic.threads = 2;
  EXPECT_EQ(complaint([&] { run(config, "127.0.0.1", server.port()); }).fault(), Fault::failed);
  server.stop();
  serving.join();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, SessionEvent::Kind::failed);
  EXPECT_EQ(events[0].messages, 0U);
  EXPECT_NE(events[0].failure.fault, Fault::cancelled);
  EXPECT_NE(events[0].text, "");
}

TEST(ServerEvents, AnExceptionOfTheCallerEndsTheServer) {
  ServerConfig config;
  config.address = "127.0.0.1";
  config.port = 0;
  Server server(config, [](const SessionEvent& /*event*/) { throw 7; });
  std::thread client([&] {
    Config measured;
    measured.backend = "loop";
    measured.stop = measure::StopRule::iterations(10);
    EXPECT_EQ(run(measured, "127.0.0.1", server.port()).error, std::nullopt);
  });
  EXPECT_THROW(server.run(), int);
  client.join();
}

/// Until it has ended, or a minute is over.
void wait_for(const ServerThread& server) {
  const Deadline deadline = Deadline::after(std::chrono::minutes(1));
  while (server.running() && !deadline.passed()) std::this_thread::yield();
}

TEST(ServerEvents, AServerThreadThatDiedSaysSoAndClosesItsPort) {
  const ServerThread server({.address = "127.0.0.1", .port = 0}, [](const SessionEvent& /*event*/) {
    throw std::runtime_error("full");
  });
  EXPECT_TRUE(server.running());
  EXPECT_EQ(server.error(), nullptr);
  Config config;
  config.backend = "loop";
  config.stop = measure::StopRule::iterations(10);
  EXPECT_EQ(run(config, "127.0.0.1", server.port()).error, std::nullopt);
  wait_for(server);
  ASSERT_FALSE(server.running());
  EXPECT_THROW(std::rethrow_exception(server.error()), std::runtime_error);
  EXPECT_EQ(server.failed_sessions(), 0U);
  config.connect_retry = {};
  EXPECT_EQ(complaint([&] { run(config, "127.0.0.1", server.port()); }).code(), ECONNREFUSED);
}

TEST(ServerEvents, AServerThreadThatServedItsSessionsHasNoError) {
  const ServerThread server({.address = "127.0.0.1", .port = 0, .sessions = 1});
  Config config;
  config.backend = "loop";
  config.stop = measure::StopRule::iterations(10);
  EXPECT_EQ(run(config, "127.0.0.1", server.port()).error, std::nullopt);
  wait_for(server);
  ASSERT_FALSE(server.running());
  EXPECT_EQ(server.error(), nullptr);
}

TEST(ServerEvents, ALineForWhichThereIsNoMemoryIsLost) {
  ServerConfig config;
  config.address = "127.0.0.1";
  config.port = 0;
  Server server(config, [](const SessionEvent& /*event*/) { throw std::bad_alloc(); });
  std::thread serving([&] { EXPECT_NO_THROW(server.run()); });
  Config measured;
  measured.backend = "loop";
  measured.stop = measure::StopRule::iterations(10);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run(measured, "127.0.0.1", server.port()).error, std::nullopt);
  }
  server.stop();
  serving.join();
}

#if !defined(__clang__)  // with which sanitizers come: they end a process that has no memory
/// While it lives, this process may have that much more memory than it has now.
class MoreMemoryAtMost {
 public:
  explicit MoreMemoryAtMost(rlim_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes,
                       before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  ~MoreMemoryAtMost() { setrlimit(RLIMIT_AS, &before_); }
  MoreMemoryAtMost(const MoreMemoryAtMost&) = delete;
  MoreMemoryAtMost& operator=(const MoreMemoryAtMost&) = delete;

 private:
  rlimit before_{};
};

TEST_F(ServerTest, AClientForWhomThereIsNoThreadIsToldSo) {
  start({});
  {
    const MoreMemoryAtMost less_than_a_stack(4 << 20);
    std::vector<Channel> held;  // the stacks of threads that have ended serve the first ones
    for (int i = 0; i < 16; ++i) held.push_back(dial());
    EXPECT_THAT(
        complaint([&] { held.back().receive(SessionMessage::offer, soon(), "offer"); }).what(),
        HasSubstr("no thread for one more client"));
  }
  expect_service();
  EXPECT_THAT(stop(), ::testing::Contains(HasSubstr("no thread for one more client")));
}
#endif

TEST_F(ServerTest, EndsAfterAsManySessionsAsItWasToldOf) {
  ServerConfig config;
  config.sessions = 2;
  start(config);
  expect_service();
  {
    Channel stranger = dial();
    constexpr std::string_view kGet = "GET / HTTP/1.1\r\n\r\n";
    EXPECT_EQ(send(stranger.handle(), kGet.data(), kGet.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kGet.size()));
    EXPECT_THROW(stranger.receive(SessionMessage::offer, soon(), "offer"), Error);
  }
  expect_service();
  EXPECT_EQ(wait().size(), 3U);
  EXPECT_EQ(server_->failed_sessions(), 0U);  // the stranger's never began
}

TEST_F(ServerTest, AClientThatLeavesCostsOneLine) {
  start({});
  dial();
  expect_service();
  EXPECT_THAT(stop(), ::testing::Contains(HasSubstr("closed the connection")));
}

TEST_F(ServerTest, AClientThatSaysNothingIsLetGoAfterTheTimeout) {
  start({.timeout = std::chrono::milliseconds(50)});
  Channel silent = dial();
  EXPECT_THROW(silent.receive(SessionMessage::offer, soon(), "offer"), Error);
  expect_service();
  EXPECT_THAT(stop(), ::testing::Contains(HasSubstr("waiting for its request")));
}

TEST_F(ServerTest, ARequestOutOfBoundsIsRefusedByName) {
  start({});
  Channel channel = dial();
  std::string request = to_text(Request{{}, {{}}});
  const std::string good = R"("max_size_bytes":8)";
  request.replace(request.find(good), good.size(), R"("max_size_bytes":0)");
  channel.send(SessionMessage::request, request, soon());
  EXPECT_THAT(complaint([&] { channel.receive(SessionMessage::offer, soon(), "offer"); }).what(),
              HasSubstr("max_size_bytes"));
  expect_service();
}

TEST_F(ServerTest, TheMessagesOfASessionAreCountedBeforeOneArrives) {
  start({.max_memory = 2 * kMemoryOfMessages, .timeout = std::chrono::seconds(20)});
  const Channel first = dial();
  const Channel second = dial();
  Channel third = dial();
  EXPECT_THAT(complaint([&] { third.receive(SessionMessage::offer, soon(), "offer"); }).what(),
              has_all("needs 4194304 bytes", "this server", "8388608 bytes of at most 8388608",
                      "--max-memory"));
}

TEST_F(ServerTest, MemoryBeyondItsLimitIsRefusedAndGivenBack) {
  start({.max_memory = kMemoryOfMessages + (1 << 20)});
  Config big;
  big.backend = "loop";
  big.sizes = {8 << 20};
  EXPECT_THAT(complaint([&] { run(big, "127.0.0.1", server_->port()); }).what(),
              has_all("this server", "4194304 bytes of at most 5242880"));
  // The client hears of it before its session has ended and given back what it had.
  const Deadline given_back = soon();
  bool served = is_served();
  while (!served && !given_back.passed()) served = is_served();
  EXPECT_TRUE(served);
}

TEST_F(ServerTest, OneClientTooManyIsToldSo) {
  start({.max_clients = 1, .timeout = std::chrono::milliseconds(300)});
  Channel first = dial();
  Channel second = dial();
  EXPECT_THAT(complaint([&] { second.receive(SessionMessage::offer, soon(), "offer"); }).what(),
              has_all("this server", "1 sessions of at most 1"));
}

TEST_F(ServerTest, AnAddressHasNoMoreThanItsShare) {
  start({.max_clients = 3, .max_address_clients = 2, .timeout = std::chrono::seconds(20)});
  const Channel first = dial();
  const Channel second = dial();
  Channel third = dial();
  EXPECT_THAT(complaint([&] { third.receive(SessionMessage::offer, soon(), "offer"); }).what(),
              has_all("this host", "2 sessions of at most 2", "--max-address-clients"));
}

TEST_F(ServerTest, ThreadsBeyondTheirLimitAreRefusedAndGivenBack) {
  start({.max_address_threads = 2});
  Config wide;
  wide.backend = "loop";
  wide.traffic.threads = 3;
  EXPECT_THAT(complaint([&] { run(wide, "127.0.0.1", server_->port()); }).what(),
              has_all("needs 3 threads", "this host", "0 threads of at most 2"));
  expect_service();
}

TEST_F(ServerTest, QueuesCountAsMemory) {
  // The share of the client that is refused is given back a moment after it has heard so.
  start({.max_memory = 2 * kMemoryOfMessages + (4 << 20)});
  Config deep;
  deep.backend = "loop";
  deep.traffic.depth = 16384;
  deep.endpoint.queue_pairs = 64;
  EXPECT_THAT(complaint([&] { run(deep, "127.0.0.1", server_->port()); }).what(),
              HasSubstr("bytes of at most 12582912"));
  expect_service();
}

TEST_F(ServerTest, EndsWithinASecondAndSaysSoToASilentClient) {
  start({.timeout = std::chrono::minutes(1)});
  Channel silent = dial();
  Request request;
  request.spec.timeout = std::chrono::minutes(1);
  Channel half_way = offered(request);
  const auto begin = std::chrono::steady_clock::now();
  stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  for (Channel* channel : {&silent, &half_way}) {
    EXPECT_THAT(complaint([&] { channel->receive(SessionMessage::offer, soon(), "offer"); }).what(),
                HasSubstr("the server is shutting down"));
  }
}

TEST_F(ServerTest, ASessionEndsWhenItHasLastedTooLong) {
  start({.timeout = std::chrono::minutes(1), .max_session = std::chrono::milliseconds(1)});
  Channel silent = dial();
  EXPECT_THAT(complaint([&] { silent.receive(SessionMessage::offer, soon(), "offer"); }).what(),
              HasSubstr("--max-session"));
}

TEST_F(ServerTest, StrangersCostNoMoreThanALittleLog) {
  start({});
  for (int i = 0; i < 200; ++i) dial();
  const std::vector<std::string> lines = stop();
  EXPECT_LT(lines.size(), 80U);
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("were dropped")));
}

TEST_F(ServerTest, ANetworkThatIsNoneIsRefused) {
  EXPECT_THROW(Server({.port = 0, .allow = {"10.0.0.0/33"}}, {}), Error);
}

TEST_F(ServerTest, AChoiceNobodyOfferedEndsThatSessionAlone) {
  start({});
  Channel channel = offered({});
  channel.send(SessionMessage::choice, to_text(Selection{"no-such-back-end", {""}}), soon());
  EXPECT_THAT(
      complaint([&] { channel.receive(SessionMessage::ready, soon(), "admission"); }).what(),
      HasSubstr("was not offered"));
  expect_service();
}

TEST_F(ServerTest, TheLoopBackEndServesNoOtherProcess) {
  start({});
  Channel channel = dial();
  Request request;
  request.rails = {{{"loop", "1-00000000", ""}}};
  channel.send(SessionMessage::request, to_text(request), soon());
  const std::string offers = channel.receive(SessionMessage::offer, soon(), "offer");
  EXPECT_THAT(offers, HasSubstr("cannot reach another process"));
  EXPECT_THAT(offers, ::testing::Not(HasSubstr(own_loop().text)));
  channel.send(SessionMessage::choice, to_text(Selection{"loop", {""}}), soon());
  EXPECT_THAT(
      complaint([&] { channel.receive(SessionMessage::ready, soon(), "admission"); }).what(),
      HasSubstr("was not offered"));
  expect_service();
}

TEST_F(ServerTest, AClientThatPausesTooLongIsLetGo) {
  start({.max_idle = std::chrono::milliseconds(1)});
  Channel channel = connected({});
  EXPECT_FALSE(channel.readable(std::chrono::milliseconds(1100)));  // less does not count
  channel.send(SessionMessage::epoch, to_text(EpochOrder{8, 1000}), soon());
  EXPECT_THAT(
      complaint([&] { channel.receive(SessionMessage::ready, soon(), "readiness"); }).what(),
      HasSubstr("--max-idle"));
  expect_service();
}

TEST_F(ServerTest, AnEpochInWhichNothingArrivesIsAPause) {
  start({.max_idle = std::chrono::milliseconds(1)});
  Request request;
  request.spec.timeout = std::chrono::milliseconds(400);
  Channel channel = connected(request);
  channel.send(SessionMessage::epoch, to_text(EpochOrder{8, 1000}), soon());
  channel.receive(SessionMessage::ready, soon(), "readiness");
  EXPECT_THAT(complaint([&] { channel.receive(SessionMessage::result, soon(), "result"); }).what(),
              has_all("the client paused 100ms longer", "--max-idle"));
  expect_service();
}

TEST_F(ServerTest, AStreamGrowsWithinBoundsAndUntilItsClientGivesUp) {
  start({});
  Request request;
  request.spec.traffic.shape = workload::Shape::bandwidth;
  request.spec.timeout = std::chrono::minutes(1);  // no wait of the server ends before the test's
  const EpochOrder order{.size = 8, .iterations = 1000, .grows = true};
  const auto refusal = [&](const auto& speak) -> std::string {
    Channel channel = connected(request);
    channel.send(SessionMessage::epoch, to_text(order), soon());
    channel.receive(SessionMessage::ready, soon(), "readiness");
    channel.send(SessionMessage::more, to_text(Extension{10}), soon());
    speak(channel);
    return complaint([&] { channel.receive(SessionMessage::result, soon(), "result"); }).what();
  };
  EXPECT_THAT(refusal([](Channel& channel) {
                channel.send(SessionMessage::more, to_text(Extension{kMaxEpoch}), soon());
              }),
              HasSubstr("grows beyond"));
  // It lies behind what the server need not have read yet.
  EXPECT_THAT(refusal([](Channel& channel) { channel.abort("enough"); }), HasSubstr("enough"));
  expect_service();
}

TEST_F(ServerTest, AnEpochThatNeverStartsEndsAtTheDeadline) {
  start({});
  Request request;
  request.spec.timeout = std::chrono::milliseconds(100);
  Channel channel = connected(request);
  channel.send(SessionMessage::epoch, to_text(EpochOrder{8, 1000}), soon());
  channel.receive(SessionMessage::ready, soon(), "readiness");
  EXPECT_THAT(complaint([&] { channel.receive(SessionMessage::result, soon(), "result"); }).what(),
              HasSubstr("nothing completed for 100ms"));
  expect_service();
}

}  // namespace
}  // namespace rdmabench::inline v1::run
