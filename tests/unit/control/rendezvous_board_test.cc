#include "control/rendezvous_board.h"

#include "peers.h"

namespace rdmabench::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

/// A board of `size` ranks that have all come.
Board full_board(std::uint32_t size) {
  Board board(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) board.join({rank, size, "n"}, "10.0.0.1");
  return board;
}

std::vector<std::uint32_t> ranks_of(const std::vector<Board::Reply>& replies) {
  std::vector<std::uint32_t> ranks;
  for (const auto& reply : replies) ranks.push_back(reply.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

TEST(Board, AnswersWhoWaitsForAValueWhenItIsPut) {
  Board board = full_board(4);
  board.call(0, GetCall{2, "k", 10s});
  board.call(1, GetCall{2, "other", 10s});
  board.call(3, GetCall{2, "k", 10s});
  EXPECT_THAT(board.take_replies(), IsEmpty());
  board.call(2, PutCall{"k", "v"});
  const auto replies = board.take_replies();
  EXPECT_EQ(ranks_of(replies), (std::vector<std::uint32_t>{0, 2, 3}));
  for (const auto& reply : replies) EXPECT_EQ(reply.answer.value, reply.rank == 2 ? "" : "v");
  EXPECT_THAT(board.take_replies(), IsEmpty());
}

TEST(Board, ABarrierIsWholeOncePerCallOfEveryRank) {
  Board board = full_board(3);
  for (int round = 0; round < 3; ++round) {
    board.call(1, BarrierCall{10s});
    board.call(0, BarrierCall{10s});
    EXPECT_THAT(board.take_replies(), IsEmpty());
    board.call(2, BarrierCall{10s});
    EXPECT_EQ(board.take_replies().size(), 3U);
    EXPECT_FALSE(board.next_expiry());
  }
}

TEST(Board, ABarrierThatOneGaveUpIsNotWhole) {
  Board board = full_board(2);
  board.call(0, BarrierCall{0ms});
  board.expire();
  EXPECT_THAT(board.take_replies().at(0).answer.error,
              HasSubstr("rank 1 of n (10.0.0.1) did not reach the barrier within 0 ms"));
  board.call(1, BarrierCall{10s});
  EXPECT_THAT(board.take_replies(), IsEmpty());
  board.call(0, BarrierCall{10s});
  EXPECT_EQ(board.take_replies().size(), 2U);
}

TEST(Board, DoesNotBlameThoseWhoWaitedInVain) {
  Board board = full_board(3);
  board.call(0, BarrierCall{0ms});
  board.expire();
  board.call(2, BarrierCall{0ms});
  board.expire();
  EXPECT_EQ(board.take_replies().at(1).answer.error,
            "rank 1 of n (10.0.0.1) did not reach the barrier within 0 ms");
  board.call(1, BarrierCall{0ms});
  board.expire();
  EXPECT_EQ(board.take_replies().at(0).answer.error,
            "ranks 0 and 2 waited at the barrier for this one, and gave up");
}

TEST(Board, ARankThatLeavesWhileItWaitsIsNotAnswered) {
  Board board = full_board(3);
  board.call(1, BarrierCall{10s});
  board.call(2, BarrierCall{10s});
  board.leave(1);
  const auto replies = board.take_replies();
  EXPECT_EQ(ranks_of(replies), (std::vector<std::uint32_t>{2}));
  EXPECT_THAT(replies.front().answer.error, HasSubstr("rank 1 of n (10.0.0.1) left"));
}

TEST(Board, KeepsTheValuesOfARankThatLeft) {
  Board board = full_board(2);
  board.call(1, PutCall{"k", "v"});
  board.leave(1);
  static_cast<void>(board.take_replies());
  board.call(0, GetCall{1, "k", 10s});
  EXPECT_EQ(board.take_replies().at(0).answer.value, "v");
  board.call(0, GetCall{1, "other", 10s});
  EXPECT_THAT(board.take_replies().at(0).answer.error, HasSubstr("left without putting 'other'"));
  EXPECT_THAT(complaint([&] {
                board.join({1, 2, "m"}, "10.0.0.2");
              }),
              HasSubstr("was here already"));
}

TEST(Board, NextExpiryIsTheNearest) {
  Board board = full_board(3);
  EXPECT_FALSE(board.next_expiry());
  board.call(0, GetCall{2, "k", 100s});
  board.call(1, GetCall{2, "k", 1s});
  EXPECT_LE(*board.next_expiry(), 1s);
  board.expire();
  EXPECT_THAT(board.take_replies(), IsEmpty());
}

TEST(Board, BoundsWhatARankMayPut) {
  Board many = full_board(1);
  for (std::size_t i = 0; i < kMaxKeys; ++i) many.call(0, PutCall{std::to_string(i), ""});
  EXPECT_THAT(complaint([&] { many.call(0, PutCall{"k", ""}); }), HasSubstr("1024 keys"));

  Board large = full_board(1);
  const std::string value(kMaxValue, 'v');
  for (int i = 0; i < 31; ++i) large.call(0, PutCall{std::to_string(i), value});
  EXPECT_THAT(complaint([&] { large.call(0, PutCall{"k", value}); }), HasSubstr("4194304 bytes"));
}

TEST(RanksText, NamesTheFirstTen) {
  EXPECT_EQ(ranks_text({5}), "rank 5");
  EXPECT_EQ(ranks_text({1, 2, 7}), "ranks 1, 2 and 7");
  std::vector<std::uint32_t> many(100);
  EXPECT_EQ(ranks_text(many), "ranks 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 and 90 more");
}

}  // namespace
}  // namespace rdmabench::control
