// How often decide says YES where A is worth no more than the limit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/decision.h"
#include "studies.h"

namespace rdmabench::inline v1::statistics {
namespace {

using analysis::Launch;
using Random = std::mt19937_64;

constexpr std::uint64_t kLargest = 1 << 30;
constexpr std::size_t kLaunches = 6;

Launch launch_on(const char* test, double log, double time_s, std::size_t pair) {
  Launch launch;
  launch.test = test;
  launch.pair = fmt::format("client server{}", pair);
  launch.time_s = time_s;
  const bool latency = launch.test == "latency";
  for (const std::uint64_t size : {std::uint64_t{8}, kLargest}) {
    analysis::Row row;
    row.operation = "write";
    row.kind = latency ? "half_round_trip" : "one_way";
    row.size_bytes = size;
    if (latency) {
      row.percentiles = {{50, 1000 * std::exp(log), true}};
    } else {
      row.bits_per_s = 1e11 * std::exp(-log);
    }
    launch.rows.push_back(std::move(row));
  }
  static std::uint64_t number = 0;
  launch.source = launch.document = fmt::format("{}", ++number);
  return launch;
}

struct Setting {
  std::size_t pairs;
  std::size_t days;
  bool one_pair;
  std::size_t most = kLaunches;  ///< another number: of the first unit, and of the others 1
};

/// A side whose launches of a pair and day share an effect of 3 %, beside 0.5 % of their own.
std::vector<Launch> side_of(Random& random, const Setting& setting, double slower) {
  constexpr double kDay = 86400;
  std::normal_distribution<double> shared(0, 0.03);
  std::normal_distribution<double> own(0, 0.005);
  const std::size_t units = setting.pairs * setting.days;
  std::vector<Launch> launches;
  for (std::size_t unit = 0; unit < units; ++unit) {
    const double effect = slower + shared(random);
    const std::size_t alike = std::max<std::size_t>(1, kLaunches / units);
    const std::size_t each = setting.most == kLaunches ? alike : unit == 0 ? setting.most : 1;
    for (std::size_t i = 0; i < each; ++i) {
      const double time_s =
          kDay * static_cast<double>(unit / setting.pairs) + 60 * static_cast<double>(i);
      for (const char* test : {"latency", "bandwidth"}) {
        launches.push_back(launch_on(test, effect + own(random), time_s, unit % setting.pairs));
      }
    }
  }
  return launches;
}

void add_setting(std::vector<Outcome>& outcomes, std::uint64_t trials, std::uint64_t seed,
                 const Setting& setting) {
  analysis::DecisionOptions options;
  options.one_pair = setting.one_pair;
  options.projection.job.parameters = 1e9;
  options.projection.job.flops_per_gpu = 1e20;  // the step is all network
  options.projection.job.stragglers = analysis::Stragglers::none;
  options.projection.values = {64};
  const auto yes = [&](double slower) {
    Random random(seed);
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < trials; ++i) {
      const auto a = side_of(random, setting, 0);
      const auto b = side_of(random, setting, slower);
      count += analysis::decide(a, b, options).answer == analysis::Answer::yes ? 1 : 0;
    }
    return rate(count, trials);
  };
  std::string what = fmt::format(
      "{} pair{}, {} day{}{}", setting.pairs, setting.pairs == 1 ? "" : "s", setting.days,
      setting.days == 1 ? "" : "s", setting.one_pair ? ", --one-pair" : "");
  if (setting.most != kLaunches) {
    what += fmt::format(", {} launches of one and 1 of each other", setting.most);
  }
  outcomes.push_back({.setting = what,
                      .quantity = "YES where A is worth no more than the limit",
                      .rate = yes(std::log1p(options.projection.settings.margin)),
                      .at_most = setting.one_pair ? 1 : 0.05,
                      .trials = trials});
  if (setting.most != kLaunches) return;  // minutes
  outcomes.push_back({.setting = what,
                      .quantity = "YES where B takes twice as long",
                      .rate = yes(std::log(2.0)),
                      .trials = trials});
}

}  // namespace

std::vector<Outcome> decide(std::uint64_t trials, std::uint64_t seed) {
  std::vector<Outcome> outcomes;
  for (const Setting& setting :
       {Setting{1, 1, true}, Setting{1, 1, false}, Setting{2, 1, false}, Setting{1, 3, false},
        Setting{3, 2, false}, Setting{3, 1, false, 12}, Setting{10, 1, false, 20}}) {
    add_setting(outcomes, trials, seed, setting);
  }
  return outcomes;
}

}  // namespace rdmabench::inline v1::statistics
