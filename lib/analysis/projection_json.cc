#include <cmath>

#include "analysis/projection.h"
#include "decision_texts.h"
#include "json_words.h"
#include "rdmabench/report/documents.h"
#include "report/sections.h"
#include "results/row.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

using report::Json;
using report::list_of_each;
using report::or_null;

Json to_object(const std::optional<ProjectedStep>& step) {
  if (!step) return nullptr;
  const StepTime& time = step->time;
  return {{"step_s", time.step_s},
          {"step_low_s", or_null(step->low_s)},
          {"step_high_s", or_null(step->high_s)},
          {"compute_s", time.compute_s},
          {"communication_s", time.communication_s},
          {"stragglers_s", time.stragglers_s},
          {"hidden_s", time.hidden_s},
          {"nothing_hidden_s", step->nothing_hidden_s},
          {"all_hidden_s", step->all_hidden_s},
          {"collectives", time.collectives},
          {"message_bytes", time.message_bytes},
          {"message_s", time.message_s},
          {"cost_per_step", or_null(step->cost)}};
}

Json to_object(const std::optional<Judgement>& judgement) {
  if (!judgement) return nullptr;
  const auto& estimate = judgement->estimate;
  const auto ratio = [&](double Estimate::*member) {
    return estimate ? Json(std::exp((*estimate).*member)) : Json(nullptr);
  };
  return {
      {"ratio", ratio(&Estimate::difference)},        {"ratio_low", ratio(&Estimate::low)},
      {"ratio_high", ratio(&Estimate::high)},         {"verdict", json_word(judgement->verdict)},
      {"direction", json_word(judgement->direction)}, {"more_launches", or_null(judgement->more)},
      {"obstacle", json_word(judgement->obstacle)},   {"reason", judgement->text}};
}

Json to_object(const std::string& name, const LinkSamples& samples) {
  return {
      {"name", name},
      {"latency_launches", samples.latency.size()},
      {"bandwidth_launches", samples.bandwidth.size()},
      {"sources", sources_of(samples)},
      {"suspicions", list_of_each(samples.suspected, [](const auto& code) { return code.first; })}};
}

Json to_document(const Projection& projection) {
  const ProjectionOptions& options = projection.options;
  Json json;
  json["schema"] = report::kProjectSchema;
  json["not_rdma"] = report::text_or_null(not_rdma_words(projection));
  json["summary"] = summary(projection);
  json["operation"] = projection.a.operation;
  json["curve"] = name(projection.source);
  json["margin"] = options.settings.margin;
  json["alpha"] = options.settings.alpha;
  json["axis"] = name(options.axis);
  json["a"] = to_object(options.a_name, projection.a);
  json["b"] = projection.b ? to_object(options.b_name, *projection.b) : Json(nullptr);
  json["assumptions"] = list_of_each(projection.assumptions, [](const Assumption& one) {
    return Json{
        {"name", one.name}, {"value", one.value}, {"unit", one.unit}, {"origin", one.origin}};
  });
  json["rows"] = list_of_each(projection.rows, [](const ProjectionRow& row) {
    return Json{{"value", row.value},
                {"a", to_object(row.a)},
                {"b", to_object(row.b)},
                {"difference", to_object(row.difference)},
                {"refusal", report::text_or_null(row.refusal)}};
  });
  json["break_evens"] = list_of_each(projection.break_evens, [](const BreakEven& one) {
    return Json{{"from", one.from},
                {"to", one.to},
                {"about", one.about},
                {"then", one.beyond_after ? "beyond_margin" : "within_margin"},
                {"direction", json_word(one.after)}};
  });
  json["price_a_per_node_hour"] = or_null(options.price_a);
  json["price_b_per_node_hour"] = or_null(options.price_b);
  json["notes"] = projection.notes;
  return json;
}

}  // namespace

std::string to_json(const Projection& projection) {
  return report::document_text(to_document(projection));
}

std::string to_table(const Projection& projection, std::size_t width) {
  return report::to_text(
             {"", std::string(report::kProjectSchema), report::body_of(to_document(projection))},
             width) +
         "A projection is arithmetic over two measured numbers, not a measurement: check it against "
         "a run.\n";
}

}  // namespace rdmabench::inline v1::analysis
