// Comparisons and projections as tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "compared.h"
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
constexpr Scale kStepScale{seconds_text, "ms", 1e-3, 4};

std::string cost_text(double cost) {
  return std::isfinite(cost) ? fmt::format("{:.4g}", cost) : "-";
}

std::string spaced(std::string_view text) {
  return replaced(text, {{'_', " "}});
}

/// What both sides are called at the heads of columns.
struct SideNames {
  explicit SideNames(const Json& body) : a(side_name(body, "a")), b(side_name(body, "b")) {
    constexpr std::size_t kMost = 12;
    if (std::max(a.size(), b.size()) <= kMost) return;
    legend.words.emplace_back(fmt::format("A is {}, B is {}.", a, b));
    a = "A";
    b = "B";
  }

  std::string a, b;
  Section legend{};  ///< empty where these are their names
};

/// The verdict of a cell or a row, what stands in its way, and why.
Cell verdict_cell(Status status, const Json& judged, const std::string& direction) {
  Cell cell(status, verdict_text(text_of(judged, "verdict"), direction));
  const std::string obstacle = text_of(judged, "obstacle");
  const std::string more = any_text_of(judged, "more_launches");
  if (obstacle == "margin") cell.text += ", at the margin";
  if (obstacle.empty() && !more.empty()) cell.text += fmt::format(", {} more", more);
  if (std::string why = text_of(judged, "reason"); !why.empty()) cell.items.push_back(why);
  return cell;
}

Section compared_rows(const Json& body, const Json& family, const SideNames& names) {
  const std::string test = text_of(family, "test");
  const std::string metric = text_of(family, "metric");
  const std::string kind = spaced(text_of(family, "kind"));
  Scale scale = metric == "bandwidth" ? kRateScale : kTimeScale;
  scale.decimals = 4;
  const Cell verdict = verdict_cell(Status::pass, family, text_of(family, "direction"));
  Section section{
      fmt::format("{} {}{}{}{}{}{}", text_of(family, "operation"), test,
                  metric == test ? "" : " " + metric,
                  kind.empty() ? "" : fmt::format(" ({})", kind), verdict.text.empty() ? "" : ": ",
                  verdict.text, list_of(family, "confounded_by").empty() ? "" : ", confounded"),
      true,
      {},
      {{"size", true},
       {names.a, true, scale},
       {names.b, true, scale},
       {"change", true},
       {"interval", true},
       {"verdict"},
       {"launches", true, {}, kOnPages}}};
  for (const Json& cell : list_of(family, "cells")) {
    std::string size = size_text(number_of(cell, "size_bytes"));
    if (const double load = number_of(cell, "load"); std::isfinite(load)) {
      size += fmt::format(" at {:.0f} %", load * 100);
    }
    const Json& estimate = object_of(cell, "estimate");
    const double ratio = number_of(estimate, "ratio");
    const std::string direction = direction_of(family, cell);
    Cell judged = verdict_cell(status_of_cell(body, cell, direction), cell, direction);
    const double of_a = number_of(cell, "a_suspect_launches");
    const double of_b = number_of(cell, "b_suspect_launches");
    if (of_a + of_b > 0) {
      judged.items.push_back(
          fmt::format("suspect launches: {} {:g}, {} {:g}", names.a, of_a, names.b, of_b));
    }
    const std::string units = any_text_of(cell, "a_units");
    section.rows.push_back(
        {{std::move(size), Cell(number_of(cell, "a"), scale), Cell(number_of(cell, "b"), scale),
          change_text(ratio, ratio), change_interval(estimate), std::move(judged),
          units.empty() ? "" : fmt::format("{}, {}", units, any_text_of(cell, "b_units"))}});
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
    text += fmt::format(
        " would tell in {} of cases, at a margin of {} and an alpha of {}, if the true difference is "
        "{}; from {} pilot launches",
        percent_text(number_of(plan, "power")), percent_text(number_of(plan, "margin")),
        percent_text(number_of(plan, "alpha")), percent_text(number_of(plan, "true_difference")),
        any_text_of(plan, "pilot_launches"));
  }
  section.words.emplace_back(text + '.');
  return section;
}

Section differences(const Json& body, const SideNames& names) {
  const auto declared = [](const Json& row) {
    return Cell(flag_of(row, "declared") ? "declared" : "not declared");
  };
  const Json& all = list_of(body, "confounds");
  Section section = table_of("What else differs",
                             {words_column("fact", "name"),
                              words_column("in", "where"),
                              words_column(names.a, "a"),
                              words_column(names.b, "b"),
                              {"declared", false, declared}},
                             all);
  section.open = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    section.rows[i].differs = !flag_of(all[i], "declared");
    section.open |= section.rows[i].differs;
  }
  std::stable_partition(section.rows.begin(), section.rows.end(),
                        [](const TableRow& row) { return row.differs; });
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
      words.text += fmt::format(", {} suspect of {}", any_text(number), code);
    }
    for (const auto& [kind, number] : object_of(one, "counters").items()) {
      words.text += fmt::format(", counters of {}: {}", kind, any_text(number));
    }
    for (const Json& failed : list_of(one, "failed")) {
      words.items.push_back("left out, it ended early: " + any_text(failed));
    }
    section.words.push_back(std::move(words));
  }
  const std::string order = text_of(object_of(body, "order"), "pattern");
  if (!order.empty()) section.words.emplace_back("Their order by time: " + order);
  return section;
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
            return Cell(change_text(ratio, ratio));
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
    if (shown && key != "summary") scalars[spaced(key)] = value;
  }
  return facts_table("Settings", scalars);
}

}  // namespace

std::vector<Section> comparison_sections(const Json& body) {
  const SideNames names(body);
  std::vector<Section> all{names.legend};
  for (const Json& family : list_of(body, "families")) {
    all.push_back(compared_rows(body, family, names));
  }
  all.insert(all.end(),
             {planned(body), differences(body, names), launches_of_both(body), notes_of(body)});
  return all;
}

std::vector<Section> projection_sections(const Json& body) {
  const std::string axis = spaced(text_of(body, "axis"));
  const SideNames names(body);
  const ColumnOf at{axis.empty() ? "at" : axis, true,
                    [](const Json& row) { return Cell(number_text(row, "value")); }};
  const auto interval = [](const Json& row) {
    return change_interval(object_of(row, "difference"));
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

std::vector<Section> decision_sections(const Json& body) {
  std::vector<Section> all;
  for (const Json& part : list_of(object_of(body, "page"), "sections")) {
    std::string title = said(part, "title");
    for (const Json& block : list_of(part, "blocks")) {
      if (block.contains("chart")) continue;  // the table has it
      Section& section = all.emplace_back();
      section.title = std::exchange(title, "");
      const Json& command = object_of(block, "command");
      section.command = text_of(command, "line");
      const std::string small = fmt::format("{}", fmt::join(all_said(block, "small"), "; "));
      for (const std::string& words : {said(block, "sentence"), said(command, "why"), small}) {
        if (!words.empty()) section.words.emplace_back(words);
      }
      const Json& table = object_of(block, "table");
      for (const std::string& head : all_said(table, "heads")) {
        section.columns.push_back({head, !section.columns.empty() && !flag_of(table, "words")});
      }
      for (const Json& row : list_of(table, "rows")) {
        TableRow& cells = section.rows.emplace_back();
        for (const Json& one : row) cells.cells.emplace_back(text_of(one, "text"));
        cells.cells.resize(section.columns.size());
      }
    }
  }
  return all;
}

}  // namespace rdmabench::report
