#include "csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "rdmabench/results/result.h"
#include "results/not_rdma.h"
#include "results/text_table.h"
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

std::string RunRecords::more(const Report& report, bool last) {
  const auto write = [&]<class Result>(const std::vector<Result>& results) {
    if (as_ == As::csv && !csv_) {
      std::vector<std::string> columns = keys_of(to_row(fields_of(Result{}, report.resolved)));
      columns.insert(columns.end(), {"suspect", "not_rdma"});
      csv_.emplace(std::move(columns));
    }
    std::string lines;
    for (; told_ < results.size(); ++told_) {
      Json row = to_row(fields_of(results[told_], report.resolved));
      row["suspect"] = last ? Json(!report.suspicions.empty()) : Json(nullptr);
      row["not_rdma"] = text_or_null(not_rdma(report));
      if (csv_) {
        csv_->add(row);
      } else {
        lines += line_of(row);
      }
    }
    return csv_ ? csv_->take() : lines;
  };
  return std::visit(write, report.results);
}

std::string to_csv(const Report& report) {
  return RunRecords(RunRecords::As::csv).more(report, true);
}

}  // namespace rdmabench::inline v1::report
