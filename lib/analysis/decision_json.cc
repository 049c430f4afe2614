#include "decision_page.h"
#include "rdmabench/report/documents.h"
#include "results/row.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

using report::Json;
using report::list_of_each;
using report::or_null;

Json likely_object(const Likely& likely) {
  return {{"value", likely.value}, {"low", or_null(likely.low)}, {"high", or_null(likely.high)}};
}

Json phrase_object(const Phrase& phrase) {
  Json values = Json::object();
  for (const Value& value : phrase.values) {
    Json raw;
    std::visit([&raw](const auto& one) { raw = one; }, value.raw);
    values[value.name] = {{"value", std::move(raw)}, {"shown", value.shown}};
  }
  return {{"key", decision_texts()[static_cast<std::size_t>(phrase.key)].key},
          {"text", phrase.text},
          {"values", std::move(values)}};
}

Json phrase_list(const std::vector<Phrase>& phrases) {
  return list_of_each(phrases, phrase_object);
}

Json point_object(const PageChart::Point& point) {
  return {{"nodes", point.nodes},
          {"step_s", point.step_s},
          {"step_low_s", or_null(point.low_s)},
          {"step_high_s", or_null(point.high_s)}};
}

Json line_object(const PageChart::Line& line) {
  return {{"name", line.name}, {"points", list_of_each(line.points, point_object)}};
}

struct JsonWriter {
  Json operator()(const Phrase& phrase) const { return {{"sentence", phrase_object(phrase)}}; }
  Json operator()(const PageTable& table) const {
    return {{"table",
             {{"words", table.words},
              {"heads", phrase_list(table.heads)},
              {"rows", list_of_each(table.rows, phrase_list)}}}};
  }
  Json operator()(const PageChart& chart) const {
    return {{"chart",
             {{"lines", Json::array({line_object(chart.a), line_object(chart.b)})},
              {"compute_s", chart.compute_s},
              {"labels", phrase_list({chart.compute, chart.axis, chart.step})},
              {"ticks", chart.ticks}}}};
  }
  Json operator()(const PageCommand& command) const {
    return {{"command", {{"why", phrase_object(command.why)}, {"line", command.command}}}};
  }
  Json operator()(const PageSmall& small) const { return {{"small", phrase_list(small.phrases)}}; }
};

Json block_object(const PageBlock& block) {
  return std::visit(JsonWriter{}, block);
}

Json section_object(const PageSection& section) {
  return {{"key", section.key},
          {"title", section.title ? phrase_object(*section.title) : Json(nullptr)},
          {"blocks", list_of_each(section.blocks, block_object)}};
}

Json page_object(const Page& page) {
  return {{"question", phrase_object(page.question)},
          {"subject", phrase_object(page.subject)},
          {"answer", phrase_object(page.answer_word)},
          {"sections", list_of_each(page.sections, section_object)}};
}

Json work_object(const Work& work) {
  return {{"kind", work.kind},
          {"steps", work.steps},
          {"a_s", work.a_s},
          {"b_s", work.b_s},
          {"saved_s", likely_object(work.saved_s)},
          {"a_cost", or_null(work.a_cost)},
          {"b_cost", or_null(work.b_cost)},
          {"saved_cost", work.saved_cost ? likely_object(*work.saved_cost) : Json(nullptr)}};
}

Json side_object(const std::string& name, const LinkSamples& samples) {
  return {{"name", name},
          {"latency_launches", samples.latency.size()},
          {"bandwidth_launches", samples.bandwidth.size()},
          {"suspect_launches", samples.suspect_launches},
          {"unknown_launches", samples.unwatched_launches},
          {"suspicions", Json(samples.suspected)},
          {"sources", sources_of(samples)}};
}

Json step_object(const ProjectedStep& step) {
  return {{"step_s", step.time.step_s},
          {"step_low_s", or_null(step.low_s)},
          {"step_high_s", or_null(step.high_s)},
          {"compute_s", step.time.compute_s},
          {"network_s", step.time.step_s - step.time.compute_s},
          {"cost_per_step", or_null(step.cost)}};
}

Json row_object(const ProjectionRow& row) {
  return {{"nodes", row.value}, {"a", step_object(*row.a)}, {"b", step_object(*row.b)}};
}

Json paying_object(const PayingNodes& paying) {
  const auto span_object = [](const PayingSpan& span) {
    return Json{{"from", span.from}, {"to", span.to}};
  };
  return {{"kind", paying.kind},
          {"overlap", paying.overlap},
          {"spans", list_of_each(paying.spans, span_object)}};
}

Json flip_object(const Flip& flip) {
  return {{"assumption", flip.name}, {"origin", flip.origin},      {"now", flip.now},
          {"at", or_null(flip.at)},  {"upwards", flip.upwards},    {"searched_from", flip.from},
          {"searched_to", flip.to},  {"cut_short", flip.cut_short}};
}

}  // namespace

Json to_object(const Page& page, const Decision& decision) {
  const ProjectionOptions& projection = decision.options.projection;
  Json json;
  json["schema"] = report::kDecideSchema;
  json["not_rdma"] = report::text_or_null(not_rdma_words(decision.projection, page.language));
  json["language"] = page.language == Language::korean ? "ko" : "en";
  json["answer"] = name(decision.answer);
  json["ground"] = name(decision.reason);
  json["nodes"] = decision.nodes;
  json["margin"] = projection.settings.margin;
  json["alpha"] = projection.settings.alpha;
  json["pays_by_estimate"] = decision.pays;
  json["pays_above_ratio"] = decision.limit;
  json["step_ratio_a_to_b"] = likely_object(decision.ratio);
  json["cost_ratio_a_to_b"] =
      decision.cost_ratio ? likely_object(*decision.cost_ratio) : Json(nullptr);
  json["price_a_per_node_hour"] = or_null(projection.price_a);
  json["price_b_per_node_hour"] = or_null(projection.price_b);
  json["currency"] = decision.options.currency.empty() ? Json() : Json(decision.options.currency);
  json["premium"] = likely_object(decision.premium);
  json["variation"] = decision.variation;
  json["launches"] = decision.launches;
  json["units"] = decision.units;
  json["more_launches"] = or_null(decision.more_launches);
  json["one_after_the_other"] = decision.order.separate;
  json["a"] = side_object(projection.a_name, decision.projection.a);
  json["b"] = side_object(projection.b_name, *decision.projection.b);
  json["works"] = list_of_each(decision.works, work_object);
  json["rows"] = list_of_each(decision.projection.rows, row_object);
  json["paying"] = list_of_each(decision.paying, paying_object);
  json["flips"] = list_of_each(decision.flips, flip_object);
  json["page"] = page_object(page);
  return json;
}

}  // namespace rdmabench::inline v1::analysis
