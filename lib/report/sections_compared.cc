// Comparisons and projections as tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "sections.h"

namespace rdmabench::report {
namespace {

/// "+12.30 %"; in times where `typical` is half, double or beyond.
std::string change_text(double ratio, double typical) {
  if (!std::isfinite(ratio)) return "-";
  if (typical >= 2 || typical <= 0.5) return fmt::format("{:.3g} times", ratio);
  return fmt::format("{:+.2f} %", 100 * (ratio - 1));
}

std::string change_interval(const Json& estimate) {
  const double ratio = number_of(estimate, "ratio");
  if (!std::isfinite(number_of(estimate, "ratio_low"))) return "-";
  return fmt::format("{} to {}", change_text(number_of(estimate, "ratio_low"), ratio),
                     change_text(number_of(estimate, "ratio_high"), ratio));
}

std::string seconds_text(double seconds) {
  return time_text(seconds * 1e9);
}

std::string cost_text(double cost) {
  return std::isfinite(cost) ? fmt::format("{:.4g}", cost) : "-";
}

std::string spaced(std::string_view text) {
  return replaced(text, {{'_', " "}});
}

Section compared_rows(const Json& body) {
  Section section{"Each quantity",
                  true,
                  {},
                  {{"what"},
                   {"size", true},
                   {side_name(body, "a"), true},
                   {side_name(body, "b"), true},
                   {"change", true},
                   {"interval", true},
                   {"verdict"},
                   {"launches", true},
                   {"remark"}}};
  for (const Json& family : list_of(body, "families")) {
    for (const Json& cell : list_of(family, "cells")) {
      const auto value = [&cell](const char* side) {
        const double number = number_of(cell, side);
        return text_of(cell, "unit") == "ns" ? time_text(number) : rate_text(number);
      };
      std::string size = size_text(number_of(cell, "size_bytes"));
      if (const double load = number_of(cell, "load"); std::isfinite(load)) {
        size += fmt::format(" at {:.0f} %", load * 100);
      }
      const Json& estimate = object_of(cell, "estimate");
      const double ratio = number_of(estimate, "ratio");
      const std::string direction = direction_of(family, cell);
      std::string remark = text_of(cell, "reason");
      const double more = number_of(cell, "more_launches");
      if (std::isfinite(more) && text_of(cell, "obstacle").empty()) {
        remark +=
            fmt::format("{}{:g} more of each side would tell", remark.empty() ? "" : "; ", more);
      }
      section.rows.push_back(
          {{text_of(family, "operation") + " " + text_of(family, "metric"), std::move(size),
            value("a"), value("b"), change_text(ratio, ratio), change_interval(estimate),
            Cell(status_of_cell(body, cell, direction),
                 verdict_text(text_of(cell, "verdict"), direction)),
            fmt::format("{}, {}", any_text_of(cell, "a_units"), any_text_of(cell, "b_units")),
            std::move(remark)}});
    }
  }
  return section;
}

Section planned(const Json& body) {
  const Json& plan = object_of(body, "plan");
  if (plan.empty()) return {};
  const std::string launches = any_text_of(plan, "launches_per_side");
  const auto planned_launches = [](const Json& row) {
    const std::string number = any_text_of(row, "launches_per_side");
    return Cell(number.empty() ? "too many" : number);
  };
  Section section = table_of("Plan",
                             {words_column("quantity", "what"),
                              number_column("launches vary by", "log_stddev", percent_text),
                              {"launches of each side", true, planned_launches}},
                             list_of(plan, "quantities"));
  std::string text = fmt::format("{} launches of each side",
                                 launches.empty() ? "more than are planned for" : launches);
  if (plan.contains("power")) {
    text +=
        fmt::format(" would tell, at a margin of {} with a power of {}, from {} pilot launches",
                    percent_text(number_of(plan, "margin")), percent_text(number_of(plan, "power")),
                    any_text_of(plan, "pilot_launches"));
  }
  section.words.emplace_back(text + '.');
  return section;
}

Section differences(const Json& body) {
  const auto declared = [](const Json& row) {
    return Cell(flag_of(row, "declared") ? "declared" : "not declared");
  };
  const Json& all = list_of(body, "confounds");
  Section section = table_of("What else differs",
                             {words_column("fact", "name"),
                              words_column("in", "where"),
                              words_column(side_name(body, "a"), "a"),
                              words_column(side_name(body, "b"), "b"),
                              {"declared", false, declared}},
                             all);
  section.open = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    section.rows[i].differs = !flag_of(all[i], "declared");
    section.open |= section.rows[i].differs;
  }
  if (all.empty() && !list_of(body, "families").empty()) {
    section.words.emplace_back(
        "Nothing else differed between the two sides, as far as their environments tell.");
  }
  return section;
}

Section launches_of_both(const Json& body) {
  Section section{"The launches of both sides", false};
  for (const char* const side : {"a", "b"}) {
    const Json& one = object_of(body, side);
    if (!one.contains("launches")) continue;
    Cell words =
        fmt::format("{}: {} launches", side_name(body, side), any_text_of(one, "launches"));
    if (one.contains("pairs")) {
      words.text += fmt::format(", pairs of nodes: {}", any_text_of(one, "pairs"));
    }
    for (const auto& [code, number] : object_of(one, "suspicions").items()) {
      words.text += fmt::format(", {} suspect ({})", any_text(number), code);
    }
    for (const auto& [kind, number] : object_of(one, "counters").items()) {
      words.text += fmt::format(", {}: {}", kind, any_text(number));
    }
    for (const Json& failed : list_of(one, "failed")) words.items.push_back(any_text(failed));
    section.words.push_back(std::move(words));
  }
  return section;
}

/// Of the projected step of one side.
ColumnOf step_column(std::string heading, std::string side, std::string key,
                     std::string (*text)(double)) {
  return {std::move(heading), true,
          [side = std::move(side), key = std::move(key), text](const Json& row) {
            return Cell(text(number_of(object_of(row, side), key)));
          }};
}

Cell step_interval(const Json& step) {
  const double low = number_of(step, "step_low_s");
  if (!std::isfinite(low)) return "-";
  return fmt::format("{} to {}", seconds_text(low), seconds_text(number_of(step, "step_high_s")));
}

Cell projected_verdict(const Json& row) {
  if (const std::string refusal = text_of(row, "refusal"); !refusal.empty()) {
    return Cell(Status::skip, refusal);
  }
  const Json& difference = object_of(row, "difference");
  return verdict_text(text_of(difference, "verdict"), text_of(difference, "direction"));
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
    if (shown && key != "summary") scalars[spaced(key)] = value;
  }
  return facts_table("Settings", scalars);
}

}  // namespace

std::vector<Section> comparison_sections(const Json& body) {
  return {compared_rows(body), planned(body), differences(body), launches_of_both(body),
          notes_of(body)};
}

std::vector<Section> projection_sections(const Json& body) {
  const std::string axis = spaced(text_of(body, "axis"));
  const ColumnOf at{axis.empty() ? "at" : axis, true,
                    [](const Json& row) { return Cell(number_text(row, "value")); }};
  Columns steps{at};
  Columns costs{at};
  Columns bounds{at};
  for (const char* const side : {"a", "b"}) {
    const std::string name = side_name(body, side);
    const std::string key = side;
    steps.push_back(step_column(name, key, "step_s", seconds_text));
    steps.push_back({name + ": interval", true,
                     [key](const Json& row) { return step_interval(object_of(row, key)); }});
    steps.push_back(step_column(name + ": communication", key, "communication_s", seconds_text));
    costs.push_back(step_column(name, key, "cost_per_step", cost_text));
    bounds.push_back(step_column(name + ": nothing hidden", key, "nothing_hidden_s", seconds_text));
    bounds.push_back(
        step_column(name + ": all hidden that can be", key, "all_hidden_s", seconds_text));
  }
  steps.push_back({"change", true, [](const Json& row) {
                     const double ratio = number_of(object_of(row, "difference"), "ratio");
                     return Cell(change_text(ratio, ratio));
                   }});
  steps.push_back({"verdict", false, projected_verdict});
  costs.push_back({"change", true, [](const Json& row) {
                     const double ratio = number_of(object_of(row, "b"), "cost_per_step") /
                                          number_of(object_of(row, "a"), "cost_per_step");
                     return Cell(change_text(ratio, ratio));
                   }});
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
                {"value", false,
                 [](const Json& one) {
                   const std::string unit = text_of(one, "unit");
                   return Cell(number_text(one, "value") + (unit.empty() ? "" : " " + unit));
                 }},
                words_column("from", "origin")},
               list_of(body, "assumptions"));
  assumed.open = false;
  return {break_evens(body, axis),
          table_of("Projected time of a step", steps, rows),
          table_of("Cost of one step, in the currency of the prices per node and hour", costs,
                   known("cost_per_step")),
          table_of("Bounds by overlap of communication and computation", bounds,
                   known("nothing_hidden_s")),
          std::move(assumed),
          settings(body),
          notes_of(body)};
}

}  // namespace rdmabench::report
