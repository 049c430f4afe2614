// Sections as the text of a terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "compared.h"
#include "sections.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr std::size_t kMostRows = 8;  // that are named for what they have in common

std::string heading_of(const Column& column) {
  const std::string_view unit = column.scale.unit;
  return unit.empty() ? column.heading : fmt::format("{}[{}]", column.heading, unit);
}

/// Of a status alone its name.
std::string said_in(const Cell& cell) {
  return cell.text.empty() && cell.status ? std::string(name(*cell.status)) : cell.text;
}

/// By the words that tell it from the others.
std::string name_of_row(const Section& section, const TableRow& row) {
  std::string name;
  for (std::size_t i = 0; i < section.columns.size(); ++i) {
    const Column& column = section.columns[i];
    const bool identity = column.scale.unit.empty() && !row.cells[i].status;
    if (!identity || column.dispensable == kOnPages) break;
    if (column.number && column.dispensable > 0) continue;
    const bool alike = std::all_of(section.rows.begin(), section.rows.end(), [&](const auto& one) {
      return one.cells[i].text == row.cells[i].text;
    });
    const std::string& text = row.cells[i].text;
    if (!alike && !text.empty()) name += (name.empty() ? "" : " ") + text;
  }
  return name;
}

/// What cells say besides their text, each once.
std::string remarks_of(const Section& section) {
  std::vector<std::pair<std::string, std::vector<std::string>>> items;
  std::vector<std::string> hints;
  for (const TableRow& row : section.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const Cell& cell = row.cells[i];
      if (section.columns[i].dispensable == kOnPages) continue;
      for (const std::string& item : cell.items) {
        auto known = std::find_if(items.begin(), items.end(),
                                  [&item](const auto& one) { return one.first == item; });
        if (known == items.end()) known = items.insert(known, {item, {}});
        known->second.push_back(name_of_row(section, row));
      }
      if (cell.hint.empty()) continue;
      const bool has_unit = !section.columns[i].scale.unit.empty();
      std::string hint = fmt::format("{}: {}", has_unit ? "-" : cell.text, cell.hint);
      if (std::find(hints.begin(), hints.end(), hint) == hints.end()) hints.push_back(hint);
    }
  }
  std::string text;
  for (auto& [item, rows] : items) {
    const std::size_t all = rows.size();
    if (all > kMostRows) rows.resize(kMostRows);
    text += all == section.rows.size()
                ? fmt::format("  {}\n", terminal_safe(item))
                : fmt::format("  {}{}: {}\n", fmt::join(rows, ", "), all > kMostRows ? ", ..." : "",
                              terminal_safe(item));
  }
  for (const std::string& hint : hints) text += terminal_safe(hint) + '\n';
  return text;
}

/// Where the columns do not fit, each row is a sentence.
std::string as_list(const Section& section, std::size_t width) {
  std::string text;
  for (const TableRow& row : section.rows) {
    std::string line = "-";
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const Column& column = section.columns[i];
      const std::string said = said_in(row.cells[i]);
      if (said.empty() || said == "-" || column.dispensable == kOnPages) continue;
      line +=
          i == 0 ? ' ' + said : fmt::format("{} {}: {}", i == 1 ? ":" : ";", column.heading, said);
    }
    text += filled("", line, 2, width);
  }
  return text;
}

/// Of a terminal.
std::vector<std::size_t> columns_shown(const Section& section) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < section.columns.size(); ++i) {
    if (section.columns[i].dispensable != kOnPages) shown.push_back(i);
  }
  return shown;
}

TextTable headings(const Section& section) {
  constexpr std::size_t kWidestNumber = std::string_view("0.00123").size();
  std::vector<TextTable::Column> headings;
  for (const std::size_t i : columns_shown(section)) {
    const Column& column = section.columns[i];
    headings.push_back(
        {heading_of(column), column.number ? TextTable::Align::right : TextTable::Align::left,
         column.dispensable, std::max(column.widest, column.scale.unit.empty() ? 0 : kWidestNumber),
         column.alike});
  }
  return TextTable(std::move(headings));
}

void add_rows(const Section& section, TextTable& table) {
  const std::vector<std::size_t> shown = columns_shown(section);
  for (const TableRow& row : section.rows) {
    std::vector<std::string> cells;
    for (const std::size_t i : shown) {
      const Scale& scale = section.columns[i].scale;
      cells.push_back(scale.unit.empty()
                          ? said_in(row.cells[i])
                          : column_text(row.cells[i].value / scale.per, scale.decimals));
    }
    table.add_row(std::move(cells));
  }
}

std::string table_text(const Section& section, std::size_t width) {
  if (section.rows.empty()) return "";
  if (section.rows.size() > section.most_in_text) {
    Section first = section;
    first.left_out += first.rows.size() - first.most_in_text;
    first.rows.resize(first.most_in_text);
    return table_text(first, width);
  }
  TextTable table = headings(section);
  add_rows(section, table);
  std::string text = table.fits(width) ? table.text(width) : as_list(section, width);
  if (section.left_out > 0) text += fmt::format("{} more rows\n", section.left_out);
  return terminal_safe(text + remarks_of(section), "\n");
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
std::string command_lines(std::string_view command, std::size_t width) {
  const std::vector<std::string_view> words = shell_words(command);
  std::string text;
  std::string line = "  " + std::string(words[0]);
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::size_t more = 1 + display_width(words[i]);
    for (std::size_t k = i + 1; words[i].starts_with('-') && k < words.size(); ++k) {
      if (words[k].starts_with('-')) break;
      more += 1 + display_width(words[k]);
    }
    constexpr std::size_t kEnd = 2;  // " \\"
    if (display_width(line) + more + kEnd > width) {
      text += line + " \\\n";
      line = "   ";
    }
    line += fmt::format(" {}", words[i]);
  }
  return text + line + '\n';
}

}  // namespace

std::string to_text(const std::vector<Section>& sections, std::size_t width, bool filled) {
  const auto line = [&](std::string_view words) {
    return report::filled("", terminal_safe(words), 0, filled ? width : kAnyWidth);
  };
  std::string text;
  for (const Section& section : sections) {
    if (!section.title.empty()) text += '\n' + line(section.title);
    for (const Cell& words : section.words) {
      const auto told = static_cast<std::size_t>(&words - section.words.data());
      if (told == section.most_in_text) {
        text += fmt::format("{} more\n", section.words.size() - told + section.left_out);
        break;
      }
      const bool passed = !words.status || *words.status == Status::pass;
      text += line((passed ? "" : std::string(name(*words.status)) + ' ') + words.text);
      for (const std::string& item : words.items) text += "  " + line(item);
    }
    if (!section.command.empty()) text += command_lines(terminal_safe(section.command), width);
    text += table_text(section, width);
  }
  return text;
}

std::string TableText::more(Section section, bool last) {
  if (!table_ && last) return table_text(section, width_);
  if (!table_) table_ = headings(section);
  add_rows(section, *table_);
  std::string text = table_->more(width_);
  if (all_.columns.empty()) all_.columns = std::move(section.columns);
  std::move(section.rows.begin(), section.rows.end(), std::back_inserter(all_.rows));
  if (last) text += table_->same_in_every_row() + remarks_of(all_);
  return terminal_safe(text, "\n");
}

std::string decision_text(const Json& body, std::size_t width) {
  const Json& page = object_of(body, "page");
  std::vector<Section> all{{.words = {said(page, "question"), said(page, "subject")}},
                           {.title = said(page, "answer")}};
  if (const std::string without = text_of(body, "not_rdma"); !without.empty()) {
    all[0].words.emplace_back(without);
  }
  for (Section& section : decision_sections(body)) all.push_back(std::move(section));
  return to_text(all, width, true);
}

std::string to_text(const Document& document, std::size_t width) {
  const JudgedDocument judged(document);
  const std::string first = headline(judged).text;
  std::vector<Section> all = sections(document);
  if (document.schema == kFabricSchema) {  // its tables do not say what was judged
    all.insert(all.begin(), found_words(found({&judged, 1})));
  }
  std::string text = to_text(all, width);
  if (!first.empty()) return terminal_safe(first) + '\n' + text;
  if (text.starts_with('\n')) text.erase(0, 1);
  return text;
}

}  // namespace rdmabench::inline v1::report
