#include "rdmabench/analysis/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "../complaint.h"
#include "analysis/baseline.h"
#include "documents.h"
#include "rdmabench/base/error.h"
#include "rdmabench/report/documents.h"

namespace rdmabench::inline v1::analysis {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Rewrites each launch's report before it is read.
template <class Change>
std::vector<Launch> changed(int count, double rate, Change change, int minute = 1) {
  std::vector<Launch> launches;
  for (int i = 0; i < count; ++i) {
    report::Report report =
        bandwidth_report({{65536, rate * (1 + 0.002 * (i % 3))}}, minute + 2 * i);
    change(report, i);
    launches.push_back(launch_of(report, "c" + std::to_string(i)));
  }
  return launches;
}

/// Launches as they are.
std::vector<Launch> same() {
  return changed(
      5, 1e11, [](report::Report&, int) {}, 0);
}

const Cell& only_cell(const Comparison& comparison) {
  return comparison.families.at(0).cells.at(0);
}

TEST(Compare, TheSameIsEquivalent) {
  const Sides sides = in_turn(6, 1e11, 1e11);
  const Comparison comparison = compare(sides.a, sides.b, {});
  EXPECT_EQ(comparison.verdict, Verdict::equivalent);
  EXPECT_FALSE(comparison.confounded());
  ASSERT_EQ(comparison.families.size(), 1U);
  EXPECT_EQ(comparison.families[0].metric, Metric::bandwidth);
  EXPECT_NEAR(only_cell(comparison).a_typical, 1e11, 1e9);
  EXPECT_EQ(comparison.order.pattern, "ABABABABABAB");
  EXPECT_THAT(to_table(comparison), HasSubstr("EQUIVALENT"));
}

TEST(Compare, ATenthLessIsDifferent) {
  const Sides sides = in_turn(6, 1e11, 0.9e11);
  const Comparison comparison = compare(sides.a, sides.b, {});
  EXPECT_EQ(comparison.verdict, Verdict::different);
  EXPECT_NEAR(std::exp(only_cell(comparison).judgement.estimate->difference), 0.9, 0.01);
}

TEST(Compare, ALittleLessIsImmaterial) {
  const Sides sides = in_turn(8, 1e11, 0.98e11, 0.001);
  EXPECT_EQ(compare(sides.a, sides.b, {}).verdict, Verdict::immaterial);
}

TEST(Compare, FourLaunchesAreNotEnough) {
  const Sides sides = in_turn(4, 1e11, 1e11);
  const Comparison comparison = compare(sides.a, sides.b, {});
  EXPECT_EQ(comparison.verdict, Verdict::inconclusive);
  EXPECT_EQ(comparison.more, 1U);
  EXPECT_THAT(to_table(comparison), HasSubstr("1 launch more of each side"));
}

TEST(Compare, ALookBeforeThePlanIsDoneSpendsLittleAlpha) {
  const Sides sides = in_turn(6, 1e11, 1e11);
  const Comparison look = compare(sides.a, sides.b, {.planned = 12});
  EXPECT_NEAR(look.options.settings.alpha, alpha_of_look(0.05, 0.5), 1e-12);
  EXPECT_THAT(to_table(look), HasSubstr("6 of 12 planned launches"));
  EXPECT_THAT(complaint([&] { compare(sides.a, sides.b, {.planned = 5}); }).what(),
              HasSubstr("5 were planned"));
  for (const std::uint32_t planned : {100U, 1'000'000U}) {
    const Comparison early = compare(sides.a, sides.b, {.planned = planned});
    EXPECT_EQ(early.verdict, Verdict::inconclusive);
    EXPECT_TRUE(std::isfinite(std::exp(only_cell(early).judgement.estimate->high)));
  }
}

/// The facts that a release after 0.1 tells of a run besides those of before.
void tell_more(report::Report& report, int /*launch*/) {
  report::Facts& details = report.resolved.details;
  set_fact(details, "flow_label", "1,2");
  set_fact(details, "write_order", "promised (ibv_query_qp_data_in_order)");
  set_fact(details, "memory", "host");
  set_fact(details, "memory_placement", "NUMA node 0, near mlx5_0");
  set_fact(details, "memory_nodes", "0");
  set_fact(details, "offload_told_by", "this side alone");
}

TEST(Compare, WhatAnEarlierReleaseDidNotTellIsNoConfound) {
  const auto before = same();
  const auto after = changed(5, 1e11, tell_more);
  EXPECT_FALSE(compare(before, after, {}).confounded());
  EXPECT_FALSE(compare(after, before, {}).confounded());
  EXPECT_TRUE(find_other_configuration(before.front(), after.front(), Factors({})).empty())
      << "a baseline";
}

TEST(Compare, WhatBothTellMustBeAlike) {
  const auto a = changed(5, 1e11, tell_more, 0);
  const auto b = changed(5, 1e11, [](report::Report& report, int launch) {
    tell_more(report, launch);
    set_fact(report.resolved.details, "flow_label", "77,77");
    set_fact(report.resolved.details, "memory_nodes", "1");
    set_fact(report.resolved.details, "write_order", "none");
  });
  EXPECT_THAT(compare(a, b, {}).families[0].confounds,
              ElementsAre("details.flow_label", "details.memory_nodes"))
      << "another order of writes is another `signal` of its rows";
}

TEST(Compare, OtherKernelsConfound) {
  const auto a = same();
  const auto b = changed(5, 1e11, [](report::Report& report, int) {
    set_fact(report.environment.client, "kernel", "6.5.0");
    set_fact(report.resolved.details, "mtu", "1024");
  });
  const Comparison comparison = compare(a, b, {});
  EXPECT_TRUE(comparison.confounded());
  EXPECT_EQ(comparison.verdict, Verdict::equivalent) << "as they stand";
  EXPECT_THAT(comparison.families[0].confounds,
              ElementsAre("details.mtu", "environment.client.kernel"));
  EXPECT_THAT(to_table(comparison),
              HasSubstr("CONFOUNDED by details.mtu, environment.client.kernel"));
  const auto json = nlohmann::json::parse(to_json(comparison));
  EXPECT_EQ(json["verdict"], "CONFOUNDED");
  EXPECT_EQ(json["as_they_stand"], "EQUIVALENT");
}

TEST(Compare, ADeclaredFactorDoesNotConfound) {
  const auto a = same();
  const auto b = changed(5, 1e11, [](report::Report& report, int) {
    set_fact(report.config, "backend", "ofi");
    set_fact(report.config, "ucx_tls", "rc");
    report.resolved.backend = "ofi";
    report.resolved.provider = "efa";
    report.resolved.device = "rdmap0";
    report.resolved.transport = "rdm";
    report.resolved.details = {{"protocol", std::string("FI_PROTO_EFA")}};
  });
  EXPECT_THAT(
      compare(a, b, {}).families[0].confounds,
      ElementsAre("resolved.backend", "resolved.device", "resolved.provider", "resolved.transport"))
      << "and not the details that one back end alone has";
  EXPECT_TRUE(compare(a, b, {.factors = Factors({"device"})}).confounded());
  EXPECT_FALSE(compare(a, b, {.factors = Factors({"backend"})}).confounded());
  EXPECT_FALSE(compare(a, b, {.factors = Factors({"all"})}).confounded());
}

/// How often a run asks for a completion follows from its depth, unless it was told.
TEST(Compare, ADeclaredDepthTakesInWhatFollowsFromIt) {
  const auto side = [](const char* depth, const char* every, const char* queue, int minute) {
    return changed(
        5, 1e11,
        [&](report::Report& report, int) {
          set_fact(report.config, "depth", depth);
          set_fact(report.config, "signal_every", every);
          set_fact(report.resolved.details, "send_queue", queue);
        },
        minute);
  };
  const ComparisonOptions depth{.factors = Factors({"depth"})};
  const auto a = side("128", "32", "128", 0);
  EXPECT_FALSE(compare(a, side("8", "4", "64", 1), depth).confounded());
  EXPECT_TRUE(compare(a, side("8", "4", "64", 1), {}).confounded());
  EXPECT_THAT(compare(a, side("8", "1", "64", 1), depth).families[0].confounds,
              ElementsAre("config.signal_every"))
      << "it was asked for";
}

TEST(Compare, AFactorThatDoesNotDifferIsSaid) {
  const Sides sides = in_turn(5, 1e11, 1e11);
  EXPECT_THAT(compare(sides.a, sides.b, {.factors = Factors({"mtu"})}).notes,
              Contains(HasSubstr("'mtu'")));
}

TEST(Compare, HostsTimesAndNumbersOfQueuesDoNotConfound) {
  const auto a = same();
  const auto b = changed(5, 1e11, [](report::Report& report, int i) {
    set_fact(report.environment.client, "hostname", "other" + std::to_string(i));
    set_fact(report.resolved.details, "gid", "fe80::" + std::to_string(i));
    set_fact(report.config, "sizes", "64K");
    set_fact(report.config, "backend", "auto");  // which came to verbs as well
  });
  EXPECT_FALSE(compare(a, b, {}).confounded());
}

TEST(Compare, SubnetsDoNotConfoundAndOtherFabricsDo) {
  const auto on = [](const std::string& fabric, int from = 5) {
    return changed(
        5, 1e11,
        [fabric](report::Report& report, int) {
          set_fact(report.resolved.details, "fabric", fabric);
          set_fact(report.resolved.details, "remote_dctn", fabric);
        },
        from);
  };
  EXPECT_FALSE(compare(on("10.66.0.0/16", 0), on("192.168.7.0/24"), {}).confounded());
  EXPECT_FALSE(compare(on("fe80::/64", 0), on("10.0.0.0/8"), {}).confounded());
  EXPECT_FALSE(
      compare(on("IB-0xfe80000000000000", 0), on("IB-0xfe80000000000001"), {}).confounded());
  EXPECT_THAT(compare(on("efa", 0), on("efa-direct"), {}).families[0].confounds,
              ElementsAre("details.fabric"));
}

TEST(Compare, WhatVariesAlikeOnBothSidesDoesNotConfound) {
  const auto mixed = [](report::Report& report, int i) {
    set_fact(report.environment.client, "kernel", i % 2 == 0 ? "6.1.0" : "6.5.0");
  };
  EXPECT_FALSE(compare(changed(6, 1e11, mixed, 0), changed(6, 1e11, mixed), {}).confounded());
}

TEST(Compare, AnotherCompletionLevelConfounds) {
  const auto a = same();
  const auto b = changed(5, 1e11, [](report::Report& report, int) {
    std::get<std::vector<report::BandwidthResult>>(report.results)[0].completion = "transmit";
  });
  EXPECT_THAT(compare(a, b, {}).families[0].confounds, ElementsAre("completion"));
}

TEST(Compare, BothDirectionsAreNotOne) {
  const auto a = same();
  const auto b = changed(5, 2e11, [](report::Report& report, int) {
    std::get<std::vector<report::BandwidthResult>>(report.results)[0].direction = "both_ways";
  });
  EXPECT_THROW(compare(a, b, {}), Error) << "nothing in common";
}

TEST(Compare, ARunThatEndedEarlyMustBeLeftOutAloud) {
  Sides sides = in_turn(6, 1e11, 1e11);
  report::Report broken = bandwidth_report({}, 50);
  broken.error = "node2 does not answer";
  sides.b.push_back(launch_of(broken, "broken.json"));
  EXPECT_THAT(complaint([&] { compare(sides.a, sides.b, {}); }).what(),
              has_all("broken.json: node2 does not answer", "`skip_failed`"));
  const Comparison comparison = compare(sides.a, sides.b, {.skip_failed = true});
  EXPECT_EQ(comparison.b.launches, 6U);
  EXPECT_THAT(to_table(comparison), HasSubstr("node2 does not answer"));
}

TEST(Compare, SuspicionsStandBesideTheVerdict) {
  const auto a = same();
  const auto b = changed(5, 1e11, [](report::Report& report, int i) {
    if (i >= 2) return;
    report.suspicions = {{"retransmissions", "3 again"}};
    report.counters.client = {{"mlx5_0:1", "ack_timeouts", "retransmission", "f", 3, false}};
  });
  const Comparison comparison = compare(a, b, {});
  EXPECT_EQ(only_cell(comparison).b_suspect, 2U);
  const std::string table = to_table(comparison);
  EXPECT_THAT(table, HasSubstr("EQUIVALENT\n  suspect launches: A 0, B 2\n"));
  EXPECT_THAT(table, HasSubstr("counters of retransmission: 6"));
}

TEST(Compare, PercentilesWithoutSamplesAreRefused) {
  Sides sides;
  for (int i = 0; i < 5; ++i) {
    sides.a.push_back(launch_of(latency_report({{8, 1000.0 + i}}, 2 * i, 5000), "a"));
    sides.b.push_back(launch_of(latency_report({{8, 1002.0 + i}}, 2 * i + 1, 5000), "b"));
  }
  const Comparison comparison = compare(sides.a, sides.b, {});
  ASSERT_EQ(comparison.families.size(), 3U);
  EXPECT_EQ(comparison.families[2].metric, Metric::p999);
  EXPECT_EQ(comparison.families[2].verdict, Verdict::refused);
  EXPECT_THAT(comparison.families[2].cells[0].judgement.text,
              HasSubstr("5000 samples, where p99.9 takes 10000"));
  EXPECT_EQ(comparison.verdict, Verdict::equivalent) << "of what can be judged";
}

TEST(Compare, AValueOfZeroIsRefused) {
  const auto a = same();
  auto b = changed(5, 1e11, [](report::Report& report, int i) {
    if (i == 3) std::get<std::vector<report::BandwidthResult>>(report.results)[0].bits_per_s = 0;
  });
  const Comparison comparison = compare(a, b, {});
  EXPECT_EQ(comparison.verdict, Verdict::refused);
  EXPECT_THAT(only_cell(comparison).judgement.text, HasSubstr("c3: "));
}

TEST(Compare, ADriftLeavesNoVerdict) {
  const auto drifting = [](double rate) {
    return [rate](report::Report& report, int i) {
      std::get<std::vector<report::BandwidthResult>>(report.results)[0].bits_per_s =
          rate * (1 - 0.02 * i);
    };
  };
  const Comparison comparison =
      compare(changed(8, 1e11, drifting(1e11), 0), changed(8, 1e11, drifting(0.995e11)), {});
  EXPECT_EQ(comparison.verdict, Verdict::drifting);
  EXPECT_THAT(only_cell(comparison).judgement.text, HasSubstr("moved by -1"));
}

/// Launches a minute apart that warm up by this share a minute, in the order of `pattern`; those of
/// B begin `gap_s` later still.
Sides warming_up(const std::string& pattern, double per_minute, double rate_b, double gap_s,
                 std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.002);
  Sides sides;
  int minute_of[2] = {0, 0};
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_b = pattern[i] == 'B';
    // A day apart each side warms up from cold, else the two of them together.
    const int minute = gap_s > 0 ? minute_of[is_b ? 1 : 0]++ : static_cast<int>(i);
    const double rate = (is_b ? rate_b : 1e11) * std::exp(per_minute * minute + noise(random));
    Launch launch = launch_of(bandwidth_report({{65536, rate}}), std::to_string(i));
    launch.document = std::to_string(i);
    launch.time_s = 1.7e9 + 60 * minute + (is_b ? gap_s : 0);
    (is_b ? sides.b : sides.a).push_back(std::move(launch));
  }
  return sides;
}

