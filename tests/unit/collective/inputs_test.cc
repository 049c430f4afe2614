#include "collective/inputs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "collective/check.h"
#include "collective/small_float.h"
#include "thread_backend.h"

namespace rdmabench::inline v1::collective {
namespace {

using Bytes = std::vector<std::byte>;

/// What the type makes of a number.
double rounded(DataType type, double value) {
  std::byte stored[8];
  store_value(type, value, stored);
  return load_value(type, stored);
}

double combine(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::prod:
      return a * b;
    case Reduction::min:
      return std::min(a, b);
    case Reduction::max:
      return std::max(a, b);
    default:
      return a + b;
  }
}

TEST(SmallFloat, HasTheNumbersOfItsSpecification) {
  EXPECT_EQ(Half::encode(1), 0x3c00);
  EXPECT_EQ(Half::encode(-2), 0xc000);
  EXPECT_EQ(Half::encode(65504), 0x7bff);
  EXPECT_EQ(Half::encode(1e6), 0x7c00);
  EXPECT_EQ(Half::decode(0x0001), std::ldexp(1, -24));
  EXPECT_EQ(Bfloat16::encode(1), 0x3f80);
  EXPECT_EQ(F8e4m3::decode(0x7e), 448);
  EXPECT_TRUE(std::isnan(F8e4m3::decode(0x7f)));
  EXPECT_EQ(F8e4m3::encode(1000), 0x7e);
  EXPECT_EQ(F8e5m2::decode(0x7b), 57344);
  EXPECT_TRUE(std::isinf(F8e5m2::decode(0x7c)));
  EXPECT_EQ(F8e5m2::encode(9), F8e5m2::encode(8));  // halfway to 10: to even
  EXPECT_EQ(F8e5m2::encode(11), F8e5m2::encode(12));
}

template <class Format>
void expect_all_survive() {
  for (std::uint32_t bits = 0; bits < 1U << Format::kBits; ++bits) {
    const double value = Format::decode(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(Format::encode(value), bits);
  }
}

TEST(SmallFloat, EveryNumberSurvives) {
  expect_all_survive<Half>();
  expect_all_survive<Bfloat16>();
  expect_all_survive<F8e4m3>();
  expect_all_survive<F8e5m2>();
}

/// For every type, reduction and number of ranks: no partial result is rounded, in any order; every
/// rank's input counts somewhere; and no iteration has the results of the one before.
TEST(Inputs, AreExactInEveryTypeAndReduction) {
  constexpr std::size_t kElements = 300;
  for (std::size_t t = 0; t < kDataTypes; ++t) {
    for (std::size_t r = 0; r < kReductions; ++r) {
      for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 16U, 31U, 33U, 64U}) {
        const Call call{.operation = Operation::all_reduce,
                        .type = static_cast<DataType>(t),
                        .reduction = static_cast<Reduction>(r),
                        .count = kElements};
        const std::size_t bytes = bytes_of(call.type);
        std::vector<Bytes> inputs;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          inputs.emplace_back(kElements * bytes);
          make_input(call, ranks, rank, 7, 0, inputs.back());
        }
        Bytes reduced(kElements * bytes);
        make_reduced(call, ranks, 7, 0, reduced);
        const auto value = [&](std::uint32_t rank, std::size_t i) {
          const double input = load_value(call.type, inputs[rank].data() + i * bytes);
          return call.reduction == Reduction::mulsum ? input * mulsum_scalar(rank) : input;
        };
        SCOPED_TRACE(testing::Message()
                     << name(call.type) << " " << name(call.reduction) << " " << ranks);
        for (std::size_t i = 0; i < kElements; ++i) {
          double up = value(0, i);
          double down = value(ranks - 1, i);
          double magnitude = std::fabs(up);
          for (std::uint32_t n = 1; n < ranks; ++n) {
            up = combine(call.reduction, up, value(n, i));
            down = combine(call.reduction, down, value(ranks - 1 - n, i));
            magnitude += std::fabs(value(n, i));
            ASSERT_EQ(rounded(call.type, up), up);
            ASSERT_EQ(rounded(call.type, down), down);
          }
          if (call.reduction != Reduction::prod && call.reduction != Reduction::min &&
              call.reduction != Reduction::max) {
            ASSERT_EQ(rounded(call.type, magnitude), magnitude);
          }
          if (call.reduction == Reduction::avg) {
            up /= ranks;
            ASSERT_EQ(rounded(call.type, up), up);
          }
          ASSERT_EQ(load_value(call.type, reduced.data() + i * bytes), up) << i;
        }
        Bytes next(reduced.size());
        make_reduced(call, ranks, 8, 0, next);
        const bool cancels = call.reduction == Reduction::avg &&
                             std::all_of(reduced.begin(), reduced.end(),
                                         [](std::byte one) { return one == std::byte{0}; });
        const bool saturates =
            ranks > 1 && (call.reduction == Reduction::min || call.reduction == Reduction::max);
        if (!cancels && !saturates && ranks > 1) {
          EXPECT_NE(reduced, next);
        }
      }
    }
  }
}

TEST(Inputs, RepeatAfterAPeriodAndOnlyThen) {
  const Call call{.operation = Operation::broadcast, .type = DataType::uint64};
  Bytes all((2 * kPeriod + 10) * 8);
  make_input(call, 2, 0, 1, 0, all);
  EXPECT_EQ(std::memcmp(all.data(), all.data() + kPeriod * 8, kPeriod * 8), 0);
  EXPECT_NE(std::memcmp(all.data(), all.data() + 4096 * 8 - 8, 64), 0);
  Bytes later(800);
  make_input(call, 2, 0, 1, 5000, later);
  EXPECT_EQ(std::memcmp(all.data() + 5000 * 8, later.data(), later.size()), 0);
}

class Check : public testing::Test {
 protected:
  void SetUp() override { make_reduced(call, 4, 3, 0, result); }
  void add() { add(PreviousResult{call, 2, 0}); }
  void add(const std::optional<PreviousResult>& before) {
    Checker checker(call, {1, 4}, 3, 0, before);
    checker.add({.bytes = result.size(), .reduced = true}, 0, result);
    first = checker.first();
    wrong = checker.wrong_elements();
  }
  const Call call{.operation = Operation::all_reduce, .type = DataType::float32, .count = 1000};
  Bytes result = Bytes(4000);
  std::optional<Wrong> first;
  std::uint64_t wrong = 0;
};

TEST_F(Check, TakesWhatIsRight) {
  add();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(first);
}

TEST_F(Check, SeesZeros) {
  std::fill(result.begin() + 400, result.begin() + 800, std::byte{0});
  add();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pattern, "zero");
  EXPECT_NEAR(static_cast<double>(first->offset_bytes), 400, 40);
  EXPECT_NEAR(static_cast<double>(first->run_bytes), 400, 80);
  EXPECT_EQ(first->actual, "0x00000000");
}

TEST_F(Check, SeesTheResultOfTheLastUse) {
  make_reduced(call, 4, 2, 100, std::span(result).subspan(400, 400));
  add();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pattern, "stale");
  EXPECT_GT(wrong, 50);
}

TEST_F(Check, SeesAnotherRanksInput) {
  make_input(call, 4, 2, 3, 200, std::span(result).subspan(800, 200));
  add();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pattern, "input of rank 2");
}

TEST_F(Check, SeesOneFlippedBit) {
  result[1003] ^= std::byte{0x10};
  add();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pattern, "bit flip");
  EXPECT_EQ(first->offset_bytes, 1000);
  EXPECT_EQ(first->run_bytes, 4);
  EXPECT_EQ(wrong, 1);
}

TEST_F(Check, KnowsWhatAnEarlierRowLeft) {
  // Another operation in another type, whose result began elsewhere in the buffer: its parts do
  // not end where elements of this one do.
  const Call earlier{.operation = Operation::all_gather, .type = DataType::uint8, .count = 999};
  Bytes buffer(6 + 4 * 999);
  ASSERT_TRUE(make_result(earlier, {1, 4}, 77, 0, std::span(buffer).subspan(6)));
  std::copy_n(buffer.begin() + 800, 400, result.begin() + 800);
  const Bytes left = result;
  add(PreviousResult{earlier, 77, 6});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pattern, "stale");
  result = left;
  add(PreviousResult{earlier, 76, 6});
  EXPECT_EQ(first->pattern, "other") << "of another iteration";
  add(PreviousResult{earlier, 77, 5});
  EXPECT_EQ(first->pattern, "other") << "one byte beside";
  add(PreviousResult{earlier, 77, 900});
  EXPECT_EQ(first->pattern, "other") << "there it held nothing that is known";
  add(std::nullopt);
  EXPECT_EQ(first->pattern, "other");
}

TEST(Result, IsMadeFromAnyByteOn) {
  const Call call{.operation = Operation::all_to_all_v, .type = DataType::int32, .count = 100};
  std::uint64_t bytes = 0;
  for (const Segment& segment : segments(call, {2, 3})) bytes += segment.bytes;
  Bytes whole(bytes);
  ASSERT_TRUE(make_result(call, {2, 3}, 5, 0, whole));
  for (const Segment& segment : segments(call, {2, 3})) {
    Bytes part(segment.bytes);
    make_expected(call, 3, 5, segment, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(),
                           whole.begin() + static_cast<std::ptrdiff_t>(segment.offset)));
  }
  Bytes some(bytes - 7 - 3);
  ASSERT_TRUE(make_result(call, {2, 3}, 5, 7, some));
  EXPECT_TRUE(std::equal(some.begin(), some.end(), whole.begin() + 7));
  Bytes much(bytes);
  EXPECT_FALSE(make_result(call, {2, 3}, 5, 1, much));
}

TEST_F(Check, AStretchGoesOnInTheNextPiece) {
  std::fill(result.begin() + 1000, result.begin() + 3000, std::byte{0x5a});
  Checker checker(call, {1, 4}, 3, 0, PreviousResult{call, 2, 0});
  const Segment segment{.bytes = result.size(), .reduced = true};
  checker.add(segment, 0, std::span(result).first(2000));
  checker.add(segment, 2000, std::span(result).subspan(2000));
  ASSERT_TRUE(checker.first());
  EXPECT_EQ(checker.first()->offset_bytes, 1000);
  EXPECT_EQ(checker.first()->run_bytes, 2000);
  EXPECT_EQ(checker.wrong_elements(), 500);
}

TEST_F(Check, OtherThings) {
  std::fill(result.begin() + 40, result.begin() + 80, std::byte{0x5a});
  add();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pattern, "other");
  EXPECT_EQ(wrong, 10);
}

TEST(Tolerance, IsForAveragesByAReciprocalAlone) {
  Call call{.operation = Operation::all_reduce, .reduction = Reduction::avg};
  EXPECT_EQ(tolerance_ulp(call, 3), 2);
  EXPECT_EQ(tolerance_ulp(call, 4), 0);
  call.reduction = Reduction::sum;
  EXPECT_EQ(tolerance_ulp(call, 3), 0);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective
