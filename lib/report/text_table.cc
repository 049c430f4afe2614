#include "rdmabench/report/text_table.h"

#include <algorithm>
#include <utility>

namespace rdmabench::report {
namespace {

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::string> headings;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    headings.push_back(columns_[i].heading);
    std::size_t width = columns_[i].heading.size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string text;
  const auto append = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - cells[i].size(), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == Align::right ? padding + cells[i] : cells[i] + padding;
    }
    text += trimmed(std::move(line)) + '\n';
  };
  append(headings);
  for (const auto& row : rows_) append(row);
  return text;
}

std::string printable(std::string_view text, std::string_view kept) {
  std::string out(text);
  unsigned char before = 0;
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    const bool c1 = before == 0xC2 && byte >= 0x80 && byte <= 0x9F;  // U+0080..U+009F in UTF-8
    const bool control = (byte < 0x20 && kept.find(c) == std::string_view::npos) || byte == 0x7F;
    if (control || c1) c = '?';
    before = byte;
  }
  return out;
}

}  // namespace rdmabench::report
