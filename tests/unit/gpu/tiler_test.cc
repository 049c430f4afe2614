#include "gpu/tiler.h"

#include <cstring>
#include <vector>

#include "gpu/copy.h"
#include "gpu_fixture.h"

namespace rdmabench::inline v1::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TilerTest : public GpuTest {
 protected:
  static std::vector<std::byte> numbers(std::size_t count, int factor = 7) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
      bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(factor) * i + i / 251);
    }
    return bytes;
  }

  Context context_{0};
  Stream stream_{context_};
  static constexpr std::size_t kRows = 8192;
  static constexpr std::size_t kPeriods = std::size_t{4} << 20;
  static constexpr std::size_t kPeriod = std::size_t{1} << 16;
  Tiler tiler_{context_, kRows, kPeriods};
};

TEST_F(TilerTest, WritesPeriodsOfEveryElementAndNothingElse) {
  const Allocation memory(context_, 1 << 16);
  for (const std::uint32_t element : {1U, 2U, 4U, 8U}) {
    const std::vector<std::byte> period = numbers(std::size_t{37} * element);
    for (const std::uint64_t count : {1UL, 36UL, 37UL, 1000UL}) {
      const std::span<std::byte> seen = bytes_at(memory.data(), 1 << 16);
      std::memset(seen.data(), 0xee, seen.size());
      const std::uint64_t bytes = count * element;
      const Tiled piece{.data = memory.data() + 8, .bytes = bytes, .period = period};
      tiler_.write(stream_, std::span(&piece, 1), element, soon());
      for (std::uint64_t i = 0; i < bytes; ++i) {
        ASSERT_EQ(seen[8 + i], period[i % period.size()]) << element << ' ' << count << ' ' << i;
      }
      EXPECT_EQ(seen[7], std::byte{0xee});
      EXPECT_EQ(seen[8 + bytes], std::byte{0xee});
      EXPECT_THAT(tiler_.find_different(stream_, std::span(&piece, 1), element, soon()), IsEmpty());
      for (const std::uint64_t at : {std::uint64_t{0}, bytes / 2, bytes - 1}) {
        seen[8 + at] ^= std::byte{0x10};
        EXPECT_THAT(tiler_.find_different(stream_, std::span(&piece, 1), element, soon()),
                    ElementsAre(0));
        seen[8 + at] ^= std::byte{0x10};
      }
    }
  }
}

TEST_F(TilerTest, ManyPiecesAreAHandfulOfCalls) {
  constexpr std::size_t kPieces = 9000;  // more than a table has rows
  const Allocation memory(context_, kPieces * 16);
  const std::vector<std::byte> period = numbers(64);
  std::vector<Tiled> pieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces.push_back({.data = memory.data() + 16 * i,
                      .bytes = 12,
                      .period = std::span(period).subspan(i % 13 * 4, 4)});
  }
  const long long before = fake_cuda_cost_us();
  tiler_.write(stream_, pieces, 4, soon());
  bytes_at(memory.data(), kPieces * 16)[16 * 5000] ^= std::byte{1};
  bytes_at(memory.data(), kPieces * 16)[16 * 8999 + 11] ^= std::byte{1};
  EXPECT_THAT(tiler_.find_different(stream_, pieces, 4, soon()), ElementsAre(5000, 8999));
  EXPECT_EQ(fake_cuda_calls("cuLaunchKernel"), 4);
  EXPECT_EQ(fake_cuda_calls("cuMemHostAlloc"), 2) << "the staging buffer and a kernel's answer";
  EXPECT_LT(fake_cuda_cost_us() - before, 300);
}

TEST_F(TilerTest, PeriodsThatDoNotFitTogetherGoOneAfterAnother) {
  constexpr std::size_t kPieces = 70;  // of 64 KiB each, where the buffer has 4 MiB
  const Allocation memory(context_, kPieces * kPeriod);
  const std::vector<std::byte> a = numbers(kPeriod);
  const std::vector<std::byte> b = numbers(kPeriod, 11);
  std::vector<Tiled> pieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(
        {.data = memory.data() + i * kPeriod, .bytes = kPeriod, .period = i % 2 == 0 ? a : b});
  }
  tiler_.write(stream_, pieces, 1, soon());
  EXPECT_THAT(tiler_.find_different(stream_, pieces, 1, soon()), IsEmpty());
  std::swap(pieces[3].period, pieces[68].period);
  EXPECT_THAT(tiler_.find_different(stream_, pieces, 1, soon()), ElementsAre(3, 68));
}

TEST_F(TilerTest, AToleranceIsInUnitsInTheLastPlace) {
  const Allocation memory(context_, 64);
  const std::vector<float> expected{1.0F, -1.0F, 0.0F, 3.5F};
  const std::span<std::byte> seen = bytes_at(memory.data(), 64);
  Tiled piece{.data = memory.data(), .bytes = 16, .period = std::as_bytes(std::span(expected))};
  tiler_.write(stream_, std::span(&piece, 1), 4, soon());
  const auto differs = [&](std::uint32_t tolerance) {
    piece.tolerance_ulp = tolerance;
    return !tiler_.find_different(stream_, std::span(&piece, 1), 4, soon()).empty();
  };
  seen[4] ^= std::byte{2};  // two units off
  EXPECT_TRUE(differs(0));
  EXPECT_TRUE(differs(1));
  EXPECT_FALSE(differs(2));
  seen[11] = std::byte{0x80};  // minus zero
  EXPECT_FALSE(differs(2));
  seen[3] ^= std::byte{0x80};  // another sign
  EXPECT_TRUE(differs(2));
}

TEST_F(TilerTest, APeriodThatIsEmptyOrTooLongIsRefused) {
  const std::vector<std::byte> longer(kPeriods + 1);
  for (const std::size_t bytes : {std::size_t{0}, longer.size()}) {
    const Tiled piece{.data = 64, .bytes = 1, .period = std::span(longer).first(bytes)};
    EXPECT_THAT(complaint([&] { tiler_.write(stream_, std::span(&piece, 1), 1, soon()); }).what(),
                HasSubstr("a period of"));
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu
