// Sends as active messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../complaint.h"
#include "../regions.h"
#include "loaded/library.h"
#include "pair.h"

namespace rdmabench::inline v1::transport::ucx::active_test {
namespace {

using ::testing::HasSubstr;
using Pair = PairOf<ActiveEndpoint>;

EndpointRequest active(std::string_view transports) {
  EndpointRequest r = request(transports, {OperationCode::send, OperationCode::send_imm});
  r.options.service = Service::am;
  return r;
}

class UcxActive : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { need(active(GetParam())); }
};

INSTANTIATE_TEST_SUITE_P(Transports, UcxActive, ::testing::Values("tcp", "posix"));

/// At once, by rendezvous, and one of no bytes.
TEST_P(UcxActive, FillsAReceiveSlotWhateverItsLength) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{8}, kSize,
                                   std::uint64_t{100000}, std::uint64_t{4} << 20}) {
    EndpointRequest r = active(GetParam());
    r.max_size = std::max(size, kSize);
    Pair pair(r);
    for (std::uint8_t turn = 1; turn <= 8; ++turn) {
      memory::fill_pattern(slot(pair.a->send_region(), 0, size), turn);
      pair.must([&] { return pair.a->post<Send>(0, 0, size, 0, Signal::now); });
      pair.poll_until([&] { return !pair.at_b.empty(); });
      EXPECT_EQ(pair.at_b[0].bytes, size);
      EXPECT_EQ(pair.at_b[0].immediate, 0U);
      EXPECT_TRUE(holds(pair.b->receive_region(), pair.at_b[0].slot % 2, turn, size)) << size;
      pair.settle();
      EXPECT_EQ(pair.b->post_receive(pair.at_b[0].slot), PostStatus::posted);
      pair.at_b.clear();
    }
    EXPECT_EQ(pair.a->describe().transport, "am");
  }
}

TEST_P(UcxActive, BringsEachImmediateAndWaitsForAReceive) {
  constexpr std::uint32_t kCount = 60;
  for (const std::uint64_t size : {std::uint64_t{16}, std::uint64_t{4} << 20}) {
    EndpointRequest r = active(GetParam());
    r.max_size = size;
    Pair pair(r);
    std::vector<std::uint32_t> seen(kCount);
    std::uint32_t sent = 0, arrived = 0;
    pair.poll_until([&] {
      for (int i = 0; i < 20 && sent < kCount; ++i) {
        const std::uint64_t bytes = size - sent % 2;
        const PostStatus status =
            pair.a->post<SendImm>(0, 0, bytes, 0xfeed0000 + sent, Signal::by_interval);
        EXPECT_NE(status, PostStatus::failed);
        sent += status == PostStatus::posted ? 1 : 0;
      }
      if (pair.at_b.size() < r.receives && arrived + pair.at_b.size() < kCount) return false;
      for (const Received& received : std::exchange(pair.at_b, {})) {
        const std::uint32_t number = received.immediate - 0xfeed0000;
        EXPECT_LT(number, kCount);
        if (number >= kCount) continue;
        ++seen[number];
        ++arrived;
        EXPECT_EQ(received.bytes, size - number % 2);
        EXPECT_EQ(pair.b->post_receive(received.slot), PostStatus::posted);
      }
      return arrived == kCount && pair.a->completed() == kCount;
    });
    EXPECT_THAT(seen, ::testing::Each(1U));
  }
}

TEST_P(UcxActive, QueuePairsHaveReceivesOfTheirOwn) {
  EndpointRequest r = active(GetParam());
  r.options.queue_pairs = 3;
  Pair pair(r);
  for (std::uint32_t i = 0; i < 3; ++i) {
    pair.must([&] { return pair.a->post<SendImm>(0, 0, 10 + i, i, Signal::now, i); });
  }
  pair.poll_until([&] { return pair.at_b.size() == 3; });
  for (const Received& received : pair.at_b) {
    EXPECT_EQ(received.slot / r.receives, received.immediate);
    EXPECT_EQ(received.bytes, 10 + received.immediate);
  }
  pair.settle();
}

/// Both sides, and one of them with messages that nobody takes.
TEST_P(UcxActive, EndsWithMessagesUnderWay) {
  for (const std::uint64_t size : {kSize, std::uint64_t{4} << 20}) {
    EndpointRequest r = active(GetParam());
    r.max_size = size;
    Pair pair(r);
    pair.poll_until([&] {
      pair.a->post<Send>(0, 0, size, 0, Signal::now);
      pair.b->post<Send>(0, 0, size, 0, Signal::now);
      return pair.at_b.size() == r.receives;
    });
    for (int i = 0; i < 100; ++i) {
      pair.a->post<Send>(0, 0, size, 0, Signal::now);
      pair.poll();
    }
  }
}

/// Of the caller's memory, so that no window tells how long messages are.
TEST_P(UcxActive, OneThatIsTooLongEndsThePolls) {
  for (const std::uint64_t size : {std::uint64_t{100}, std::uint64_t{4} << 20}) {
    std::vector<std::byte> mine(size), theirs(size);
    EndpointRequest client = active(GetParam());
    client.max_size = size;
    client.buffers = {mine};
    EndpointRequest server = server_of(client, {theirs});
    server.max_size = 99;
    Pair pair(client, server);
    EXPECT_EQ(pair.a->post<Send>(0, 0, size, 0, Signal::now), PostStatus::posted);
    const Deadline deadline = Deadline::after(std::chrono::seconds(20));
    int seen = 0;
    while (seen >= 0 && !deadline.passed()) {
      pair.a->poll([](const Received&) noexcept {});
      seen = pair.b->poll([](const Received&) noexcept {});
    }
    EXPECT_EQ(seen, -1);
    EXPECT_THAT(pair.b->failure(), HasSubstr("longer than this side was opened for"));
  }
}

TEST_P(UcxActive, MoreThanMayWaitForAReceiveEndThePolls) {
  EndpointRequest r = active(GetParam());
  r.receives = 1;
  Pair pair(r);
  const Deadline deadline = Deadline::after(std::chrono::seconds(20));
  int seen = 0;
  while (seen >= 0 && !deadline.passed()) {
    for (int i = 0; i < 100; ++i) pair.a->post<Send>(0, 0, 8, 0, Signal::by_interval);
    pair.a->poll([](const Received&) noexcept {});
    seen = pair.b->poll([](const Received&) noexcept {});
  }
  EXPECT_EQ(seen, -1);
  EXPECT_GT(pair.a->posted(), 60000U);
  EXPECT_THAT(pair.b->failure(), HasSubstr("came before their receives"));
  EXPECT_EQ(pair.b->failed_call().library, "") << "UCX took them";
}

TEST_P(UcxActive, HasSendsAloneAndAPeerOfItsKind) {
  Pair pair(active(GetParam()));
  EXPECT_EQ(pair.a->post<Send>(0, 0, kSize + 1, 0, Signal::now), PostStatus::failed);
  static_assert(!ActiveEndpoint::supports<Write> && !ActiveEndpoint::supports<FetchAdd>);
  Endpoint tagged(request(GetParam(), {OperationCode::send, OperationCode::send_imm}), "");
  EXPECT_THAT(complaint([&] { tagged.connect(pair.a->address()); }, Fault::failed),
              HasSubstr("`service` am"));
}

/// A peer that speaks to UCX by itself.
class Stranger {
 public:
  explicit Stranger(const std::string& address) {
    ucp_config_t* settings = nullptr;
    EXPECT_EQ(ucp_config_read(nullptr, nullptr, &settings), UCS_OK);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM;
    EXPECT_EQ(ucp_init(&params, settings, &context_), UCS_OK);
    ucp_config_release(settings);
    ucp_worker_params_t worker{};
    EXPECT_EQ(ucp_worker_create(context_, &worker, &worker_), UCS_OK);
    ucp_ep_params_t ep{};
    ep.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    ep.address = reinterpret_cast<const ucp_address_t*>(address.data());
    EXPECT_EQ(ucp_ep_create(worker_, &ep, &ep_), UCS_OK);
  }
  Stranger& operator=(Stranger&&) = delete;
  ~Stranger() {
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }

  void send(std::string_view header, std::string_view bytes) {
    const auto function =
        reinterpret_cast<decltype(&ucp_am_send_nbx)>(loaded::ucp.function("ucp_am_send_nbx"));
    const ucp_request_param_t plain{};
    function(ep_, kActiveId, header.data(), header.size(), bytes.data(), bytes.size(), &plain);
  }
  void poll() {
    reinterpret_cast<decltype(&ucp_worker_progress)>(loaded::ucp.function("ucp_worker_progress"))(
        worker_);
  }

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
};

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

TEST(UcxActiveStranger, EndsThePollsByAHeaderOfAnotherLengthOrOfNoQueuePair) {
  const std::string first_pair(8, '\0');
  std::string no_pair = first_pair;
  no_pair[4] = 1;
  std::string last_pair(8, '\xff');
  for (const auto& [header, is_good] : {std::pair(std::string(), false),
                                        {"abc", false},
                                        {std::string(16, '\0'), false},
                                        {no_pair, false},
                                        {last_pair, false},
                                        {first_pair, true}}) {
    EndpointRequest r = active("tcp");
    Pair pair(r);
    Stranger stranger(from_hex(nlohmann::json::parse(pair.b->address())["worker"]));
    stranger.send(header, "1234567");
    const Deadline deadline = Deadline::after(std::chrono::seconds(20));
    int seen = 0;
    while (seen == 0 && !deadline.passed()) {
      stranger.poll();
      seen = pair.b->poll([](const Received&) noexcept {});
    }
    EXPECT_EQ(seen, is_good ? 1 : -1) << header.size();
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ucx::active_test
