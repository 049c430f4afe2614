#include "analysis/projection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "../complaint.h"
#include "documents.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::analysis {
namespace {

using testing::HasSubstr;

std::string refusal_of(const std::vector<Launch>& launches, const std::string& operation = "") {
  return complaint([&] { collect_link(launches, operation); }).what();
}

/// Launches of a constant bandwidth, each a little off.
LinkSamples fabric(double bits_per_s, int launches = 6, double spread = 0.002) {
  std::vector<Launch> list;
  for (int i = 0; i < launches; ++i) {
    const double rate = bits_per_s * (1 + spread * (i - (launches - 1) / 2.0));
    list.push_back(launch_of(bandwidth_report({{1, rate}, {1 << 30, rate}}, i)));
  }
  return collect_link(list, "");
}

ProjectionOptions options() {
  ProjectionOptions options;
  options.job.parameters = 1e9;
  options.job.stragglers = Stragglers::none;
  options.values = {2, 8, 64};
  return options;
}

TEST(Curve, IsExactForPowerLaws) {
  const Curve curve({{10, 100}, {1000, 10'000}});
  EXPECT_NEAR(curve.at(10), 100, 1e-9);
  EXPECT_NEAR(curve.at(123), 1230, 1e-9);
  EXPECT_NEAR(curve.at(1000), 10'000, 1e-9);
  EXPECT_EQ(curve.at(1), 100) << "the nearest end";
  EXPECT_TRUE(curve.covers(1000));
  EXPECT_FALSE(curve.covers(1001));
}

TEST(Curve, RefusesWhatIsNone) {
  using Points = std::vector<std::pair<double, double>>;
  for (const Points& wrong : {Points{}, Points{{8, 0}}, Points{{8, NAN}}, Points{{8, -1}},
                              Points{{8, 1}, {8, 2}}, Points{{8, 1}, {4, 2}}}) {
    EXPECT_THROW(Curve{wrong}, Error);
  }
}

TEST(CollectLink, LeavesOutSizesThatNotEveryLaunchHas) {
  const LinkSamples samples =
      collect_link({launch_of(bandwidth_report({{64, 1e9}, {128, 2e9}, {256, 3e9}})),
                    launch_of(bandwidth_report({{64, 1e9}, {256, 3e9}, {512, 3e9}}))},
                   "");
  ASSERT_EQ(samples.bandwidth.size(), 2U);
  EXPECT_EQ(samples.bandwidth[1].bits_per_s->largest(), 256);
  EXPECT_THAT(samples.left_out, testing::ElementsAre(testing::Pair("bandwidth", "128, 512")));
}

TEST(CollectLink, TakesAStepOfARingAsATime) {
  Launch launch;
  launch.test = "collective";
  for (const char* operation : {"all-reduce float32 sum", "send-receive float32"}) {
    Row row;
    row.operation = operation;
    row.kind = "longest_of_all_ranks";
    row.size_bytes = 1024;
    row.percentiles = {{.percent = 50, .value_ns = 5000, .supported = true}};
    launch.rows.push_back(row);
  }
  const LinkSamples samples = collect_link({launch}, "");
  EXPECT_EQ(samples.operation, "send-receive float32");
  ASSERT_EQ(samples.latency.size(), 1);
  EXPECT_EQ(samples.latency[0].latency_ns->at(1024), 5000);
}

TEST(CollectLink, TakesMeansWhereThereIsNoMedianAndSaysSo) {
  const LinkSamples osu = collect_link(read_launches("# OSU MPI Latency Test v7.4\n"
                                                     "# Size       Avg Latency(us)\n"
                                                     "8   1.50\n1024   2.50\n",
                                                     "x"),
                                       "");
  ASSERT_EQ(osu.latency.size(), 1U);
  EXPECT_DOUBLE_EQ(osu.latency[0].latency_ns->at(8), 1500);
  EXPECT_TRUE(osu.has_means);
  const LinkSamples nccl = collect_link(
      read_launches(
          "# Collective test starting: sendrecv_perf\n"
          "# nThread 1 nGpus 1 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 1 "
          "iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
          "#  Rank  0 Group  0 Pid  1 on n1 device  0 [0x01] GPU\n"
          "#  Rank  1 Group  0 Pid  2 on n2 device  0 [0x01] GPU\n#\n"
          "#       size         count      type   redop    root     time   algbw   busbw "
          "#wrong     time   algbw   busbw #wrong\n"
          "        1024           256     float     sum      -1     8.00    0.13    0.13 "
          "     0     8.00    0.13    0.13    N/A\n"
          "# Out of bounds values : 0 OK\n",
          "x"),
      "");
  EXPECT_EQ(nccl.operation, "send-receive float32");
  ASSERT_EQ(nccl.latency.size(), 1U);
  EXPECT_NEAR(nccl.latency[0].latency_ns->at(1024), 8000, 200);
  EXPECT_TRUE(nccl.has_means);
  EXPECT_FALSE(collect_link({launch_of(latency_report({{64, 1000}}))}, "").has_means);
}

TEST(CollectLink, RefusesWhatIsNoCurve) {
  EXPECT_THAT(refusal_of({launch_of(bandwidth_report({{64, 1e9}})),
                          launch_of(bandwidth_report({{128, 1e9}}))}),
              HasSubstr("no size in common"));
  EXPECT_THAT(refusal_of({launch_of(bandwidth_report({{64, 0}}))}), HasSubstr("no value"));
  EXPECT_THAT(refusal_of({}), HasSubstr("no curve"));
  EXPECT_THAT(refusal_of({launch_of(bandwidth_report({{64, 1e9}}))}, "read"),
              HasSubstr("no curve of 'read'"));
  report::Report both = bandwidth_report({{64, 1e9}});
  std::get<std::vector<report::BandwidthResult>>(both.results)[0].direction = "both_ways";
  EXPECT_THAT(refusal_of({launch_of(both)}), HasSubstr("no curve"));
  report::Report failed = bandwidth_report({{64, 1e9}});
  failed.error = "peer gone";
  EXPECT_THAT(refusal_of({launch_of(failed)}), HasSubstr("ended early: peer gone"));
  report::Report other = bandwidth_report({{64, 1e9}});
  std::get<std::vector<report::BandwidthResult>>(other.results)[0].operation = "send";
  EXPECT_THAT(refusal_of({launch_of(bandwidth_report({{64, 1e9}})), launch_of(other)}),
              HasSubstr("send, write"));
}

TEST(Project, HasTheStepAndItsInterval) {
  const Projection projection = project(fabric(400e9), std::nullopt, options());
  ASSERT_EQ(projection.rows.size(), 3U);
  const ProjectedStep& step = *projection.rows[1].a;
  EXPECT_NEAR(step.time.communication_s, 2 * 7.0 / 8 * 2e9 / 50e9, 1e-4);
  ASSERT_TRUE(step.low_s && step.high_s);
  EXPECT_LT(*step.low_s, step.time.step_s);
  EXPECT_GT(*step.high_s, step.time.step_s);
  EXPECT_LT(*step.high_s / *step.low_s, 1.01);
  EXPECT_NEAR(step.nothing_hidden_s, step.time.step_s, 1e-12);
  EXPECT_LT(step.all_hidden_s, step.nothing_hidden_s);
}

// With no computation to speak of the step is the network's time: its log has the variance of the
// mean of the launches' logs, and the jackknife must find just that.
TEST(Project, TheIntervalIsTheMeansWhereTheNetworkIsAll) {
  ProjectionOptions network = options();
  network.job.tokens_per_gpu = 1;
  network.job.flops_per_gpu = 1e21;
  const LinkSamples samples = fabric(400e9, 5, 0.01);
  const Projection projection = project(samples, std::nullopt, network);
  const ProjectedStep& step = *projection.rows[0].a;
  // Offsets -2 to 2 %: a deviation of 1.5811 %, over sqrt(5), by t(0.95, 4) = 2.131847.
  const double width = 0.0158114 / std::sqrt(5) * 2.131847;
  EXPECT_NEAR(std::log(*step.high_s / step.time.step_s), width, width * 0.01);
}

TEST(Project, AUnitOfManyLaunchesCountsAsOne) {
  LinkSamples samples = fabric(100e9, 5, 0);
  const LinkSamples one = fabric(400e9, 1);
  for (LinkSample& launch : samples.bandwidth) launch.unit = "another";
  samples.bandwidth.push_back(one.bandwidth[0]);
  const Projection projection = project(samples, std::nullopt, options());
  EXPECT_NEAR(projection.rows[0].a->time.communication_s, 2e9 / 25e9, 1e-4);
}

TEST(Project, OneLaunchHasNoInterval) {
  const Projection projection = project(fabric(400e9, 1), fabric(200e9, 1), options());
  EXPECT_FALSE(projection.rows[0].a->low_s);
  EXPECT_EQ(projection.rows[0].difference->verdict, Verdict::inconclusive);
  EXPECT_FALSE(projection.rows[0].difference->estimate);
  EXPECT_THAT(projection.notes, testing::Contains(HasSubstr("one launch")));
}

TEST(Project, JudgesTwoFabricsByTheStep) {
  ProjectionOptions narrow = options();
  narrow.values = {8};
  const Projection slow = project(fabric(400e9), fabric(200e9), narrow);
  EXPECT_EQ(slow.rows[0].difference->verdict, Verdict::different);
  // The same two fabrics under a job that computes a thousand times as long.
  narrow.job.tokens_per_gpu = 4'096'000;
  const Projection hidden = project(fabric(400e9), fabric(200e9), narrow);
  EXPECT_EQ(hidden.rows[0].difference->verdict, Verdict::immaterial);
  EXPECT_EQ(project(fabric(400e9), fabric(400e9), narrow).rows[0].difference->verdict,
            Verdict::equivalent);
}

// compute C tokens, network N at 400 and 2 N at 200 Gb/s: (C + 2N) / (C + N) = 1.05 at C = 19 N.
TEST(Project, FindsTheBreakEven) {
  ProjectionOptions tokens = options();
  tokens.job.nodes = 2;
  tokens.axis = Axis::tokens;
  tokens.values = {1000, 10'000, 100'000, 1'000'000};
  const Projection projection = project(fabric(400e9, 5, 0), fabric(200e9, 5, 0), tokens);
  ASSERT_EQ(projection.break_evens.size(), 1U);
  const BreakEven& found = projection.break_evens[0];
  EXPECT_FALSE(found.beyond_after);
  const double expected = 19 * (2e9 / 50e9) / (6e9 / (989e12 * 0.4));
  EXPECT_NEAR(found.about, expected, expected * 0.002);
  EXPECT_EQ(found.from, 10'000);
  EXPECT_EQ(found.to, 100'000);
  EXPECT_THAT(to_table(projection), HasSubstr("Break-even: within the margin of 5 %"));
}

TEST(Project, SaysThatTheTwoAreAlike) {
  EXPECT_THAT(to_table(project(fabric(400e9), fabric(400e9), options())),
              testing::StartsWith("A and B are alike from 2 nodes on: "));
}

TEST(Project, SaysFirstThatLaunchesWereNotRdma) {
  LinkSamples a = fabric(400e9);
  a.not_rdma = {{"NOT RDMA: measured over ofi, provider tcp, device eth0, why", 2}};
  const std::string first = fmt::format(
      "NOT RDMA: measured over ofi, provider tcp, device eth0, why: 2 of {} launches of A",
      a.latency.size() + a.bandwidth.size());
  const Projection alone = project(a, std::nullopt, options());
  EXPECT_THAT(to_table(alone), testing::StartsWith(first + ". A step takes"));
  EXPECT_EQ(nlohmann::json::parse(to_json(alone))["not_rdma"], first + ".");
  EXPECT_THAT(summary(project(a, fabric(400e9), options())),
              testing::StartsWith(first + " and 0 of "));
  EXPECT_TRUE(
      nlohmann::json::parse(to_json(project(fabric(400e9), std::nullopt, options())))["not_rdma"]
          .is_null());
}

TEST(Project, SaysWhoIsBetterWhereThereIsNoBreakEven) {
  ProjectionOptions named = options();
  named.a_name = "ib";
  named.b_name = "roce";
  const Projection slower = project(fabric(400e9), fabric(100e9), named);
  EXPECT_TRUE(slower.break_evens.empty());
  EXPECT_THAT(to_table(slower), testing::StartsWith("ib is better from 2 nodes on: "));
  EXPECT_EQ(slower.rows[0].difference->direction, Direction::worse);
  const Projection faster = project(fabric(100e9), fabric(400e9), named);
  EXPECT_THAT(summary(faster), testing::StartsWith("roce is better from 2 nodes on: "));
  const auto json = nlohmann::json::parse(to_json(faster));
  EXPECT_EQ(json["summary"], summary(faster));
  EXPECT_EQ(json["b"]["name"], "roce");
  EXPECT_EQ(json["rows"][0]["difference"]["direction"], "better");
}

// A is better for few nodes and B for many: of the latter the step in which it overtakes is not
// within the margin at any projected value.
TEST(Project, FindsWhereTheOtherSideIsBetter) {
  const auto link = [](double latency_ns, double bits_per_s) {
    std::vector<Launch> list;
    for (int i = 0; i < 5; ++i) {
      list.push_back(launch_of(latency_report({{1, latency_ns}, {1 << 30, latency_ns}}, i)));
      list.push_back(launch_of(bandwidth_report({{1, bits_per_s}, {1 << 30, bits_per_s}}, i + 9)));
    }
    return collect_link(list, "");
  };
  ProjectionOptions wide = options();
  wide.values = {2, 4096};
  wide.job.tokens_per_gpu = 1;
  wide.job.flops_per_gpu = 1e21;
  const Projection projection = project(link(100'000, 400e9), link(1000, 200e9), wide);
  ASSERT_EQ(projection.break_evens.size(), 1U);
  EXPECT_EQ(projection.break_evens[0].after, Direction::better);
  EXPECT_THAT(summary(projection), testing::StartsWith("Break-even: B is better by more than"));
}

// The range in which A is better is named once, and an open row is not called better.
TEST(Project, NamesARangeBetweenTwoBreakEvensOnce) {
  Projection projection = project(fabric(400e9), fabric(100e9), options());
  const ProjectionRow row = projection.rows[0];
  projection.rows.assign(4, row);
  for (int i = 0; i < 4; ++i) {
    projection.rows[i].value = 16 << i;
    projection.rows[i].difference->verdict = Verdict::different;
  }
  projection.break_evens = {
      {.from = 16, .to = 32, .about = 20, .beyond_after = true, .after = Direction::worse},
      {.from = 64, .to = 128, .about = 65, .beyond_after = false, .after = Direction::none}};
  const auto sentences = [&] { return break_even_sentences(projection); };
  using testing::ElementsAre;
  using testing::Not;
  const auto range = has_all("Break-even: A ", " 5 % from about 20 to about 65 nodes");
  EXPECT_THAT(sentences(), ElementsAre(AllOf(range, Not(HasSubstr("not proved")))));
  projection.rows[2].difference->verdict = Verdict::inconclusive;
  EXPECT_THAT(sentences(), ElementsAre(AllOf(range, HasSubstr(", but not proved at 64"))));
  projection.rows[1].difference->verdict = Verdict::inconclusive;
  EXPECT_THAT(sentences(), ElementsAre(AllOf(range, has_all("A may be", "not proved."))));
  projection.rows[3].difference->verdict = Verdict::inconclusive;
  projection.break_evens.erase(projection.break_evens.begin());
  EXPECT_THAT(sentences(),
              ElementsAre(has_all("within the margin of 5 %",
                                  "about 65 nodes on (between 64 and 128)", "not proved")));
}

TEST(Project, SaysAllThatIsMissingAtOnce) {
  std::vector<Launch> launches;
  for (int i = 0; i < 5; ++i) {
    launches.push_back(launch_of(latency_report({{1024, 1e4}, {1 << 20, 1e6}}, i, 50)));
    launches.push_back(launch_of(bandwidth_report({{1024, 1e9}, {1 << 20, 1e10}}, i + 9)));
  }
  ProjectionOptions job = options();
  job.job.parameters = 8e9;
  job.job.stragglers = Stragglers::collective;
  job.values = {2, 4};
  job.a_name = "tcp";
  try {
    project(collect_link(launches, ""), std::nullopt, job);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_THAT(text, has_all("tcp lacks", "6546645 to 13093290 bytes"));
    EXPECT_THAT(text, HasSubstr("100 samples of a latency of each size"));
    EXPECT_THAT(text, HasSubstr("'rdmabench lat HOST --op write -s 1K:16M -n 100 "));
    EXPECT_THAT(text, HasSubstr("'rdmabench bw HOST --op write -s 1K:16M --format json"));
    EXPECT_THAT(text, has_all("`extrapolate`", "`stragglers` to none"));
  }
}

TEST(Project, ABandwidthAloneLacksALatency) {
  ProjectionOptions job = options();
  job.job.stragglers = Stragglers::collective;
  job.source = TimeSource::latency;
  const std::string text =
      complaint([&] { project(fabric(400e9), std::nullopt, job); }, Fault::usage);
  EXPECT_THAT(text, HasSubstr("any measured latency"));
  EXPECT_THAT(text, HasSubstr("'rdmabench lat HOST --op write -s 1:1G -n "));
}

TEST(Project, CostsPerStepNodesTimesHours) {
  ProjectionOptions priced = options();
  priced.values = {8};
  priced.price_a = 36;
  priced.price_b = 18;
  const Projection projection = project(fabric(400e9), fabric(200e9), priced);
  const ProjectedStep& a = *projection.rows[0].a;
  EXPECT_NEAR(*a.cost, 36.0 * 8 * a.time.step_s / 3600, 1e-12);
  EXPECT_NEAR(*projection.rows[0].b->cost, 18.0 * 8 * projection.rows[0].b->time.step_s / 3600,
              1e-12);
  EXPECT_THAT(to_table(projection), HasSubstr("Cost of one step"));
}

TEST(Project, ARowThatCannotBeCarriedIsRefusedAlone) {
  std::vector<Launch> launches;
  for (int i = 0; i < 5; ++i) {
    launches.push_back(launch_of(latency_report({{1, 1000.0 + i}, {1 << 30, 1e6 + i}}, i, 1000)));
  }
  ProjectionOptions tail = options();
  tail.job.stragglers = Stragglers::collective;
  tail.values = {8, 1024};
  const Projection projection = project(collect_link(launches, ""), std::nullopt, tail);
  EXPECT_TRUE(projection.rows[0].a);
  EXPECT_FALSE(projection.rows[1].a);
  EXPECT_THAT(projection.rows[1].refusal, HasSubstr("100000 samples of a latency"));
  EXPECT_THAT(to_table(projection), HasSubstr("refused"));
  tail.values = {1024};
  EXPECT_THROW(project(collect_link(launches, ""), std::nullopt, tail), Error);
}

TEST(Project, PrintsEveryAssumption) {
  ProjectionOptions given = options();
  given.origins = {{"parameters", "given"}};
  const Projection projection = project(fabric(400e9), std::nullopt, given);
  const std::string table = to_table(projection);
  for (const char* name :
       {"parameters", "nodes", "tokens per gpu", "bytes per element", "flops per gpu", "mfu",
        "gpus per node", "rails", "parallel", "algorithm", "bucket bytes", "overlap", "stragglers",
        "curve", "operation", "congestion"}) {
    EXPECT_THAT(table, HasSubstr(std::string("\n") + name + "  ")) << name;
  }
  const auto json = nlohmann::json::parse(to_json(projection));
  EXPECT_EQ(json["assumptions"][0]["origin"], "given");
  EXPECT_EQ(json["assumptions"][1]["origin"], "default");
}

TEST(Project, SidesOfDifferentKindsAreRefused) {
  const LinkSamples latency =
      collect_link({launch_of(latency_report({{1, 1e3}, {1 << 30, 1e6}}))}, "");
  EXPECT_THROW(project(fabric(400e9), latency, options()), Error);
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis
