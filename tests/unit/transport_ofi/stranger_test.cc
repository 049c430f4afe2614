// What one who is no part of a session can do to it over the fabric: he knows its addresses, and
// how the window was registered before keys were random.
#include <fmt/format.h>
#include <rdma/fi_domain.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "../complaint.h"
#include "../fact.h"
#include "pair.h"
#include "rdmabench/base/error.h"
#include "transport/ofi/messages.h"
#include "transport/session_request.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

using Ends = PairOf<ManyEndpoint>;

class Stranger : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { need(request(GetParam(), OperationCode::send)); }
};

/// An endpoint that sends to `victim` without its consent.
std::unique_ptr<ManyEndpoint> stranger(const EndpointRequest& r, const Address& victim) {
  const std::string text = offer(r);
  auto endpoint = std::make_unique<ManyEndpoint>(r, choose(r, text, text).client);
  endpoint->connect(write_address(victim));
  return endpoint;
}

EndpointRequest stranger_request(const char* provider, OperationCode code) {
  EndpointRequest r = request(provider, code);
  r.options.events = false;
  return r;
}

std::uint64_t key_of(const std::string& text) {
  return read_address(text).window_key;
}

TEST_P(Stranger, HasNoKeyThatHeCouldGuess) {
  const EndpointRequest r = stranger_request(GetParam(), OperationCode::write);
  Ends ends(r);
  Ends more(r);
  const std::uint64_t first = key_of(ends.b->address());
  const std::uint64_t second = key_of(more.b->address());
  EXPECT_NE(first, second);
  EXPECT_GT(first | second, std::uint64_t{1} << 32);
  EXPECT_EQ(fact(ends.b->describe().details, "window_key"), "random, 64 bits");
}

TEST_P(Stranger, WritesNothingIntoAWindow) {
  const EndpointRequest r = stranger_request(GetParam(), OperationCode::write);
  Ends ends(r);
  Address victim = read_address(ends.b->address());
  victim.window_key = 3;  // each session's, once
  const auto other = stranger(r, victim);
  const Region window = ends.b->window();
  std::fill_n(window.data, kSize, std::byte{7});
  std::fill_n(other->send_region().data, kSize, std::byte{9});
  static_cast<void>(other->post<Write>(0, 0, kSize, 0, Signal::now));
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(300));
  bool refused = false;
  while (!refused && !deadline.passed()) {
    refused = other->poll([](const Received&) noexcept {}) < 0;
    ends.b->poll([](const Received&) noexcept {});
  }
  EXPECT_EQ(window.data[0], std::byte{7});
  EXPECT_EQ(window.data[kSize - 1], std::byte{7});
}

std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST_P(Stranger, KeepsNoDescriptorAfterTheSession) {
  const EndpointRequest r = stranger_request(GetParam(), OperationCode::send);
  static_cast<void>(Ends(r));  // what libraries open once
  const std::ptrdiff_t before = open_files();
  std::vector<int> held;
  {
    Ends ends(r);
    const std::string name = read_address(ends.b->address()).names.at(0);
    for (int i = 0; i < 20; ++i) {
      held.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      static_cast<void>(connect(held.back(), reinterpret_cast<const sockaddr*>(name.data()),
                                static_cast<socklen_t>(name.size())));
    }
    const Deadline deadline = Deadline::after(std::chrono::milliseconds(300));
    while (!deadline.passed()) {
      ends.a->poll([](const Received&) noexcept {});
      ends.b->poll([](const Received&) noexcept {});
    }
  }
  for (const int one : held) close(one);
  EXPECT_EQ(open_files(), before);
}