constexpr double kDay = 86400;
const std::string kApart = "AAAAAAAABBBBBBBB";
const std::string kInTurn = "ABBAABBAABBAABBA";

TEST(Compare, TheSameFabricTwiceIsNotDifferentWhateverTheTimeBetween) {
  const struct {
    std::string pattern;
    double gap_s, per_minute;
  } cases[] = {{kApart, kDay, 0},      {kApart, 30 * kDay, 0.0002}, {kApart, kDay, 0.001},
               {kApart, 0, 0.0002},    {kInTurn, 0, 0.0002},        {kInTurn, kDay, 0.0002},
               {kInTurn, 30 * kDay, 0}};
  for (const auto& one : cases) {
    int same = 0;
    int different = 0;
    constexpr int kTrials = 8 * RDMABENCH_SEEDS;
    for (int seed = 0; seed < kTrials; ++seed) {
      const Sides sides = warming_up(one.pattern, one.per_minute, 1e11, one.gap_s,
                                     static_cast<std::uint64_t>(seed));
      const Verdict verdict = compare(sides.a, sides.b, {}).verdict;
      same += verdict == Verdict::equivalent || verdict == Verdict::inconclusive ? 1 : 0;
      different += verdict == Verdict::different ? 1 : 0;
    }
    const std::string what =
        one.pattern + " " + std::to_string(one.gap_s) + " " + std::to_string(one.per_minute);
    // The one that climbs from A on to B is not the same by 0.16 %, which is IMMATERIAL.
    const bool climbs = one.pattern == kApart && one.gap_s == 0;
    EXPECT_GE(same, climbs ? 0 : kTrials * 95 / 100) << what;
    EXPECT_LE(different, kTrials * 5 / 100) << what;
  }
}

TEST(Compare, LaunchesThatAreAlikeInBlocksHaveNoVerdict) {
  const auto slow_swing = [](const std::string& pattern) {
    Sides sides = warming_up(pattern, 0, 1e11, 0, 1);
    for (auto* side : {&sides.a, &sides.b}) {
      for (Launch& launch : *side) {
        *launch.rows[0].bits_per_s *= 1 + 0.05 * std::sin((*launch.time_s - 1.7e9) / 60);
      }
    }
    return compare(sides.a, sides.b, {});
  };
  const Comparison blocks = slow_swing(kApart);
  EXPECT_EQ(blocks.verdict, Verdict::drifting);
  EXPECT_THAT(only_cell(blocks).judgement.text, HasSubstr("A B B A"));
  EXPECT_NE(slow_swing(kInTurn).verdict, Verdict::drifting);
}

TEST(Compare, OfABaselineTheNightIsTheUnit) {
  const auto nights = [](int first, int count, double rate) {
    std::vector<Launch> all;
    for (int night = first; night < first + count; ++night) {
      // Nights differ by 2 %, launches of a night by 0.1 %.
      for (Launch& one : bandwidth_launches(5, rate * (1 + 0.02 * (night % 3 - 1)), 0.001,
                                            static_cast<std::uint64_t>(night))) {
        one.time_s = 1.7e9 + kDay * night;
        all.push_back(std::move(one));
      }
    }
    return all;
  };
  const auto against = [&](int stored, double rate) {
    return compare(nights(0, stored, 1e11), nights(31, 1, rate), {.baseline = true});
  };
  EXPECT_FALSE(against(1, 0.93e11).failed()) << "nights are taken to differ by the margin";
  EXPECT_THAT(only_cell(against(1, 0.93e11)).judgement.text, HasSubstr("1 night"));
  EXPECT_TRUE(against(1, 0.8e11).failed());
  EXPECT_EQ(only_cell(against(9, 0.8e11)).judgement.a_units, 9U);
  EXPECT_TRUE(against(9, 0.88e11).failed());
  EXPECT_FALSE(against(9, 0.93e11).failed());
}

TEST(Compare, AHalfLessThanAnOldBaselineIsARegressionForAllItsDrift) {
  for (const double per_minute : {0.0, 0.0002, 0.005, -0.005}) {
    for (const double gap_s : {kDay, 30 * kDay}) {
      const Sides sides = warming_up(kApart, per_minute, 0.5e11, gap_s, 7);
      const Comparison comparison = compare(sides.a, sides.b, {});
      EXPECT_EQ(comparison.verdict, Verdict::different) << per_minute;
      EXPECT_THAT(regression_line(comparison), testing::StartsWith("REGRESSION: ")) << per_minute;
    }
  }
}

TEST(Compare, ADriftThatMayBeTheDifferenceLeavesNoVerdict) {
  const Sides sides = warming_up(kApart, 0.01, 0.92e11, kDay, 7);
  EXPECT_EQ(compare(sides.a, sides.b, {}).verdict, Verdict::drifting);
}

TEST(Compare, OneSideAfterTheOtherIsSaid) {
  const auto a = bandwidth_launches(5, 1e11, 0.005, 1, 0);
  const auto b = bandwidth_launches(5, 1e11, 0.005, 2, 10);
  const Comparison comparison = compare(a, b, {});
  EXPECT_TRUE(comparison.order.separate);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("A B B A")));
  EXPECT_THAT(compare(in_turn(5, 1e11, 1e11).a, in_turn(5, 1e11, 1e11).b, {}).notes,
              Not(Contains(HasSubstr("A B B A"))));
}

