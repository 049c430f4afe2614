// Text in columns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

inline constexpr std::size_t kAnyWidth = std::size_t(-1);  ///< every column, however wide

/// A heading and rows, two spaces between columns, each column as wide as its widest cell on a
/// terminal, where Korean, Chinese and Japanese characters take two columns.
class TextTable {
 public:
  enum class Align : bool { left, right };
  struct Column {
    std::string heading;  ///< "size"; with a unit "p50[us]"
    Align align = Align::right;
    /// 0: always there. Else the column may be left out of a table that is too wide, the highest
    /// number first.
    int dispensable = 0;
    std::size_t widest = 0;  ///< of a cell that may still come: for more()
    bool alike = false;      ///< every cell that may still come says the same: for more()
  };

  explicit TextTable(std::vector<Column> columns);

  /// Missing cells are empty and surplus ones are dropped; each is made terminal_safe().
  void add_row(std::vector<std::string> cells);

  /// Every line ends in a newline, and none in a space. What is wider than `width` becomes
  /// narrower in this order: dispensable columns that say the same in every row become a line above
  /// the table; others are left out, and a line below names them; the words of a last column that
  /// is left-aligned are broken into lines, then headings, and a range in brackets stands below its
  /// value. The rest is shown whatever its width.
  std::string text(std::size_t width = kAnyWidth) const;

  /// Whether the headings and rows of text(width) are no wider.
  bool fits(std::size_t width) const;

  /// The rows that were added since the last call, for who prints them as they come. The first call
  /// has the heading above them, and decides by the rows that are there, by `widest` and by `alike`
  /// which columns there are and how wide they stay; lines above the heading name those left out.
  std::string more(std::size_t width = kAnyWidth);

  /// After the last more(): a line with the columns left out that said the same in every row; "" if
  /// there are none.
  std::string same_in_every_row() const;

 private:
  using Line = std::vector<std::string>;  ///< the cells of the columns that are shown
  /// The widest that headings and values may be in one line.
  struct Limits {
    std::size_t heading = kAnyWidth;
    std::size_t value = kAnyWidth;
  };
  struct Layout {
    std::size_t width = kAnyWidth;  ///< of all
    std::vector<std::size_t> shown{};
    Limits limits{};
    std::vector<std::size_t> widths{};  ///< of those shown
    std::vector<std::size_t> out{};     ///< those that `left_out` names
    std::string alike{};                ///< the line above the table
    std::string left_out{};             ///< that below it
  };

  bool says_the_same(std::size_t column) const;
  Layout lay_out(std::size_t width, bool to_be_continued) const;
  void choose_columns(Layout& layout, bool to_be_continued) const;
  std::vector<Line> heading_lines(const Layout& layout) const;
  std::vector<Line> row_lines(const Layout& layout, std::size_t first) const;
  std::string drawn(const std::vector<Line>& lines, const Layout& layout) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
  std::optional<Layout> layout_;  ///< of more()
  std::size_t told_ = 0;          ///< rows
};

/// The text with '?' for every control character but those that are `kept`, for every one that
/// turns the direction of what follows (U+202A to U+202E, U+2066 to U+2069), and for bytes that are
/// not UTF-8, so that words of a peer or a file can neither break a line, nor command the terminal,
/// nor show themselves in another order.
std::string terminal_safe(std::string_view text, std::string_view kept = "");

/// Columns on a terminal: Korean, Chinese and Japanese characters take two, combining marks none.
std::size_t display_width(std::string_view text) noexcept;

std::size_t widest_line(std::string_view text) noexcept;

/// The words of `text` in lines, each with its end: the first continues `line`, the others begin
/// with `indent` blanks. A word that is wider than `width` stays whole, and a % with its number.
std::string filled(std::string line, std::string_view text, std::size_t indent, std::size_t width);

}  // namespace rdmabench::inline v1::report
