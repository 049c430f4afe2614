#include "results/csv.h"

#include <algorithm>
#include <functional>

#include "digest.h"

namespace rdmabench::inline v1::report {
namespace {

using VisitRow = std::function<void(const Json&)>;

Json row_of(const Document& document, std::string_view kind) {
  return {{"source", document.source}, {"schema", document.schema}, {"kind", kind}};
}

void visit_judgements(const Document& document, std::span<const Document> all,
                      const VisitRow& visit) {
  for (const Judgement& one : judgements(document, all)) {
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
    visit_judgements(document, documents, visit);
  }
}

}  // namespace

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
