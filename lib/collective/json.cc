#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "collective/document.h"
#include "rdmabench/collective/run.h"
#include "report/sections.h"
#include "results/csv.h"
#include "results/row.h"

namespace rdmabench::inline v1::collective {
namespace {

using report::Json;
using report::list_of_each;
using report::text_or_null;
using report::to_list;

Json to_object(const RankReport& rank) {
  return {{"rank", rank.identity.rank},
          {"host", rank.identity.host},
          {"process", rank.identity.process},
          {"clock",
           {{"offset_ns", rank.clock.offset_ns},
            {"error_bound_ns", report::finite(rank.clock.error_ns)}}},
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
             {"actual", wrong.actual},
             {"action", kActionOfRank}};
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
          {"by_ns", report::finite(late.by_ns)},
          {"error_bound_ns", report::finite(late.error_bound_ns)},
          {"action", kActionOfRank}};
}

Json arrivals_of(const Row& row) {
  const Arrivals& arrivals = row.numbers.arrivals;
  if (row.numbers.ranks.size() < 2) return nullptr;
  return {{"skew_p50_ns", report::finite(arrivals.skew_p50_ns)},
          {"skew_max_ns", report::finite(arrivals.skew_max_ns)},
          {"p50_after_last_ns", report::finite(arrivals.p50_after_last_ns)},
          {"error_bound_ns", report::finite(arrivals.error_bound_ns)}};
}

Json ranks_of(const Row& row) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < row.numbers.ranks.size(); ++rank) {
    const RankTimes& times = row.numbers.ranks[rank];
    list.push_back({{"rank", row.ranks.empty() ? rank : row.ranks[rank]},
                    {"min_ns", report::finite(times.min_ns)},
                    {"p50_ns", report::finite(times.p50_ns)},
                    {"max_ns", report::finite(times.max_ns)},
                    {"came_last", times.came_last}});
  }
  return list;
}

Json to_object(const Row& row) {
  const Call& call = row.call;
  const measure::LatencySummary& time = row.numbers.time;
  const bool measured = row.skipped.empty();
  Json times;
  report::add_latency(times, time);
  times["median_level"] = report::finite(row.numbers.median_level);
  if (!measured) {
    for (Json& one : times) one = nullptr;
  }
  Json json = {{"operation", name(call.operation)},
               {"type", name(call.type)},
               {"reduction", reduces(call.operation) ? Json(name(call.reduction)) : Json(nullptr)},
               {"root", has_root(call.operation) ? Json(call.root) : Json(nullptr)},
               {"size_bytes", row.size_bytes},
               {"count", call.count},
               {"in_place", call.in_place},
               {"group", text_or_null(row.group)},
               {"skipped", text_or_null(row.skipped)},
               {"iterations", row.iterations},
               {"warmup_iterations", row.warmup},
               {"batch", row.batch}};
  json.update(times);
  const Json rest = {{"unsupported_percentiles", report::unsupported_percentiles(time)},
                     {"stable", row.converged},
                     {"algorithm_bytes_per_s",
                      measured ? report::finite(row.algorithm_bytes_per_s) : Json(nullptr)},
                     {"bus_bytes_per_s",
                      row.bus_bytes_per_s ? report::finite(*row.bus_bytes_per_s) : Json(nullptr)},
                     {"bus_reason", text_or_null(row.bus_reason)},
                     {"wrong", wrong_of(row)},
                     {"arrivals", arrivals_of(row)},
                     {"late", late_of(row.numbers.arrivals)},
                     {"late_reason", text_or_null(row.numbers.arrivals.reason)},
                     {"ranks", ranks_of(row)},
                     {"facts", to_list(row.facts)}};
  json.update(rest);
  return json;
}

Json bisected_of(const Run& run) {
  if (!run.bisected) return nullptr;
  return {
      {"suspects", run.bisected->suspects},
      {"text", run.bisected->text},
      {"action", run.bisected->suspects.empty() ? Json(nullptr) : Json(action_of(*run.bisected))}};
}

Json blame_of(const Run& run) {
  if (run.blame.text.empty()) return nullptr;
  return {{"ranks", run.blame.ranks}, {"text", run.blame.text}, {"action", kActionOfRank}};
}

/// As sentences.
std::vector<std::string> unmet(const Run& run) {
  std::vector<std::string> sentences;
  for (const RequirementFinding& one : run.findings) {
    if (one.status != Status::fail) continue;
    sentences.push_back(one.subject.empty()
                            ? fmt::format("{}: {}", one.required, one.text)
                            : fmt::format("{}: on {} {}", one.required, one.subject, one.text));
  }
  return sentences;
}

}  // namespace

Json to_document(const Run& run, std::size_t first) {
  const auto object = [](const auto& one) { return to_object(one); };
  Json document = {
      {"schema", "rdmabench-coll/1"}, {"backend", run.backend}, {"error", text_or_null(run.error)}};
  if (std::string without = not_rdma(run); !without.empty()) {
    document["not_rdma"] = std::move(without);
  }
  document.update(Json{{"blame", blame_of(run)},
                       {"bisected", bisected_of(run)},
                       {"unmet", unmet(run)},
                       {"environment", to_list(run.environment)},
                       {"library", to_list(run.library)},
                       {"config", to_list(run.config)},
                       {"ranks", list_of_each(run.ranks, object)},
                       {"results", list_of_each(std::span(run.rows).subspan(first), object)},
                       {"notes", run.notes}});
  return document;
}

std::string to_json(const Run& run) {
  return report::document_text(to_document(run));
}

std::string to_table(const Run& run, std::size_t width) {
  return RowsText(RowsText::As::table, width).more(run, {}, true);
}

std::string to_csv(const Run& run) {
  return RowsText(RowsText::As::csv).more(run, {}, true);
}

namespace {

report::Csv csv_of_rows() {
  std::vector<std::string> columns;
  for (const std::string& key : report::keys_of(to_object(Row()))) {
    constexpr std::array kNested{
        "unsupported_percentiles", "wrong", "arrivals", "late", "late_reason", "ranks", "facts"};
    if (std::find(kNested.begin(), kNested.end(), key) == kNested.end()) columns.push_back(key);
  }
  for (const char* const last : {"wrong_elements", "late_rank", "late_by_ns"}) {
    columns.emplace_back(last);
  }
  return report::Csv(std::move(columns));
}

Json csv_row(const Row& row) {
  Json json = to_object(row);
  if (row.checked) json["wrong_elements"] = row.results.wrong_elements;
  if (const auto& late = row.numbers.arrivals.late) {
    json["late_rank"] = late->rank;
    json["late_by_ns"] = report::finite(late->by_ns);
  }
  return json;
}

/// As much of the rows as the calls tell.
Json expected_rows(std::span<const Call> calls, std::size_t ranks) {
  return list_of_each(calls, [&](const Call& call) {
    return to_object(
        Row{.call = call, .size_bytes = size_bytes(call, static_cast<std::uint32_t>(ranks))});
  });
}

}  // namespace

std::string RowsText::more(const Run& run, std::span<const Call> calls, bool last) {
  const bool begins = told_ == 0;
  if (as_ == As::table) {
    const Json body = to_document(run, last ? 0 : told_);
    told_ = run.rows.size();
    return table_.more(body, begins ? expected_rows(calls, run.ranks.size()) : Json::array(), last);
  }
  if (!csv_) csv_ = csv_of_rows();
  for (; told_ < run.rows.size(); ++told_) csv_->add(csv_row(run.rows[told_]));
  return csv_->take();
}

}  // namespace rdmabench::inline v1::collective
