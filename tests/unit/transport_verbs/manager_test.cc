// Endpoints that rdma_cm connects, over the fake manager.
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "pair.h"

namespace rdmabench::inline v1::transport::verbs::manager_test {
namespace {

using fake_verbs::Call;
using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kSoon(50);  // where a side waits for what never comes

EndpointRequest managed(std::uint32_t queue_pairs = 1,
                        std::chrono::milliseconds timeout = std::chrono::seconds(5)) {
  EndpointRequest request = small_request();
  request.options.verbs.rdma_cm = true;
  request.options.queue_pairs = queue_pairs;
  request.timeout = timeout;
  return request;
}

/// What a side's connect() threw; "" where it did not.
template <class T>
std::string try_connect(T& endpoint, const std::string& address) {
  try {
    endpoint.connect(address);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// Both connect at about the same time, as run/ does.
template <class T>
struct Sides {
  explicit Sides(const EndpointRequest& request)
      : choice(choice_for(request)),
        client(request, choice.client),
        server(other_side(request), choice.server) {}

  void connect() { connect(server.address()); }
  void connect(const std::string& server_address) {
    std::thread other([this] { server_error = try_connect(server, client.address()); });
    client_error = try_connect(client, server_address);
    other.join();
  }

  Choice choice;
  T client;
  T server;
  std::string client_error;
  std::string server_error;
};

class Manager : public OnFakeVerbs {};

TEST_F(Manager, ConnectsAQueuePair) {
  EndpointRequest request = managed();
  request.options.verbs.path.traffic_class = 106;
  request.options.verbs.path.retry_count = 3;
  Sides<Endpoint> sides(request);
  sides.connect();
  ASSERT_EQ(sides.client_error + sides.server_error, "");
  ASSERT_EQ(sides.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(sides.client), 1);
  EXPECT_EQ(take(sides.server).size(), 1U);
  EXPECT_THAT(sides.client.describe().details, Contains(Fact("connected_by", "rdma_cm")));
  const ibv_qp_attr given =
      fake_verbs::attributes(json::parse(sides.client.address())["queues"][0]["qpn"]);
  EXPECT_EQ(given.path_mtu, IBV_MTU_1024);  // ours, and not the 256 that the manager found
  EXPECT_EQ(given.ah_attr.grh.traffic_class, 106);
  EXPECT_EQ(given.retry_cnt, 3);
  EXPECT_EQ(given.max_rd_atomic, 128);
}

TEST_F(Manager, ConnectsEveryQueuePairToItsOwn) {
  Sides<GeneralEndpoint> sides(managed(3));
  sides.connect();
  ASSERT_EQ(sides.client_error + sides.server_error, "");
  const json client = json::parse(sides.client.address())["queues"];
  const json server = json::parse(sides.server.address())["queues"];
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fake_verbs::attributes(client[i]["qpn"]).dest_qp_num, server[i]["qpn"]);
    EXPECT_EQ(fake_verbs::attributes(server[i]["qpn"]).dest_qp_num, client[i]["qpn"]);
  }
}

TEST_F(Manager, AServerTakesOnlyItsOwnClient) {
  Sides<Endpoint> sides(managed(1, kSoon));
  json address = json::parse(sides.server.address());
  address["session"] = address["session"].get<std::uint64_t>() ^ 1U;
  sides.connect(address.dump());
  EXPECT_THAT(sides.client_error, HasSubstr("the server waits for another client"));
  EXPECT_THAT(sides.server_error, HasSubstr("no event within 50 ms"));
}

TEST_F(Manager, SaysThatNobodyListens) {
  Sides<Endpoint> sides(managed());
  json address = json::parse(sides.server.address());
  address["listener"] = 9;
  EXPECT_THAT(try_connect(sides.client, address.dump()),
              has_all("rdma_connect(10.0.0.1 port 9", "nothing listens there"));
}

TEST_F(Manager, RefusesAPeerThatDoesNotListen) {
  Sides<Endpoint> sides(managed());
  json address = json::parse(sides.server.address());
  address["listener"] = 0;
  EXPECT_THAT(try_connect(sides.client, address.dump()), HasSubstr("does not listen"));
}

TEST_F(Manager, SaysWhichAddressIsUnreachable) {
  Sides<Endpoint> sides(managed());
  json address = json::parse(sides.server.address());
  address["manager"] = "10.9.9.9";
  EXPECT_THAT(try_connect(sides.client, address.dump()),
              has_all("rdma_resolve_addr(10.9.9.9", "could not be resolved", "EHOSTUNREACH"));
}

struct Answer {
  std::string name;
  rdma_cm_event_type instead_of;
  rdma_cm_event_type type;
  int status;
  std::string text;
  std::string cause{};
};

void PrintTo(const Answer& answer, std::ostream* out) {
  *out << answer.name;
}

class BadAnswer : public OnFakeVerbs, public testing::WithParamInterface<Answer> {};

TEST_P(BadAnswer, IsExplainedInTime) {
  Sides<Endpoint> sides(managed(1, kSoon));
  const Answer& answer = GetParam();
  fake_verbs::manager_answers(answer.instead_of, answer.type, answer.status);
  sides.connect();
  EXPECT_THAT(sides.client_error + sides.server_error, has_all(answer.text, answer.cause));
}

INSTANTIATE_TEST_SUITE_P(
    Manager, BadAnswer,
    testing::Values(
        Answer{"AddressError", RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV,
               "could not be resolved"},
        Answer{"RouteError", RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT,
               "no route was found: ", "Connection timed out"},
        Answer{"Unreachable", RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT,
               "the peer did not answer"},
        Answer{"ConnectError", RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_CONNECT_ERROR, -EIO,
               "could not be established"},
        Answer{"DeviceRemoval", RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_DEVICE_REMOVAL, 0,
               "device was removed"},
        Answer{"Rejected", RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_REJECTED, 5,
               "rejected, reason 5"},
        Answer{"SilentAddress", RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_RESOLVED,
               fake_verbs::kSilence, "rdma_resolve_addr(10.0.0.1"},
        Answer{"SilentPeer", RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_CONNECT_RESPONSE,
               fake_verbs::kSilence, "no event within 50 ms"},
        Answer{"ServerSeesAStranger", RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_CONNECT_ERROR, 0,
               "waiting for the client's rdma_cm connections: ", "established"}),
    [](const auto& answer) { return answer.param.name; });

TEST_F(Manager, RefusesARouteByAnotherDevice) {
  Sides<Endpoint> sides(managed());
  fake_verbs::route_by("rxe9");
  EXPECT_THAT(try_connect(sides.client, sides.server.address()),
              has_all("by rxe9:1", "to rxe0:1", "`devices`"));
}

TEST_F(Manager, RefusesARequestThatArrivesByAnotherDevice) {
  for (const auto& [device, port] : {std::pair("rxe9", 1), std::pair("rxe0", 2)}) {
    Sides<Endpoint> sides(managed());
    fake_verbs::arrive_by(device, static_cast<std::uint8_t>(port));
    sides.connect();
    const std::string by = fmt::format(" by {}:{}", device, port);
    EXPECT_THAT(sides.server_error, has_all(by, " to rxe0:1"));
    EXPECT_THAT(sides.client_error, has_all("rejected, ", by, " to rxe0:1"));
  }
}

TEST_F(Manager, MayFailAtEachStep) {
  const EndpointRequest request = managed(1, kSoon);
  const Choice choice = choice_for(request);
  for (const Call call :
       {Call::create_event_channel, Call::create_id, Call::bind_addr, Call::rdma_listen,
        Call::resolve_addr, Call::resolve_route, Call::rdma_connect, Call::rdma_accept,
        Call::rdma_establish, Call::init_qp_attr, Call::get_cm_event}) {
    fake_verbs::fail(call, 1, EIO);
    std::string text;
    try {
      Sides<Endpoint> sides(request);
      sides.connect();
      text = sides.client_error + sides.server_error;
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_TRUE(fake_verbs::struck()) << static_cast<int>(call);
    EXPECT_THAT(text, has_all("rdma_", "EIO")) << static_cast<int>(call);
    EXPECT_EQ(fake_verbs::live(), 0);
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::manager_test
