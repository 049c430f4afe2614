#include "digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "compared.h"
#include "kinds.h"
#include "rdmabench/base/units.h"

namespace rdmabench::report {
namespace {

/// How many ranks there were; 0 where neither a list nor a number tells.
std::size_t ranks_of(const Json& body) {
  std::size_t ranks = list_of(body, "ranks").size();
  for (const Json& fact : list_of(body, "config")) {
    const double told = text_of(fact, "name") == "ranks" ? number_of(fact, "value") : 0;
    if (told > 0 && told < 1e9) ranks = std::max(ranks, static_cast<std::size_t>(told));
  }
  return ranks;
}

}  // namespace

void measure_run(const Document& document, const VisitMeasured& visit) {
  const Json& body = document.body;
  const std::string test = text_of(body, "test");
  const Json& environment = object_of(body, "environment");
  for (const Json& row : list_of(body, "results")) {
    Measured measured;
    measured.kind = "latency";
    for (const std::string_view kind : {"bandwidth", "load", "registration"}) {
      if (test == kind) measured.kind = kind;
    }
    add_label(measured, "client", fact_of(list_of(environment, "client"), "hostname"));
    add_label(measured, "server", fact_of(list_of(environment, "server"), "hostname"));
    add_label(measured, "transport", text_of(object_of(body, "resolved"), "transport"));
    add_row(measured, row,
            {"operation", "backend", "provider", "device", "direction", "kind", "signal",
             "completion", "memory", "route", "mapping", "size_bytes", "load"});
    if (body.contains("suspect")) {
      measured.values.emplace_back("suspect", flag_of(body, "suspect") ? 1 : 0);
    }
    visit(measured);
  }
}

void measure_comparison(const Document& document, const VisitMeasured& visit) {
  for (const Json& family : list_of(document.body, "families")) {
    for (const Json& cell : list_of(family, "cells")) {
      Measured measured;
      measured.kind = "comparison";
      add_labels(measured, family, text_of, {"test", "operation", "metric"});
      add_labels(measured, cell, any_text_of, {"size_bytes", "load", "unit", "verdict"});
      add_label(measured, "direction", direction_of(family, cell));
      add_label(measured, "a_name", side_name(document.body, "a"));
      add_label(measured, "b_name", side_name(document.body, "b"));
      add_values(measured, cell, {"a", "b", "a_units", "b_units"});
      add_values(measured, object_of(cell, "estimate"), {"ratio", "ratio_low", "ratio_high"});
      visit(measured);
    }
  }
}

void measure_projection(const Document& document, const VisitMeasured& visit) {
  for (const Json& row : list_of(document.body, "rows")) {
    for (const std::string_view side : {"a", "b"}) {
      const Json& step = object_of(row, side);
      if (step.empty()) continue;
      Measured measured;
      measured.kind = "projection";
      add_label(measured, "axis", text_of(document.body, "axis"));
      add_label(measured, "at", any_text_of(row, "value"));
      add_label(measured, "side", std::string(side));
      add_label(measured, "name", side_name(document.body, side));
      add_values(measured, step,
                 {"step_s", "step_low_s", "step_high_s", "compute_s", "communication_s",
                  "nothing_hidden_s", "all_hidden_s", "cost_per_step"});
      measured.error = text_of(row, "refusal");
      visit(measured);
    }
  }
}

void measure_coll(const Document& document, const VisitMeasured& visit) {
  const std::string backend = text_of(document.body, "backend");
  const std::size_t ranks = ranks_of(document.body);
  for (const Json& row : list_of(document.body, "results")) {
    Measured measured;
    measured.kind = "collective";
    add_label(measured, "backend", backend);
    if (ranks > 0) measured.labels.emplace_back("ranks", fmt::format("{}", ranks));
    add_row(measured, row,
            {"group", "operation", "type", "reduction", "root", "size_bytes", "in_place"});
    add_values(measured, object_of(row, "wrong"), {"wrong_elements"});
    measured.error = text_of(row, "skipped");
    visit(measured);
  }
}

void add_label(Measured& measured, std::string_view key, std::string value) {
  if (!value.empty()) measured.labels.emplace_back(key, std::move(value));
}

void add_labels(Measured& measured, const Json& object,
                std::string (*read)(const Json&, std::string_view), Keys keys) {
  for (const std::string_view key : keys) add_label(measured, key, read(object, key));
}

void add_values(Measured& measured, const Json& object, Keys keys) {
  for (const std::string_view key : keys) {
    const double value = number_of(object, key);
    if (std::isfinite(value)) measured.values.emplace_back(key, value);
  }
}

void add_row(Measured& measured, const Json& row, Keys labels) {
  add_labels(measured, row, any_text_of, labels);
  for (const auto& [key, value] : row.items()) {
    if (std::find(labels.begin(), labels.end(), key) != labels.end()) continue;
    if (value.is_number()) measured.values.emplace_back(key, value.get<double>());
    if (value.is_boolean()) measured.values.emplace_back(key, value.get<bool>() ? 1 : 0);
  }
}

std::ptrdiff_t place_of(Status status) noexcept {
  return std::find(kWorstFirst.begin(), kWorstFirst.end(), status) - kWorstFirst.begin();
}

std::string word(Status status) {
  return lower(name(status));
}

void Judgement::add_details(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (std::string one = any_text_of(object, key); !one.empty()) details.emplace_back(key, one);
  }
}

void for_each_measured(const Document& document,
                       const std::function<void(const Measured&)>& visit) {
  if (const DocumentKind* const kind = find_kind(document.schema)) kind->measure(document, visit);
}

std::string fact_of(const Json& facts, std::string_view name) {
  for (const Json& fact : facts) {
    if (text_of(fact, "name") == name) return any_text_of(fact, "value");
  }
  return "";
}

bool is_own_fact(std::string_view name) noexcept {
  return name == "hostname" || name == "collected_utc";
}

std::string replaced(std::string_view text,
                     std::initializer_list<std::pair<char, std::string_view>> words) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    const auto* const found =
        std::find_if(words.begin(), words.end(), [c](const auto& one) { return one.first == c; });
    if (found == words.end()) {
      out += c;
    } else {
      out += found->second;
    }
  }
  return out;
}

}  // namespace rdmabench::report
