#include "analysis/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "../complaint.h"
#include "analysis/decision_page.h"
#include "analysis/decision_texts.h"
#include "documents.h"
#include "rdmabench/base/error.h"
#include "report/compared.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::analysis {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// Launches of latency and of bandwidth, at minutes that alternate between two sides.
std::vector<Launch> launches_on(double bits_per_s, int side, int launches = 6,
                                double spread = 0.002) {
  std::vector<Launch> list;
  for (int i = 0; i < launches; ++i) {
    const double factor = 1 + spread * (i - (launches - 1) / 2.0);
    const double rate = bits_per_s * factor;
    const int minute = 4 * i + side;
    const std::string name = std::to_string(side) + "-" + std::to_string(i) + ".json";
    list.push_back(launch_of(bandwidth_report({{8, rate}, {1 << 30, rate}}, minute), "bw" + name));
    list.push_back(
        launch_of(latency_report({{8, 10 * factor}, {1 << 30, 8e9 * (1 << 30) / rate}}, minute + 2),
                  "lat" + name));
  }
  for (Launch& one : list) one.watched = true;
  return list;
}

DecisionOptions question(double price_a = 0, double price_b = 0) {
  DecisionOptions options;
  options.projection.a_name = "InfiniBand";
  options.projection.b_name = "Ethernet";
  options.job = "a model";
  options.one_pair = true;
  options.command = "rdmabench decide ib roce";
  options.plan_command = "rdmabench decide --plan --pilot ib";
  options.run_command = "sh measure.sh";
  options.new_plan_command = "rdmabench decide --plan";
  options.new_run_command = "sh measure.sh anew";
  ProjectionOptions& projection = options.projection;
  projection.job.parameters = 1e9;
  projection.job.stragglers = Stragglers::none;
  projection.values = {8, 16, 64};
  if (price_a > 0) projection.price_a = price_a;
  if (price_b > 0) projection.price_b = price_b;
  return options;
}

Decision decided(double a_bits, double b_bits, const DecisionOptions& with = question(),
                 int launches = 6, double spread = 0.002) {
  return decide(launches_on(a_bits, 0, launches, spread), launches_on(b_bits, 1, launches, spread),
                with);
}

std::string refusal_to_decide(const std::vector<Launch>& a, const std::vector<Launch>& b,
                              const DecisionOptions& with) {
  return error_text([&] { decide(a, b, with); }, "decided");
}

const Flip& flip_of(const Decision& decision, const char* name) {
  for (const Flip& one : decision.flips) {
    if (one.name == name) return one;
  }
  throw std::runtime_error(std::string("no flip of ") + name);
}

// 1e9 parameters of 2 bytes over 64 nodes at 100 Gb/s: about 2 x 2e9 x 8 / 1e11 = 0.315 s beside
// 0.0621 s of computing.
TEST(Decision, SaysYesWithoutPricesBeyondTheMargin) {
  const Decision decision = decided(2e11, 1e11);
  EXPECT_EQ(decision.answer, Answer::yes);
  EXPECT_EQ(decision.reason, AnswerReason::proven);
  EXPECT_TRUE(decision.pays);
  EXPECT_EQ(decision.nodes, 64);
  EXPECT_NEAR(decision.ratio.value, (0.0621 + 0.1575) / (0.0621 + 0.315), 0.003);
  EXPECT_LT(*decision.ratio.low, decision.ratio.value);
  EXPECT_GT(*decision.ratio.high, decision.ratio.value);
  EXPECT_NEAR(decision.premium.value, 1 / decision.ratio.value - 1, 1e-12);
  EXPECT_NEAR(decision.limit, 1.05, 1e-12);
  EXPECT_FALSE(decision.cost_ratio);
}

TEST(Decision, SaysNoWithoutPricesWithinTheMarginAndWhereAIsSlower) {
  const Decision alike = decided(1.001e11, 1e11);
  EXPECT_EQ(alike.answer, Answer::no);
  EXPECT_EQ(alike.reason, AnswerReason::proven);
  EXPECT_EQ(decided(1e11, 2e11).answer, Answer::no);
}

TEST(Decision, RestsOnTheCostOfAStepWhereThereArePrices) {
  // A's step takes 58 % of B's time: it pays up to a price 72 % above.
  const Decision cheap = decided(2e11, 1e11, question(30, 20));
  EXPECT_EQ(cheap.answer, Answer::yes);
  EXPECT_NEAR(cheap.cost_ratio->value, 1.5 * cheap.ratio.value, 1e-12);
  const Decision dear = decided(2e11, 1e11, question(40, 20));
  EXPECT_EQ(dear.answer, Answer::no);
  EXPECT_FALSE(dear.pays);
  const Decision cheaper_and_slower = decided(1e11, 2e11, question(10, 20));
  EXPECT_EQ(cheaper_and_slower.answer, Answer::yes);
  EXPECT_LT(cheaper_and_slower.premium.value, 0);
}

TEST(Decision, ProvesNothingFromTooFewLaunches) {
  const Decision few = decided(2e11, 1e11, question(), 4);
  EXPECT_EQ(few.answer, Answer::not_proven);
  EXPECT_EQ(few.reason, AnswerReason::few);
  EXPECT_EQ(few.more_launches, 1U);
  EXPECT_TRUE(few.pays);
  const Decision single = decided(2e11, 1e11, question(), 1);
  EXPECT_EQ(single.reason, AnswerReason::few);
  EXPECT_FALSE(single.ratio.low);
  EXPECT_THAT(to_document(single, DecisionFormat::text, Language::english),
              HasSubstr("A single launch has no likely range."));
}

TEST(DecisionPage, HasNoRangeThatIsNoise) {
  const Decision noisy = decided(1.3e11, 1e11, question(), 6, 0.39);
  ASSERT_EQ(noisy.reason, AnswerReason::noise);
  const std::string text = to_document(noisy, DecisionFormat::markdown, Language::english);
  EXPECT_THAT(text, HasSubstr("too noisy to compare"));
  EXPECT_THAT(text, testing::Not(HasSubstr("anything from")));
}

TEST(Decision, TellsNoiseFromALackOfLaunches) {
  const Decision noisy = decided(1.3e11, 1e11, question(), 6, 0.3);
  EXPECT_EQ(noisy.answer, Answer::not_proven);
  EXPECT_EQ(noisy.reason, AnswerReason::noise);
  EXPECT_FALSE(noisy.more_launches);
  EXPECT_GT(noisy.variation, 0.1);
  const Decision more = decided(1.12e11, 1e11, question(), 6, 0.04);
  EXPECT_EQ(more.reason, AnswerReason::more);
  ASSERT_TRUE(more.more_launches);
  EXPECT_GE(*more.more_launches, 1U);
  EXPECT_LE(*more.more_launches, 30U);
  const Decision close =
      decided(2e11, 1e11, question(20 * decided(2e11, 1e11).premium.value + 20.0001, 20));
  EXPECT_EQ(close.answer, Answer::not_proven);
  EXPECT_EQ(close.reason, AnswerReason::close);
}

TEST(Decision, SaysYesOnlyOfSeveralPairsOrSessions) {
  DecisionOptions with = question();
  with.one_pair = false;
  auto a = launches_on(2e11, 0);
  auto b = launches_on(1e11, 1);
  const Decision one = decide(a, b, with);
  EXPECT_EQ(one.answer, Answer::not_proven);
  EXPECT_EQ(one.reason, AnswerReason::one_session);
  const std::string page = to_document(one, DecisionFormat::text, Language::english);
  EXPECT_THAT(page, HasSubstr("--one-pair"));
  EXPECT_THAT(page, HasSubstr("on this pair, that day"));
  EXPECT_THAT(page, HasSubstr("REST=3h sh measure.sh anew"));
  EXPECT_EQ(decide(b, a, with).answer, Answer::no);
  for (auto* side : {&a, &b}) {
    for (std::size_t i = 0; i < side->size(); ++i) *(*side)[i].time_s += i < 6 ? 0 : 3 * 3600;
  }
  const Decision two = decide(a, b, with);
  EXPECT_EQ(two.units, 2U);
  EXPECT_EQ(two.answer, Answer::yes);
}

/// Two sessions of a side, which differ by about 6 %.
Decision decided_of_sessions() {
  auto a = launches_on(1.12e11, 0, 6, 0.02);
  auto b = launches_on(1e11, 1, 6, 0.02);
  for (auto* side : {&a, &b}) {
    for (std::size_t i = 0; i < side->size(); ++i) *(*side)[i].time_s += i < 6 ? 0 : 3 * 3600;
  }
  return decide(a, b, question());
}

TEST(Decision, AsksForMoreUnitsWhereTheseAreWhatVaries) {
  const Decision decision = decided_of_sessions();
  EXPECT_EQ(decision.reason, AnswerReason::more);
  EXPECT_FALSE(decision.more_launches);
  // Each session's sum of three launches: 3 x 2 % x 84 % between them, over the root of 2.
  EXPECT_NEAR(decision.variation, 0.036, 0.003);
  EXPECT_THAT(to_document(decision, DecisionFormat::text, Language::english),
              HasSubstr("REST=3h sh measure.sh anew"));
}

