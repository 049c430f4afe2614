#include <cmath>
#include <nlohmann/json.hpp>

#include "rdmabench/collective/text.h"

namespace rdmabench::collective {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json to_list(const report::Facts& facts) {
  Json list = Json::array();
  for (const report::Fact& fact : facts) {
    Json value = std::visit([](const auto& one) { return Json(one); }, fact.value);
    list.push_back({{"name", fact.name}, {"value", std::move(value)}});
  }
  return list;
}

Json to_list(const std::vector<report::Counter>& counters) {
  Json list = Json::array();
  for (const report::Counter& counter : counters) {
    list.push_back({{"device", counter.device},
                    {"name", counter.name},
                    {"class", counter.kind},
                    {"source", counter.source},
                    {"change", counter.change ? Json(*counter.change) : Json(nullptr)},
                    {"at_least", counter.at_least}});
  }
  return list;
}

Json to_object(const RankReport& rank) {
  return {{"rank", rank.identity.rank},
          {"host", rank.identity.host},
          {"process", rank.identity.process},
          {"clock",
           {{"offset_ns", rank.clock.offset_ns}, {"error_bound_ns", number(rank.clock.error_ns)}}},
          {"facts", to_list(rank.facts)},
          {"counters", to_list(rank.counters)},
          {"notes", rank.notes}};
}

Json wrong_of(const Row& row) {
  if (!row.checked) return nullptr;
  Json first = nullptr;
  if (row.first_wrong) {
    const Wrong& wrong = row.first_wrong->wrong;
    first = {{"rank", row.first_wrong->rank},
             {"iteration", wrong.iteration},
             {"offset_bytes", wrong.offset_bytes},
             {"run_bytes", wrong.run_bytes},
             {"pattern", wrong.pattern},
             {"expected", wrong.expected},
             {"actual", wrong.actual}};
  }
  return {{"checked_results", row.results.operations},
          {"wrong_results", row.results.wrong_operations},
          {"wrong_elements", row.results.wrong_elements},
          {"first", std::move(first)}};
}

Json late_of(const Arrivals& arrivals) {
  if (!arrivals.late) return nullptr;
  const Late& late = *arrivals.late;
  return {{"rank", late.rank},
          {"share", late.share},
          {"by_ns", number(late.by_ns)},
          {"error_bound_ns", number(late.error_bound_ns)}};
}

Json arrivals_of(const Row& row) {
  const Arrivals& arrivals = row.numbers.arrivals;
  if (row.numbers.ranks.size() < 2) return nullptr;
  return {{"skew_p50_ns", number(arrivals.skew_p50_ns)},
          {"skew_max_ns", number(arrivals.skew_max_ns)},
          {"p50_after_last_ns", number(arrivals.p50_after_last_ns)},
          {"error_bound_ns", number(arrivals.error_bound_ns)}};
}

Json ranks_of(const Row& row) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < row.numbers.ranks.size(); ++rank) {
    const RankTimes& times = row.numbers.ranks[rank];
    list.push_back({{"rank", rank},
                    {"min_ns", number(times.min_ns)},
                    {"p50_ns", number(times.p50_ns)},
                    {"max_ns", number(times.max_ns)},
                    {"came_last", times.came_last}});
  }
  return list;
}

