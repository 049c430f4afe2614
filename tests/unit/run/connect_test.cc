#include "rdmabench/run/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/features.h"
#include "run/connection.h"
#include "run/negotiate.h"
#include "run/session.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::HasSubstr;

Deadline in_five_seconds() {
  return Deadline::after(std::chrono::seconds(5));
}

/// Two channels that are connected to each other.
struct Channels {
  control::Listener listener{"127.0.0.1", 0};
  std::future<control::Channel> connecting = std::async(std::launch::async, [this] {
    return control::Channel::connect("127.0.0.1", listener.port(), in_five_seconds());
  });
  control::Channel server = listener.accept(in_five_seconds()).value();
  control::Channel client = connecting.get();
};

transport::EndpointRequest request(bool client) {
  transport::EndpointRequest request;
  request.client = client;
  request.timeout = std::chrono::milliseconds(3000);
  return request;
}

/// A text of each side.
struct Ends {
  std::string client;
  std::string server;
};

const Ends kLoop{"loop", "loop"};

/// What the callback of each side ended with: "" or an error. Both sides run at the same time.
template <class Client, class Server>
Ends connect_both(const Ends& backends, Client&& at_client, Server&& at_server) {
  Channels channels;
  Ends ends;
  const auto side = [&](bool client, auto&& visitor, std::string& end) {
    try {
      with_connected(client ? channels.client : channels.server, request(client),
                     client ? backends.client : backends.server, visitor);
    } catch (const std::exception& error) {
      end = error.what();
    }
  };
  std::thread server([&] { side(false, at_server, ends.server); });
  side(true, at_client, ends.client);
  server.join();
  return ends;
}

TEST(Connect, BothSidesVisitAnEndpointOfTheChosenBackEnd) {
  std::string client;
  std::string server;
  const Ends ends = connect_both(
      kLoop, [&](auto& endpoint) { client = endpoint.describe().backend; },
      [&](auto& endpoint) { server = endpoint.describe().backend; });
  EXPECT_EQ(ends.client, "");
  EXPECT_EQ(ends.server, "");
  EXPECT_EQ(client, "loop");
  EXPECT_EQ(server, "loop");
}

TEST(Connect, TheSideThatIsDoneFirstWaitsForTheOther) {
  bool server_done = false;
  const Ends ends = connect_both(
      kLoop, [](auto& /*endpoint*/) {},
      [&](auto& /*endpoint*/) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        server_done = true;
      });
  EXPECT_EQ(ends.client, "");
  EXPECT_TRUE(server_done);
}

TEST(Connect, AVisitThatThrowsEndsTheOtherSideToo) {
  std::promise<void> visited;  // before that the client would find no server
  const Ends ends = connect_both(
      kLoop, [&](auto& /*endpoint*/) { visited.set_value(); },
      [&](auto& /*endpoint*/) {
        visited.get_future().wait_for(std::chrono::seconds(10));
        throw Error(Fault::failed, "no more room");
      });
  EXPECT_EQ(ends.server, "no more room");
  EXPECT_THAT(ends.client, HasSubstr("left the callback of with_connected() early"));
}

TEST(Connect, AnUnknownBackEndIsRefusedByNameOnBothSides) {
  for (const Ends& backends : {Ends{"carrier-pigeon", "loop"}, Ends{"loop", "carrier-pigeon"}}) {
    const Ends ends = connect_both(
        backends, [](auto& /*endpoint*/) {}, [](auto& /*endpoint*/) {});
    EXPECT_THAT(ends.client, HasSubstr("carrier-pigeon"));
    EXPECT_THAT(ends.server, HasSubstr("carrier-pigeon"));
  }
}

TEST(Connect, TwoClientsAreToldSo) {
  Channels channels;
  std::string other;
  std::thread second([&] {
    try {
      with_connected(channels.server, request(true), "loop", [](auto& /*endpoint*/) {});
    } catch (const Error& error) {
      other = error.what();
    }
  });
  std::string own;
  try {
    with_connected(channels.client, request(true), "loop", [](auto& /*endpoint*/) {});
  } catch (const Error& error) {
    own = error.what();
  }
  second.join();
  EXPECT_THAT(own + other, HasSubstr("are its client"));
}

TEST(Connect, AutoAsksEveryBackEndThatReachesOthers) {
  Channels channels;
  transport::EndpointRequest wanted = request(true);
  wanted.memory = "cuda:99";  // which none has, so that the error lists all that were asked
  try {
    with_connected(channels.client, wanted, "auto", [](auto& /*endpoint*/) {});
    FAIL();
  } catch (const Error& error) {
    for (const Backend& backend : backends()) {
      if (!backend.reaches_others || backend.only_named) continue;
      EXPECT_THAT(error.what(), HasSubstr("\n  " + std::string(backend.name) + ": "));
    }
  }
}

#if RDMABENCH_HAVE_OFI
TEST(Connect, AListIsNoObstacleWhereTheBackEndHasNone) {
  Channels channels;
  const auto side = [&](bool client) {
    transport::EndpointRequest wanted = request(client);
    wanted.depth = wanted.options.post_list = 4;
    wanted.options.ofi.provider = "tcp";
    std::string seen;
    with_connected(client ? channels.client : channels.server, wanted, "auto",
                   [&](auto& endpoint) { seen = endpoint.describe().backend; });
    return seen;
  };
  auto server = std::async(std::launch::async, [&] { return side(false); });
  EXPECT_EQ(side(true), "ofi");
  EXPECT_EQ(server.get(), "ofi");
}
#endif

