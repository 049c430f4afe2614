// The documents of projections.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "compared.h"
#include "kinds.h"

namespace rdmabench::inline v1::report {
namespace {

std::string seconds_text(double seconds) {
  return time_text(seconds * 1e9);
}
constexpr Scale kStepScale{seconds_text, "ms", 1e-3, 4};

std::string cost_text(double cost) {
  return digits_text(cost);
}

/// Of the projected step of one side.
ColumnOf step_column(std::string heading, std::string side, std::string key,
                     const Scale& scale = kStepScale, int dispensable = 0) {
  const auto cell = [side = std::move(side), key = std::move(key), scale](const Json& row) {
    return Cell(number_of(object_of(row, side), key), scale);
  };
  return {std::move(heading), true, cell, scale, dispensable};
}

/// B against A, of what both have.
ColumnOf change_column(std::string key) {
  return {"change", true, [key = std::move(key)](const Json& row) {
            const double ratio =
                number_of(object_of(row, "b"), key) / number_of(object_of(row, "a"), key);
            const Json& difference = object_of(row, "difference");
            return Cell(is_too_noisy(difference, difference) ? "-" : change_text(ratio, ratio));
          }};
}

Cell projected_verdict(const Json& row) {
  if (const std::string refusal = text_of(row, "refusal"); !refusal.empty()) {
    Cell cell(Status::skip, "refused");
    cell.items.push_back(refusal);
    return cell;
  }
  const Json& difference = object_of(row, "difference");
  if (difference.empty()) return "";
  Cell cell = verdict_cell(Status::pass, difference, text_of(difference, "direction"));
  cell.status.reset();
  return cell;
}

bool has_side(const Json& rows, const std::string& side) {
  return std::any_of(rows.begin(), rows.end(),
                     [&side](const Json& row) { return !object_of(row, side).empty(); });
}

/// Why not stands in the table of both sides.
Cell refused(const Json& row) {
  return text_of(row, "refusal").empty() ? "" : "refused";
}

/// What the step of one side is made of.
Section parts_of_step(const Json& body, const std::string& side, const ColumnOf& at) {
  const Json& samples = object_of(body, side);
  if (!has_side(list_of(body, "rows"), side)) return {};
  return table_of(
      fmt::format("{}: {}, {} launches of latency, {} of bandwidth", side_name(body, side),
                  text_of(body, "operation"), any_text_of(samples, "latency_launches"),
                  any_text_of(samples, "bandwidth_launches")),
      {at,
       step_column("compute", side, "compute_s"),
       step_column("network", side, "communication_s"),
       step_column("stragglers", side, "stragglers_s", kStepScale, kLateOut),
       step_column("hidden", side, "hidden_s", kStepScale, kLastOut),
       step_column("step", side, "step_s"),
       step_column("low", side, "step_low_s"),
       step_column("high", side, "step_high_s"),
       {"refused", false, refused}},
      list_of(body, "rows"));
}

/// Where one side becomes better, or the two come within the margin.
Section break_evens(const Json& body, const std::string& axis) {
  Section section;
  const std::string margin = percent_text(number_of(body, "margin"));
  for (const Json& one : list_of(body, "break_evens")) {
    const std::string direction = text_of(one, "direction");
    const std::string better = direction == "better" ? side_name(body, "b") : side_name(body, "a");
    section.words.emplace_back(
        fmt::format("Break-even: {} the margin of {} from about {} {} on (between {} and {}).",
                    text_of(one, "then") == "within_margin" ? "within"
                    : direction.empty()                     ? "beyond"
                                                            : better + " is better by more than",
                    margin, amount_text(number_of(one, "about")), axis, number_text(one, "from"),
                    number_text(one, "to")));
  }
  return section;
}

Section settings(const Json& body) {
  Json scalars = Json::object();
  for (const auto& [key, value] : body.items()) {
    const bool shown = !value.is_structured() && !value.is_null() && key != "schema";
    if (shown && key != "summary" && key != "not_rdma") scalars[spaced(key)] = value;
  }
  return facts_table("Settings", scalars);
}

std::vector<Judgement> judge_projection(const Document& document) {
  std::vector<Judgement> list;
  const std::string axis = text_of(json_of(document), "axis");
  const std::string a = side_name(json_of(document), "a");
  const std::string both = fmt::format("{} against {}", side_name(json_of(document), "b"), a);
  if (const std::string summary = text_of(json_of(document), "summary"); !summary.empty()) {
    const bool one = object_of(json_of(document), "b").empty();
    const bool rdma = text_of(json_of(document), "not_rdma").empty();
    list.push_back(
        {"project", one ? a : both, "in short", rdma ? Status::pass : Status::warn, summary});
    list.back().measured = rdma;
    list.back().headline = !rdma;
  }
  for (const Json& row : list_of(json_of(document), "rows")) {
    Judgement one;
    one.group = "project";
    one.measured = true;
    one.id = fmt::format("{} {}", axis, number_text(row, "value"));
    const Json& difference = object_of(row, "difference");
    one.subject = difference.empty() ? a : both;
    const std::string refusal = text_of(row, "refusal");
    if (!refusal.empty()) {
      one.outcome = Status::skip;
      one.text = refusal;
    } else if (!difference.empty()) {
      // A difference is what was asked for here, and no failure.
      one.text = fmt::format(
          "{}: {}", verdict_text(text_of(difference, "verdict"), text_of(difference, "direction")),
          ratio_text(difference, difference));
    }
    list.push_back(std::move(one));
  }
  return list;
}

void measure_projection(const Document& document, const VisitMeasured& visit) {
  for (const Json& row : list_of(json_of(document), "rows")) {
    for (const std::string_view side : {"a", "b"}) {
      const Json& step = object_of(row, side);
      if (step.empty()) continue;
      Measured measured;
      measured.kind = "projection";
      add_label(measured, "axis", text_of(json_of(document), "axis"));
      add_label(measured, "at", any_text_of(row, "value"));
      add_label(measured, "side", std::string(side));
      add_label(measured, "name", side_name(json_of(document), side));
      add_values(measured, step,
                 {"step_s", "step_low_s", "step_high_s", "compute_s", "communication_s",
                  "nothing_hidden_s", "all_hidden_s", "cost_per_step"});
      measured.error = text_of(row, "refusal");
      visit(measured);
    }
  }
}

std::vector<Section> projection_sections(const Document& document) {
  const Json& body = json_of(document);
  const std::string axis = spaced(text_of(body, "axis"));
  const SideNames names(body);
  const ColumnOf at{axis.empty() ? "at" : axis, true,
                    [](const Json& row) { return Cell(number_text(row, "value")); }};
  const auto interval = [](const Json& row) {
    const Json& difference = object_of(row, "difference");
    return change_interval(difference, difference);
  };
  const Columns steps{at,
                      step_column(names.a, "a", "step_s"),
                      step_column(names.b, "b", "step_s"),
                      change_column("step_s"),
                      {"interval", true, interval},
                      {"verdict", false, projected_verdict}};
  const Columns costs{at, step_column(names.a, "a", "cost_per_step", cost_text),
                      step_column(names.b, "b", "cost_per_step", cost_text),
                      change_column("cost_per_step")};
  Columns bounds{at};
  for (const auto& [side, name] : {std::pair("a", names.a), std::pair("b", names.b)}) {
    bounds.push_back(step_column(name + ": nothing hidden", side, "nothing_hidden_s"));
    bounds.push_back(step_column(name + ": all hidden that can be", side, "all_hidden_s"));
  }
  const Json& rows = list_of(body, "rows");
  const auto known = [&rows](const char* key) {
    Json list = Json::array();
    for (const Json& row : rows) {
      const bool has = std::isfinite(number_of(object_of(row, "a"), key)) ||
                       std::isfinite(number_of(object_of(row, "b"), key));
      if (has) list.push_back(row);
    }
    return list;
  };
  Section assumed =
      table_of("Assumptions",
               {{"assumption", false,
                 [](const Json& one) {
                   return Cell(one.is_object() ? spaced(text_of(one, "name")) : any_text(one));
                 }},
                words_column("from", "origin"),
                {"value", false,
                 [](const Json& one) {
                   const std::string unit = text_of(one, "unit");
                   return Cell(number_text(one, "value") + (unit.empty() ? "" : " " + unit));
                 }}},
               list_of(body, "assumptions"));
  assumed.open = false;
  return {break_evens(body, axis),
          names.legend,
          has_side(rows, "b") ? table_of("Projected time of a step", steps, rows) : Section{},
          parts_of_step(body, "a", at),
          parts_of_step(body, "b", at),
          table_of("Cost of one step, in the currency of the prices per node and hour", costs,
                   known("cost_per_step")),
          table_of("Bounds by overlap of communication and computation", bounds,
                   known("nothing_hidden_s")),
          std::move(assumed),
          settings(body),
          notes_of(body)};
}

}  // namespace

const DocumentKind kProjectKind{kProjectSchema,     "Projection",     "rows",
                                "project",          judge_projection, measure_projection,
                                projection_sections};

}  // namespace rdmabench::inline v1::report
