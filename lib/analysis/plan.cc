#include "rdmabench/analysis/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/power.h"
#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/measure/statistics.h"
#include "rdmabench/report/documents.h"
#include "report/sections.h"
#include "results/row.h"
#include "results/text_table.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

std::optional<std::uint32_t> need(double deviation, double difference, const Settings& settings) {
  const auto launches = launches_needed({.deviation = deviation,
                                         .difference = std::log1p(difference),
                                         .margin = settings.margin,
                                         .alpha = settings.alpha,
                                         .power = settings.power});
  if (!launches) return std::nullopt;
  return std::max(*launches, kMinLaunches);
}

void check(double difference, const Settings& settings) {
  settings.check();
  if (difference >= 0 && difference < 10) return;
  throw Error(Fault::usage, fmt::format("invalid `true_difference` {:g}", difference),
              "It lies between 0 and 1000 %.");
}

void conclude(LaunchPlan& plan) {
  std::uint32_t most = 0;
  for (const PlannedQuantity& one : plan.quantities) {
    if (!one.launches) return;
    most = std::max(most, *one.launches);
  }
  plan.launches = most;
}

report::Json to_document(const LaunchPlan& plan) {
  report::Json json;
  json["schema"] = report::kCompareSchema;
  json["plan"] = {{"margin", plan.settings.margin},
                  {"alpha", plan.settings.alpha},
                  {"power", plan.settings.power},
                  {"true_difference", plan.difference},
                  {"pilot_launches", plan.pilot_launches},
                  {"launches_per_side", report::or_null(plan.launches)},
                  {"quantities", report::Json::array()}};
  for (const PlannedQuantity& one : plan.quantities) {
    json["plan"]["quantities"].push_back({{"what", one.what},
                                          {"log_stddev", one.variation},
                                          {"launches_per_side", report::or_null(one.launches)}});
  }
  json["notes"] = plan.notes;
  return json;
}

}  // namespace

LaunchPlan plan_for(double variation, double difference, const Settings& settings) {
  check(difference, settings);
  refuse_if(!(variation > 0 && variation < 10), fmt::format("invalid `variation` {:g}", variation),
            "It lies between 0 and 1000 %, as in `variation` 2%.");
  LaunchPlan plan;
  plan.settings = settings;
  plan.difference = difference;
  const double deviation = log_deviation(variation);
  plan.quantities.push_back({"as given", deviation, need(deviation, difference, settings)});
  conclude(plan);
  return plan;
}

LaunchPlan plan_from(const std::vector<Launch>& pilot, double difference,
                     const ComparisonOptions& options) {
  check(difference, options.settings);
  LaunchPlan plan;
  plan.settings = options.settings;
  plan.difference = difference;
  std::vector<const Launch*> launches;
  for (const Launch& launch : pilot) {
    if (!launch.error) launches.push_back(&launch);
  }
  plan.pilot_launches = static_cast<std::uint32_t>(launches.size());
  std::size_t refused = 0;
  std::size_t fewest = SIZE_MAX;
  for (const auto& [key, sample] : collect_quantities(launches, options.metrics)) {
    if (!sample.refusal.empty() || sample.points.size() < 2) {
      ++refused;
      continue;
    }
    fewest = std::min(fewest, sample.points.size());
    const std::vector<double> values = logs(sample);
    const double deviation = measure::stddev(values);
    plan.quantities.push_back({fmt::format("{} {} {} of {}", key.operation, key.test,
                                           name(key.metric), format_size(key.size_bytes)),
                               deviation, need(deviation, difference, options.settings)});
  }
  refuse_if(plan.quantities.empty(), "no quantity has two launches in the pilot",
            "Run the same measurement five times, each in a new process.");
  if (refused > 0) {
    plan.notes.push_back(
        fmt::format("{} quantities have too few samples or launches and are left out.", refused));
  }
  if (fewest < kMinLaunches) {
    plan.notes.push_back(fmt::format(
        "A variation estimated from {} launches is very uncertain: give five.", fewest));
  }
  conclude(plan);
  return plan;
}

std::string to_json(const LaunchPlan& plan) {
  return report::document_text(to_document(plan));
}

std::string to_table(const LaunchPlan& plan) {
  return report::to_text(
             {"", std::string(report::kCompareSchema), report::body_of(to_document(plan))},
             report::kUsualWidth) +
         fmt::format(
             "Of the noise it is assumed that it is normal and alike on both sides; at least {} launches. "
             "The noise of real machines is not: take some more.\n",
             kMinLaunches);
}

}  // namespace rdmabench::inline v1::analysis
