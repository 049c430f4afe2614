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
#include <thread>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/verbs/endpoint.h"
#include "transport/verbs/backend.h"

namespace rdmabench::inline v1::transport::verbs {
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

template <class Endpoint>
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* device = std::getenv("RDMABENCH_DEVICE"); device != nullptr) {
      request_.device = device;
    }
    request_.depth = kDepth;
    request_.receives = kDepth;
    request_.send_slots = kSlots;
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
    // A buffer for each receive: messages of several queue pairs may lie in them at the same time.
    request_.receive_slots = kDepth * request_.options.queue_pairs;
    for (const OperationCode code : {OperationCode::write, OperationCode::write_imm,
                                     OperationCode::read, OperationCode::send_imm}) {
      const bool atomics = request_.operations.any(is_atomic);
      if (!atomics && has_operation(request_.options.service, code)) request_.operations.add(code);
    }
    const Choice choice = choose(request_, offer_, offer_);
    client_.emplace(request_, choice.client);
    EndpointRequest server = request_;
    server.client = false;
    server_.emplace(server, choice.server);
    if (!request_.options.verbs.rdma_cm) {
      server_->connect(client_->address());
      client_->connect(server_->address());
      return;
    }
    std::string complaint;
    std::thread other([&] {
      try {
        server_->connect(client_->address());
      } catch (const Error& error) {
        complaint = error.what();
      }
    });
    EXPECT_NO_THROW(client_->connect(server_->address()));
    other.join();
    EXPECT_EQ(complaint, "");
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
    // With several queue pairs messages overtake each other: each must be whole, and all have come.
    const std::uint8_t first =
        std::to_integer<std::uint8_t>(bytes.empty() ? std::byte{} : bytes.back());
    const std::uint8_t wanted = server_->queue_pairs() == 1 ? tag(received_.size()) : first;
    if (checks_receives_ && memory::find_mismatch(bytes, wanted)) ++mismatches_;
    received_.push_back(one);
    server_->post_receive(one.slot);
  }

  /// Posts `count` messages of `size` bytes, each of its own pattern, and waits for them.
  template <class Op>
  void stream(std::uint64_t size, std::uint64_t count) {
    received_.clear();
    const std::uint64_t before = client_->completed();
    checks_receives_ = Op::kTwoSided;
    const Region from = Op::kFromTarget ? server_->window() : client_->send_region();
    for (std::uint64_t i = 0; i < count; ++i) {
      // A slot may be filled again only when what was sent from it has completed.
      // Queue pairs overtake each other, so with several of them all must have.
      const bool one_by_one = client_->queue_pairs() == 1 || i % kSlots != 0;
      // UC and UD drop what finds no receive.
      const bool drops = Op::kNotifies && (request_.options.service == Service::uc ||
                                           request_.options.service == Service::ud);
      poll_until([&] {
        return client_->posted() - client_->completed() < (one_by_one ? kSlots : 1) &&
               (!drops || i - received_.size() < kSlots);
      });
      memory::fill_pattern(slot(from, i, size), tag(i));
      const Signal signal = i + 1 == count || client_->posted() - client_->completed() + 1 == kSlots
                                ? Signal::now
                                : Signal::by_interval;
      // Queue pairs take turns where every message is signalled; else the last of each queue pair
      // would not be.
      const auto queue_pair =
          request_.signal_every == 1 ? static_cast<std::uint32_t>(i) % client_->queue_pairs() : 0;
      ASSERT_EQ(client_->template post<Op>(i % kSlots * from.stride, i % kSlots * from.stride, size,
                                           i, signal, queue_pair),
                PostStatus::posted)
          << client_->failure();
    }
    const std::uint64_t notified = Op::kNotifies ? count : 0;
    poll_until(
        [&] { return client_->completed() == before + count && received_.size() == notified; });
    const Region to = Op::kFromTarget ? client_->send_region() : server_->window();
    for (std::uint64_t i = count - std::min<std::uint64_t>(count, kSlots); i < count; ++i) {
      if (Op::kTwoSided) break;  // checked as they arrived
      // A completion of UC says that a message was sent, not that it arrived.
      if (request_.options.service == Service::uc) {
        poll_until([&] { return !memory::find_mismatch(slot(to, i, size), tag(i)); });
      }
      EXPECT_EQ(memory::find_mismatch(slot(to, i, size), tag(i)), std::nullopt)
          << "message " << i << " of " << size << " bytes";
    }
    EXPECT_EQ(mismatches_, 0);
    std::uint64_t immediates = 0;
    for (std::uint64_t i = 0; i < received_.size(); ++i) {
      EXPECT_EQ(received_[i].bytes, size);
      immediates += received_[i].immediate;
      if (client_->queue_pairs() == 1) {
        EXPECT_EQ(received_[i].immediate, Op::kImmediate ? i : 0);
      }
    }
    EXPECT_EQ(immediates, Op::kImmediate ? count * (count - 1) / 2 : 0);
  }

  EndpointRequest request_;
  std::string offer_;
  std::optional<Endpoint> client_;
  std::optional<Endpoint> server_;
  std::vector<Received> received_;
  bool checks_receives_ = false;
  int mismatches_ = 0;
};

using VerbsDevice = DeviceTest<Endpoint>;
using GeneralDevice = DeviceTest<GeneralEndpoint>;
using DatagramDevice = DeviceTest<DatagramEndpoint>;

template <class Op>
class EveryOperation : public VerbsDevice {};
using Operations = testing::Types<Send, SendImm, Write, WriteImm, Read>;

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
  this->request_.options.inline_limit = 0;
  this->open(64);
  this->template stream<TypeParam>(64, 50);
}

TEST_F(VerbsDevice, ATokenArrivesAsNoBytes) {
  open(64);
  ASSERT_EQ(client_->post<Send>(0, 0, 0, 0, Signal::now), PostStatus::posted) << client_->failure();
  poll_until([&] { return received_.size() == 1 && client_->completed() == 1; });
  EXPECT_EQ(received_[0].bytes, 0U);
}

TEST_F(VerbsDevice, IsBusyAtItsDepth) {
  open(64);
  for (std::uint32_t i = 0; i < kDepth; ++i) {
    ASSERT_EQ(client_->post<Write>(0, 0, 64, 0, Signal::now), PostStatus::posted)
        << client_->failure();
  }
  EXPECT_EQ(client_->post<Write>(0, 0, 64, 0, Signal::now), PostStatus::busy);
  poll_until([&] { return client_->completed() == kDepth; });
}

TEST_F(VerbsDevice, AMessageOutsideItsMemoryIsExplained) {
  request_.options.inline_limit = 0;  // else it is this process that reads there
  open(64);
  ASSERT_EQ(
      client_->post<Write>(std::uint64_t{1} << 30, std::uint64_t{1} << 30, 64, 0, Signal::now),
      PostStatus::posted);
  const Deadline deadline = Deadline::after(10s);
  int seen = 0;
  while (seen == 0 && !deadline.passed()) seen = client_->poll([](const Received&) noexcept {});
  EXPECT_EQ(seen, -1);
  EXPECT_THAT(client_->failure(), HasSubstr("post 0: "));
}

TEST_F(VerbsDevice, APeerThatIsGoneIsExplained) {
  open(64);
  server_.reset();
  ASSERT_EQ(client_->post<Write>(0, 0, 64, 0, Signal::now), PostStatus::posted);
  const Deadline deadline = Deadline::after(30s);
  int seen = 0;
  while (seen == 0 && !deadline.passed()) seen = client_->poll([](const Received&) noexcept {});
  EXPECT_EQ(seen, -1);
  EXPECT_THAT(client_->failure(), HasSubstr("IBV_WC_RETRY_EXC_ERR"));
}

template <class Op>
class EveryQueuePair : public GeneralDevice {};
TYPED_TEST_SUITE(EveryQueuePair, Operations, OperationName);

TYPED_TEST(EveryQueuePair, MovesItsBytes) {
  this->request_.options.queue_pairs = 4;
  this->request_.signal_every = 1;
  this->open(4096);
  for (const std::uint64_t size : {8, 4096}) this->template stream<TypeParam>(size, 40);
}

TYPED_TEST(EveryQueuePair,
           MovesItsBytesInSegmentsThroughASharedReceiveQueueWithTwoCompletionQueues) {
  this->request_.options.queue_pairs = 2;
  this->request_.signal_every = 1;
  this->request_.options.segments = 3;
  this->request_.options.verbs.shared_receives = true;
  this->request_.options.separate_queues = true;
  this->request_.slot_stride = 8192;
  this->request_.options.misalignment = 5;
  this->open(4096);
  for (const std::uint64_t size : {2, 8, 4096}) this->template stream<TypeParam>(size, 40);
}

TEST_F(DatagramDevice, UcMovesItsBytes) {
  request_.options.service = Service::uc;
  open(4096);
  stream<Send>(4096, 20);
  stream<SendImm>(8, 20);
  stream<Write>(4096, 20);
  stream<WriteImm>(64, 20);
}

TEST_F(DatagramDevice, UdMovesItsBytes) {
  request_.options.service = Service::ud;
  open(1024);
  for (const std::uint64_t size : {1, 64, 1024}) stream<Send>(size, 20);
  stream<SendImm>(64, 20);
}

TEST_F(DatagramDevice, OneUdQueuePairReachesFourPeers) {
  request_.options.service = Service::ud;
  request_.options.queue_pairs = 4;
  request_.local_queue_pairs = 1;
  request_.signal_every = 1;
  open(1024);
  stream<SendImm>(512, 40);
}

template <class Op>
class EveryAtomic : public VerbsDevice {};
using Atomics = testing::Types<FetchAdd, CompareSwap>;
TYPED_TEST_SUITE(EveryAtomic, Atomics, OperationName);

