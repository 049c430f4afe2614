#include "results/text_table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/text.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr std::size_t kGap = 2;         // between columns
constexpr std::size_t kNarrowest = 20;  // a column whose words are broken

std::string without_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// At least one line.
std::vector<std::string> words_in_lines(std::string_view text, std::size_t width) {
  const std::string set = filled("", text, 0, width);
  const std::vector<std::string_view> lines = lines_of(set);
  return {lines.begin(), lines.end()};
}

/// "5 (3 to 8)" in two lines where it is wider.
std::vector<std::string> value_and_range(const std::string& text, std::size_t width) {
  const std::size_t range = text.rfind(" (");
  if (range == std::string::npos || display_width(text) <= width) return {text};
  return {text.substr(0, range), text.substr(range + 1)};
}

/// A line about columns; "" without names.
std::string remark(const std::string& before, const std::string& names, const char* after,
                   std::size_t width) {
  constexpr std::size_t kMargin = 2;
  if (names.empty()) return "";
  const std::string line = before + names + after;
  const std::size_t most = std::max(width, kUsualWidth);
  return display_width(line) <= most ? line + '\n' : filled("", line, kMargin, most);
}

struct Character {
  std::size_t bytes;
  char32_t code;
};
constexpr char32_t kNoCharacter = 0xFFFFFFFF;

/// Of UTF-8; one byte where none is there. Source: RFC 3629.
Character first_character(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {1, kNoCharacter};
  char32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {1, kNoCharacter};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool too_long = code < (bytes == 4 ? 0x10000U : bytes == 3 ? 0x800U : 0x80U);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (too_long || surrogate || code > 0x10FFFF) return {1, kNoCharacter};
  return {bytes, code};
}

/// Control characters (C0, DEL, C1), what turns the direction of what follows it (Unicode's marks,
/// overrides, embeddings and isolates), separators of lines, what is not seen (byte order mark,
/// tags), and what is no character: a terminal may take a lone byte for a C1.
bool commands(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) {
    return code >= first && code <= last;
  };
  return code < 0x20 || within(0x7F, 0x9F) || code == 0x61C || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069) || code == 0xFEFF ||
         within(0xE0000, 0xE007F) || code == kNoCharacter;
}

/// Sources: Unicode's EastAsianWidth.txt, wide and fullwidth blocks.
constexpr std::array<std::array<char32_t, 2>, 8> kWide{{{0x1100, 0x115F},
                                                        {0x2E80, 0xA4CF},
                                                        {0xA960, 0xA97F},
                                                        {0xAC00, 0xD7A3},
                                                        {0xF900, 0xFAFF},
                                                        {0xFE30, 0xFE6F},
                                                        {0xFF00, 0xFF60},
                                                        {0x1F300, 0x1FAFF}}};

}  // namespace

std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character one = first_character(text);
    const bool mark = one.code >= 0x300 && one.code <= 0x36F;
    const bool wide = std::any_of(kWide.begin(), kWide.end(), [&one](const auto& block) {
      return one.code >= block[0] && one.code <= block[1];
    });
    width += mark ? 0 : wide ? 2 : 1;
    text.remove_prefix(one.bytes);
  }
  return width;
}

std::size_t widest_line(std::string_view text) noexcept {
  std::size_t width = 0;
  for (const std::string_view line : lines_of(text)) width = std::max(width, display_width(line));
  return width;
}

std::string filled(std::string line, std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  const std::vector<std::string_view> words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word(words[i]);
    if (i + 1 < words.size() && words[i + 1].starts_with('%')) word.append(" ").append(words[++i]);
    const bool begins = line.empty() || line.back() == ' ';
    if (begins || display_width(line) + 1 + display_width(word) <= width) {
      line += (begins ? "" : " ") + word;
    } else {
      out += line + '\n';
      line = std::string(indent, ' ') + word;
    }
  }
  return out + line + '\n';
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(display_width(column.heading));
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = terminal_safe(cells[i]);
    widths_[i] = std::max(widths_[i], display_width(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

bool TextTable::says_the_same(std::size_t column) const {
  return !rows_.empty() && !rows_.front()[column].empty() &&
         std::all_of(rows_.begin(), rows_.end(),
                     [&](const auto& row) { return row[column] == rows_.front()[column]; });
}

std::vector<TextTable::Line> TextTable::heading_lines(const Layout& layout) const {
  std::vector<Line> lines(1, Line(layout.shown.size()));
  for (std::size_t i = 0; i < layout.shown.size(); ++i) {
    const std::vector<std::string> parts =
        words_in_lines(columns_[layout.shown[i]].heading, layout.limits.heading);
    if (parts.size() > lines.size()) {  // a shorter one stands at the bottom
      lines.insert(lines.begin(), parts.size() - lines.size(), Line(layout.shown.size()));
    }
    const std::size_t above = lines.size() - parts.size();
    for (std::size_t k = 0; k < parts.size(); ++k) lines[above + k][i] = parts[k];
  }
  return lines;
}

std::vector<TextTable::Line> TextTable::row_lines(const Layout& layout, std::size_t first) const {
  std::vector<Line> lines;
  for (std::size_t row = first; row < rows_.size(); ++row) {
    const std::size_t top = lines.size();
    lines.emplace_back(layout.shown.size());
    for (std::size_t i = 0; i < layout.shown.size(); ++i) {
      const std::size_t column = layout.shown[i];
      const bool right = columns_[column].align == Align::right;
      const std::vector<std::string> parts =
          value_and_range(rows_[row][column], right ? layout.limits.value : kAnyWidth);
      if (top + parts.size() > lines.size()) {
        lines.resize(top + parts.size(), Line(layout.shown.size()));
      }
      for (std::size_t k = 0; k < parts.size(); ++k) lines[top + k][i] = parts[k];
    }
  }
  return lines;
}

std::string TextTable::drawn(const std::vector<Line>& lines, const Layout& layout) const {
  const auto& [width, shown, limits, widths, out, alike, left_out] = layout;
  std::size_t last_begin = 0;
  for (std::size_t i = 0; i + 1 < shown.size(); ++i) last_begin += widths[i] + kGap;
  const bool breaks = !shown.empty() && columns_[shown.back()].align == Align::left &&
                      width != kAnyWidth && width >= last_begin + kNarrowest;
  std::string text;
  for (const Line& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      if (i + 1 == shown.size() && breaks) {
        line = filled(std::move(line), cells[i], last_begin, width);
        line.pop_back();
        break;
      }
      const std::size_t wide = display_width(cells[i]);
      const std::string padding(std::max(widths[i], wide) - wide, ' ');
      line += columns_[shown[i]].align == Align::right ? padding + cells[i] : cells[i] + padding;
    }
    text += without_end(std::move(line)) + '\n';
  }
  return text;
}

void TextTable::choose_columns(Layout& layout, bool to_be_continued) const {
  std::vector<std::size_t>& shown = layout.shown;
  shown.resize(columns_.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  std::erase_if(shown, [&](std::size_t column) {
    return !rows_.empty() && (!to_be_continued || columns_[column].alike) &&
           std::all_of(rows_.begin(), rows_.end(), [&](const auto& row) {
             return row[column].empty() || (to_be_continued && row[column] == "-");
           });
  });
  std::vector<std::size_t> order;  // of leaving out
  std::copy_if(shown.begin(), shown.end(), std::back_inserter(order),
               [&](std::size_t column) { return columns_[column].dispensable > 0; });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return columns_[a].dispensable > columns_[b].dispensable;
  });
  const auto fits = [&] {
    std::size_t sum = 0;
    for (const std::size_t column : shown) {
      sum += std::max(widths_[column], to_be_continued ? columns_[column].widest : 0) + kGap;
    }
    return layout.width == kAnyWidth || sum <= layout.width + kGap;
  };
  const auto leave_out = [&](bool same) {
    for (const std::size_t column : order) {
      if (fits()) return;
      const auto place = std::find(shown.begin(), shown.end(), column);
      const bool known = !to_be_continued || columns_[column].alike;
      if (place == shown.end() || (same && !(known && says_the_same(column)))) continue;
      shown.erase(place);
      if (!same) layout.out.push_back(column);
      std::string& names = same ? layout.alike : layout.left_out;
      names += (names.empty() ? "" : ", ") + columns_[column].heading;
      if (same) names += ' ' + rows_.front()[column];
    }
  };
  leave_out(true);
  leave_out(false);
  layout.alike = remark("in every row: ", layout.alike, "", layout.width);
  layout.left_out = remark("left out: ", layout.left_out, "; --wide shows all", layout.width);
}

TextTable::Layout TextTable::lay_out(std::size_t width, bool to_be_continued) const {
  Layout layout{.width = width};
  choose_columns(layout, to_be_continued);
  constexpr std::array<Limits, 4> kLayouts{{{}, {14}, {14, 14}, {10, 10}}};
  for (const Limits& limits : kLayouts) {
    layout.limits = limits;
    std::vector<Line> lines = heading_lines(layout);
    for (Line& line : row_lines(layout, 0)) lines.push_back(std::move(line));
    layout.widths.assign(layout.shown.size(), 0);
    for (std::size_t i = 0; i < layout.shown.size(); ++i) {
      std::size_t& wide = layout.widths[i];
      if (to_be_continued) wide = std::min(columns_[layout.shown[i]].widest, limits.value);
      for (const Line& line : lines) wide = std::max(wide, display_width(line[i]));
    }
    if (widest_line(drawn(lines, layout)) <= width) break;
  }
  return layout;
}

std::string TextTable::text(std::size_t width) const {
  const Layout layout = lay_out(width, false);
  return layout.alike + drawn(heading_lines(layout), layout) + drawn(row_lines(layout, 0), layout) +
         layout.left_out;
}

bool TextTable::fits(std::size_t width) const {
  const Layout layout = lay_out(width, false);
  return widest_line(drawn(heading_lines(layout), layout)) <= width &&
         widest_line(drawn(row_lines(layout, 0), layout)) <= width;
}

std::string TextTable::more(std::size_t width) {
  std::string text;
  if (!layout_) {
    layout_ = lay_out(width, true);
    text = layout_->alike + layout_->left_out + drawn(heading_lines(*layout_), *layout_);
  }
  text += drawn(row_lines(*layout_, told_), *layout_);
  told_ = rows_.size();
  return text;
}

std::string TextTable::same_in_every_row() const {
  if (!layout_) return "";
  std::string names;
  for (const std::size_t column : layout_->out) {
    if (!says_the_same(column) || rows_.front()[column] == "-") continue;
    names += (names.empty() ? "" : ", ") + columns_[column].heading + ' ' + rows_.front()[column];
  }
  return remark("in every row: ", names, "", layout_->width);
}

std::string terminal_safe(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character one = first_character(text);
    const bool is_kept = kept.find(text[0]) != std::string_view::npos;
    out += is_kept || !commands(one.code) ? text.substr(0, one.bytes) : "?";
    text.remove_prefix(one.bytes);
  }
  return out;
}

}  // namespace rdmabench::inline v1::report
