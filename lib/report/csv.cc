#include "rdmabench/report/writers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "row.h"

namespace rdmabench::report {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

struct CellText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const std::string& text) const { return quoted(text); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(std::uint64_t value) const { return fmt::format("{}", value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const Intervals& /*list*/) const { return ""; }
  std::string operator()(const std::vector<std::string>& list) const {
    return quoted(fmt::format("{}", fmt::join(list, "; ")));
  }
};

/// `last` is a field after those of the row.
void append_line(std::string& text, const Row& row, auto&& field_text, std::string_view last) {
  for (const Field& field : row) {
    text += field_text(field);
    text += ',';
  }
  text += last;
  text += kLineEnd;
}

}  // namespace

std::string to_csv(const Report& report) {
  const CellText cell_text;
  const std::string suspect = cell_text(!report.suspicions.empty());
  std::string text;
  const auto append = [&]<class Result>(const std::vector<Result>& results) {
    append_line(
        text, to_row(Result{}, report.resolved), [](const Field& field) { return field.key; },
        "suspect");
    for (const Result& result : results) {
      append_line(
          text, to_row(result, report.resolved),
          [&](const Field& field) { return std::visit(cell_text, field.cell); }, suspect);
    }
  };
  std::visit(append, report.results);
  return text;
}

}  // namespace rdmabench::report
