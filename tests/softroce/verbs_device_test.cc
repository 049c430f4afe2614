// The verbs back end on a real device: two endpoints of one process, through whatever NIC there is.
//
// RDMABENCH_DEVICE ("NAME[:PORT]") picks the device, else the first usable one; without any the
// tests are skipped and say why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/pattern.h"
#include "rdmabench/transport/verbs/backend.h"

namespace rdmabench::transport::verbs {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::uint32_t kDepth = 8;
constexpr std::uint32_t kSlots = 4;

std::span<std::byte> slot(const Region& region, std::uint64_t index, std::uint64_t size) {
  return {region.data + index % region.slots * region.stride, size};
}

std::uint8_t tag(std::uint64_t message) {
  return static_cast<std::uint8_t>(message * 7 + 1);
}

class VerbsDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* device = std::getenv("RDMABENCH_DEVICE"); device != nullptr) {
      request_.device = device;
    }
    request_.depth = kDepth;
    request_.receives = kDepth;
    request_.send_slots = kSlots;
    request_.receive_slots = kSlots;
    request_.signal_every = 3;
    try {
      offer_ = offer(request_);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Opens both sides for messages of up to `max_size` bytes.
  void open(std::uint64_t max_size) {
    request_.max_size = max_size;
    const Choice choice = choose(request_, offer_, offer_);
    client_.emplace(request_, choice.client);
    EndpointRequest server = request_;
    server.client = false;
    server_.emplace(server, choice.server);
    server_->connect(client_->address());
    client_->connect(server_->address());
  }

  /// Polls both sides until `done`; the server's receives are kept and given back.
  template <class Done>
  void poll_until(Done&& done) {
    const Deadline deadline = Deadline::after(10s);
    while (!done()) {
      ASSERT_GE(client_->poll([](const Received&) noexcept {}), 0) << client_->failure();
      const int seen = server_->poll([this](const Received& one) noexcept { arrived(one); });
      ASSERT_GE(seen, 0) << server_->failure();
      ASSERT_FALSE(deadline.passed()) << "nothing arrives";
    }
  }

  void arrived(const Received& one) noexcept {
    const Region region = server_->receive_region();
    const auto bytes = slot(region, one.slot, one.bytes);
    if (checks_receives_ && memory::find_mismatch(bytes, tag(received_.size()))) ++mismatches_;
    received_.push_back(one);
    server_->post_receive(one.slot);
  }

  /// Posts `count` messages of `size` bytes, each of its own pattern, and waits for them.
  template <class Op>
  void stream(std::uint64_t size, std::uint64_t count) {
    client_->prepare(Op::kCode, size);
    received_.clear();
    checks_receives_ = Op::kTwoSided;
    const Region from = Op::kFromTarget ? server_->window() : client_->send_region();
    for (std::uint64_t i = 0; i < count; ++i) {
      // A slot may be filled again only when what was sent from it has completed.
      poll_until([&] { return client_->posted() - client_->completed() < kSlots; });
      memory::fill_pattern(slot(from, i, size), tag(i));
      const Signal signal = i + 1 == count || client_->posted() - client_->completed() + 1 == kSlots
                                ? Signal::now
                                : Signal::by_interval;
      ASSERT_EQ(client_->post<Op>(i % kSlots * from.stride, static_cast<std::uint32_t>(i), signal),
                PostStatus::posted)
          << client_->failure();
    }
    const std::uint64_t notified = Op::kNotifies ? count : 0;
    poll_until([&] { return client_->completed() == count && received_.size() == notified; });
    const Region to = Op::kFromTarget ? client_->send_region() : server_->window();
    for (std::uint64_t i = count - std::min<std::uint64_t>(count, kSlots); i < count; ++i) {
      if (Op::kTwoSided) break;  // checked as they arrived
      EXPECT_EQ(memory::find_mismatch(slot(to, i, size), tag(i)), std::nullopt)
          << "message " << i << " of " << size << " bytes";
    }
    EXPECT_EQ(mismatches_, 0);
    for (std::uint64_t i = 0; i < received_.size(); ++i) {
      EXPECT_EQ(received_[i].bytes, size);
      EXPECT_EQ(received_[i].immediate, Op::kImmediate ? i : 0);
    }
  }

  EndpointRequest request_;
  std::string offer_;
  std::optional<Endpoint> client_;
  std::optional<Endpoint> server_;
  std::vector<Received> received_;
  bool checks_receives_ = false;
  int mismatches_ = 0;
};

template <class Op>
class EveryOperation : public VerbsDevice {};
using Operations = testing::Types<Send, Write, WriteImm, Read>;

struct OperationName {
  template <class Op>
  static std::string GetName(int) {
    return std::string(Op::kName);
  }
};
TYPED_TEST_SUITE(EveryOperation, Operations, OperationName);

TYPED_TEST(EveryOperation, MovesItsBytes) {
  this->open(64 * 1024);
  for (const std::uint64_t size : {1, 8, 220, 221, 4096, 4097, 65536}) {
    this->template stream<TypeParam>(size, 20);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(EveryOperation, MovesItsBytesWithoutInlineData) {
  this->request_.inline_limit = 0;
  this->open(64);
  this->template stream<TypeParam>(64, 50);
}

TEST_F(VerbsDevice, ATokenArrivesAsNoBytes) {
  open(64);
  client_->prepare(OperationCode::write, 64);
  ASSERT_EQ(client_->post_token(Signal::now), PostStatus::posted) << client_->failure();
  poll_until([&] { return received_.size() == 1 && client_->completed() == 1; });
  EXPECT_EQ(received_[0].bytes, 0U);
}

TEST_F(VerbsDevice, IsBusyAtItsDepth) {
  open(64);
  client_->prepare(OperationCode::write, 64);
  for (std::uint32_t i = 0; i < kDepth; ++i) {
    ASSERT_EQ(client_->post<Write>(0, 0, Signal::now), PostStatus::posted) << client_->failure();
  }
  EXPECT_EQ(client_->post<Write>(0, 0, Signal::now), PostStatus::busy);
  poll_until([&] { return client_->completed() == kDepth; });
}

TEST_F(VerbsDevice, AMessageOutsideItsMemoryIsExplained) {
  request_.inline_limit = 0;  // else it is this process that reads there
  open(64);
  client_->prepare(OperationCode::write, 64);
  ASSERT_EQ(client_->post<Write>(std::uint64_t{1} << 30, 0, Signal::now), PostStatus::posted);
  const Deadline deadline = Deadline::after(10s);
  int seen = 0;
  while (seen == 0 && !deadline.passed()) seen = client_->poll([](const Received&) noexcept {});
  EXPECT_EQ(seen, -1);
  EXPECT_THAT(client_->failure(), HasSubstr("post 0: "));
}

TEST_F(VerbsDevice, APeerThatIsGoneIsExplained) {
  open(64);
  server_.reset();
  client_->prepare(OperationCode::write, 64);
  ASSERT_EQ(client_->post<Write>(0, 0, Signal::now), PostStatus::posted);
  const Deadline deadline = Deadline::after(30s);
  int seen = 0;
  while (seen == 0 && !deadline.passed()) seen = client_->poll([](const Received&) noexcept {});
  EXPECT_EQ(seen, -1);
  EXPECT_THAT(client_->failure(), HasSubstr("IBV_WC_RETRY_EXC_ERR"));
}

TEST_F(VerbsDevice, IsListed) {
  const std::vector<DeviceInfo> lines = devices();
  ASSERT_FALSE(lines.empty());
  EXPECT_FALSE(lines[0].provider.empty());
  for (const DeviceInfo& line : lines) {
    RecordProperty(line.name, line.provider + " " + line.state);
  }
}

}  // namespace
}  // namespace rdmabench::transport::verbs