TEST(Decision, CountsWorkInTimeAndMoney) {
  DecisionOptions with = question(30, 20);
  with.tokens_total = 4096.0 * 8 * 64 * 5000;
  const Decision decision = decided(2e11, 1e11, with);
  ASSERT_EQ(decision.works.size(), 3U);
  const Work& run = decision.works[1];
  EXPECT_EQ(run.kind, "run");
  EXPECT_EQ(run.steps, 5000);
  const ProjectionRow& row = decision.projection.rows.back();
  EXPECT_NEAR(run.a_s, 5000 * row.a->time.step_s, 1e-9);
  EXPECT_NEAR(*run.a_cost, 30 * 64 * run.a_s / 3600, 1e-9);
  EXPECT_NEAR(run.saved_cost->value, *run.b_cost - *run.a_cost, 1e-9);
  EXPECT_LT(*run.saved_cost->low, run.saved_cost->value);
  EXPECT_NEAR(decision.works[2].b_s, 730 * 3600, 1);
  with.tokens_total.reset();
  with.steps = 5000;
  EXPECT_EQ(decided(2e11, 1e11, with).works[1].steps, 5000);
}

TEST(Decision, FindsFromHowManyNodesItPays) {
  DecisionOptions with = question();
  // Computing falls behind as nodes grow? No: it stays; the share 2(p-1)/p of the network grows.
  with.projection.values = {2, 4, 8, 64};
  with.projection.job.tokens_per_gpu = 1 << 17;
  const Decision everywhere = decided(2e11, 1e11);
  EXPECT_EQ(everywhere.paying[0].spans.size(), 1U);
  EXPECT_EQ(everywhere.paying[0].spans[0].from, 8);
  EXPECT_EQ(everywhere.paying[0].spans[0].to, 64);
  const Decision from = decided(2e11, 1e11, with);
  const PayingNodes& none = from.paying[0];
  ASSERT_EQ(none.spans.size(), 1U);
  // B - A is (p-1)/p x 0.16 s and 5 % of A is 0.0994 + (p-1)/p x 0.008 s: from p = 3 on.
  EXPECT_EQ(none.spans[0].from, 3);
  EXPECT_EQ(none.spans[0].to, 64);
  EXPECT_EQ(from.paying[1].kind, "assumed");
  EXPECT_TRUE(from.paying[2].spans.empty()) << "all of it is hidden behind computing";
}

TEST(Decision, SearchesTheAssumptionsThatFlipIt) {
  const Decision decision = decided(2e11, 1e11);
  // The step difference is 5 % of A's where computing takes 0.157 / 0.05 - 0.1575 s: 48 times as
  // much as now. 65536 tokens are 16 times.
  EXPECT_FALSE(flip_of(decision, "tokens_per_gpu").at);
  // Hidden is at most 2/3 of the computing, so overlap does not flip it.
  EXPECT_FALSE(flip_of(decision, "overlap").at);
  DecisionOptions with = question(33, 20);
  with.projection.origins["mfu"] = "given";
  const Decision priced = decided(2e11, 1e11, with);
  const Flip& tokens = flip_of(priced, "tokens_per_gpu");
  // (c + 0.315) / (c + 0.1575) = 1.65: c = 0.0848 s, which 5590 tokens take.
  ASSERT_TRUE(tokens.at);
  EXPECT_NEAR(*tokens.at, 5590, 60);
  EXPECT_TRUE(tokens.upwards);
  EXPECT_EQ(tokens.origin, "default");
  const Flip& mfu = flip_of(priced, "mfu");
  EXPECT_NEAR(*mfu.at, 0.4 * 4096 / *tokens.at, 1e-3);
  EXPECT_FALSE(mfu.upwards);
  EXPECT_EQ(mfu.origin, "given");
  EXPECT_EQ(*flip_of(priced, "rails").at, 2);
  for (std::size_t i = 1; i < priced.flips.size(); ++i) {
    EXPECT_LE(priced.flips[i - 1].distance, priced.flips[i].distance);
  }
  DecisionOptions sharded = question();
  sharded.projection.job.parallel = Parallel::sharded;
  EXPECT_THROW(flip_of(decided(2e11, 1e11, sharded), "bucket_bytes"), std::runtime_error);
}

