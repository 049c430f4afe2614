// What several launches of a fabric say together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
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

using Items = std::vector<const Json*>;

/// What the verdicts' lists of that name say of the same part, where these keys are the same.
std::vector<Items> alike_of(std::span<const Document> launches, const char* list,
                            std::initializer_list<const char*> keys) {
  std::vector<Items> all;
  std::map<std::string, std::size_t> places;
  for (const Document& one : launches) {
    for (const Json& item : list_of(object_of(json_of(one), "verdict"), list)) {
      if (!item.is_object()) continue;
      std::string part;
      for (const char* const key : keys) part += any_text_of(item, key) + '\n';
      const auto [place, is_new] = places.try_emplace(part, all.size());
      if (is_new) all.emplace_back();
      all[place->second].push_back(&item);
    }
  }
  return all;
}

/// The geometric or quadratic mean of the values above 0; 0 where there is none.
double mean_of(const Items& items, const char* key, bool geometric = true) {
  std::vector<double> values;
  for (const Json* const item : items) {
    const double value = number_of(*item, key);
    if (value > 0 && std::isfinite(value)) {
      values.push_back(geometric ? std::log(value) : value * value);
    }
  }
  if (values.empty()) return 0;
  const double mean = measure::mean(values);
  return geometric ? std::exp(mean) : std::sqrt(mean);
}

/// As the pairs: geometric means. The noise is that within a launch.
Json joined_typical(std::span<const Document> launches, std::span<const PairMeasurement> pairs) {
  struct Count {
    std::size_t cells = 0;
    std::size_t failed = 0;
  };
  std::map<std::pair<std::string_view, double>, Count> counts;
  for (const PairMeasurement& pair : pairs) {
    Count& count = counts[{name(pair.metric), double(pair.size_bytes)}];
    ++(pair.error.empty() ? count.cells : count.failed);
  }
  const std::vector<Items> slices = alike_of(launches, "typical", {"metric", "size_bytes"});
  return list_of_each(slices, [&](const Items& of) {
    Json one = *of.front();
    const std::string metric = text_of(one, "metric");
    const auto found = counts.find({metric, number_of(one, "size_bytes")});
    const Count count = found == counts.end() ? Count() : found->second;
    one["value"] = mean_of(of, "value");
    one["noise"] = mean_of(of, "noise", false);
    one["cells"] = count.cells;
    one["failed"] = count.failed;
    return one;
  });
}

/// A node is what any launch accuses it of, else good where any could judge it; `launches` says in
/// how many it is that.
Json joined_nodes(std::span<const Document> launches) {
  static constexpr std::array<std::string_view, 7> kFirstCounts{
      "lost", "failing", "slow", "suspect", "good", "not-enough-evidence", "ambiguous"};
  return list_of_each(
      alike_of(launches, "nodes", {"metric", "size_bytes", "rank"}), [](const Items& of) {
        Json one = *of.front();
        for (const char* const key : {"sender_ratio", "receiver_ratio"}) {
          if (one.contains(key)) one[key] = mean_of(of, key);
        }
        for (const Json* const other : of) {
          if (number_of(*other, "partners") > number_of(one, "partners")) {
            one["partners"] = (*other)["partners"];
          }
        }
        for (const std::string_view word : kFirstCounts) {
          const auto count = std::ranges::count_if(
              of, [&](const Json* other) { return text_of(*other, "verdict") == word; });
          if (count == 0) continue;
          one["verdict"] = word;
          one["launches"] = count;
          break;
        }
        return one;
      });
}

/// The findings of all launches, the most frequent first; values as those of the pairs; and what
/// could not be judged, and in how many launches if not in all.
Json joined_verdict(std::span<const Document> launches, std::span<const PairMeasurement> pairs,
                    std::size_t partly) {
  Json verdict;
  std::size_t verdicts = 0;
  std::vector<std::pair<Json, std::size_t>> findings;  // and in how many launches
  std::map<std::string, std::size_t> known;            // their places
  std::vector<std::pair<std::string, std::size_t>> summaries;
  std::map<std::string, std::size_t> not_judged;
  std::map<std::string, std::size_t> judged;  // metrics and sizes
  for (const Document& one : launches) {
    const Json& own = object_of(json_of(one), "verdict");
    if (own.empty()) continue;
    ++verdicts;
    if (verdict.is_null()) verdict = own;
    if (!verdict.contains("not_rdma") && own.contains("not_rdma")) {
      verdict["not_rdma"] = own["not_rdma"];
    }
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
    std::set<std::string> reasons;
    for (const Json& why : not_judged_of(own)) reasons.insert(any_text(why));
    for (const std::string& why : reasons) ++not_judged[why];
    for (const auto& [slice, is_judged] : judged_slices(own)) judged[slice] += is_judged ? 1U : 0U;
  }
  if (verdict.is_null()) return verdict;
  const auto in_launches = [&](std::size_t count) {
    return fmt::format("in {} of {} launches", count, launches.size());
  };
  verdict.erase("doubts");
  verdict["not_judged"] = list_of_each(not_judged, [&](const auto& reason) {
    const auto& [why, count] = reason;
    return count == verdicts ? why : fmt::format("{} ({})", why, in_launches(count));
  });
  for (const auto& [slice, count] : judged) {
    if (count == 0 || count == verdicts) continue;
    verdict["not_judged"].push_back(
        fmt::format("{}: nodes were judged {} alone.",
                    std::string(slice).replace(slice.find(' '), 1, " of "), in_launches(count)));
  }
  if (partly > 0) {
    verdict["not_judged"].push_back(
        fmt::format("Measurements that have a value in some of the {} launches alone: {}.",
                    launches.size(), partly));
  }
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
  verdict["typical"] = joined_typical(launches, pairs);
  const std::vector<Items> rails = alike_of(launches, "rails", {"metric", "size_bytes", "rail"});
  verdict["rails"] = list_of_each(rails, [](const Items& of) {
    Json one = *of.front();
    one["ratio"] = mean_of(of, "ratio");
    return one;
  });
  verdict["nodes"] = joined_nodes(launches);
  verdict["node_differences"] =
      list_of_each(alike_of(launches, "node_differences", {"rank", "check", "status"}),
                   [](const Items& of) { return *of.front(); });
  for (const char* const key : {"leads", "withdrawn", "slow_pairs"}) verdict[key] = Json::array();
  return verdict;
}

}  // namespace

void join_fabrics(Document& over, std::span<const Document> launches) {
  json_of(over).erase("launch");
  std::size_t partly = 0;
  over.pairs = joined_pairs(launches, partly);
  json_of(over)["verdict"] = joined_verdict(launches, over.pairs, partly);
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
