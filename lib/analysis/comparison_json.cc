#include <fmt/format.h>

#include <cmath>

#include "decision_texts.h"
#include "json_words.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/report/documents.h"
#include "report/sections.h"
#include "results/row.h"

namespace rdmabench::inline v1::analysis {
namespace {

using report::Json;
using report::list_of_each;
using report::or_null;

Json to_object(const std::string& name, const ComparedSide& side) {
  return {
      {"name", name},          {"launches", side.launches},     {"pairs", side.pairs},
      {"failed", side.failed}, {"suspicions", side.suspicions}, {"counters", side.disturbances}};
}

Json to_object(const Confound& confound) {
  return {{"name", confound.name},
          {"where", confound.where},
          {"a", confound.a},
          {"b", confound.b},
          {"declared", confound.declared}};
}

Json estimate_of(const Judgement& judgement) {
  if (!judgement.estimate) return nullptr;
  const Estimate& estimate = *judgement.estimate;
  return {{"ratio", std::exp(estimate.difference)},
          {"ratio_low", std::exp(estimate.low)},
          {"ratio_high", std::exp(estimate.high)},
          {"log_standard_error", estimate.standard_error},
          {"method", estimate.method}};
}

Json to_object(const Cell& cell, Metric metric) {
  const Judgement& judgement = cell.judgement;
  const bool refused = judgement.verdict == Verdict::refused;
  const std::string unit = metric == Metric::bandwidth ? "bits_per_s" : "ns";
  const auto unless_refused = [refused](double value) {
    return refused ? Json(nullptr) : Json(value);
  };
  return {{"size_bytes", cell.size_bytes},
          {"load", or_null(cell.load)},
          {"unit", unit},
          {"a", unless_refused(cell.a_typical)},
          {"b", unless_refused(cell.b_typical)},
          {"a_units", judgement.a_units},
          {"b_units", judgement.b_units},
          {"a_log_stddev", unless_refused(cell.a_variation)},
          {"b_log_stddev", unless_refused(cell.b_variation)},
          {"estimate", estimate_of(judgement)},
          {"p_within_margin", judgement.p_within},
          {"p_beyond_margin", judgement.p_beyond},
          {"p_nonzero", judgement.p_nonzero},
          {"p_beyond_margin_holm", cell.p_beyond_adjusted},
          {"p_nonzero_holm", cell.p_nonzero_adjusted},
          {"drift_ratio", std::exp(cell.drift.change)},
          {"drift_p", cell.drift.p_value},
          {"a_suspect_launches", cell.a_suspect},
          {"b_suspect_launches", cell.b_suspect},
          {"verdict", json_word(judgement.verdict)},
          {"direction", json_word(judgement.direction)},
          {"more_launches", or_null(judgement.more)},
          {"obstacle", json_word(judgement.obstacle)},
          {"reason", judgement.text}};
}

Json to_object(const Family& family) {
  return {{"test", family.test},
          {"operation", family.operation},
          {"kind", family.kind},
          {"metric", name(family.metric)},
          {"verdict", json_word(family.verdict)},
          {"direction", json_word(family.direction)},
          {"more_launches", or_null(family.more)},
          {"obstacle", json_word(family.obstacle)},
          {"confounded_by", family.confounds},
          {"cells", list_of_each(family.cells, [&](const Cell& cell) {
             return to_object(cell, family.metric);
           })}};
}

Json to_document(const Comparison& comparison) {
  const Settings& settings = comparison.options.settings;
  Json json;
  json["schema"] = report::kCompareSchema;
  json["not_rdma"] = report::text_or_null(not_rdma_words(comparison));
  json["verdict"] = comparison.confounded() ? "CONFOUNDED" : json_word(comparison.verdict);
  json["as_they_stand"] = json_word(comparison.verdict);
  json["direction"] = json_word(comparison.direction);
  json["summary"] = summary(comparison);
  json["failed"] = comparison.failed();
  json["more_launches"] = or_null(comparison.more);
  json["obstacle"] = json_word(comparison.obstacle);
  json["settings"] = {{"margin", settings.margin},
                      {"alpha", settings.alpha},
                      {"nonzero_alpha", kZeroAlpha},
                      {"power", settings.power},
                      {"seed", 0},
                      {"resamples", 0},
                      {"fewest_launches", kMinLaunches},
                      {"factors", comparison.options.factors.words()},
                      {"fail_on", list_of_each(comparison.options.fail_on,
                                               [](FailOn what) { return name(what); })}};
  json["a"] = to_object(comparison.options.a_name, comparison.a);
  json["b"] = to_object(comparison.options.b_name, comparison.b);
  json["order"] = {{"known", comparison.order.known},
                   {"separate", comparison.order.separate},
                   {"blocks", comparison.order.blocks},
                   {"pattern", comparison.order.pattern}};
  const auto object = [](const auto& one) { return to_object(one); };
  json["confounds"] = list_of_each(comparison.confounds, object);
  json["families"] = list_of_each(comparison.families, object);
  json["notes"] = comparison.notes;
  return json;
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  return report::document_text(to_document(comparison));
}

std::string to_table(const Comparison& comparison, std::size_t width) {
  const Settings& settings = comparison.options.settings;
  return report::to_text(
             {"", std::string(report::kCompareSchema), report::body_of(to_document(comparison))},
             width) +
         fmt::format(
             "Interval: of {:.3g} %, each row's by itself. A wrong BETTER or WORSE of any row at the margin: "
             "{:.3g} % at most; a wrong EQUIVALENT of a row, or of all rows: {:.3g} %.\n",
             100 * (1 - 2 * settings.alpha), 100 * settings.alpha, 100 * settings.alpha);
}

}  // namespace rdmabench::inline v1::analysis
