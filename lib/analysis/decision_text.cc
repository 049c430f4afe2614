// A decision as text of 80 columns.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "decision_page.h"
#include "report/text_width.h"

namespace rdmabench::analysis {
namespace {

constexpr std::size_t kColumns = 80;

using Lines = std::vector<std::string>;

Lines wrapped(std::string_view text, std::size_t width) {
  const std::string set = report::filled("", text, 0, width);
  const std::vector<std::string_view> lines = lines_of(set);
  return {lines.begin(), lines.end()};
}

std::string paragraph(std::string_view text) {
  return report::filled("", text, 0, kColumns);
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::size_t own = report::display_width(text);
  const std::string padding(width > own ? width - own : 0, ' ');
  return left ? text + padding : padding + text;
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

std::size_t width_of(const Lines& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, report::display_width(line));
  return width;
}

/// A value and its range below it.
Lines parted(const std::string& cell) {
  const std::size_t range = cell.rfind(" (");
  if (range == std::string::npos) return {cell};
  return {cell.substr(0, range), cell.substr(range + 1)};
}

std::string as_columns(const PageTable& table) {
  using Row = std::vector<Lines>;
  Row heads;
  std::vector<Row> rows;
  for (const auto& cells : table.rows) {
    Row& row = rows.emplace_back();
    for (const Phrase& cell : cells) row.push_back({cell.text});
  }
  std::vector<std::size_t> widths;
  const auto fits = [&](std::size_t head_width) {
    heads.clear();
    for (const Phrase& head : table.heads) heads.push_back(wrapped(head.text, head_width));
    widths.clear();
    std::size_t total = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      std::size_t width = width_of(heads[i]);
      for (const Row& row : rows) width = std::max(width, width_of(row[i]));
      widths.push_back(width);
      total += width + (i == 0 ? 0 : 2);
    }
    return total <= kColumns;
  };
  if (!fits(14)) {
    for (std::size_t i = 0; i < rows.size() && !table.words; ++i) {
      rows[i].back() = parted(table.rows[i].back().text);
    }
    if (table.words || !(fits(14) || fits(10))) return as_list(table);
  }
  std::string text;
  const auto append = [&](const Row& row, bool at_end) {
    std::size_t height = 0;
    for (const Lines& cell : row) height = std::max(height, cell.size());
    for (std::size_t at = 0; at < height; ++at) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::size_t above = at_end ? height - row[i].size() : 0;
        const bool empty = at < above || at - above >= row[i].size();
        line += (i == 0 ? "" : "  ") +
                padded(empty ? "" : row[i][at - above], widths[i], i == 0 || table.words);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  };
  append(heads, true);
  for (const Row& row : rows) append(row, false);
  return text;
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
  std::string operator()(const PageTable& table) const { return as_columns(table); }
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
