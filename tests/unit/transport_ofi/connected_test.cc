// The connected service, msg.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rdma/fi_cm.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <string>

#include "../complaint.h"
#include "pair.h"
#include "rdmabench/base/error.h"
#include "rdmabench/transport/ofi/endpoint.h"
#include "transport/ofi/backend.h"

namespace rdmabench::inline v1::transport::ofi::connected_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;
using Pair = PairOf<Endpoint>;

EndpointRequest connected(std::string_view provider, OperationCode code, bool latency = false) {
  EndpointRequest r = request(provider, code, latency);
  r.options.service = Service::msg;
  return r;
}

class OfiConnected : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { need(connected(GetParam(), OperationCode::send)); }

  /// One side of a connection that its peer never comes to.
  static Endpoint alone(bool client, const EndpointRequest& wanted) {
    EndpointRequest r = wanted;
    r.client = client;
    const std::string text = offer(r);
    return Endpoint(r, choose(r, text, text).client);
  }
};

INSTANTIATE_TEST_SUITE_P(Providers, OfiConnected, ::testing::Values("tcp", "net"), test_name);

TEST_P(OfiConnected, SaysWhatItIs) {
  Pair pair(connected(GetParam(), OperationCode::send));
  EXPECT_EQ(pair.a->describe().transport, "msg");
  EXPECT_EQ(pair.a->describe().provider, GetParam());
}

TEST_P(OfiConnected, CarriesEveryOperation) {
  for (const bool latency : {false, true}) {
    for (const std::uint64_t size : {std::uint64_t{8}, kSize}) {
      {
        Pair pair(connected(GetParam(), OperationCode::send, latency));
        memory::fill_pattern(slot(pair.a->send_region(), 1, size), 7);
        pair.must([&] {
          return pair.a->post<Send>(pair.a->send_region().stride, pair.a->send_region().stride,
                                    size, 0, Signal::now);
        });
        pair.poll_until([&] { return !pair.at_b.empty(); });
        EXPECT_EQ(pair.at_b[0].bytes, size);
        EXPECT_EQ(pair.at_b[0].immediate, 0U);
        EXPECT_TRUE(holds(pair.b->receive_region(), pair.at_b[0].slot % 2, 7, size));
        pair.settle();
      }
      {
        Pair pair(connected(GetParam(), OperationCode::write_imm, latency));
        memory::fill_pattern(slot(pair.a->send_region(), 1, size), 5);
        const std::uint64_t offset = pair.a->send_region().stride;
        pair.must(
            [&] { return pair.a->post<WriteImm>(offset, offset, size, 0xfeedbeef, Signal::now); });
        pair.poll_until([&] { return !pair.at_b.empty(); });
        EXPECT_EQ(pair.at_b[0].immediate, 0xfeedbeefU);
        EXPECT_EQ(pair.at_b[0].slot, kNoSlot);
        EXPECT_TRUE(holds(pair.b->window(), 1, 5, size));
        pair.settle();
      }
      {
        Pair pair(connected(GetParam(), OperationCode::read, latency));
        memory::fill_pattern(slot(pair.b->window(), 1, size), 77);
        pair.must([&] {
          return pair.a->post<Read>(pair.a->send_region().stride, pair.a->send_region().stride,
                                    size, 0, Signal::now);
        });
        pair.settle();
        EXPECT_TRUE(holds(pair.a->send_region(), 1, 77, size));
      }
    }
  }
}

TEST_P(OfiConnected, AClientWithoutAServerEndsWithAReason) {
  EndpointRequest r = connected(GetParam(), OperationCode::send);
  r.timeout = std::chrono::milliseconds(300);
  Endpoint client = alone(true, r);
  std::string address;
  {
    const Endpoint server = alone(false, r);
    address = server.address();
  }
  EXPECT_THAT(complaint([&] { client.connect(address); }, Fault::failed), HasSubstr(GetParam()));
}

TEST_P(OfiConnected, AServerWithoutAClientEndsAtItsTimeout) {
  EndpointRequest r = connected(GetParam(), OperationCode::send);
  r.timeout = std::chrono::milliseconds(200);
  Endpoint server = alone(false, r);
  const Endpoint client = alone(true, r);
  EXPECT_THAT(complaint([&] { server.connect(client.address()); }).what(),
              ::testing::AllOf(HasSubstr("no connection of the peer"), HasSubstr("200 ms"),
                               HasSubstr("firewall")));
}

TEST_P(OfiConnected, AStrangerWithoutTheTicketIsTurnedAway) {
  EndpointRequest r = connected(GetParam(), OperationCode::send);
  r.timeout = std::chrono::milliseconds(3000);
  Endpoint server = alone(false, r);
  Endpoint stranger = alone(true, r);
  Endpoint client = alone(true, r);
  Json forged = Json::parse(server.address());
  forged["ticket"] = forged["ticket"].get<std::uint64_t>() + 1;
  auto accepted =
      std::async(std::launch::async, [&, address = client.address()] { server.connect(address); });
  EXPECT_THROW(stranger.connect(forged.dump()), Error);
  client.connect(server.address());
  EXPECT_NO_THROW(accepted.get());
}

TEST_P(OfiConnected, APeerThatEndsFailsThePoll) {
  Pair pair(connected(GetParam(), OperationCode::send));
  pair.must([&] { return pair.a->post<Send>(0, 0, 8, 0, Signal::now); });
  pair.poll_until([&] { return !pair.at_b.empty(); });
  pair.a.reset();
  const Deadline deadline = Deadline::after(std::chrono::seconds(10));
  int seen = 0;
  while (seen >= 0 && !deadline.passed()) {
    seen = pair.b->poll([](const Received&) noexcept {});
  }
  EXPECT_EQ(seen, -1);
  EXPECT_THAT(pair.b->failure(), HasSubstr("Has the peer ended"));
}

TEST(OfiConnectedOffer, SaysThatAtomicsNeedDatagrams) {
  EndpointRequest r = connected("tcp", OperationCode::fetch_add);
  r.max_size = kAtomicBytes;
  EXPECT_THAT(complaint([&] { offer(r); }, Fault::unavailable), HasSubstr("FI_ATOMIC"));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ofi::connected_test
