#include "collective/numbers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::collective {
namespace {

using testing::DoubleNear;

/// Ranks whose clocks are ahead of rank 0's by `offsets`, and that came in at these times of rank
/// 0's; all leave when the last has come and 10 us more.
struct World {
  std::vector<std::int64_t> offsets;
  double error_ns = 100;
  std::uint64_t boot_ns = 0;  // that rank 0 is up

  static constexpr std::uint64_t kSpanNs = 10'000'000;  // from one comparison to the next

  std::vector<ClockLine> clocks() const {
    std::vector<ClockLine> all;
    for (const std::int64_t offset : offsets) {
      ClockLine line;
      for (std::uint64_t at = 0; at <= 20 * kSpanNs; at += kSpanNs) {
        line.points.push_back({offset, all.empty() ? 0 : error_ns, boot_ns + 1'000'000 + at});
      }
      all.push_back(line);
    }
    return all;
  }
  void sample(const std::vector<double>& came, std::vector<std::vector<Stamps>>& samples) const {
    samples.resize(offsets.size());
    const double end = *std::max_element(came.begin(), came.end()) + 10'000;
    for (std::size_t rank = 0; rank < offsets.size(); ++rank) {
      const auto here = [&](double time) {
        return boot_ns + 2'000'000 + static_cast<std::uint64_t>(time) +
               static_cast<std::uint64_t>(offsets[rank]);
      };
      samples[rank].push_back({here(came[rank]), here(end)});
    }
  }
};

TEST(Late, IsWhoCameLastAndNotWhoTookLong) {
  const World world{.offsets = {0, 5'000'000, -3'000'000, 700'000'000}};
  std::vector<std::vector<Stamps>> samples;
  for (int i = 0; i < 100; ++i) {
    const double at = 1e6 * i;
    world.sample({at, at + 300, at + 50'000, at + 200}, samples);
  }
  const Numbers numbers = judge(samples, world.clocks(), 1);
  ASSERT_TRUE(numbers.arrivals.late);
  EXPECT_EQ(numbers.arrivals.late->rank, 2);
  EXPECT_THAT(numbers.arrivals.late->by_ns, DoubleNear(49'800, 2));
  EXPECT_EQ(numbers.arrivals.late->share, 1);
  EXPECT_DOUBLE_EQ(numbers.arrivals.late->error_bound_ns, 2 * (100 + 15e-6 * 5e6));
  EXPECT_THAT(numbers.arrivals.skew_p50_ns, DoubleNear(50'000, 2));
  EXPECT_THAT(numbers.arrivals.p50_after_last_ns, DoubleNear(10'000, 2));
  EXPECT_EQ(numbers.ranks[2].came_last, 100);
  EXPECT_LT(numbers.ranks[2].p50_ns, numbers.ranks[0].p50_ns);  // it waited least
  EXPECT_THAT(numbers.time.p50_ns, DoubleNear(60'000, 2));      // and the others longest
}

TEST(Late, IsNobodyWithinTheClocksError) {
  const World world{.offsets = {0, 1'000'000}, .error_ns = 30'000};
  std::vector<std::vector<Stamps>> samples;
  for (int i = 0; i < 50; ++i) world.sample({1e6 * i, 1e6 * i + 20'000}, samples);
  const Numbers numbers = judge(samples, world.clocks(), 1);
  EXPECT_FALSE(numbers.arrivals.late);
  EXPECT_THAT(numbers.arrivals.reason, testing::HasSubstr("clocks"));
}

TEST(Late, IsNobodyWhereItChanges) {
  const World world{.offsets = {0, 0, 0}};
  std::vector<std::vector<Stamps>> samples;
  for (int i = 0; i < 60; ++i) {
    std::vector<double> came(3, 1e6 * i);
    came[static_cast<std::size_t>(i % 3)] += 50'000;
    world.sample(came, samples);
  }
  EXPECT_THAT(judge(samples, world.clocks(), 1).arrivals.reason,
              testing::HasSubstr("half of the samples"));
}

TEST(Late, IsFoundHoweverLongTheMachinesHaveBeenUp) {
  // 2^53 ns are 104 days: beyond, a double has not every nanosecond, and 4 years up not every 16.
  const World world{.offsets = {0, -(std::int64_t{1} << 56U) + 7, (std::int64_t{1} << 58U) + 3},
                    .error_ns = 1,
                    .boot_ns = (std::uint64_t{1} << 57U) + 1};
  std::vector<std::vector<Stamps>> samples;
  for (int i = 0; i < 20; ++i) world.sample({1e6 * i, 1e6 * i + 321, 1e6 * i}, samples);
  const Numbers numbers = judge(samples, world.clocks(), 1);
  ASSERT_TRUE(numbers.arrivals.late);
  EXPECT_EQ(numbers.arrivals.late->rank, 1);
  EXPECT_EQ(numbers.arrivals.late->by_ns, 321);
  EXPECT_EQ(numbers.arrivals.skew_max_ns, 321);
}

TEST(Clocks, ThatDriftApartAreFollowed) {
  const ClockLine line{{{1000, 50, 0}, {3000, 80, 1'000'000}, {3000, 60, 2'000'000}}};
  EXPECT_DOUBLE_EQ(line.since(0, 900), -100) << "before the first comparison";
  EXPECT_DOUBLE_EQ(line.since(0, 1000), 0);
  EXPECT_NEAR(line.since(0, 502'000), 500'000, 3);
  EXPECT_NEAR(line.since(100, 502'000), 499'900, 3);
  EXPECT_DOUBLE_EQ(line.since(0, 1'003'000), 1'000'000);
  EXPECT_DOUBLE_EQ(line.since(0, 1'503'000), 1'500'000);
  EXPECT_DOUBLE_EQ(line.since(0, 5'003'000), 5'000'000) << "after the last";
  EXPECT_DOUBLE_EQ(line.error_ns(), 80 + 7.5);
}

/// What the bound has to hold against: a clock whose rate moves between two comparisons.
TEST(Clocks, WhoseRateMovesStayWithinTheBound) {
  constexpr double kSpan = 1e9;
  // By 30 ppm more than rank 0's in the first half, and by none in the second.
  const auto ahead = [](double time) { return 30e-6 * std::min(time, kSpan / 2); };
  constexpr std::uint64_t kBoot = std::uint64_t{1} << 57U;
  const auto end = static_cast<std::int64_t>(ahead(kSpan));
  const ClockLine line{{{0, 10, kBoot}, {end, 10, kBoot + 1'000'000'000}}};
  double most = 0;
  for (double time = 0; time <= kSpan; time += kSpan / 64) {
    const auto stamp = kBoot + static_cast<std::uint64_t>(time + ahead(time));
    most = std::max(most, std::abs(line.since(kBoot, stamp) - time));
  }
  EXPECT_LE(most, line.error_ns());
  EXPECT_GT(most, 7000) << "more than the comparisons' own errors";
}

TEST(Numbers, ABatchIsDivided) {
  const std::vector<std::vector<Stamps>> samples{{{100, 1100}, {2000, 3000}}};
  const Numbers numbers = judge(samples, {{}}, 10);
  EXPECT_DOUBLE_EQ(numbers.time.p50_ns, 100);
  EXPECT_EQ(numbers.arrivals.reason, "there is one rank");
}

TEST(Numbers, BandwidthIsBytesOverTime) {
  const Call call{.operation = Operation::all_reduce, .count = 250'000};
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(call, 4, 1e6), 1e9);
  EXPECT_DOUBLE_EQ(*bus_bandwidth(call, 4, 1e6), 1.5e9);
  EXPECT_FALSE(bus_bandwidth(call, 1, 1e6));
}

/// Independent samples of one skewed distribution, whose median is known.
class Skewed {
 public:
  explicit Skewed(std::uint64_t seed) : random_(seed) {}
  double next() {
    const double even = static_cast<double>((random_() >> 11U) + 1) / 0x1p53;  // (0, 1]
    return 100 - 30 * std::log(even);
  }
  static double median() { return 100 + 30 * std::log(2); }

 private:
  std::mt19937_64 random_;
};

/// What not to do: looks after every 5 samples, and stops at the first narrow interval of 95 %.
bool covers_with_a_look_after_each_epoch(Skewed stream, double precision) {
  std::vector<double> samples;
  for (;;) {
    for (int i = 0; i < 5; ++i) samples.push_back(stream.next());
    if (samples.size() < 20) continue;
    std::sort(samples.begin(), samples.end());
    const measure::RankInterval interval = measure::percentile_interval(samples.size(), 50);
    const double low = samples[interval.low];
    const double high = samples[interval.high];
    if ((high - low) / 2 > precision * samples[(samples.size() - 1) / 2]) continue;
    return low <= Skewed::median() && Skewed::median() <= high;
  }
}

bool covers(Skewed stream, double precision) {
  MedianWatch median(20);
  std::vector<double> samples;
  do {
    while (samples.size() < median.next_look()) samples.push_back(stream.next());
  } while (!median.is_known(samples, precision));
  return median.low() <= Skewed::median() && Skewed::median() <= median.high();
}

TEST(MedianWatch, CoversTheMedianAsOftenAsIsSaidHoweverManyLooksThereWere) {
  constexpr double kPrecision = 0.05;
  constexpr int kRows = 1000;
  int held = 0;
  int held_without_correction = 0;
  for (int row = 0; row < kRows; ++row) {
    const Skewed stream(static_cast<std::uint64_t>(row) + 1);
    held += covers(stream, kPrecision) ? 1 : 0;
    held_without_correction += covers_with_a_look_after_each_epoch(stream, kPrecision) ? 1 : 0;
  }
  EXPECT_GE(held, kRows * 95 / 100);
  EXPECT_LT(held_without_correction, kRows * 95 / 100) << "then this test could not fail";
}

TEST(MedianWatch, LooksWhenTheSamplesHaveDoubled) {
  MedianWatch median(20);
  EXPECT_EQ(median.next_look(), 20);
  EXPECT_FALSE(median.is_known({1, 1, 1, 1, 1}, 0.1)) << "too few for an interval";
  EXPECT_EQ(median.next_look(), 40);
  EXPECT_TRUE(median.is_known(std::vector<double>(40, 5.0), 0.01));
  EXPECT_EQ(median.low(), 5);
  EXPECT_EQ(MedianWatch(1).next_look(), MedianWatch::kFewest);
  std::vector<double> samples;
  for (int i = 0; i < 80; ++i) samples.push_back(100 + i);
  EXPECT_FALSE(median.is_known(samples, 0.05));
  EXPECT_LT(median.low(), 139);
  EXPECT_GT(median.high(), 140);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective
