// The client against a server that does not behave.
#include "rdmabench/run/client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "../complaint.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/run/server.h"
#include "rdmabench/run/worker.h"
#include "run/protocol.h"
#include "run/session.h"

namespace rdmabench::inline v1::run {
namespace {

using control::Channel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

Deadline soon() {
  return Deadline::after(std::chrono::seconds(5));
}

Config quick() {
  Config config;
  config.backend = "loop";
  config.stop = measure::StopRule::iterations(10);
  config.traffic.watch = false;
  return config;
}

/// Serves a client up to its first epoch, then gives up and hears out what it says to that.
Channel quit_at_the_first_epoch(control::Listener& listener) {
  Channel channel = listener.accept(soon()).value();
  const Request request =
      parse<Request>(channel.receive(SessionMessage::request, soon(), "request"));
  const auto wanted = endpoint_request(request.spec, false);
  channel.send(SessionMessage::offer,
               to_text(std::vector{make_offer(find_backend("loop"), wanted)}), soon());
  channel.receive(SessionMessage::choice, soon(), "choice");
  channel.send(SessionMessage::ready, {}, soon());
  const auto worker = find_backend("loop").open(wanted, "");
  channel.send(SessionMessage::address, to_text(Introduction{{worker->address()}, {}}), soon());
  const auto client =
      parse<Introduction>(channel.receive(SessionMessage::address, soon(), "address"));
  worker->connect(client.addresses.at(0));
  channel.send(SessionMessage::ready, to_text(Readiness{}), soon());
  channel.receive(SessionMessage::epoch, soon(), "epoch");
  channel.abort("out of order");
  static_cast<void>(channel.receive(soon(), "the client's own abort"));
  return channel;
}

TEST(Client, HandsTheReportOutBeforeItClosesTheSession) {
  control::Listener listener("127.0.0.1", 0);
  std::optional<Channel> server;
  std::thread serving([&] { server = quit_at_the_first_epoch(listener); });
  int reports = 0;
  const report::Report report =
      run(quick(), "127.0.0.1", listener.port(), {.on_report = [&](const report::Report& early) {
            serving.join();
            ++reports;
            EXPECT_THAT(early.error, Optional(HasSubstr("out of order")));
            EXPECT_EQ(early.resolved.backend, "loop");
            EXPECT_FALSE(server->interrupted()) << "the session is closed already";
          }});
  EXPECT_EQ(reports, 1);
  EXPECT_TRUE(server->interrupted());
  EXPECT_THAT(report.error, Optional(HasSubstr("out of order")));
}

TEST(Client, WhatAHookThrowsLeavesTheRunAndTheServerGoesOn) {
  struct NoPaper {};
  const auto fail = [](const auto&) { throw NoPaper(); };
  const ServerThread server({.address = "127.0.0.1", .port = 0});
  for (const RunHooks& hooks : {RunHooks{.on_progress = fail}, RunHooks{.on_row = fail},
                                RunHooks{.on_report = fail}, RunHooks{}}) {
    const auto run_once = [&] { return run(quick(), "127.0.0.1", server.port(), hooks); };
    if (hooks.on_progress || hooks.on_row || hooks.on_report) {
      EXPECT_THROW(run_once(), NoPaper);
    } else {
      EXPECT_EQ(run_once().error, std::nullopt);
    }
  }
}

TEST(Client, TheCallersThreadGetsItsProcessorsBack) {
  const std::vector<int> before = processors();
  if (before.size() < 2) GTEST_SKIP() << "one processor: bound or not is the same";
  Config config = quick();
  config.placement.cpus = {before.back()};
  const auto check = [&](const RunHooks& hooks, std::string_view how) {
    std::vector<int> meanwhile;
    RunHooks watched = hooks;
    watched.on_row = [&](const report::Report& so_far) {
      meanwhile = processors();
      if (hooks.on_row) hooks.on_row(so_far);
    };
    std::string end = "finished";
    try {
      end = run_in_process(config, watched).error.value_or(end);
    } catch (const std::exception& error) {
      end = error.what();
    }
    EXPECT_THAT(end, HasSubstr(how));
    EXPECT_EQ(meanwhile, config.placement.cpus) << how;
    EXPECT_EQ(processors(), before) << how;
  };
  check({}, "finished");
  check({.on_row = [](const auto&) { throw std::runtime_error("no paper"); }}, "no paper");
  std::stop_source source;
  config.sizes = {8, 64};
  check({.on_row = [&](const auto&) { source.request_stop(); }, .stop = source.get_token()},
        "cancelled");
  const std::uint16_t closed = control::Listener("127.0.0.1", 0).port();
  config.connect_retry = {};
  EXPECT_THROW(run(config, "127.0.0.1", closed), Error);
  EXPECT_EQ(processors(), before);
}

TEST(Client, WhatWasChosenIsToldFirstAndEachRowWhenItIsFinished) {
  Config config = quick();
  config.sizes = {8, 64};
  std::vector<std::uint64_t> sizes;
  run_in_process(config, {.on_begin =
                              [&](const report::Report& so_far) {
                                EXPECT_EQ(so_far.resolved.backend, "loop");
                                EXPECT_TRUE(so_far.latency().empty());
                                sizes.push_back(0);
                              },
                          .on_row =
                              [&](const report::Report& so_far) {
                                EXPECT_TRUE(so_far.clock);
                                sizes.push_back(so_far.latency().back().size_bytes);
                              }});
  EXPECT_THAT(sizes, ElementsAre(0, 8, 64));
}

TEST(Client, EachLoadOfACurveIsToldBeforeItsKneeIsKnown) {
  Config config = quick();
  config.traffic.shape = workload::Shape::load;
  config.traffic.operation = transport::OperationCode::send_imm;
  config.stop = measure::StopRule::iterations(200);
  config.sizes = {8, 64};
  std::vector<std::size_t> rows;
  run_in_process(config, {.on_row = [&](const report::Report& /*so_far*/) { rows.push_back(0); },
                          .on_load =
                              [&](const report::Report& so_far) {
                                EXPECT_FALSE(so_far.load().back().knee);
                                rows.push_back(so_far.load().size());
                              }});
  EXPECT_THAT(rows, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 14, 15, 16, 17, 18,
                                19, 20, 21, 22, 23, 24, 25, 26, 0));
}

TEST(Client, AStopEndsTheRunSoonAndKeepsWhatIsFinished) {
  using Clock = std::chrono::steady_clock;
  for (const auto shape : {workload::Shape::latency, workload::Shape::bandwidth}) {
    Config config = quick();
    config.traffic.shape = shape;
    config.sizes = {8, 65536};
    config.counts = {100, 1'000'000'000};
    std::stop_source source;
    Clock::time_point asked;
    const report::Report report =
        run_in_process(config, {.on_progress =
                                    [&](const Progress& progress) {
                                      if (progress.size_index == 0) return;
                                      EXPECT_EQ(progress.target_iterations, 1'000'000'000U);
                                      EXPECT_GT(progress.elapsed.count(), 0);
                                      if (source.request_stop()) asked = Clock::now();
                                    },
                                .stop = source.get_token()});
    EXPECT_LT(Clock::now() - asked, std::chrono::seconds(20));  // 100 ms on an idle machine
    EXPECT_THAT(report.error, Optional(HasSubstr("cancelled")));
    ASSERT_TRUE(report.failure.has_value());
    EXPECT_EQ(report.failure->fault, Fault::cancelled);
    EXPECT_EQ(report.failure->outcome, "cancelled");
    EXPECT_EQ(report.failure->operation, "send");
    EXPECT_THAT(report.failure->peer, HasSubstr("127.0.0.1:"));
    std::visit(
        [](const auto& rows) {
          ASSERT_EQ(rows.size(), 2U);
          if constexpr (requires { rows[0].complete; }) {
            EXPECT_TRUE(rows[0].complete);
            EXPECT_FALSE(rows[1].complete);
          }
        },
        report.results);
  }
}

TEST(Client, AStopEndsAWaitForASilentServer) {
  control::Listener listener("127.0.0.1", 0);
  std::stop_source source;
  std::promise<void> over;
  std::thread silent([&] {
    const Channel channel = listener.accept(soon()).value();
    source.request_stop();
    over.get_future().wait();
  });
  EXPECT_THROW(run(quick(), "127.0.0.1", listener.port(), {.stop = source.get_token()}), Cancelled);
  over.set_value();
  silent.join();
}

TEST(Client, WhatSetUpThrowsNamesThePeerAndTheCall) {
  const std::uint16_t closed = control::Listener("127.0.0.1", 0).port();
  Config config = quick();
  config.connect_retry = {};
  const Error unreached = complaint([&] { run(config, "127.0.0.1", closed); });
  EXPECT_EQ(unreached.failure().peer, "127.0.0.1:" + std::to_string(closed));
  EXPECT_EQ(unreached.failure().library, "libc");
  EXPECT_EQ(unreached.failure().call, "connect");
  const ServerThread server({.address = "127.0.0.1", .port = 0, .max_threads = 1});
  config.traffic.threads = 2;
  const Error refused = complaint([&] { run(config, "127.0.0.1", server.port()); });
  EXPECT_EQ(refused.failure().peer, "127.0.0.1:" + std::to_string(server.port()));
}

TEST(Client, AStopEndsConnectingToAHostThatDoesNotAnswer) {
  using Clock = std::chrono::steady_clock;
  // The kernel completes the first connection, whose handshake nobody answers. Its backlog is then
  // full, so that it drops what the second one sends, as a firewall would.
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(server, 0), 0);
  ASSERT_EQ(getsockname(server, reinterpret_cast<sockaddr*>(&address), &length), 0);
  Config config = quick();
  config.timeout = std::chrono::seconds(20);
  std::vector<std::stop_source> stops(2);
  std::vector<std::future<Fault>> runs;
  for (const std::stop_source& stop : stops) {
    runs.push_back(std::async(std::launch::async, [&config, &address, token = stop.get_token()] {
      try {
        run(config, "127.0.0.1", ntohs(address.sin_port), {.stop = token});
      } catch (const Cancelled& error) {
        return error.fault();
      }
      return Fault::failed;
    }));
    EXPECT_EQ(runs.back().wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  }
  const auto asked = Clock::now();
  for (std::stop_source& stop : stops) stop.request_stop();
  for (auto& run : runs) EXPECT_EQ(run.get(), Fault::cancelled);
  EXPECT_LT(Clock::now() - asked, std::chrono::seconds(20));  // 100 ms on an idle machine
  ::close(server);
}

TEST(Client, AnEndpointThatDoesNotOpenNamesTheSide) {
  control::Listener listener("127.0.0.1", 0);
  auto accepting = std::async(std::launch::async, [&] { return listener.accept(soon()); });
  Session session(Channel::connect("127.0.0.1", listener.port(), soon()), std::chrono::seconds(5));
  const std::optional<Channel> server = accepting.get();
  for (const bool client : {true, false}) {
    transport::EndpointRequest request;
    request.client = client;
    request.options.service = transport::Service::uc;
    EXPECT_THAT(rdmabench::complaint([&] { session.open(find_backend("loop"), request, ""); },
                                     Fault::usage),
                has_all(client ? "at the client" : "at the server", "the loop back end has no"));
  }
}

/// What arrives at a server until its client has gone.
std::vector<control::MessageType> hear_out(control::Listener& listener) {
  Channel channel = listener.accept(soon()).value();
  std::vector<control::MessageType> heard;
  try {
    for (;;) heard.push_back(channel.receive(soon(), "anything").type);
  } catch (const Error&) {
    return heard;
  }
}

TEST(Client, AsksNoPeerForWhatThisSideDoesNotHave) {
  control::Listener listener("127.0.0.1", 0);
  std::vector<control::MessageType> heard;
  std::thread serving([&] { heard = hear_out(listener); });
  Config config = quick();
  config.backend = "auto";
  config.endpoint.service = transport::Service::rc;  // over verbs, then
  config.placement.devices = {"no-such-device0"};
  EXPECT_THROW(run(config, "127.0.0.1", listener.port()), Error);
  serving.join();
  EXPECT_THAT(heard, ElementsAre(SessionMessage::abort));
}

}  // namespace
}  // namespace rdmabench::inline v1::run
