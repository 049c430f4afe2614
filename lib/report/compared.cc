// The documents of comparisons.
#include "compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/text.h"
#include "kinds.h"

namespace rdmabench::inline v1::report {

std::string side_name(const Json& body, std::string_view side) {
  const std::string name = text_of(object_of(body, side), "name");
  return !name.empty() ? name : side == "a" ? "A" : "B";
}

std::string verdict_text(std::string_view verdict, std::string_view direction) {
  const bool is_told = verdict == "DIFFERENT" && !direction.empty();
  return upper(replaced(is_told ? direction : verdict, {{'_', " "}}));
}

bool is_told_in_times(double ratio) {
  return ratio >= 2 || ratio <= 0.5;
}

bool is_too_noisy(const Json& estimate, const Json& judged) {
  return text_of(judged, "obstacle") == "noise" &&
         (is_told_in_times(number_of(estimate, "ratio_low")) ||
          is_told_in_times(number_of(estimate, "ratio_high")));
}

std::string ratio_text(const Json& estimate, const Json& judged) {
  if (is_too_noisy(estimate, judged)) return std::string(kTooNoisy);
  if (estimate.empty()) return "no estimate";
  const auto text = [&](const char* key) { return digits_text(number_of(estimate, key)); };
  return fmt::format("{} times ({} to {})", text("ratio"), text("ratio_low"), text("ratio_high"));
}

std::string signed_percent(double share) {
  constexpr double kNone = 0.005;  // per cent
  const double percent = std::abs(100 * share);
  return fmt::format("{}{} %", share < 0 && percent >= kNone ? "-" : "+",
                     percent < kNone ? "0" : digits_text(percent));
}

std::string change_text(double ratio, double typical) {
  if (!std::isfinite(ratio)) return "-";
  if (is_told_in_times(typical)) return digits_text(ratio) + " times";
  return signed_percent(ratio - 1);
}

std::string change_interval(const Json& estimate, const Json& judged) {
  if (is_too_noisy(estimate, judged)) return std::string(kTooNoisy);
  const double ratio = number_of(estimate, "ratio");
  if (!std::isfinite(number_of(estimate, "ratio_low"))) return "-";
  return fmt::format("{} to {}", change_text(number_of(estimate, "ratio_low"), ratio),
                     change_text(number_of(estimate, "ratio_high"), ratio));
}

std::string spaced(std::string_view text) {
  return replaced(text, {{'_', " "}});
}

SideNames::SideNames(const Json& body) : a(side_name(body, "a")), b(side_name(body, "b")) {
  constexpr std::size_t kMost = 12;
  if (std::max(a.size(), b.size()) <= kMost) return;
  legend.words.emplace_back(fmt::format("A is {}, B is {}.", a, b));
  a = "A";
  b = "B";
}

Cell verdict_cell(Status status, const Json& judged, const std::string& direction) {
  Cell cell(status, verdict_text(text_of(judged, "verdict"), direction));
  const std::string obstacle = text_of(judged, "obstacle");
  const std::string more = any_text_of(judged, "more_launches");
  if (obstacle == "margin") cell.text += ", at the margin";
  if (obstacle.empty() && !more.empty()) cell.text += fmt::format(", {} more", more);
  if (std::string why = text_of(judged, "reason"); !why.empty()) cell.items.push_back(why);
  return cell;
}

namespace {

/// Whether the comparison was asked to fail on this. Older documents fail on what is worse.
bool fails_on(const Json& body, std::string_view what) {
  const Json& settings = object_of(body, "settings");
  if (!settings.contains("fail_on")) return what == "worse";
  const Json& list = list_of(settings, "fail_on");
  return std::any_of(list.begin(), list.end(), [&](const Json& one) { return one == what; });
}

/// Of all, as the exit code judges; what is worse without failing is a warning.
Status status_of_verdict(const Json& body) {
  if (flag_of(body, "failed")) return Status::fail;
  if (!text_of(body, "not_rdma").empty()) return Status::warn;
  const std::string confounded = text_of(body, "as_they_stand");
  const std::string verdict = confounded.empty() ? text_of(body, "verdict") : confounded;
  if (verdict == "EQUIVALENT" || verdict == "DIFFERENT_BUT_IMMATERIAL") return Status::pass;
  if (verdict != "DIFFERENT") {
    const bool open = verdict == "INCONCLUSIVE" || verdict == "DRIFTING" || verdict == "REFUSED";
    return open || verdict == "CONFOUNDED" ? Status::warn : Status::error;
  }
  const std::string direction = text_of(body, "direction");
  const bool older = direction.empty() && !body.contains("failed");
  const bool fails = older && text_of(body, "verdict") == verdict;
  return direction == "better" ? Status::pass : fails ? Status::fail : Status::warn;
}

/// The summary, which documents of older releases do not have.
std::string verdict_words(const Json& body) {
  if (std::string summary = text_of(body, "summary"); !summary.empty()) return summary;
  const std::string verdict = text_of(body, "verdict");
  const std::string stands = text_of(body, "as_they_stand");
  return fmt::format(
      "Verdict: {}{}", verdict_text(verdict, text_of(body, "direction")),
      stands.empty() || stands == verdict ? "" : ", as they stand " + verdict_text(stands, ""));
}

/// As the exit code judges a cell: what is DIFFERENT by itself alone, and not after the correction
/// for many quantities, does not fail.
Status status_of_cell(const Json& body, const Json& cell, std::string_view direction) {
  const std::string verdict = text_of(cell, "verdict");
  if (verdict == "EQUIVALENT" || verdict == "DIFFERENT_BUT_IMMATERIAL") return Status::pass;
  if (verdict == "REFUSED") return Status::skip;
  if (verdict == "INCONCLUSIVE" || verdict == "DRIFTING") {
    return fails_on(body, "inconclusive") ? Status::fail : Status::warn;
  }
  if (verdict != "DIFFERENT") return Status::error;
  const double adjusted = number_of(cell, "p_beyond_margin_holm");
  const double alpha = number_of(object_of(body, "settings"), "alpha");
  if (adjusted >= alpha) return Status::warn;  // false where one is not known
  const bool fails =
      fails_on(body, "different") || (direction != "better" && fails_on(body, "worse"));
  return fails ? Status::fail : Status::pass;
}

/// "better", "worse" or empty; by the ratio where an older document does not say.
std::string direction_of(const Json& family, const Json& cell) {
  if (text_of(cell, "verdict") != "DIFFERENT") return "";
  if (std::string known = text_of(cell, "direction"); !known.empty()) return known;
  const double ratio = number_of(object_of(cell, "estimate"), "ratio");
  if (!std::isfinite(ratio)) return "";
  return (ratio > 1) == (text_of(family, "metric") == "bandwidth") ? "better" : "worse";
}

/// By how much the launches vary of the quantities that vary too much; "" where none does.
std::string variation_of(const Json& family) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const Json& cell : list_of(family, "cells")) {
    if (text_of(cell, "obstacle") != "noise") continue;
    const double square = (std::pow(number_of(cell, "a_log_stddev"), 2) +
                           std::pow(number_of(cell, "b_log_stddev"), 2)) /
                          2;
    if (!std::isfinite(square)) continue;
    const double percent = 100 * std::sqrt(std::expm1(square));
    least = std::min(least, percent);
    most = std::max(most, percent);
  }
  if (!std::isfinite(least)) return "";
  const std::string low = fmt::format("{:.0f}", least);
  const std::string high = fmt::format("{:.0f}", most);
  return fmt::format("launches vary by {}{} %", low, low == high ? "" : " to " + high);
}

std::string family_title(const Json& family) {
  const std::string test = text_of(family, "test");
  const std::string metric = text_of(family, "metric");
  const std::string kind = spaced(text_of(family, "kind"));
  return fmt::format("{} {}{}{}", text_of(family, "operation"), test,
                     metric == test ? "" : " " + metric,
                     kind.empty() ? "" : fmt::format(" ({})", kind));
}

/// Of a family of which nothing could be judged, in one line; "" of any other.
std::string refused_text(const Json& family) {
  const Json& cells = list_of(family, "cells");
  const bool all = std::all_of(cells.begin(), cells.end(), [](const Json& cell) {
    return text_of(cell, "verdict") == "REFUSED";
  });
  if (cells.size() < 2 || !all) return "";
  return fmt::format("{}: REFUSED at all {} sizes: {}", family_title(family), cells.size(),
                     text_of(cells.front(), "reason"));
}

Section compared_rows(const Json& body, const Json& family, const SideNames& names) {
  const std::string metric = text_of(family, "metric");
  Scale scale = metric == "bandwidth" ? kRateScale : kTimeScale;
  scale.decimals = 4;
  const Cell verdict = verdict_cell(Status::pass, family, text_of(family, "direction"));
  Section section{fmt::format("{}{}{}{}", family_title(family), verdict.text.empty() ? "" : ": ",
                              verdict.text,
                              list_of(family, "confounded_by").empty() ? "" : ", confounded")};
  section.columns = {{"size", true},
                     {names.a, true, scale},
                     {names.b, true, scale},
                     {"change", true},
                     {"interval", true},
                     {"verdict"},
                     {"launches", true, {}, kOnPages}};
  const std::string variation = variation_of(family);
  for (const Json& cell : list_of(family, "cells")) {
    std::string size = size_text(number_of(cell, "size_bytes"));
    if (const double load = number_of(cell, "load"); std::isfinite(load)) {
      size += fmt::format(" at {:.0f} %", load * 100);
    }
    const Json& estimate = object_of(cell, "estimate");
    const double ratio = number_of(estimate, "ratio");
    const std::string direction = direction_of(family, cell);
    Cell judged = verdict_cell(status_of_cell(body, cell, direction), cell, direction);
    if (!variation.empty() && text_of(cell, "obstacle") == "noise") {
      judged.items.push_back(variation);
    }
    const double of_a = number_of(cell, "a_suspect_launches");
    const double of_b = number_of(cell, "b_suspect_launches");
    if (of_a + of_b > 0) {
      judged.items.push_back(
          fmt::format("suspect launches: {} {:g}, {} {:g}", names.a, of_a, names.b, of_b));
    }
    const std::string units = any_text_of(cell, "a_units");
    section.rows.push_back(
        {{std::move(size), Cell(number_of(cell, "a"), scale), Cell(number_of(cell, "b"), scale),
          is_too_noisy(estimate, cell) ? "-" : change_text(ratio, ratio),
          change_interval(estimate, cell), std::move(judged),
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

/// Facts of which the same is told are one row: the kernels of client and server.
void merge_alike(Section& section) {
  std::vector<TableRow> merged;
  std::map<std::vector<std::string>, std::size_t> places;  // by all cells but the fact's
  for (TableRow& row : section.rows) {
    std::vector<std::string> key;
    for (std::size_t i = 1; i < row.cells.size(); ++i) key.push_back(row.cells[i].text);
    const auto [found, added] = places.try_emplace(std::move(key), merged.size());
    if (added) {
      merged.push_back(std::move(row));
    } else {
      merged[found->second].cells[0].text += ", " + row.cells[0].text;
    }
  }
  section.rows = std::move(merged);
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
  merge_alike(section);
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

std::vector<Judgement> judge_comparison(const Document& document) {
  const Json& body = json_of(document);
  std::vector<Judgement> list;
  const std::string subject =
      fmt::format("{} against {}", side_name(body, "b"), side_name(body, "a"));
  if (!text_of(body, "verdict").empty()) {
    list.push_back(
        {"compare", subject, "the verdict", status_of_verdict(body), verdict_words(body)});
    list.back().headline = true;
  }
  if (text_of(body, "verdict") == "CONFOUNDED") {
    list.push_back({"compare", subject, "confounds",
                    fails_on(body, "confounded") ? Status::fail : Status::warn,
                    "Something besides what is compared differs between the two sides.",
                    "Make the two sides alike, or declare what differs."});
  }
  for (const Json& family : list_of(body, "families")) {
    for (const Json& cell : list_of(family, "cells")) {
      Judgement one;
      one.group = "compare." + text_of(family, "test");
      one.measured = true;
      one.subject = subject;
      one.id = fmt::format("{} {} {}", text_of(family, "operation"), text_of(family, "metric"),
                           size_text(number_of(cell, "size_bytes")));
      if (const std::string load = any_text_of(cell, "load"); !load.empty()) {
        one.id += " load " + load;
      }
      const std::string direction = direction_of(family, cell);
      one.outcome = status_of_cell(body, cell, direction);
      const std::string reason = text_of(cell, "reason");
      one.text = fmt::format("{}: {}{}{}", verdict_text(text_of(cell, "verdict"), direction),
                             ratio_text(object_of(cell, "estimate"), cell),
                             reason.empty() ? "" : "; ", reason);
      one.add_details(cell, {"a", "b", "unit", "a_units", "b_units", "more_launches"});
      list.push_back(std::move(one));
    }
  }
  return list;
}

void measure_comparison(const Document& document, const VisitMeasured& visit) {
  for (const Json& family : list_of(json_of(document), "families")) {
    for (const Json& cell : list_of(family, "cells")) {
      Measured measured;
      measured.kind = "comparison";
      add_labels(measured, family, text_of, {"test", "operation", "metric"});
      add_labels(measured, cell, any_text_of, {"size_bytes", "load", "unit", "verdict"});
      add_label(measured, "direction", direction_of(family, cell));
      add_label(measured, "a_name", side_name(json_of(document), "a"));
      add_label(measured, "b_name", side_name(json_of(document), "b"));
      add_values(measured, cell, {"a", "b", "a_units", "b_units"});
      add_values(measured, object_of(cell, "estimate"), {"ratio", "ratio_low", "ratio_high"});
      visit(measured);
    }
  }
}

std::vector<Section> comparison_sections(const Document& document) {
  const Json& body = json_of(document);
  const SideNames names(body);
  std::vector<Section> all{names.legend};
  Section refused;
  for (const Json& family : list_of(body, "families")) {
    if (std::string why = refused_text(family); !why.empty()) {
      refused.words.emplace_back(Status::skip, std::move(why));
    } else {
      all.push_back(compared_rows(body, family, names));
    }
  }
  all.push_back(std::move(refused));
  all.insert(all.end(),
             {planned(body), differences(body, names), launches_of_both(body), notes_of(body)});
  return all;
}

}  // namespace

const DocumentKind kCompareKind{kCompareSchema,   "Comparison",       "families",         "compare",
                                judge_comparison, measure_comparison, comparison_sections};

}  // namespace rdmabench::inline v1::report