TEST(Decision, DoesNotSearchBeyondWhatWasMeasured) {
  // Messages of at most 25 MiB / 8 nodes, and down to 25 MiB / 64: 16 rails' would be smaller.
  std::vector<std::vector<Launch>> sides;
  for (const double rate : {2e11, 1e11}) {
    std::vector<Launch> list;
    for (int i = 0; i < 6; ++i) {
      const double one = rate * (1 + 0.001 * i);
      list.push_back(launch_of(bandwidth_report({{400'000, one}, {4'000'000, one}}, i)));
      list.push_back(launch_of(latency_report({{8, 1000.0 + i + rate / 1e12}}, i)));
    }
    sides.push_back(std::move(list));
  }
  const Decision decision = decide(sides[0], sides[1], question());
  EXPECT_TRUE(flip_of(decision, "rails").cut_short);
  EXPECT_EQ(flip_of(decision, "rails").to, 1);
}

TEST(Decision, NamesAllThatIsMissingAndHowToMeasureIt) {
  DecisionOptions with = question();
  with.projection.job.stragglers = Stragglers::collective;
  std::vector<Launch> a{launch_of(bandwidth_report({{8, 1e9}, {64, 1e9}}))};
  a.push_back(launch_of(latency_report({{8, 1000}}, 1, 200)));
  report::Report failed = latency_report({{8, 1000}}, 3);
  failed.error = "the peer is gone";
  std::vector<Launch> b{launch_of(latency_report({{8, 1000}}, 2)), launch_of(failed, "f.json")};
  const std::string text = refusal_to_decide(a, b, with);
  EXPECT_THAT(
      text, ContainsRegex("InfiniBand: [^\n]* 405844 to 3246753 bytes[^\n]* 'bw' covers 8 to 64"));
  EXPECT_THAT(text, ContainsRegex(
                        "InfiniBand: [^\n]* 64 links [^\n]* 1000 samples [^\n]* 8 bytes have 200"));
  EXPECT_THAT(text, ContainsRegex("Ethernet: [^\n]*no document of 'bw'"));
  EXPECT_THAT(text, ContainsRegex("Ethernet: f.json [^\n]*: the peer is gone"));
  EXPECT_THAT(text, HasSubstr("rdmabench bw HOST --op write --size 32K,64K,128K"));
  EXPECT_THAT(text, HasSubstr("rdmabench decide --plan"));
}

TEST(Decision, RefusesOptionsThatExcludeEachOther) {
  const auto a = launches_on(2e11, 0);
  const auto b = launches_on(1e11, 1);
  EXPECT_THAT(refusal_to_decide(a, b, question(30, 0)), HasSubstr("only one of them is given"));
  DecisionOptions with = question();
  with.steps = with.tokens_total = 1e6;
  EXPECT_THAT(refusal_to_decide(a, b, with),
              HasSubstr("`steps` and `tokens_total` are both given"));
  with = question();
  with.projection.b_name = with.projection.a_name;
  EXPECT_THAT(refusal_to_decide(a, b, with), HasSubstr("a name of its own"));
  with = question();
  with.projection.axis = Axis::tokens;
  EXPECT_THAT(refusal_to_decide(a, b, with), HasSubstr("several values of `tokens_per_gpu`"));
  EXPECT_THAT(refusal_to_decide(a, a, question()), HasSubstr("are the same launch"));
}

TEST(Decision, SaysWhatDisturbedTheLaunchesAndInWhichOrderTheyRan) {
  std::vector<Launch> a = launches_on(2e11, 0);
  a[0].suspicions = {"noise", "migration"};
  a[2].suspicions = {"noise"};
  std::vector<Launch> b = launches_on(1e11, 1);
  for (Launch& one : b) *one.time_s += 1e6;
  const Decision decision = decide(a, b, question());
  EXPECT_EQ(decision.projection.a.suspect_launches, 2U);
  EXPECT_EQ(decision.projection.a.suspected.at("noise"), 2U);
  EXPECT_EQ(decision.projection.b->suspect_launches, 0U);
  EXPECT_TRUE(decision.order.separate);
  const std::string text = to_document(decision, DecisionFormat::markdown, Language::english);
  EXPECT_THAT(text, ContainsRegex("launches of InfiniBand [^\n]*before all of Ethernet"));
  EXPECT_THAT(text, has_all("2 of them disturbed", "processor (1)", "noise of the machine (2)"));
  EXPECT_FALSE(decided(2e11, 1e11).order.separate);
  EXPECT_THAT(to_document(decision, DecisionFormat::markdown, Language::korean),
              has_all("측정 6회. 그중 2회가", "프로세서로 옮겨감 1회", "시스템 잡음 2회"));
}

TEST(Decision, SaysFirstThatLaunchesWereNotRdma) {
  std::vector<Launch> b = launches_on(1e11, 1);
  for (Launch& one : b)
    one.not_rdma = "NOT RDMA: measured over ofi, provider tcp, device eth0, why";
  const Decision decision = decide(launches_on(2e11, 0), b, question());
  const std::string first =
      "NOT RDMA: measured over ofi, provider tcp, device eth0, why: 0 of 12 launches of InfiniBand "
      "and 12 of 12 of Ethernet.";
  const auto text = [&](DecisionFormat format, Language language = Language::english) {
    return to_document(decision, format, language, "now");
  };
  EXPECT_EQ(nlohmann::json::parse(text(DecisionFormat::json))["not_rdma"], first);
  const std::string markdown = text(DecisionFormat::markdown);
  EXPECT_LT(markdown.find(first), markdown.find("**YES**"));
  const std::string plain = text(DecisionFormat::text);
  EXPECT_LT(plain.find("NOT RDMA"), plain.find("YES"));
  EXPECT_THAT(text(DecisionFormat::html), HasSubstr("\"WARN\""));
  EXPECT_THAT(text(DecisionFormat::text, Language::korean), HasSubstr("RDMA가 아닙니다(NOT RDMA"));
  EXPECT_THAT(to_document(decided(2e11, 1e11), DecisionFormat::text, Language::english),
              Not(HasSubstr("RDMA")));
}

TEST(Decision, CountsASingleLaunchInTheSingular) {
  std::vector<Launch> a = launches_on(2e11, 0, 1);
  for (Launch& one : a) one.suspicions = {"noise"};
  const std::string text = to_document(decide(a, launches_on(1e11, 1, 1), question()),
                                       DecisionFormat::markdown, Language::english);
  EXPECT_THAT(
      text,
      ContainsRegex("InfiniBand: 1 launch of latency [^\n]*1 of bandwidth, both [^\n]*\\(2\\)"));
  EXPECT_THAT(text, ContainsRegex("Ethernet: 1 launch of latency [^\n]*1 of bandwidth; no sign"));
}

TEST(Decision, DoesNotKnowWhetherWhatNobodyWatchedWasDisturbed) {
  std::vector<Launch> a = launches_on(2e11, 0);
  std::vector<Launch> b = launches_on(1e11, 1);
  for (Launch& one : a) one.watched = false;
  b[0].suspicions = {"noise"};
  b[1].watched = b[2].watched = false;
  const Decision decision = decide(a, b, question());
  EXPECT_EQ(decision.projection.a.unwatched_launches, 12U);
  const std::string text = to_document(decision, DecisionFormat::markdown, Language::english);
  EXPECT_THAT(text,
              has_all("InfiniBand: 6 launches of latency and 6 of bandwidth; unknown whether",
                      "1 of them disturbed", "Ethernet: of 2 further launches it is unknown"));
  EXPECT_THAT(text, Not(testing::AnyOf(HasSubstr("no sign"), HasSubstr("none of them"))));
}

TEST(Decision, PutsTheNoiseBeforeMoreLaunches) {
  std::vector<Launch> a = launches_on(1.12e11, 0, 6, 0.04);
  const std::vector<Launch> b = launches_on(1e11, 1, 6, 0.04);
  ASSERT_EQ(decide(a, b, question()).reason, AnswerReason::more);
  a[0].suspicions = {"noise"};
  const Decision decision = decide(a, b, question());
  EXPECT_EQ(decision.reason, AnswerReason::disturbed);
  EXPECT_FALSE(decision.more_launches);
  const Page page = make_page(decision, Language::english);
  EXPECT_TRUE(std::get<Phrase>(page.sections[0].blocks[0])
                  .text.starts_with("Remove the noise first: 1 of 24 launches were disturbed"));
  const auto next = std::ranges::find(page.sections, std::string("next"), &PageSection::key);
  EXPECT_EQ(std::get<PageCommand>(next->blocks[0]).command, "rdmabench doctor");
}

TEST(Decision, BeginsWithTheSentenceThatDecides) {
  const auto first = [](const Decision& decision) {
    const Page page = make_page(decision, Language::english);
    return std::get<Phrase>(page.sections.at(0).blocks.at(0)).text;
  };
  EXPECT_TRUE(first(decided(2e11, 1e11)).starts_with("At 64 nodes a step takes"));
  EXPECT_TRUE(first(decided(2e11, 1e11, question(30, 20)))
                  .starts_with("At 64 nodes and these prices a step costs"));
  EXPECT_TRUE(first(decided(2e11, 1e11, question(), 4)).starts_with("There is no verdict from"));
}

TEST(Decision, SaysWhenWhereAndByWhatItWasMeasured) {
  std::vector<Launch> a = launches_on(2e11, 0);
  for (Launch& one : a) one.facts["environment.client.rdmabench_version"] = "0.3.0";
  a[0].facts["environment.server.rdmabench_version"] = "0.2.0";
  std::vector<Launch> b = launches_on(1e11, 1);
  for (Launch& one : b) {
    one.facts["config.tool"] = "perftest";
    one.pair = " ";
    one.time_s.reset();
  }
  const std::string text =
      to_document(decide(a, b, question()), DecisionFormat::text, Language::english);
  EXPECT_THAT(text, has_all("2026-11-21 00:00 to 00:22 UTC", "rdmabench 0.2.0", "rdmabench 0.3.0",
                            "perftest", "node1 to node2", "mlx5_0:1",
                            "12: bw0-0.json to lat0-5.json", "unknown"));
}

TEST(Decision, WritesMoneyInItsCurrency) {
  const auto text = [](const std::string& currency, Language language = Language::english) {
    DecisionOptions with = question(30, 20);
    with.currency = currency;
    return to_document(decided(1e11, 2e11, with), DecisionFormat::markdown, language);
  };
  EXPECT_THAT(text("USD"), HasSubstr("costs 30.00 USD for an hour and one of Ethernet 20.00 USD"));
  EXPECT_THAT(text("$"), has_all("costs $30.00 for an hour", "-$"));
  EXPECT_THAT(text("원", Language::korean), HasSubstr("30.00원"));
  EXPECT_THAT(text(""), HasSubstr("costs 30.00 for an hour"));
  const auto launches = launches_on(2e11, 0);
  for (const char* const bad : {"5", "a currency of many words", "\x1b[0m"}) {
    DecisionOptions with = question();
    with.currency = bad;
    EXPECT_THAT(refusal_to_decide(launches, launches, with), HasSubstr("`currency`")) << bad;
  }
}

TEST(Decision, WritesNumbersAsPeopleDo) {
  DecisionOptions with = question();
  with.projection.job.parameters = 8.03e9;
  with.projection.job.bytes_per_s_in_node = 900e9;
  with.job.clear();
  const auto text = [&](Language language) {
    return to_document(decided(2e11, 1e11, with), DecisionFormat::markdown, language);
  };
  EXPECT_THAT(text(Language::english),
              has_all("A model of 8.03 billion parameters", "parameters: 8.03 billion",
                      "peak of one GPU: 989 TFLOP/s", "peak in use: 40 %", "one all-reduce: 25 MiB",
                      "transfers in a node: 900 GB/s"));
  EXPECT_THAT(text(Language::korean), has_all("매개변수 80.3억개", "25 MiB", "40%"));
}

TEST(Decision, SaysWhatFlipsItOnlyWhereSomethingDoes) {
  const auto text = [](const Decision& decision) {
    return to_document(decision, DecisionFormat::markdown, Language::english);
  };
  const std::string none = text(decided(2e11, 1e11));
  EXPECT_THAT(none, HasSubstr("no value that was tried"));
  EXPECT_THAT(none, Not(HasSubstr("the nearest flip comes first")));
  EXPECT_THAT(none, HasSubstr("At 64 nodes no value"));
  EXPECT_THAT(text(decided(2e11, 1e11, question(33, 20))),
              HasSubstr("the nearest flip comes first"));
}

/// Names in braces.
std::set<std::string> arguments_of(std::string_view text) {
  std::set<std::string> names;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    names.emplace(text.substr(at + 1, text.find('}', at) - at - 1));
  }
  return names;
}

bool has_hangul(std::string_view text) {
  return report::display_width(text) > 0 &&
         text.find_first_of("\xEA\xEB\xEC\xED") != std::string_view::npos;
}

TEST(DecisionTexts, AreInBothLanguagesWithTheSameArguments) {
  std::set<std::string_view> keys;
  for (const TextRow& row : decision_texts()) {
    SCOPED_TRACE(row.key);
    EXPECT_TRUE(keys.insert(row.key).second) << "twice";
    EXPECT_FALSE(row.english.empty());
    EXPECT_FALSE(row.korean.empty());
    EXPECT_EQ(arguments_of(row.english), arguments_of(row.korean));
    EXPECT_FALSE(has_hangul(row.english));
    // What has words in English has words in Korean; "ms" alone is none.
    std::string_view words = row.english;
    if (words.find('{') == std::string_view::npos) {
      EXPECT_TRUE(has_hangul(row.korean));
    }
  }
  EXPECT_GT(keys.size(), 100U);
  EXPECT_FALSE(find_text("no such text"));
  EXPECT_EQ(find_text("assumed_optimizer, input, checkpoints"),
            Text::assumed_optimizer_input_checkpoints);
}

/// Of many kinds, so that every text is used.
std::vector<Decision> all_kinds() {
  std::vector<Decision> list;
  list.push_back(decided(2e11, 1e11));
  list.push_back(decided(1e11, 2e11));
  list.push_back(decided(1.3e11, 1e11, question(), 6, 0.3));
  list.push_back(decided(1e11, 1.3e11, question(20, 21), 6, 0.3));
  list.push_back(decided(1.12e11, 1e11, question(), 6, 0.04));
  list.push_back(decided_of_sessions());
  list.push_back(decided(2e11, 1e11, question(33, 20)));
  list.push_back(decided(2e11, 1e11, question(40, 20), 1));
  list.push_back(decided(1e11, 2e11, question(20, 20), 1));
  list.push_back(decided(1e11, 2e11, question(10, 20)));
  DecisionOptions alone = question(10, 20);
  alone.projection.values = {1};
  list.push_back(decided(2e11, 1e11, alone));
  DecisionOptions many = question();
  many.projection.values = {2, 3, 4, 5, 6, 8, 16, 32, 64, 128, 1024};
  many.projection.job.overlap = 0.4;
  many.projection.job.parallel = Parallel::sharded;
  many.projection.extrapolate = true;
  many.projection.job.bytes_per_s_in_node = 1e12;
  many.projection.origins = {{"parameters", "model llama-3-8b"}, {"layers", "given"}};
  many.steps = 123'456;
  list.push_back(decided(2e11, 1e11, many));
  list.back().projection.a.left_out = {{"latency", "128, 512"}, {"bandwidth", "64"}};
  DecisionOptions tree = question();
  tree.projection.job.algorithm = Algorithm::tree;
  for (const TimeSource source : {TimeSource::latency, TimeSource::bandwidth}) {
    tree.projection.source = source;
    list.push_back(decided(2e11, 1e11, tree));
  }
  return list;
}

TEST(DecisionPage, HasABasisInKorean) {
  std::set<std::string> keys;
  for (const Decision& decision : all_kinds()) {
    const Page page = make_page(decision, Language::korean);
    ASSERT_EQ(page.sections.back().key, "basis");
    for (const PageBlock& block : page.sections.back().blocks) {
      if (const auto* sentence = std::get_if<Phrase>(&block)) {
        EXPECT_TRUE(has_hangul(sentence->text)) << sentence->text;
      }
      const auto* small = std::get_if<PageSmall>(&block);
      if (small == nullptr) continue;
      for (const Phrase& one : small->phrases) {
        EXPECT_TRUE(has_hangul(one.text)) << one.text;
        EXPECT_THAT(one.text, Not(testing::AnyOf(HasSubstr("default"), HasSubstr("given"),
                                                 HasSubstr("model "), HasSubstr("measured"))));
        keys.emplace(decision_texts()[static_cast<std::size_t>(one.key)].key);
      }
    }
  }
  for (const TextRow& row : decision_texts()) {  // what could be said of it was said
    const bool in_basis = row.key.starts_with("assumed_") || row.key.starts_with("basis_");
    if (in_basis && row.key != "basis_model" && row.key != "basis_tail") {
      EXPECT_TRUE(keys.contains(std::string(row.key))) << row.key;
    }
  }
  for (const Text word :
       {Text::stragglers_none, Text::stragglers_collective, Text::stragglers_step}) {
    EXPECT_TRUE(has_hangul(phrase(word, Language::korean).text));
  }
}

TEST(DecisionPage, HasTheSameContentInEveryFormat) {
  for (const Decision& decision : all_kinds()) {
    for (const Language language : {Language::english, Language::korean}) {
      const Page page = make_page(decision, language);
      const auto json =
          nlohmann::json::parse(to_document(decision, DecisionFormat::json, language));
      const std::string html = to_document(decision, DecisionFormat::html, language, "<now>");
      const std::size_t begin = html.find("id=\"data\">") + std::strlen("id=\"data\">");
      const auto data =
          nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
      EXPECT_EQ(data["generated"], "<now>");
      ASSERT_EQ(data["documents"].size(), 1U);
      EXPECT_EQ(data["documents"][0]["body"], json);
      const std::string markdown = to_document(decision, DecisionFormat::markdown, language);
      for (const PageSection& section : page.sections) {
        for (const PageBlock& block : section.blocks) {
          if (const auto* sentence = std::get_if<Phrase>(&block)) {
            EXPECT_THAT(markdown, HasSubstr(report::escaped_for_markdown(sentence->text)));
            EXPECT_THAT(json["page"].dump(), HasSubstr(nlohmann::json(sentence->text).dump()));
          }
        }
      }
      EXPECT_EQ(json["page"]["sections"].size(), page.sections.size());
      EXPECT_THAT(data.dump(), Not(HasSubstr("nan")));
    }
  }
}

TEST(DecisionPage, TracesEveryNumberToTheJson) {
  const auto check = [](const nlohmann::json& phrase) {
    std::string text = phrase["text"];
    const auto remove = [&text](const std::string& part) {
      for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) {
        text.replace(at, part.size(), "_");
      }
    };
    remove("ZeRO-3");         // a name, and the word for percent
    remove("'node2 node4'");  // an example
    remove(" 100 cases");
    remove(" 100번 중");
    std::vector<std::string> shown;
    for (const auto& value : phrase["values"]) shown.push_back(value["shown"]);
    std::sort(shown.begin(), shown.end(),
              [](const auto& x, const auto& y) { return x.size() > y.size(); });
    for (const std::string& one : shown) {
      if (!one.empty()) remove(one);
    }
    EXPECT_EQ(text.find_first_of("0123456789"), std::string::npos) << phrase["text"];
  };
  const std::function<void(const nlohmann::json&)> walk = [&](const nlohmann::json& node) {
    if (node.is_object() && node.contains("text") && node.contains("values")) return check(node);
    for (const auto& child : node) {
      if (child.is_structured()) walk(child);
    }
  };
  for (const Decision& decision : all_kinds()) {
    for (const Language language : {Language::english, Language::korean}) {
      walk(nlohmann::json::parse(to_document(decision, DecisionFormat::json, language))["page"]);
    }
  }
}

TEST(DecisionPage, TextHasAsManyColumnsAsAreGiven) {
  for (const Decision& decision : all_kinds()) {
    for (const Language language : {Language::english, Language::korean}) {
      for (const std::size_t width : {80U, 60U, 40U}) {
        const std::string text = to_document(decision, DecisionFormat::text, language, "", width);
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
          EXPECT_LE(report::display_width(line), width) << line;
        }
      }
    }
  }
}

TEST(DecisionPage, BreaksACommandWhereAShellTakesIt) {
  DecisionOptions with = question();
  with.new_plan_command =
      "rdmabench decide --plan --a-name 'It'\\''s --x' --b-name Ethernet --model llama-3-8b --nodes "
      "8:64 --tokens 8192 -o measure.sh";
  with.new_run_command =
      "SERVER_A=HOST SERVER_B=HOST DIR_A=infiniband-new DIR_B=ethernet-new sh measure.sh";
  std::vector<Launch> later = launches_on(1e11, 1);
  for (Launch& one : later) *one.time_s += 1e6;
  const std::string text = to_document(decide(launches_on(2e11, 0), later, with),
                                       DecisionFormat::text, Language::english);
  EXPECT_THAT(text,
              HasSubstr("  rdmabench decide --plan --a-name 'It'\\''s --x' --b-name Ethernet \\\n"
                        "    --model llama-3-8b --nodes 8:64 --tokens 8192 -o measure.sh\n"));
  EXPECT_THAT(text, HasSubstr("DIR_B=ethernet-new sh \\\n    measure.sh\n"));
}

TEST(DecisionPage, KeepsTheColumnsOfMoneyAndPutsTheRangeBelow) {
  DecisionOptions with = question(33, 20);
  with.projection.a_name = "InfiniBand NDR";
  with.projection.b_name = "Ethernet 100G";
  with.steps = 5'000'000;
  const std::string text =
      to_document(decided(2e11, 1e11, with, 6, 0.02), DecisionFormat::text, Language::english);
  EXPECT_THAT(text, ContainsRegex("\n1,000 steps, time  .*[0-9]\n +\\([0-9.,]+ to "));
  EXPECT_THAT(text, Not(testing::AnyOf(HasSubstr("- 1,000 steps"), HasSubstr("- 64: "))));
}

TEST(DecisionPage, NamesCannotBreakIt) {
  DecisionOptions with = question();
  with.projection.a_name = "<script>\"'&|*\n";
  const Decision decision = decided(2e11, 1e11, with);
  const std::string html = to_document(decision, DecisionFormat::html, Language::english);
  EXPECT_THAT(html, Not(HasSubstr("<script>\\\"")));
  EXPECT_THAT(html, HasSubstr("\\u003cscript\\u003e\\\"'\\u0026|*"));
  EXPECT_THAT(to_document(decision, DecisionFormat::markdown, Language::english),
              HasSubstr("\\<script\\>\"'\\&\\|\\*?"));
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis
