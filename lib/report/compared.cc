#include "compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "kinds.h"
#include "row.h"
#include "sections.h"

namespace rdmabench::report {
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

/// "1.25 times (1.2 to 1.3)".
std::string ratio_text(const Json& estimate) {
  if (estimate.empty()) return "no estimate";
  return fmt::format("{:.4g} times ({:.4g} to {:.4g})", number_of(estimate, "ratio"),
                     number_of(estimate, "ratio_low"), number_of(estimate, "ratio_high"));
}

}  // namespace

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

std::string side_name(const Json& body, std::string_view side) {
  const std::string name = text_of(object_of(body, side), "name");
  return !name.empty() ? name : side == "a" ? "A" : "B";
}

std::string verdict_text(std::string_view verdict, std::string_view direction) {
  const bool is_told = verdict == "DIFFERENT" && !direction.empty();
  return upper(replaced(is_told ? direction : verdict, {{'_', " "}}));
}

std::string direction_of(const Json& family, const Json& cell) {
  if (text_of(cell, "verdict") != "DIFFERENT") return "";
  if (std::string known = text_of(cell, "direction"); !known.empty()) return known;
  const double ratio = number_of(object_of(cell, "estimate"), "ratio");
  if (!std::isfinite(ratio)) return "";
  return (ratio > 1) == (text_of(family, "metric") == "bandwidth") ? "better" : "worse";
}

std::vector<Judgement> judge_comparison(const Document& document) {
  const Json& body = document.body;
  std::vector<Judgement> list;
  const std::string subject =
      fmt::format("{} against {}", side_name(body, "b"), side_name(body, "a"));
  if (!text_of(body, "verdict").empty()) {
    list.push_back(
        {"compare", subject, "the verdict", status_of_verdict(body), verdict_words(body)});
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
      one.text =
          fmt::format("{}: {}{}{}", verdict_text(text_of(cell, "verdict"), direction),
                      ratio_text(object_of(cell, "estimate")), reason.empty() ? "" : "; ", reason);
      one.add_details(cell, {"a", "b", "unit", "a_units", "b_units", "more_launches"});
      list.push_back(std::move(one));
    }
  }
  return list;
}

std::vector<Judgement> judge_projection(const Document& document) {
  std::vector<Judgement> list;
  const std::string axis = text_of(document.body, "axis");
  const std::string a = side_name(document.body, "a");
  const std::string both = fmt::format("{} against {}", side_name(document.body, "b"), a);
  if (const std::string summary = text_of(document.body, "summary"); !summary.empty()) {
    const bool one = object_of(document.body, "b").empty();
    list.push_back({"project", one ? a : both, "in short", Status::pass, summary});
    list.back().measured = true;
  }
  for (const Json& row : list_of(document.body, "rows")) {
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
          ratio_text(difference));
    }
    list.push_back(std::move(one));
  }
  return list;
}

std::vector<Judgement> judge_decision(const Document& document) {
  std::vector<Judgement> list;
  const Json& page = object_of(document.body, "page");
  for (const Section& section : decision_sections(document.body)) {
    if (!section.title.empty() || list.empty()) {
      list.push_back({"decide", said(page, "question"),
                      section.title.empty() ? said(page, "answer") : section.title, Status::pass});
    }
    std::string& text = list.back().text;
    const auto add_line = [&text](const std::string& line) {
      text += (text.empty() ? "" : "\n") + line;
    };
    for (const Cell& words : section.words) add_line(words.text);
    if (!section.command.empty()) text += ' ' + section.command;
    for (const TableRow& row : section.rows) {
      std::string line;
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        line += fmt::format("{}{}: {}", i == 0 ? "" : "; ", section.columns[i].heading,
                            row.cells[i].text);
      }
      add_line(line);
    }
  }
  return list;
}

std::string said(const Json& object, std::string_view key) {
  return text_of(object_of(object, key), "text");
}

std::vector<std::string> all_said(const Json& object, std::string_view key) {
  std::vector<std::string> list;
  for (const Json& one : list_of(object, key)) list.push_back(text_of(one, "text"));
  return list;
}

}  // namespace rdmabench::report
