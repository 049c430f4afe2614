#include "control/key_value_store.h"

#include "peers.h"

namespace rdmabench::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

/// A store of `size` ranks that have all come.
KeyValueStore full_store(std::uint32_t size) {
  KeyValueStore store(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) store.join(rank, "n (10.0.0.1)");
  return store;
}

std::vector<std::uint32_t> ranks_of(const std::vector<KeyValueStore::Reply>& replies) {
  std::vector<std::uint32_t> ranks;
  for (const auto& reply : replies) ranks.push_back(reply.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

TEST(KeyValueStore, AnswersWhoWaitsForAValueWhenItIsPut) {
  KeyValueStore store = full_store(4);
  store.call(0, GetCall{2, "k", 10s});
  store.call(1, GetCall{2, "other", 10s});
  store.call(3, GetCall{2, "k", 10s});
  EXPECT_THAT(store.take_replies(), IsEmpty());
  store.call(2, PutCall{"k", "v"});
  const auto replies = store.take_replies();
  EXPECT_EQ(ranks_of(replies), (std::vector<std::uint32_t>{0, 2, 3}));
  for (const auto& reply : replies) EXPECT_EQ(reply.answer.value, reply.rank == 2 ? "" : "v");
  EXPECT_THAT(store.take_replies(), IsEmpty());
}

TEST(KeyValueStore, ABarrierIsWholeOncePerCallOfEveryRank) {
  KeyValueStore store = full_store(3);
  for (int round = 0; round < 3; ++round) {
    store.call(1, BarrierCall{10s});
    store.call(0, BarrierCall{10s});
    EXPECT_THAT(store.take_replies(), IsEmpty());
    store.call(2, BarrierCall{10s});
    EXPECT_EQ(store.take_replies().size(), 3U);
    EXPECT_FALSE(store.next_expiry());
  }
}

TEST(KeyValueStore, ABarrierThatOneGaveUpIsNotWhole) {
  KeyValueStore store = full_store(2);
  store.call(0, BarrierCall{0ms});
  store.expire();
  EXPECT_THAT(store.take_replies().at(0).answer.error,
              HasSubstr("rank 1 of n (10.0.0.1) did not reach the barrier within 0 ms"));
  store.call(1, BarrierCall{10s});
  EXPECT_THAT(store.take_replies(), IsEmpty());
  store.call(0, BarrierCall{10s});
  EXPECT_EQ(store.take_replies().size(), 2U);
}

TEST(KeyValueStore, DoesNotBlameThoseWhoWaitedInVain) {
  KeyValueStore store = full_store(3);
  store.call(0, BarrierCall{0ms});
  store.expire();
  store.call(2, BarrierCall{0ms});
  store.expire();
  EXPECT_EQ(store.take_replies().at(1).answer.error,
            "rank 1 of n (10.0.0.1) did not reach the barrier within 0 ms");
  store.call(1, BarrierCall{0ms});
  store.expire();
  EXPECT_EQ(store.take_replies().at(0).answer.error,
            "ranks 0 and 2 waited at the barrier for this one, and gave up");
}

TEST(KeyValueStore, ARankThatLeavesWhileItWaitsIsNotAnswered) {
  KeyValueStore store = full_store(3);
  store.call(1, BarrierCall{10s});
  store.call(2, BarrierCall{10s});
  store.leave(1);
  const auto replies = store.take_replies();
  EXPECT_EQ(ranks_of(replies), (std::vector<std::uint32_t>{2}));
  EXPECT_THAT(replies.front().answer.error, HasSubstr("rank 1 of n (10.0.0.1) left"));
}

TEST(KeyValueStore, KeepsTheValuesOfARankThatLeft) {
  KeyValueStore store = full_store(2);
  store.call(1, PutCall{"k", "v"});
  store.leave(1);
  static_cast<void>(store.take_replies());
  store.call(0, GetCall{1, "k", 10s});
  EXPECT_EQ(store.take_replies().at(0).answer.value, "v");
  store.call(0, GetCall{1, "other", 10s});
  EXPECT_THAT(store.take_replies().at(0).answer.error, HasSubstr("left without putting 'other'"));
}

TEST(KeyValueStore, NextExpiryIsTheNearest) {
  KeyValueStore store = full_store(3);
  EXPECT_FALSE(store.next_expiry());
  store.call(0, GetCall{2, "k", 100s});
  store.call(1, GetCall{2, "k", 1s});
  EXPECT_LE(*store.next_expiry(), 1s);
  store.expire();
  EXPECT_THAT(store.take_replies(), IsEmpty());
}

TEST(KeyValueStore, BoundsWhatARankMayPut) {
  KeyValueStore many = full_store(1);
  for (std::size_t i = 0; i < kMaxKeys; ++i) many.call(0, PutCall{std::to_string(i), ""});
  EXPECT_THAT(complaint([&] { many.call(0, PutCall{"k", ""}); }), HasSubstr("1024 keys"));

  KeyValueStore large = full_store(1);
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
