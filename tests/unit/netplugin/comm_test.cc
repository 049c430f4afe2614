// The plugin's connection over carriers of memory: every order of arrival, and a peer that lies.
#include "netplugin/plugin/comm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "rdmabench/control/listener.h"

namespace rdmabench::netplugin::plugin {
namespace {

constexpr std::uint32_t kSlots = 4;
constexpr std::uint32_t kChunk = 2048;

/// One direction and the other one of a carrier; slots arrive in the order of posting, or the last
/// one first.
struct Line {
  std::deque<std::vector<std::byte>> to[2];
  bool backwards = false;
};

class FakeCarrier final : public Carrier {
 public:
  FakeCarrier(Line& line, int own, std::uint32_t bytes)
      : line_(line), own_(own), slots_(kSlots, std::vector<std::byte>(bytes)) {}
  std::string address() const override { return ""; }
  void connect(std::string_view) override {}
  std::byte* slot(std::uint32_t index) noexcept override { return slots_[index].data(); }
  transport::PostStatus post(std::uint32_t slot) noexcept override {
    line_.to[1 - own_].push_back(slots_[slot]);
    return transport::PostStatus::posted;
  }
  bool idle() const noexcept override { return true; }
  bool needs_progress() const noexcept override { return true; }
  bool poll(Arrivals& arrivals) noexcept override {
    auto& mine = line_.to[own_];
    if (mine.empty()) return true;
    const std::vector<std::byte> one = line_.backwards ? mine.back() : mine.front();
    line_.backwards ? mine.pop_back() : mine.pop_front();
    arrivals.arrived(one.data(), one.size());
    return true;
  }
  std::string failure() const override { return ""; }

 private:
  Line& line_;
  int own_;
  std::vector<std::vector<std::byte>> slots_;
};

class CommTest : public ::testing::Test {
 protected:
  CommTest() {
    control::Listener listener("127.0.0.1", 0);
    const Deadline deadline = Deadline::after(std::chrono::seconds(10));
    control::Channel out = control::Channel::connect("127.0.0.1", listener.port(), deadline);
    control::Channel in = std::move(*listener.accept(deadline));
    sender = std::make_unique<Sender>(link(std::move(out), 0));
    receiver = std::make_unique<Receiver>(link(std::move(in), 1));
  }

  Link link(control::Channel channel, int own) {
    return {std::move(channel), std::make_unique<FakeCarrier>(small, own, kShortSlot),
            std::make_unique<FakeCarrier>(large, own, kChunk), kSlots, kChunk};
  }

  void* post_receive(std::byte* data, std::size_t bytes, int tag = 0) {
    void* request = nullptr;
    void* place = data;
    EXPECT_EQ(receiver->receive(1, &place, &bytes, &tag, &request), abi::kSuccess);
    return request;
  }

  /// Until it is done, in steps of both ends.
  int finish(Comm& comm, void* request, Comm& other, void* of_other) {
    int done = 0;
    int bytes = -1;
    for (int i = 0; i < 100000 && done == 0; ++i) {
      if (comm.test(*static_cast<Request*>(request), &done, &bytes) != abi::kSuccess) return -2;
      int ignored = 0;
      if (done == 0 && of_other != nullptr && !other_done_) {
        other.test(*static_cast<Request*>(of_other), &ignored, nullptr);
        other_done_ = ignored != 0;
      }
    }
    return done != 0 ? bytes : -1;
  }

  Line small;
  Line large;
  std::unique_ptr<Sender> sender;
  std::unique_ptr<Receiver> receiver;
  bool other_done_ = false;
};

TEST_F(CommTest, SendsNothingThatWasNotAskedFor) {
  std::byte data[8]{};
  void* request = &data;
  EXPECT_EQ(sender->send(data, 8, 0, &request), abi::kSuccess);
  EXPECT_EQ(request, nullptr);
}

TEST_F(CommTest, MovesMessagesOfAnySizeInAnyOrderOfArrival) {
  for (const bool backwards : {false, true}) {
    small.backwards = large.backwards = backwards;
    for (const std::size_t bytes : {0U, 1U, 984U, 985U, 2048U, 50000U}) {
      std::vector<std::byte> from(bytes + 1, std::byte{3});
      std::vector<std::byte> to(bytes + 1, std::byte{4});
      for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7);
      void* const taken = post_receive(to.data(), bytes);
      void* sent = nullptr;
      for (int i = 0; i < 100 && sent == nullptr; ++i) {
        ASSERT_EQ(sender->send(from.data(), bytes, 0, &sent), abi::kSuccess);
      }
      ASSERT_NE(sent, nullptr);
      other_done_ = false;
      EXPECT_EQ(finish(*receiver, taken, *sender, sent), static_cast<int>(bytes));
      EXPECT_EQ(std::memcmp(from.data(), to.data(), bytes), 0) << bytes;
      EXPECT_EQ(to[bytes], std::byte{4});
      if (!other_done_) {
        EXPECT_EQ(finish(*sender, sent, *receiver, nullptr), static_cast<int>(bytes));
      }
    }
  }
}

TEST_F(CommTest, RefusesWhatIsLargerThanItsReceive) {
  std::byte to[16]{};
  std::byte from[64]{};
  void* const taken = post_receive(to, 16);
  void* sent = nullptr;
  EXPECT_EQ(sender->send(from, 64, 0, &sent), abi::kInvalidUsage);
  int done = 0;
  EXPECT_EQ(receiver->test(*static_cast<Request*>(taken), &done, nullptr), abi::kInvalidUsage);
  EXPECT_EQ(done, 0);
}

TEST_F(CommTest, HasNoMoreThan32ReceivesUnderWay) {
  std::byte to[8]{};
  for (std::uint32_t i = 0; i < kMaxGroups; ++i) EXPECT_NE(post_receive(to, 8), nullptr);
  EXPECT_EQ(post_receive(to, 8), nullptr);
}

TEST_F(CommTest, EndsTogether) {
  std::byte to[8]{};
  void* const taken = post_receive(to, 8);
  sender->close();
  int done = 0;
  while (!sender->linger() && done == 0) {
    if (receiver->test(*static_cast<Request*>(taken), &done, nullptr) != abi::kSuccess) break;
  }
  EXPECT_EQ(receiver->test(*static_cast<Request*>(taken), &done, nullptr), abi::kRemoteError);
  receiver->close();
  for (int i = 0; i < 10; ++i) receiver->linger();
  EXPECT_TRUE(sender->linger());
}

/// A slot that the peer's process never wrote by this protocol.
template <class T>
void forge(Line& line, int to, const T& content, std::size_t bytes) {
  std::vector<std::byte> slot(bytes);
  std::memcpy(slot.data(), &content, sizeof content);
  line.to[to].push_back(slot);
}

Piece right_piece() {
  return {Kind::piece, 0, 0, Lane::small, 0, 0, 8, 8, 0};
}

template <class Member, class Value>
Piece wrong_piece(Member member, Value value) {
  Piece piece = right_piece();
  piece.*member = value;
  return piece;
}

class Lies : public CommTest, public ::testing::WithParamInterface<Piece> {};

TEST_P(Lies, AreNotBelieved) {
  std::byte to[16];
  std::memset(to, 0x5A, sizeof to);
  void* const taken = post_receive(to, 8);
  forge(small, 1, GetParam(), kShortSlot);
  int done = 0;
  EXPECT_EQ(receiver->test(*static_cast<Request*>(taken), &done, nullptr), abi::kSystemError);
  EXPECT_EQ(done, 0);
  for (const std::byte one : to) EXPECT_EQ(one, std::byte{0x5A});
}

INSTANTIATE_TEST_SUITE_P(Pieces, Lies,
                         ::testing::Values(wrong_piece(&Piece::group, 7U),
                                           wrong_piece(&Piece::member, 1U),
                                           wrong_piece(&Piece::total, std::uint64_t{9}),
                                           wrong_piece(&Piece::offset, std::uint64_t{4}),
                                           wrong_piece(&Piece::offset, ~std::uint64_t{0}),
                                           wrong_piece(&Piece::bytes, 9U),
                                           wrong_piece(&Piece::bytes, 5000U),
                                           wrong_piece(&Piece::bytes, ~0U),
                                           wrong_piece(&Piece::lane, static_cast<Lane>(9)),
                                           wrong_piece(&Piece::kind, Kind::group),
                                           wrong_piece(&Piece::kind, static_cast<Kind>(77))));

TEST_F(CommTest, TakesAPieceOnce) {
  std::byte to[8]{};
  void* const taken = post_receive(to, 8);
  Piece half = right_piece();
  half.bytes = 5;
  forge(small, 1, half, kShortSlot);
  forge(small, 1, half, kShortSlot);
  int done = 0;
  const Request& request = *static_cast<Request*>(taken);
  EXPECT_EQ(receiver->test(request, &done, nullptr), abi::kSuccess);
  EXPECT_EQ(receiver->test(request, &done, nullptr), abi::kSystemError);
  EXPECT_EQ(done, 0);
}

TEST_F(CommTest, BelievesNoNotice) {
  std::byte data[8]{};
  void* request = nullptr;
  Confirmation confirmation{};
  confirmation.kind = Kind::confirmation;
  confirmation.count = 1;
  confirmation.pieces[0] = {Lane::large, 2};  // nothing is under way
  forge(small, 0, confirmation, kShortSlot);
  EXPECT_EQ(sender->send(data, 8, 0, &request), abi::kSystemError);
  EXPECT_EQ(request, nullptr);
}

TEST_F(CommTest, BelievesNoGroup) {
  std::byte data[8]{};
  void* request = nullptr;
  Group group{Kind::group, 0, kMaxGroup + 1, 0, {}};
  forge(small, 0, group, kShortSlot);
  EXPECT_EQ(sender->send(data, 8, 0, &request), abi::kSystemError);
  EXPECT_EQ(request, nullptr);
}

TEST_F(CommTest, MissesAPeerThatWasKilled) {
  std::byte to[8]{};
  void* const taken = post_receive(to, 8);
  sender.reset();
  int done = 0;
  abi::Result result = abi::kSuccess;
  for (int i = 0; i < 20000 && result == abi::kSuccess; ++i) {
    result = receiver->test(*static_cast<Request*>(taken), &done, nullptr);
  }
  EXPECT_EQ(result, abi::kSystemError);
  EXPECT_EQ(receiver->trouble(), "the peer has left");
}

}  // namespace
}  // namespace rdmabench::netplugin::plugin
