// What several launches of a fabric say together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "fabric_document.h"
#include "launches.h"
#include "limits_rows.h"
#include "rdmabench/measure/statistics.h"
#include "results/row.h"

namespace rdmabench::inline v1::report {
namespace {

/// Geometric means, with their intervals, and of how many launches; 0 where none has a value.
std::size_t set_mean(const LaunchValues& from, const std::string& identity, double& value,
                     double& low, double& high) {
  value = low = high = 0;
  const auto found = from.find(identity);
  if (found == from.end()) return 0;
  std::vector<double> logs;
  for (const RowValue& one : found->second) logs.push_back(std::log(one.value));
  value = std::exp(measure::mean(logs));
  constexpr double kMost = 1e18;  // that a document may say: two launches may say nothing
  if (logs.size() < 2 || value * std::exp(half_width(logs)) > kMost) return logs.size();
  low = value * std::exp(-half_width(logs));
  high = value * std::exp(half_width(logs));
  return logs.size();
}

/// Each pair of any launch once. `partly`: how many have a value in some of the launches alone.
std::vector<PairMeasurement> joined_pairs(std::span<const Document> launches, std::size_t& partly) {
  const LaunchValues rates = launch_values(launches, "bits_per_s", false);
  const LaunchValues times = launch_values(launches, "p50_ns", false);
  const LaunchValues tails = launch_values(launches, "p99_ns", false);
  std::map<std::string, std::size_t> recorded;  // in how many launches, with a value or without
  for (const Document& one : launches) {
    std::set<std::string> own;
    for_each_measured(one, [&](const Measured& row) { own.insert(identity_of({one, row}, true)); });
    for (const std::string& identity : own) ++recorded[identity];
  }
  std::vector<PairMeasurement> joined;
  std::set<std::string> known;
  for (const Document& one : launches) {
    auto at = one.pairs.begin();
    for_each_measured(one, [&](const Measured& row) {
      PairMeasurement pair = *at++;
      const std::string identity = identity_of({one, row}, true);
      if (row.replaced || !known.insert(identity).second) return;
      const std::size_t with_value =
          set_mean(pair.latency() ? times : rates, identity, pair.value, pair.low, pair.high);
      if (with_value > 0) pair.error.clear();
      if (with_value > 0 && with_value < recorded[identity]) {
        ++partly;
        if (pair.notes.size() == kMaxNotes) pair.notes.pop_back();
        pair.notes.push_back(
            fmt::format("Only {} of {} launches have a value.", with_value, recorded[identity]));
      }
      set_mean(tails, identity, pair.p99_ns, pair.p99_low_ns, pair.p99_high_ns);
      pair.confirming = false;
      joined.push_back(std::move(pair));
    });
  }
  return joined;
}

std::string identity_of_finding(const Json& finding) {
  std::string text;
  for (const char* key : {"part", "a", "b", "rail", "element", "metric", "size_bytes"}) {
    text += any_text_of(finding, key) + '\n';
  }
  return text;
}

/// The findings of all launches, the most frequent first, and what could not be judged in any. The
/// rest is of the first that has a verdict.
Json joined_verdict(std::span<const Document> launches, std::size_t partly) {
  Json verdict;
  std::vector<std::pair<Json, std::size_t>> findings;  // and in how many launches
  std::map<std::string, std::size_t> known;            // their places
  std::vector<std::pair<std::string, std::size_t>> summaries;
  std::set<std::string> not_judged;
  for (const Document& one : launches) {
    const Json& own = object_of(json_of(one), "verdict");
    if (own.empty()) continue;
    if (verdict.is_null()) verdict = own;
    const std::string summary = text_of(summary_of(one));
    auto told = std::ranges::find_if(summaries, [&](auto& a) { return a.first == summary; });
    if (told == summaries.end()) told = summaries.insert(told, {summary, 0});
    ++told->second;
    for (const Json& finding : list_of(own, "findings")) {
      const auto [place, is_new] = known.try_emplace(identity_of_finding(finding), findings.size());
      if (is_new) findings.emplace_back(finding, 0);
      auto& [same, count] = findings[place->second];
      ++count;
      if (flag_of(finding, "confirmed")) same["confirmed"] = true;
    }
    for (const Json& why : not_judged_of(own)) not_judged.insert(any_text(why));
  }
  if (verdict.is_null()) return verdict;
  verdict.erase("doubts");
  verdict["not_judged"] = list_of_each(not_judged, [](const std::string& why) { return why; });
  if (partly > 0) {
    verdict["not_judged"].push_back(
        fmt::format("Measurements that have a value in some of the {} launches alone: {}.",
                    launches.size(), partly));
  }
  const auto in_launches = [&](std::size_t count) {
    return fmt::format("in {} of {} launches", count, launches.size());
  };
  std::string summary;
  for (const auto& [one, count] : summaries) {
    summary += fmt::format("{}{} {}", summary.empty() ? "" : "; ", one, in_launches(count));
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
  json_of(over).erase("launch");
  std::size_t partly = 0;
  over.pairs = joined_pairs(launches, partly);
  json_of(over)["verdict"] = joined_verdict(launches, partly);
  for (const char* const key : {"lost", "expectations"}) {
    Json all = Json::array();
    for (const Document& one : launches) {
      for (const Json& item : list_of(json_of(one), key)) all.push_back(item);
    }
    json_of(over).erase(key);
    if (!all.empty() || key == std::string_view("lost")) json_of(over)[key] = std::move(all);
  }
}

}  // namespace rdmabench::inline v1::report