TEST(Compare, TheSameFileOnBothSidesIsRefused) {
  const auto a = bandwidth_launches(5, 1e11, 0.005, 1);
  EXPECT_THROW(compare(a, a, {}), Error);
  EXPECT_THROW(compare(a, {}, {}), Error);
}

TEST(Compare, OneDifferentSizeOfManyMakesADifference) {
  Sides sides;
  for (int i = 0; i < 6; ++i) {
    std::map<std::uint64_t, double> of_a;
    std::map<std::uint64_t, double> of_b;
    for (std::uint64_t size = 1024; size <= 1 << 20; size *= 2) {
      of_a[size] = 1e11 * (1 + 0.001 * i);
      of_b[size] = 1e11 * (1 + 0.001 * ((i * 5) % 6)) * (size == 4096 ? 0.8 : 1);
    }
    sides.a.push_back(launch_of(bandwidth_report(of_a, 2 * i), "a"));
    sides.b.push_back(launch_of(bandwidth_report(of_b, 2 * i + 1), "b"));
  }
  const Comparison comparison = compare(sides.a, sides.b, {});
  EXPECT_EQ(comparison.verdict, Verdict::different);
  const auto& cells = comparison.families.at(0).cells;
  ASSERT_EQ(cells.size(), 11U);
  EXPECT_EQ(cells[0].judgement.verdict, Verdict::equivalent);
  EXPECT_EQ(cells[2].judgement.verdict, Verdict::different);
}

TEST(Compare, SaysFirstThatLaunchesWereNotRdma) {
  const auto a = changed(5, 1e11, [](report::Report&, int) {});
  const auto b = changed(
      5, 1e11,
      [](report::Report& report, int i) {
        if (i == 0) return;
        report.resolved.backend = "ofi";
        report.resolved.provider = "tcp";
        report.resolved.device = "eth0";
        for (report::Facts* side : {&report.environment.client, &report.environment.server}) {
          side->push_back({"rdma_devices", std::uint64_t{0}});
        }
      },
      0);
  const Comparison comparison =
      compare(a, b, {.factors = Factors({"all"}), .a_name = "ib", .b_name = "roce"});
  const std::string first =
      "NOT RDMA: measured over ofi, provider tcp, device eth0, no RDMA device on 2 of 2 nodes: "
      "0 of 5 launches of ib and 4 of 5 of roce.";
  EXPECT_THAT(summary(comparison), testing::StartsWith(first + " roce is EQUIVALENT to ib"));
  EXPECT_THAT(to_table(comparison), testing::StartsWith(first));
  EXPECT_THAT(regression_line(comparison), testing::StartsWith(first));
  EXPECT_EQ(nlohmann::json::parse(to_json(comparison))["not_rdma"], first);
  const report::Document document = report::parse_documents(to_json(comparison), "c.json").at(0);
  EXPECT_THAT(report::to_markdown({&document, 1}), HasSubstr("**1 warn**"));
  EXPECT_THAT(summary(compare(same(), a, {})), Not(HasSubstr("RDMA")));
}