TYPED_TEST(EveryAtomic, ChangesTheWordAndBringsBackWhatItWas) {
  this->request_.operations = TypeParam::kCode;
  this->open(kAtomicBytes);
  auto& target = *reinterpret_cast<std::uint64_t*>(this->server_->window().data);
  const auto& before = *reinterpret_cast<std::uint64_t*>(this->client_->send_region().data);
  target = std::uint64_t{1} << 33;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::uint64_t word = (std::uint64_t{1} << 33) + i;
    ASSERT_EQ(this->client_->template post<TypeParam>(0, 0, kAtomicBytes, word, Signal::now),
              PostStatus::posted);
    this->poll_until([&] { return this->client_->completed() == i + 1; });
    EXPECT_EQ(before, word);
    EXPECT_EQ(target, word + 1);
  }
}

TEST_F(VerbsDevice, PostsLists) {
  request_.options.post_list = 4;
  open(64);
  const Region region = client_->send_region();
  for (std::uint32_t i = 0; i < kSlots; ++i) memory::fill_pattern(slot(region, i, 64), tag(i));
  std::vector<Message> burst;
  for (std::uint64_t k = 0; k < 4; ++k) {
    const std::uint64_t offset = k % region.slots * region.stride;
    burst.push_back({.local = offset, .remote = offset, .bytes = 64, .word = k});
  }
  ASSERT_EQ(client_->post_list<SendImm>(std::span<const Message>(), Signal::now),
            PostStatus::posted);
  ASSERT_EQ(client_->post_list<SendImm>(burst, Signal::now), PostStatus::posted)
      << client_->failure();
  checks_receives_ = true;
  poll_until([&] { return client_->completed() == 4 && received_.size() == 4; });
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(received_[i].immediate, i);
  EXPECT_EQ(mismatches_, 0);
}

TEST_F(GeneralDevice, EventsWakeTheWaiter) {
  request_.options.events = true;
  open(64);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(server_->poll([](const Received&) noexcept {}), 0);
    ASSERT_TRUE(server_->wait_for_event(10s));
    std::thread peer([&] {
      std::this_thread::sleep_for(5ms);
      ASSERT_EQ(client_->post<Send>(0, 0, 64, 0, Signal::now), PostStatus::posted);
    });
    const auto start = std::chrono::steady_clock::now();
    int seen = 0;
    while (seen == 0 && std::chrono::steady_clock::now() - start < 10s) {
      ASSERT_TRUE(server_->wait_for_event(10s)) << server_->failure();
      seen = server_->poll([this](const Received& one) noexcept { arrived(one); });
    }
    peer.join();
    EXPECT_EQ(seen, 1);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 9s) << "the event was lost";
    poll_until([&] { return client_->completed() == client_->posted(); });
  }
}

TEST_F(VerbsDevice, TakesPathOptions) {
  request_.options.verbs.path.traffic_class = 104;
  request_.options.verbs.path.hop_limit = 3;
  request_.options.verbs.path.flow_label = 77;
  request_.options.verbs.path.timeout = 15;
  request_.options.verbs.path.retry_count = 3;
  request_.options.verbs.path.rnr_timer = 14;
  open(64);
  stream<Write>(64, 20);
}

TEST_F(GeneralDevice, IsConnectedByTheConnectionManager) {
  request_.options.verbs.rdma_cm = true;
  request_.options.queue_pairs = 3;
  request_.signal_every = 1;
  open(1024);
  if (HasFailure()) return;
  stream<Write>(1024, 20);
  stream<SendImm>(64, 20);
}

TEST_F(VerbsDevice, TheConnectionManagerSaysThatNobodyListens) {
  request_.options.verbs.rdma_cm = true;
  request_.timeout = std::chrono::milliseconds(3000);
  const Choice choice = choose(request_, offer_, offer_);
  Endpoint client(request_, choice.client);
  EndpointRequest other = request_;
  other.client = false;
  std::string address = Endpoint(other, choice.server).address();  // which is gone
  try {
    client.connect(address);
    FAIL() << "connected to nobody";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nothing listens there"));
  }
}

TEST_F(VerbsDevice, SaysWhatTheDeviceLacks) {
  request_.options.service = Service::xrc;
  const Choice choice = choose(request_, offer_, offer_);
  try {
    const GeneralEndpoint endpoint(request_, choice.client);
  } catch (const Error& error) {  // a device that has XRC opens
    EXPECT_EQ(error.fault(), Fault::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("XRC"));
  }
}

TEST_F(VerbsDevice, ReducesADepthBeyondTheDevice) {
  request_.depth = 1U << 20;
  request_.receives = 1U << 20;
  open(64);
  EXPECT_LT(client_->depth(), 1U << 20);
  stream<Send>(64, 20);
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
}  // namespace rdmabench::inline v1::transport::verbs