Json to_object(const Row& row) {
  const Call& call = row.call;
  const measure::LatencySummary& time = row.numbers.time;
  const bool measured = row.skipped.empty();
  const auto value = [&](double one) { return measured ? number(one) : Json(nullptr); };
  Json unsupported = Json::array();
  for (const auto& [percent, key] : {std::pair(50.0, "p50_ns"), std::pair(90.0, "p90_ns"),
                                     std::pair(99.0, "p99_ns"), std::pair(99.9, "p999_ns")}) {
    if (!time.supports(percent)) unsupported.push_back(key);
  }
  return {{"operation", name(call.operation)},
          {"type", name(call.type)},
          {"reduction", reduces(call.operation) ? Json(name(call.reduction)) : Json(nullptr)},
          {"root", has_root(call.operation) ? Json(call.root) : Json(nullptr)},
          {"size_bytes", row.size_bytes},
          {"count", call.count},
          {"in_place", call.in_place},
          {"skipped", text_or_null(row.skipped)},
          {"iterations", row.iterations},
          {"warmup_iterations", row.warmup},
          {"batch", row.batch},
          {"min_ns", value(time.min_ns)},
          {"p50_ns", value(time.p50_ns)},
          {"p90_ns", value(time.p90_ns)},
          {"p99_ns", value(time.p99_ns)},
          {"p999_ns", value(time.p999_ns)},
          {"max_ns", value(time.max_ns)},
          {"mean_ns", value(time.mean_ns)},
          {"stddev_ns", value(time.stddev_ns)},
          {"median_low_ns", value(time.median_low_ns)},
          {"median_high_ns", value(time.median_high_ns)},
          {"median_level", value(row.numbers.median_level)},
          {"unsupported_percentiles", std::move(unsupported)},
          {"stable", row.converged},
          {"algorithm_bytes_per_s", value(row.algorithm_bytes_per_s)},
          {"bus_bytes_per_s", row.bus_bytes_per_s ? number(*row.bus_bytes_per_s) : Json(nullptr)},
          {"bus_reason", text_or_null(row.bus_reason)},
          {"wrong", wrong_of(row)},
          {"arrivals", arrivals_of(row)},
          {"late", late_of(row.numbers.arrivals)},
          {"late_reason", text_or_null(row.numbers.arrivals.reason)},
          {"ranks", ranks_of(row)},
          {"facts", to_list(row.facts)}};
}

Json blame_of(const Run& run) {
  if (run.blame.text.empty()) return nullptr;
  return {{"ranks", run.blame.ranks}, {"text", run.blame.text}};
}

}  // namespace

std::string to_json(const Run& run) {
  Json ranks = Json::array();
  for (const RankReport& rank : run.ranks) ranks.push_back(to_object(rank));
  Json results = Json::array();
  for (const Row& row : run.rows) results.push_back(to_object(row));
  const Json document = {{"schema", "rdmabench-coll/1"},
                         {"backend", run.backend},
                         {"error", text_or_null(run.error)},
                         {"blame", blame_of(run)},
                         {"environment", to_list(run.environment)},
                         {"library", to_list(run.library)},
                         {"config", to_list(run.config)},
                         {"ranks", std::move(ranks)},
                         {"results", std::move(results)},
                         {"notes", run.notes}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string to_csv(const Run& run) {
  static const char* const kColumns[] = {"operation",
                                         "type",
                                         "reduction",
                                         "root",
                                         "size_bytes",
                                         "count",
                                         "in_place",
                                         "skipped",
                                         "iterations",
                                         "batch",
                                         "min_ns",
                                         "p50_ns",
                                         "p90_ns",
                                         "p99_ns",
                                         "p999_ns",
                                         "max_ns",
                                         "mean_ns",
                                         "stddev_ns",
                                         "median_low_ns",
                                         "median_high_ns",
                                         "median_level",
                                         "stable",
                                         "algorithm_bytes_per_s",
                                         "bus_bytes_per_s",
                                         "bus_reason"};
  std::string text;
  for (const char* const column : kColumns) text += std::string(text.empty() ? "" : ",") + column;
  text += ",wrong_elements,late_rank,late_by_ns\r\n";
  const auto cell = [](const Json& value) -> std::string {
    if (value.is_null()) return "";
    const std::string plain = value.is_string() ? value.get<std::string>() : value.dump();
    if (plain.find_first_of(",\"\r\n") == std::string::npos) return plain;
    std::string quoted = "\"";
    for (const char one : plain) quoted += one == '"' ? std::string("\"\"") : std::string(1, one);
    return quoted + '"';
  };
  for (const Row& row : run.rows) {
    const Json json = to_object(row);
    for (const char* const column : kColumns) text += cell(json[column]) + ',';
    const Json& wrong = json["wrong"];
    const Json& late = json["late"];
    text += (wrong.is_null() ? "" : cell(wrong["wrong_elements"])) + ',';
    text += (late.is_null() ? "" : cell(late["rank"])) + ',';
    text += (late.is_null() ? "" : cell(late["by_ns"])) + "\r\n";
  }
  return text;
}

}  // namespace rdmabench::collective
