#include "rdmabench/collective/pulse.h"

#include <gmock/gmock.h>

#include "orders.h"
#include "packing.h"
#include "rdmabench/base/error.h"

namespace rdmabench::collective {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Sign sign(std::uint32_t rank, std::uint64_t iteration, milliseconds age = milliseconds(10),
          std::string gone = "") {
  return {.person = {.rank = rank, .host = "n" + std::to_string(rank), .process = 100 + rank},
          .where = {.phase = Phase::running, .size_bytes = 65536, .iteration = iteration},
          .age = age,
          .gone = std::move(gone)};
}

Blame judge_signs(const std::vector<Sign>& signs) {
  return who_hangs(signs, milliseconds(500));
}

TEST(WhoHangs, TheSilentOneIsNamed) {
  const Blame blame = judge_signs({sign(0, 17), sign(1, 17), sign(2, 17, milliseconds(2000))});
  EXPECT_THAT(blame.ranks, ElementsAre(2));
  EXPECT_EQ(blame.text,
            "rank 2 (n2, process 102) hangs: it has been silent for 2.00 s; it was last running, "
            "all-reduce of 64K, iteration 17");
}

TEST(WhoHangs, TheOneThatIsGoneComesFirst) {
  const Blame blame = judge_signs(
      {sign(0, 17), sign(1, 17, milliseconds(900)), sign(2, 16, milliseconds(1), "closed")});
  EXPECT_THAT(blame.ranks, ElementsAre(2));
  EXPECT_THAT(blame.text, HasSubstr("is gone (closed)"));
}

TEST(WhoHangs, TheOneBehindIsNamedWhereAllSpeak) {
  const Blame blame = judge_signs({sign(0, 17), sign(1, 12), sign(2, 17)});
  EXPECT_THAT(blame.ranks, ElementsAre(1));
  EXPECT_THAT(blame.text, HasSubstr("is behind"));
}

TEST(WhoHangs, NobodyWhereAllAreAlike) {
  const Blame blame = judge_signs({sign(0, 17), sign(1, 17)});
  EXPECT_THAT(blame.ranks, IsEmpty());
  EXPECT_THAT(blame.text, HasSubstr("all ranks are alive and at the same place"));
}

TEST(Packing, IsReadAsItWasWritten) {
  const std::vector<std::string> texts{"", std::string("a\0b", 3), "c"};
  EXPECT_EQ(unpack(pack(texts), 3), texts);
  EXPECT_THROW(unpack(pack(texts), 2), Error);
  EXPECT_THROW(unpack(pack(texts), 4), Error);
  EXPECT_THROW(unpack("\xff\xff\xff\xff", 1), Error);
  const std::vector<std::uint64_t> numbers{0, 1, ~std::uint64_t{0}};
  EXPECT_EQ(unpack_numbers(pack_numbers(numbers), 3), numbers);
  EXPECT_THROW(unpack_numbers("1234567", 1), Error);
}

TEST(Orders, AreReadAsTheyWereWritten) {
  Order order;
  order.what = Order::What::row;
  order.call = {.operation = Operation::reduce,
                .type = DataType::half,
                .reduction = Reduction::max,
                .root = 3,
                .count = 12,
                .in_place = true};
  order.slots = 8;
  order.batch = 4;
  const Order read = parse_order(to_text(order));
  EXPECT_EQ(read.what, order.what);
  EXPECT_EQ(read.call.operation, order.call.operation);
  EXPECT_EQ(read.call.type, order.call.type);
  EXPECT_EQ(read.call.reduction, order.call.reduction);
  EXPECT_EQ(read.call.count, 12);
  EXPECT_TRUE(read.call.in_place);
  EXPECT_EQ(read.batch, 4);
  order.batch = 9;
  EXPECT_THROW(parse_order(to_text(order)), Error);
  EXPECT_THROW(parse_order("{}"), Error);
}

TEST(Orders, AnEpochsAnswerIsNotTrusted) {
  Epoch epoch;
  epoch.stamps = {{10, 20}, {30, 45}};
  epoch.checked = {.operations = 2, .wrong_operations = 1, .wrong_elements = 5};
  epoch.checked.first =
      Wrong{.iteration = 1, .offset_bytes = 8, .run_bytes = 20, .pattern = "zero"};
  const Epoch read = parse_epoch(to_text(epoch), 2);
  EXPECT_EQ(read.stamps[1].exit_ns, 45);
  EXPECT_EQ(read.checked.first->run_bytes, 20);
  EXPECT_THROW(parse_epoch(to_text(epoch), 3), Error);
  epoch.stamps[0].exit_ns = 5;
  EXPECT_THROW(parse_epoch(to_text(epoch), 2), Error);
  EXPECT_THROW(parse_epoch("junk", 2), Error);
}

}  // namespace
}  // namespace rdmabench::collective
