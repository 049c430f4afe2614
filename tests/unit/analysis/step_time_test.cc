#include "analysis/projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../complaint.h"
#include "documents.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::analysis {
namespace {

constexpr double kGbps = 1e9;

/// A wire of constant bandwidth: bits per second.
LinkSamples wire(double bits_per_s) {
  return collect_link({launch_of(bandwidth_report(
                          {{1, bits_per_s}, {1 << 20, bits_per_s}, {1 << 30, bits_per_s}}))},
                      "");
}

/// Every message takes this long, whatever its size.
LinkSamples delay(double ns, std::uint64_t samples = 1'000'000) {
  return collect_link({launch_of(latency_report({{1, ns}, {1 << 30, ns}}, 0, samples))}, "write");
}

Job job(double nodes) {
  Job job;
  job.parameters = 1e9;
  job.nodes = nodes;
  job.stragglers = Stragglers::none;
  return job;
}

// 2 GB of gradients at 400 Gb/s = 50 GB/s are 40 ms one way; a ring takes 2(p-1)/p of that.
TEST(StepTime, RingOnAConstantBandwidthIsTheClosedForm) {
  const LinkSamples samples = wire(400 * kGbps);
  const MessageTime message(samples, TimeSource::bandwidth, false);
  for (const double p : {2.0, 3.0, 8.0, 1000.0}) {
    EXPECT_NEAR(step_time(job(p), message).communication_s, 2 * (p - 1) / p * 2e9 / 50e9, 1e-9)
        << p;
  }
  EXPECT_EQ(step_time(job(1), message).communication_s, 0);
}

TEST(StepTime, TheBucketsSizeDoesNotMatterWithoutLatency) {
  const LinkSamples samples = wire(400 * kGbps);
  const MessageTime message(samples, TimeSource::bandwidth, false);
  Job small = job(8);
  small.bucket_bytes = 1e6;
  EXPECT_NEAR(step_time(small, message).communication_s, step_time(job(8), message).communication_s,
              1e-9);
  EXPECT_EQ(step_time(small, message).collectives, 2000);
}

TEST(StepTime, ShardedMovesHalfAsMuchAgain) {
  const LinkSamples samples = wire(400 * kGbps);
  const MessageTime message(samples, TimeSource::bandwidth, false);
  Job sharded = job(8);
  sharded.parallel = Parallel::sharded;
  const StepTime time = step_time(sharded, message);
  EXPECT_NEAR(time.communication_s, 3 * 7.0 / 8 * 2e9 / 50e9, 1e-9);
  EXPECT_EQ(time.collectives, 96);
}

TEST(StepTime, TreeOnAConstantBandwidthIsTwiceTheData) {
  const LinkSamples samples = wire(400 * kGbps);
  const MessageTime message(samples, TimeSource::bandwidth, false);
  Job tree = job(8);
  tree.algorithm = Algorithm::tree;
  // The smallest message is one byte: its time is nothing beside 25 MiB.
  EXPECT_NEAR(step_time(tree, message).communication_s, 2 * 2e9 / 50e9, 1e-6);
}

// One bucket of 2(p-1) messages round a ring, 2 ceil(log2 p) in a tree.
TEST(StepTime, OfPureLatencyCountsMessages) {
  const LinkSamples samples = delay(10'000);
  const MessageTime message(samples, TimeSource::latency, false);
  Job one = job(9);
  one.parameters = 1e8;
  one.bucket_bytes = 2e8;
  EXPECT_NEAR(step_time(one, message).communication_s, 16 * 10e-6, 1e-12);
  one.algorithm = Algorithm::tree;
  EXPECT_NEAR(step_time(one, message).communication_s, 8 * 10e-6, 1e-12);
}

TEST(StepTime, RailsShareTheData) {
  const LinkSamples samples = wire(400 * kGbps);
  const MessageTime message(samples, TimeSource::bandwidth, false);
  Job rails = job(8);
  rails.rails = 4;
  EXPECT_NEAR(step_time(rails, message).communication_s,
              step_time(job(8), message).communication_s / 4, 1e-12);
}

// 6 * 1e9 parameters * 4096 tokens / (989e12 * 0.4).
TEST(StepTime, ComputeIsSixPerParameterAndToken) {
  const LinkSamples samples = wire(400 * kGbps);
  const MessageTime message(samples, TimeSource::bandwidth, false);
  EXPECT_NEAR(step_time(job(2), message).compute_s, 6e9 * 4096 / (989e12 * 0.4), 1e-12);
}

TEST(StepTime, OverlapHidesAtMostTheBackwardPass) {
  const LinkSamples samples = wire(400 * kGbps);
  const MessageTime message(samples, TimeSource::bandwidth, false);
  Job hidden = job(2);
  hidden.overlap = 1;
  const StepTime bound = step_time(hidden, message);  // 40 ms against two thirds of 62 ms
  EXPECT_NEAR(bound.step_s, bound.compute_s, 1e-12);
  hidden.tokens_per_gpu = 1;
  const StepTime network = step_time(hidden, message);
  EXPECT_NEAR(network.hidden_s, network.compute_s * 2 / 3, 1e-12);
  hidden.parallel = Parallel::sharded;
  const StepTime sharded = step_time(hidden, message);
  EXPECT_NEAR(sharded.step_s, sharded.communication_s, 1e-12) << "max of the two";
}

TEST(StepTime, WithinTheNodeIsAdded) {
  const LinkSamples samples = wire(400 * kGbps);
  const MessageTime message(samples, TimeSource::bandwidth, false);
  Job inside = job(8);
  inside.bytes_per_s_in_node = 450e9;
  EXPECT_NEAR(
      step_time(inside, message).communication_s - step_time(job(8), message).communication_s,
      2 * 7.0 / 8 * 2e9 / 450e9, 1e-12);
}

TEST(MessageTime, OfBothIsLatencyPlusStreaming) {
  const LinkSamples samples =
      collect_link({launch_of(latency_report({{8, 2000}, {1 << 20, 90'000}})),
                    launch_of(bandwidth_report({{8, 1e9}, {1 << 20, 100 * kGbps}}))},
                   "write");
  const MessageTime message(samples, TimeSource::both, false);
  EXPECT_NEAR(message.seconds(1 << 20), 2e-6 + (1 << 20) * 8 / 100e9, 1e-12);
}

TEST(MessageTime, OfSeveralLaunchesIsTheirGeometricMean) {
  const LinkSamples samples = collect_link({launch_of(latency_report({{8, 1000}, {64, 1000}})),
                                            launch_of(latency_report({{8, 4000}, {64, 4000}}))},
                                           "");
  EXPECT_NEAR(MessageTime(samples, TimeSource::latency, false).seconds(8), 2e-6, 1e-15);
  EXPECT_NEAR(
      MessageTime(samples, TimeSource::latency, false, {.latency = 0, .bandwidth = {}}).seconds(8),
      4e-6, 1e-15);
}

TEST(MessageTime, BeyondTheMeasuredSizesIsRefused) {
  const LinkSamples samples =
      collect_link({launch_of(latency_report({{64, 1000}, {1024, 3000}}))}, "");
  const MessageTime strict(samples, TimeSource::latency, false);
  for (const double size : {32.0, 2048.0}) {
    EXPECT_THAT(complaint([&] { static_cast<void>(strict.seconds(size)); }).what(),
                has_all("64 to 1024 bytes were measured", "`extrapolate`"));
  }
  const MessageTime bold(samples, TimeSource::latency, true);
  EXPECT_NEAR(bold.seconds(2048), 6e-6, 1e-15);
  EXPECT_NEAR(bold.seconds(32), 1e-6, 1e-15);
}

TEST(MessageTime, NeedsTheCurveItIsReadFrom) {
  const LinkSamples samples = wire(1e9);
  EXPECT_THROW(MessageTime(samples, TimeSource::latency, false), Error);
  EXPECT_THROW(MessageTime(samples, TimeSource::both, false), Error);
}

// 0.5^(1/N): 99.46 % of 128, 99.93 % of 1024, 99.98 % of 4096.
TEST(Stragglers, TheMedianOfTheSlowest) {
  EXPECT_NEAR(slowest_quantile(128), 0.9946, 5e-5);
  EXPECT_NEAR(slowest_quantile(1024), 0.99932, 5e-6);
  EXPECT_NEAR(slowest_quantile(4096), 0.99983, 5e-6);
  EXPECT_EQ(slowest_quantile(1), 0.5);
}

// Exactly 99 % is the slowest of log(0.5)/log(0.99) = 68.97 links: p99 is 1.2 times the median.
TEST(Stragglers, AreReadFromTheMeasuredTail) {
  const LinkSamples samples = delay(10'000);
  const MessageTime message(samples, TimeSource::latency, false);
  EXPECT_NEAR(message.excess_seconds(64, std::log(0.5) / std::log(0.99)), 2e-6, 1e-12);
  EXPECT_EQ(message.excess_seconds(64, 1), 0);
  EXPECT_GT(message.excess_seconds(64, 100), message.excess_seconds(64, 70));
}

TEST(Stragglers, CostOnceInACollectiveOrInEveryStep) {
  const LinkSamples samples = delay(10'000);
  const MessageTime message(samples, TimeSource::latency, false);
  Job slow = job(9);
  slow.bucket_bytes = 2e9;
  const double bare = step_time(slow, message).communication_s;
  const double excess = message.excess_seconds(64, 9);
  slow.stragglers = Stragglers::collective;
  EXPECT_NEAR(step_time(slow, message).communication_s - bare, excess, 1e-12);
  slow.stragglers = Stragglers::step;
  EXPECT_NEAR(step_time(slow, message).stragglers_s, 16 * excess, 1e-12);
}

TEST(Stragglers, OfTooFewSamplesAreRefused) {
  const LinkSamples samples = delay(10'000, 1000);  // carries p99 and no more
  const MessageTime message(samples, TimeSource::latency, false);
  EXPECT_GT(message.excess_seconds(64, 60), 0);
  EXPECT_THAT(complaint([&] { static_cast<void>(message.excess_seconds(64, 1024)); }).what(),
              has_all("takes 14779 samples", "has 1000"));
  const LinkSamples many = delay(10'000);
  EXPECT_THROW(
      static_cast<void>(MessageTime(many, TimeSource::latency, false).excess_seconds(64, 10'000)),
      Error);
  EXPECT_THROW(
      static_cast<void>(MessageTime(wire(1e9), TimeSource::bandwidth, false).excess_seconds(64, 2)),
      Error);
}

TEST(Stragglers, NeedSamplesOfTheirSizesAlone) {
  report::Report report = latency_report({{64, 1000}, {1024, 2000}, {1 << 20, 90'000}});
  // A launch that could take few of its largest messages, as launches of a fixed time do.
  auto& rows = std::get<std::vector<report::LatencyResult>>(report.results);
  rows[2].iterations = rows[2].latency.count = 100;
  const LinkSamples samples = collect_link({launch_of(report)}, "");
  const MessageTime message(samples, TimeSource::latency, false);
  EXPECT_GT(message.excess_seconds(64, 64), 0);
  EXPECT_GT(message.excess_seconds(500, 64), 0);
  EXPECT_GT(message.excess_seconds(1024, 64), 0);
  EXPECT_THROW(static_cast<void>(message.excess_seconds(1025, 64)), Error);
  EXPECT_THROW(static_cast<void>(message.excess_seconds(1 << 21, 64)), Error) << "the nearest";
}

TEST(Job, RefusesWhatIsOutOfRange) {
  const auto refused = [](auto change) {
    Job wrong = job(8);
    change(wrong);
    EXPECT_THROW(wrong.check(), Error);
  };
  EXPECT_NO_THROW(job(8).check());
  refused([](Job& job) { job.parameters = 0; });
  refused([](Job& job) { job.mfu = 1.1; });
  refused([](Job& job) { job.nodes = 2.5; });
  refused([](Job& job) { job.nodes = 0; });
  refused([](Job& job) { job.overlap = -0.1; });
  refused([](Job& job) { job.rails = 0; });
  refused([](Job& job) { job.bucket_bytes = 0; });
  refused([](Job& job) { job.flops_per_gpu = NAN; });
  refused([](Job& job) {
    job.parallel = Parallel::sharded;
    job.algorithm = Algorithm::tree;
  });
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis
