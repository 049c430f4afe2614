#include "csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "digest.h"
#include "rdmabench/report/result.h"
#include "report/text_table.h"
#include "row.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

std::string cell_text(const Json& value) {
  if (value.is_null() || value.is_object()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) {
    const std::string one = cell_text(item);
    if (!text.empty() && !one.empty()) text += "; ";
    text += one;
  }
  return text;
}

std::string quoted(const Json& value) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  std::string text = terminal_safe(cell_text(value), "\t\r\n");
  if (!text.empty() && !value.is_number() && kFormula.find(text[0]) != std::string_view::npos) {
    text.insert(0, 1, '\'');
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return '"' + replaced(text, {{'"', "\"\""}}) + '"';
}

using VisitRow = std::function<void(const Json&)>;

Json row_of(const Document& document, std::string_view kind) {
  return {{"source", document.source}, {"schema", document.schema}, {"kind", kind}};
}

void visit_judgements(const Document& document, const VisitRow& visit) {
  for (const Judgement& one : judgements(document)) {
    if (one.measured) continue;
    Json row = row_of(document, "judgement");
    row["group"] = one.group;
    row["subject"] = one.subject;
    row["id"] = one.id;
    row["status"] = word(one.outcome);
    row["text"] = one.text;
    row["remedy"] = one.remedy;
    visit(row);
  }
}

void visit_rows(std::span<const Document> documents, const VisitRow& visit) {
  for (const Document& document : documents) {
    for_each_measured(document, [&](const Measured& measured) {
      Json row = row_of(document, measured.kind);
      for (const auto& [key, text] : measured.labels) {
        if (key != "kind") row[std::string(key)] = text;
      }
      for (const auto& [key, value] : measured.values) row[std::string(key)] = finite(value);
      if (!measured.error.empty()) row["error"] = measured.error;
      visit(row);
    });
    visit_judgements(document, visit);
  }
}

}  // namespace

Csv::Csv(std::vector<std::string> columns)
    : columns_(std::move(columns)),
      text_(fmt::format("{}{}", fmt::join(columns_, ","), kLineEnd)) {}

void Csv::add(const Json& row) {
  std::string_view separator;
  for (const std::string& column : columns_) {
    text_ += separator;
    separator = ",";
    const auto value = row.find(column);
    if (value != row.end()) text_ += quoted(*value);
  }
  text_ += kLineEnd;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

std::string to_csv(const Report& report) {
  const auto write = [&]<class Result>(const std::vector<Result>& results) {
    std::vector<std::string> columns = keys_of(to_row(fields_of(Result{}, report.resolved)));
    columns.emplace_back("suspect");
    Csv csv(std::move(columns));
    for (const Result& result : results) {
      Json row = to_row(fields_of(result, report.resolved));
      row["suspect"] = !report.suspicions.empty();
      csv.add(row);
    }
    return csv.text();
  };
  return std::visit(write, report.results);
}

std::string to_csv(std::span<const Document> documents) {
  std::vector<std::string> columns = keys_of(row_of({}, ""));
  visit_rows(documents, [&](const Json& row) {
    for (const auto& [key, value] : row.items()) {
      if (std::find(columns.begin(), columns.end(), key) == columns.end()) columns.push_back(key);
    }
  });
  Csv csv(std::move(columns));
  visit_rows(documents, [&](const Json& row) { csv.add(row); });
  return csv.text();
}

}  // namespace rdmabench::inline v1::report
