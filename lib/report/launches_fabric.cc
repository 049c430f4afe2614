// What several launches of a fabric say together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "expectation_rows.h"
#include "launches.h"
#include "rdmabench/measure/statistics.h"
#include "row.h"

namespace rdmabench::report {
namespace {

/// Geometric means, with their intervals. False where no launch has a value.
bool set_mean(const LaunchValues& from, const std::string& identity, double& value, double& low,
              double& high) {
  value = low = high = 0;
  const auto found = from.find(identity);
  if (found == from.end()) return false;
  std::vector<double> logs;
  for (const RowValue& one : found->second) logs.push_back(std::log(one.value));
  value = std::exp(measure::mean(logs));
  constexpr double kMost = 1e18;  // that a document may say: two launches may say nothing
  if (logs.size() < 2 || value * std::exp(half_width(logs)) > kMost) return true;
  low = value * std::exp(-half_width(logs));
  high = value * std::exp(half_width(logs));
  return true;
}

/// Each pair of any launch once.
std::vector<PairMeasurement> joined_pairs(std::span<const Document> launches) {
  const LaunchValues rates = launch_values(launches, "bits_per_s", false);
  const LaunchValues times = launch_values(launches, "p50_ns", false);
  const LaunchValues tails = launch_values(launches, "p99_ns", false);
  std::vector<PairMeasurement> joined;
  std::set<std::string> known;
  for (const Document& one : launches) {
    auto at = one.pairs.begin();
    for_each_measured(one, [&](const Measured& row) {
      PairMeasurement pair = *at++;
      const std::string identity = identity_of({one, row}, true);
      if (row.replaced || !known.insert(identity).second) return;
      if (set_mean(pair.latency() ? times : rates, identity, pair.value, pair.low, pair.high)) {
        pair.error.clear();
      }
      set_mean(tails, identity, pair.p99_ns, pair.p99_low_ns, pair.p99_high_ns);
      pair.confirming = false;
      joined.push_back(std::move(pair));
    });
  }
  return joined;
}

bool is_same(const Json& a, const Json& b) {
  return std::ranges::all_of(
      std::array{"part", "a", "b", "rail", "element", "metric", "size_bytes"},
      [&](const char* key) { return any_text_of(a, key) == any_text_of(b, key); });
}

/// The findings of all launches, the most frequent first. The rest is of the first that has a
/// verdict.
Json joined_verdict(std::span<const Document> launches) {
  Json verdict;
  std::vector<std::pair<Json, std::size_t>> findings;  // and in how many launches
  std::vector<std::pair<std::string, std::size_t>> summaries;
  for (const Document& one : launches) {
    const Json& own = object_of(one.body, "verdict");
    if (own.empty()) continue;
    if (verdict.is_null()) verdict = own;
    const std::string summary = text_of(own, "summary");
    auto told = std::ranges::find_if(summaries, [&](auto& a) { return a.first == summary; });
    if (told == summaries.end()) told = summaries.insert(told, {summary, 0});
    ++told->second;
    for (const Json& finding : list_of(own, "findings")) {
      auto known =
          std::ranges::find_if(findings, [&](auto& a) { return is_same(a.first, finding); });
      if (known == findings.end()) known = findings.insert(known, {finding, 0});
      ++known->second;
      if (flag_of(finding, "confirmed")) known->first["confirmed"] = true;
    }
  }
  if (verdict.is_null()) return verdict;
  const auto in_launches = [&](std::size_t count) {
    return fmt::format("in {} of {} launches", count, launches.size());
  };
  std::string summary;
  for (const auto& [text, count] : summaries) {
    summary += fmt::format("{}{} {}", summary.empty() ? "" : "; ", text, in_launches(count));
  }
  verdict["summary"] = summary;
  std::ranges::stable_sort(findings, std::greater(), [](const auto& one) { return one.second; });
  verdict["findings"] = list_of_each(findings, [&](const auto& one) {
    Json finding = one.first;
    finding["launches"] = one.second;
    finding["text"] = fmt::format("{} ({})", text_of(finding, "text"), in_launches(one.second));
    return finding;
  });
  for (const char* const key : {"leads", "withdrawn", "slow_pairs"}) verdict[key] = Json::array();
  return verdict;
}

}  // namespace

void join_fabrics(Document& over, std::span<const Document> launches) {
  over.body.erase("launch");
  over.pairs = joined_pairs(launches);
  over.body["verdict"] = joined_verdict(launches);
  for (const char* const key : {"lost", "expectations"}) {
    Json all = Json::array();
    for (const Document& one : launches) {
      for (const Json& item : list_of(one.body, key)) all.push_back(item);
    }
    over.body.erase(key);
    if (!all.empty() || key == std::string_view("lost")) over.body[key] = std::move(all);
  }
}

}  // namespace rdmabench::report
