#include "transport/ucx/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "../complaint.h"
#include "base/allowed_peers.h"
#include "pair.h"
#include "transport/session_request.h"

namespace rdmabench::inline v1::transport::ucx::backend_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(UcxBackend, ChoosesWhatBothSidesHave) {
  const EndpointRequest r = request("", OperationCode::send);
  const auto offered = [](const char* transports) {
    return std::string(R"({"transports":[)") + transports + R"(],"version":"1.13.1"})";
  };
  const Choice choice = choose(r, offered(R"("self","tcp","rc_verbs")"),
                               R"({"transports":["self","tcp"],"version":"1.18.0"})");
  EXPECT_THAT(choice.reason, AllOf(HasSubstr("among tcp"), HasSubstr("1.13.1 here"),
                                   HasSubstr("1.18.0 at the server"), Not(HasSubstr("rc_verbs"))));
  EXPECT_THAT(
      complaint([&] { choose(r, offered(R"("self","posix")"), offered(R"("self","tcp")")); },
                Fault::unavailable),
      HasSubstr("no transport of UCX in common"));
  for (const char* const bad : {"", "null", "{}", R"({"version":"1","transports":7})"}) {
    EXPECT_THROW(choose(r, offered(R"("tcp")"), bad), Error) << bad;
  }
}

TEST(UcxBackend, RefusesByNameWhatItDoesNotHave) {
  const auto refusal = [](auto&& change) {
    EndpointRequest r = request("tcp", OperationCode::send);
    change(r);
    return complaint([&] { offer(r); }, Fault::unavailable);
  };
  EXPECT_THAT(refusal([](EndpointRequest& r) { r.options.service = Service::rc; }),
              HasSubstr("`service` rc"));
  EXPECT_THAT(refusal([](EndpointRequest& r) { r.memory = "cuda:0"; }),
              HasSubstr("memory 'cuda:0'"));
  EXPECT_THAT(refusal([](EndpointRequest& r) { r.options.segments = 2; }),
              HasSubstr("scatter/gather"));
  EXPECT_THAT(refusal([](EndpointRequest& r) { r.options.verbs.mtu = 4096; }), HasSubstr("`mtu`"));
  EXPECT_THAT(refusal([](EndpointRequest& r) { r.options.ofi.provider = "tcp"; }),
              HasSubstr("`provider`"));
  EXPECT_THAT(refusal([](EndpointRequest& r) { r.options.inline_limit = 0; }),
              HasSubstr("`inline_limit`"));
}

TEST(UcxBackend, TakesTransportsAsUcxNamesThem) {
  EndpointRequest r = request("TCP; rm -r", OperationCode::send);
  EXPECT_THAT(complaint([&] { offer(r); }, Fault::usage), HasSubstr("`ucx_tls`"));
  r.options.ucx.transports = "none_such";
  EXPECT_THAT(complaint([&] { offer(r); }, Fault::unavailable), HasSubstr("ucp_init()"));
}

/// A client could have a server connect to whom it may not reach itself, or attach memory of this
/// machine.
TEST(UcxBackend, ServesByLeaveAlone) {
  const auto allows = [](std::vector<std::string> providers,
                         const std::string& peer = "192.0.2.7") {
    EndpointRequest r = request("tcp", OperationCode::send);
    r.client = false;
    r.session = std::make_shared<SessionRequest>(SessionRequest{
        .failed_routes = {},
        .allowed_peers = AllowedPeers(peer, "192.0.2.1", parse_allowed({}, providers))});
    return r;
  };
  for (const char* const peer : {"192.0.2.7", "192.0.2.1", "127.0.0.1"}) {
    const EndpointRequest stranger = allows({"tcp", "shm"}, peer);
    EXPECT_THAT(complaint([&] { offer(stranger); }, Fault::failed),
                HasSubstr("--allow-provider ucx"));
    Endpoint endpoint(stranger, "");
    EXPECT_THAT(complaint([&] { endpoint.connect(endpoint.address()); }, Fault::failed),
                HasSubstr("--allow-provider ucx"));
    EXPECT_NO_THROW(offer(allows({"ucx"}, peer)));
    EXPECT_NO_THROW(offer(allows({"any"}, peer)));
  }
}

/// What a program says to UCX by itself is not the library's.
TEST(UcxBackend, TakesUcxsComplaintsWhileItHasAnEndpointAlone) {
  const auto printed = [] {
    ucp_config_t* settings = nullptr;
    EXPECT_EQ(ucp_config_read(nullptr, nullptr, &settings), UCS_OK);
    ::testing::internal::CaptureStdout();
    EXPECT_NE(ucp_config_modify(settings, "RNDV_THRESH", "nonsense"), UCS_OK);
    ucp_config_release(settings);
    return ::testing::internal::GetCapturedStdout();
  };
  {
    const Endpoint endpoint(request("tcp", OperationCode::send), "");
    EXPECT_EQ(printed(), "");
  }
  EXPECT_THAT(printed(), HasSubstr("nonsense"));
  EXPECT_THROW(offer(request("none_such", OperationCode::send)), Error);
  EXPECT_THAT(printed(), HasSubstr("nonsense"));
}

TEST(UcxBackend, ListsWhatUcxHas) {
  const std::vector<DeviceInfo> all = devices();
  EXPECT_THAT(all, ::testing::Contains(::testing::Field(&DeviceInfo::provider, "tcp")));
  for (const DeviceInfo& one : all) EXPECT_EQ(one.backend, "ucx");
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ucx::backend_test
