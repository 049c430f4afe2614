#include "rdmabench/report/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compared.h"
#include "results/text_table.h"
#include "sections.h"

namespace rdmabench::inline v1::report {
namespace {

/// How many items of a cell are told in its line.
constexpr std::size_t kMostItems = 12;

std::string line_of(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += fmt::format(" {} |", escaped_for_markdown(cell));
  return text + "\n";
}

/// A judgement that is not a pass has its word before its text.
std::string cell_text(const Cell& cell) {
  std::string text = cell.text;
  if (cell.status && (text.empty() || *cell.status != Status::pass)) {
    text = word(*cell.status) + (text.empty() ? "" : ": ") + text;
  }
  std::string items;
  for (std::size_t i = 0; i < std::min(kMostItems, cell.items.size()); ++i) {
    items += (i == 0 ? "" : "; ") + cell.items[i];
  }
  if (cell.items.size() > kMostItems) items += "; ...";
  return text + (text.empty() || items.empty() ? "" : ": ") + items;
}

/// Rows, what their hints say, and how many there are beyond those.
std::string table_text(const Section& section) {
  if (section.rows.empty()) return "";
  std::vector<std::string> heads;
  std::string rule = "|";
  for (const Column& column : section.columns) {
    heads.push_back(column.heading);
    rule += column.number ? " ---: |" : " --- |";
  }
  std::string text = line_of(heads) + rule + "\n";
  std::map<std::string, std::string> hints;
  const std::size_t shown = std::min(section.rows.size(), kMarkdownRows);
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string> cells;
    for (const Cell& cell : section.rows[i].cells) {
      cells.push_back(cell_text(cell));
      if (!cell.hint.empty()) hints.emplace(cell.hint, cell.text);
    }
    text += line_of(cells);
  }
  const std::size_t left_out = section.rows.size() - shown + section.left_out;
  if (left_out > 0) text += fmt::format("\n{} more rows are left out.\n", left_out);
  for (const auto& [hint, words] : hints) {
    text += fmt::format("\n{}: {}\n", escaped_for_markdown(words), escaped_for_markdown(hint));
  }
  return text + "\n";
}

/// Folded by those who can.
std::string section_text(const Section& section) {
  std::string text;
  for (const Cell& words : section.words) {
    text += fmt::format("{}{}\n", section.words.size() > 1 ? "- " : "",
                        escaped_for_markdown(cell_text(words)));
  }
  if (section.rows.empty() && section.left_out > 0) {
    text += fmt::format("- {} more are left out.\n", section.left_out);
  }
  if (!text.empty()) text += "\n";
  text += table_text(section);
  const std::string title = escaped_for_markdown(section.title);
  if (!section.open) {
    return fmt::format("<details><summary>{}</summary>\n\n{}</details>\n\n", title, text);
  }
  return (title.empty() ? "" : title + ":\n\n") + text;
}

std::string counts_text(const std::vector<Judgement>& list) {
  std::map<Status, std::size_t> counts;
  for (const Judgement& one : list) ++counts[one.outcome];
  std::string text;
  for (const Status outcome : kWorstFirst) {
    if (counts[outcome] == 0) continue;
    text += fmt::format("{}**{} {}**", text.empty() ? "" : ", ", counts[outcome], word(outcome));
  }
  return text.empty() ? "" : text + "\n\n";
}

}  // namespace

std::string decision_markdown(const Json& body, std::size_t level) {
  const Json& page = object_of(body, "page");
  const std::string mark(level, '#');
  const std::string without = text_of(body, "not_rdma");
  std::string text =
      fmt::format("{} {}\n\n{}\n\n{}**{}**\n", mark, escaped_for_markdown(said(page, "question")),
                  escaped_for_markdown(said(page, "subject")),
                  without.empty() ? "" : fmt::format("**{}**\n\n", escaped_for_markdown(without)),
                  escaped_for_markdown(said(page, "answer")));
  for (const Section& section : decision_sections(body)) {
    if (!section.title.empty()) {
      text += fmt::format("\n{}# {}\n", mark, escaped_for_markdown(section.title));
    }
    for (const Cell& words : section.words) text += '\n' + escaped_for_markdown(words.text) + '\n';
    if (!section.command.empty()) text += fmt::format("\n    {}\n", terminal_safe(section.command));
    if (const std::string rows = table_text(section); !rows.empty()) {
      text += '\n' + rows.substr(0, rows.size() - 1);
    }
  }
  return text;
}

std::string to_markdown(std::span<const Document> documents) {
  std::vector<JudgedDocument> all;
  for (const Document& document : documents) all.emplace_back(document, documents);
  const std::vector<Found> stands_out = found(all);
  const bool several = all.size() > 1;
  Status worst = Status::pass;
  for (const Found& one : stands_out) worst = worse(worst, one.first.outcome);
  const std::string table = table_text(found_table(stands_out, several));
  std::string text = several ? table : "";
  for (const JudgedDocument& judged : all) {
    const Document& document = judged.document;
    text += fmt::format("## {} ({})\n\n", escaped_for_markdown(document.source), document.schema);
    for (const std::string& note : document.notes) text += escaped_for_markdown(note) + "\n\n";
    if (const std::string first = headline(judged).text; !first.empty()) {
      text += fmt::format("**{}**\n\n", escaped_for_markdown(first));
    }
    text += counts_text(judged.list) + (several ? "" : table);
    for (const Section& section : sections(document)) text += section_text(section);
    if (document.schema == kDecideSchema) text += decision_markdown(json_of(document), 3) + "\n";
  }
  return fmt::format("# {}\n\n{}", escaped_for_markdown(title_of(documents, worst)), text);
}

std::string escaped_for_markdown(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]<>#|~&!";
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::string out;
  for (const char c : terminal_safe(line)) {
    if (kMarkup.find(c) != std::string_view::npos) out += '\\';
    out += c;
    if (c == '@') out += "\xe2\x80\x8b";
  }
  return out;
}

}  // namespace rdmabench::inline v1::report