TEST_P(Stranger, SendsNothingThatCounts) {
  const EndpointRequest r = stranger_request(GetParam(), OperationCode::send);
  Ends ends(r);
  if (fact(ends.b->describe().details, "receives_from") != "the peer alone") {
    // The report says so; and so must whoever relies on it.
    EXPECT_STREQ(GetParam(), "net");
    EXPECT_THAT(fact(ends.b->describe().details, "receives_from"),
                ::testing::StartsWith("any sender"));
    GTEST_SKIP() << "a provider that takes what anyone sends";
  }
  const auto other = stranger(r, read_address(ends.b->address()));
  std::fill_n(other->send_region().data, kSize, std::byte{9});
  std::fill_n(ends.a->send_region().data, kSize, std::byte{5});
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(300));
  bool posted = false;
  while (!deadline.passed()) {
    if (!posted) posted = other->post<Send>(0, 0, kSize, 0, Signal::now) == PostStatus::posted;
    other->poll([](const Received&) noexcept {});
    ends.poll();
  }
  EXPECT_TRUE(posted);
  EXPECT_EQ(ends.at_b.size(), 0U);
  ends.must([&] { return ends.a->post<Send>(0, 0, kSize, 0, Signal::now); });
  ends.poll_until([&] { return !ends.at_b.empty(); });
  const Region received = ends.b->receive_region();
  EXPECT_EQ(received.data[ends.at_b[0].slot % received.slots * received.stride], std::byte{5});
  EXPECT_EQ(ends.at_b.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Providers, Stranger,
                         ::testing::Values("tcp;ofi_rxm", "net", "udp;ofi_rxd"), test_name);

std::shared_ptr<SessionRequest> allowing(const char* peer_ip, const char* local_ip,
                                         AllowedNetworks networks) {
  return std::make_shared<SessionRequest>(
      SessionRequest{{}, AllowedPeers(peer_ip, local_ip, std::move(networks))});
}

TEST(AllowedPeer, AnAddressOfSomebodyElseIsNotInserted) {
  const std::vector<std::string> tcp{"tcp"};
  EndpointRequest r = request("tcp;ofi_rxm", OperationCode::send);
  const std::string text = offer(r);
  const Choice choice = choose(r, text, text);
  ManyEndpoint client(r, choice.client);
  const std::string address = client.address();
  EndpointRequest server = r;
  server.client = false;
  server.session = allowing("192.0.2.7", "192.0.2.1", parse_allowed({}, tcp));
  ManyEndpoint refusing(server, choice.server);
  EXPECT_THAT(complaint([&] { refusing.connect(address); }).what(),
              ::testing::HasSubstr("192.0.2.7 names 127.0.0.1"));
  server.session = allowing("192.0.2.7", "192.0.2.1",
                            parse_allowed(std::vector<std::string>{"127.0.0.0/8"}, tcp));
  ManyEndpoint serving(server, choice.server);
  EXPECT_NO_THROW(serving.connect(address));
}

TEST(AllowedPeer, SharedMemoryIsServedByNameAlone) {
  EndpointRequest r = request("shm", OperationCode::send);
  r.local_ip.clear();
  const std::string text = offer(r);
  const Choice choice = choose(r, text, text);
  ManyEndpoint client(r, choice.client);
  EndpointRequest server = r;
  server.client = false;
  server.session = allowing("127.0.0.1", "127.0.0.1", AllowedNetworks());
  EXPECT_THROW(offer(server), Error);
  EXPECT_THROW(ManyEndpoint(server, choice.server), Error);
  server.session =
      allowing("127.0.0.1", "127.0.0.1", parse_allowed({}, std::vector<std::string>{"shm"}));
  ManyEndpoint serving(server, choice.server);
  EXPECT_NO_THROW(serving.connect(client.address()));
}

/// Who guesses the name could put a file of his own there before the endpoint is opened.
TEST(SharedMemory, HasNoFileThatIsNamedAfterTheProcess) {
  EndpointRequest r = request("shm", OperationCode::send);
  r.local_ip.clear();
  const std::string text = offer(r);
  const ManyEndpoint endpoint(r, choose(r, text, text).client);
  std::vector<std::string> ours;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    EXPECT_FALSE(name.starts_with(fmt::format("{}:", getpid())));
    if (name.find(fmt::format("-{}-", getpid())) != std::string::npos) ours.push_back(name);
  }
  // It tells whose it is, so that it can be removed if this process is killed.
  EXPECT_THAT(ours, ::testing::ElementsAre(::testing::StartsWith("rdmabench-")));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ofi