TEST(Regression, IsOneLine) {
  const Sides sides = in_turn(6, 1e11, 0.9e11);
  const std::string worse = regression_line(compare(sides.a, sides.b, {.a_name = "nightly"}));
  EXPECT_THAT(worse, testing::StartsWith("REGRESSION: write bandwidth of 64K -"));
  EXPECT_THAT(worse, HasSubstr("'nightly'"));
  EXPECT_THAT(worse, Not(HasSubstr("\n")));
  EXPECT_THAT(regression_line(compare(sides.b, sides.a, {})), testing::StartsWith("IMPROVEMENT: "));
}

TEST(Regression, SaysWhatTheBaselineHasAndTonightLacks) {
  const auto a = changed(
      5, 1e11,
      [](report::Report& report, int) {
        auto& rows = std::get<std::vector<report::BandwidthResult>>(report.results);
        for (const std::uint64_t size : {4096U, 8192U}) {
          rows.push_back(rows[0]);
          rows.back().size_bytes = size;
        }
      },
      0);
  const auto b = changed(5, 1e11, [](report::Report& report, int) {
    auto& rows = std::get<std::vector<report::BandwidthResult>>(report.results);
    rows.push_back(rows[0]);
    rows.back().size_bytes = 4096;
    rows.back().bits_per_s = 0;
  });
  const Comparison comparison = compare(a, b, {});
  EXPECT_EQ(comparison.verdict, Verdict::equivalent) << "of what can be judged";
  EXPECT_FALSE(comparison.complete());
  EXPECT_EQ(comparison.refused, 1U);
  EXPECT_EQ(comparison.absent, 1U);
  EXPECT_EQ(comparison.lost, 2U);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("2 quantities of A have no value in B")));
  EXPECT_THAT(regression_line(comparison), HasSubstr("; 2 quantities of the baseline"));
  // What is new in this run is not lost, nor what the baseline never had.
  const Comparison other = compare(b, a, {});
  EXPECT_EQ(other.lost, 0U);
  EXPECT_EQ(other.absent, 0U);
  EXPECT_EQ(other.refused, 1U);
  EXPECT_THAT(regression_line(other), Not(HasSubstr("of the baseline")));
}

TEST(Regression, OfALatencyIsItsRise) {
  Sides sides;
  for (int i = 0; i < 5; ++i) {
    sides.a.push_back(launch_of(latency_report({{8, 1000.0 + i}}, 2 * i), "a"));
    sides.b.push_back(launch_of(latency_report({{8, 1200.0 + i}}, 2 * i + 1), "b"));
  }
  EXPECT_THAT(regression_line(compare(sides.a, sides.b, {})), testing::StartsWith("REGRESSION"));
  EXPECT_THAT(regression_line(compare(sides.b, sides.a, {})), testing::StartsWith("IMPROVEMENT"));
}

TEST(LaunchPlan, FromAVariationAndFromAPilot) {
  const LaunchPlan given = plan_for(0.02, 0, {});
  EXPECT_EQ(given.launches, 5U);
  EXPECT_THAT(to_table(given), HasSubstr("5 launches of each side"));
  const auto pilot = bandwidth_launches(8, 1e11, 0.05, 3);
  const LaunchPlan measured = plan_from(pilot, 0, {});
  ASSERT_TRUE(measured.launches);
  EXPECT_GT(*measured.launches, 8U);
  EXPECT_THROW(plan_for(0, 0, {}), Error);
  EXPECT_THROW(plan_from({pilot[0]}, 0, {}), Error);
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis
