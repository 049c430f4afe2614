// A decision as text of 80 columns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "decision_page.h"
#include "rdmabench/report/text_table.h"
#include "report/text_width.h"

namespace rdmabench::analysis {
namespace {

constexpr std::size_t kColumns = 80;

using Cells = std::vector<std::string>;

Cells wrapped(std::string_view text, std::size_t width) {
  const std::string set = report::filled("", text, 0, width);
  const std::vector<std::string_view> lines = lines_of(set);
  return {lines.begin(), lines.end()};
}

std::string paragraph(std::string_view text) {
  return report::filled("", text, 0, kColumns);
}

/// Where the columns do not fit, each row is a sentence.
std::string as_list(const PageTable& table) {
  std::string text;
  for (const auto& row : table.rows) {
    std::string line = "- " + row[0].text;
    for (std::size_t i = 1; i < row.size(); ++i) {
      line += fmt::format("{} {}: {}", i == 1 ? ":" : ";", table.heads[i].text, row[i].text);
    }
    text += paragraph(line);
  }
  return text;
}

/// Heads are broken to lines of that width, which stand at the bottom. `parts` puts the range of a
/// row's last value below it.
std::string as_columns(const PageTable& table, std::size_t head_width, bool parts) {
  using report::TextTable;
  std::vector<Cells> heads;
  std::size_t height = 0;
  for (const Phrase& head : table.heads) {
    heads.push_back(wrapped(head.text, head_width));
    height = std::max(height, heads.back().size());
  }
  const auto head_line = [&](std::size_t at) {
    Cells cells;
    for (const Cells& head : heads) {
      const std::size_t above = height - head.size();
      cells.push_back(at < above ? "" : head[at - above]);
    }
    return cells;
  };
  std::vector<TextTable::Column> columns;
  for (const std::string& line : head_line(0)) {
    const bool left = columns.empty() || table.words;
    columns.push_back({line, left ? TextTable::Align::left : TextTable::Align::right});
  }
  TextTable text(columns);
  for (std::size_t at = 1; at < height; ++at) text.add_row(head_line(at));
  for (const auto& row : table.rows) {
    Cells cells;
    for (const Phrase& cell : row) cells.push_back(cell.text);
    Cells below(cells.size());
    const std::size_t range = cells.back().rfind(" (");
    if (parts && range != std::string::npos) {
      below.back() = cells.back().substr(range + 1);
      cells.back().resize(range);
    }
    text.add_row(cells);
    if (!below.back().empty()) text.add_row(below);
  }
  return text.text();
}

std::string table_text(const PageTable& table) {
  constexpr std::array<std::pair<std::size_t, bool>, 3> kLayouts{
      {{14, false}, {14, true}, {10, true}}};
  for (const auto& [head_width, parts] : kLayouts) {
    const std::string text = as_columns(table, head_width, parts);
    std::size_t width = 0;
    for (const std::string_view line : lines_of(text)) {
      width = std::max(width, report::display_width(line));
    }
    if (width <= kColumns) return text;
    if (table.words) break;
  }
  return as_list(table);
}

/// A command's words; a space within quotes parts none.
std::vector<std::string_view> shell_words(std::string_view command) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const bool escaped = !quoted && i > 0 && command[i - 1] == '\\';
    if (command[i] == '\'' && !escaped) quoted = !quoted;
    if (command[i] != ' ' || quoted) continue;
    words.push_back(command.substr(begin, i - begin));
    begin = i + 1;
  }
  words.push_back(command.substr(begin));
  return words;
}

/// Broken where a shell takes it, an option with its values in one line.
std::string command_lines(std::string_view command) {
  const std::vector<std::string_view> words = shell_words(command);
  std::string text;
  std::string line = "  " + std::string(words[0]);
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::size_t width = 1 + report::display_width(words[i]);
    for (std::size_t k = i + 1; words[i].starts_with('-') && k < words.size(); ++k) {
      if (words[k].starts_with('-')) break;
      width += 1 + report::display_width(words[k]);
    }
    constexpr std::size_t kEnd = 2;  // " \\"
    if (report::display_width(line) + width + kEnd > kColumns) {
      text += line + " \\\n";
      line = "   ";
    }
    line += fmt::format(" {}", words[i]);
  }
  return text + line + '\n';
}

std::string joined(const PageSmall& small) {
  std::string text;
  for (const Phrase& phrase : small.phrases) text += (text.empty() ? "" : "; ") + phrase.text;
  return text;
}

struct TextWriter {
  std::string operator()(const Phrase& phrase) const { return paragraph(phrase.text); }
  std::string operator()(const PageTable& table) const { return table_text(table); }
  std::string operator()(const PageChart& /*chart*/) const { return ""; }  // the table has it
  std::string operator()(const PageCommand& command) const {
    return paragraph(command.why.text) + command_lines(command.command);
  }
  std::string operator()(const PageSmall& small) const { return paragraph(joined(small)); }
};

}  // namespace

std::string to_text(const Page& page) {
  std::string text = paragraph(page.question.text) + paragraph(page.subject.text) + '\n' +
                     page.answer_word.text + '\n';
  for (const PageSection& section : page.sections) {
    if (section.title) text += '\n' + paragraph(section.title->text);
    for (const PageBlock& block : section.blocks) text += std::visit(TextWriter{}, block);
  }
  return text;
}

}  // namespace rdmabench::analysis