/// The server gives no address, as one that opens its endpoints for too long.
TEST(Connect, WhereNoBackEndCanBeUsedTheErrorHasARemedy) {
  Backend row{{.name = "absent"}};
  row.offer = [](const transport::EndpointRequest&) -> std::string {
    throw Error(Fault::unavailable, "no device", "Insert one.");
  };
  const Error error = complaint([&] { make_offers({&row}, {request(true)}); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), has_all("absent: no device. Insert one.", error.remedy()));
  EXPECT_THAT(error.remedy(), HasSubstr("`backend`"));
}

TEST(Connect, WhatABackEndSaysStandsWhereItsDevicesCannotBeListed) {
  Backend row{{.name = "absent"}};
  row.offer = [](const transport::EndpointRequest&) -> std::string {
    throw Error(Fault::unavailable, "no driver", "Load it.");
  };
  transport::EndpointRequest named = request(true);
  named.device = "x0";
  EXPECT_THAT(complaint([&] { make_offers({&row}, {named}); }).what(),
              HasSubstr("absent: no driver"));
  row.devices = []() -> std::vector<transport::DeviceInfo> {
    throw Error(Fault::unavailable, "no list", "Wait.");
  };
  EXPECT_THAT(complaint([&] { make_offers({&row}, {named}); }).what(),
              HasSubstr("absent: no driver"));
}

TEST(Connect, TheDeadlineOfSetUpSaysWhatIsBeingOpened) {
  Channels channels;
  Connection server(channels.server, std::chrono::seconds(5));
  Connection client(channels.client, std::chrono::seconds(5));
  const std::stop_source stop;
  client.set_stop(stop.get_token());  // it polls, as with endpoints
  transport::EndpointRequest wanted = request(true);
  wanted.options.queue_pairs = 64;
  server.send(SessionMessage::offer,
              to_text(answer_offers(request(false), {make_offer(find_backend("loop"), wanted)})));
  server.send(SessionMessage::ready);
  const auto backends = candidates("loop", wanted);
  std::vector<std::uint32_t> opened;
  const auto open = [&](const Backend&, const transport::EndpointRequest& one, std::string_view) {
    opened.push_back(one.worker);
    client.set_timeout(std::chrono::milliseconds(1));
  };
  EXPECT_THAT(complaint([&] {
                connect_client(client, backends, {wanted}, make_offers(backends, {wanted}), 3, open,
                               client.timeout());
              }).what(),
              has_all("within 1 ms", "3 endpoints of 64 queue pairs over loop", "raise `timeout`"));
  EXPECT_EQ(opened, (std::vector<std::uint32_t>{0, 1, 2}));
}

/// What ends negotiate() at a server that answers later than the deadline of the session.
std::string late_answer(const Config& config) {
  Channels channels;
  std::promise<void> ended;
  std::thread server([&] {
    static_cast<void>(channels.server.receive(in_five_seconds(), "request"));
    ended.get_future().wait_for(std::chrono::milliseconds(50));  // ends at once where none waits
    channels.server.abort("awake");
  });
  Session session(std::move(channels.client), std::chrono::milliseconds(1));
  const std::string end =
      complaint([&] { static_cast<void>(negotiate(session, plan_client(config))); }).what();
  ended.set_value();
  server.join();
  return end;
}

TEST(Connect, AServerHasTimeToWakeItsGpus) {
  Config config;
  config.backend = "loop";
  EXPECT_THAT(late_answer(config), HasSubstr("no offer"));
  config.placement.peer_memory = "cuda:0";
  EXPECT_THAT(late_answer(config), HasSubstr("awake"));
}

TEST(Backends, AServiceOfOneBackEndNamesIt) {
  EXPECT_EQ(backend_of(transport::Service::xrc), "verbs");
  EXPECT_EQ(backend_of(transport::Service::msg), "ofi");
  EXPECT_EQ(backend_of(transport::Service::automatic), "");
}

TEST(Backends, AnOptionOfOneBackEndLeavesOutTheOthers) {
  transport::EndpointRequest request;
  for (const Backend* backend : candidates("auto", request)) {
    EXPECT_TRUE(backend->reaches_others);
    EXPECT_FALSE(backend->only_named);
  }
  request.options.ucx.transports = "tcp";
  for (const Backend* backend : candidates("auto", request)) EXPECT_EQ(backend->name, "ucx");
  request.options.ucx = {};
  EXPECT_TRUE(reaches_others("auto"));
  EXPECT_FALSE(reaches_others("loop"));
  request.options.ofi.provider = "tcp";
  for (const Backend* backend : candidates("auto", request)) EXPECT_EQ(backend->name, "ofi");
  request.options.verbs.mtu = 1024;
  EXPECT_THAT(usage_complaint([&] { candidates("auto", request); }),
              has_all("verbs and ofi", "`mtu`", "`provider`"));
  EXPECT_THAT(usage_complaint([&] { candidates("verbs", request); }),
              has_all("verbs", "`provider`", "`backend` ofi"));
}

}  // namespace
}  // namespace rdmabench::inline v1::run
