// Text in columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::report {

/// A heading and rows, two spaces between columns, each column as wide as its widest cell.
/// Widths count bytes, so cells are meant to be ASCII.
class TextTable {
 public:
  enum class Align : bool { left, right };
  struct Column {
    std::string heading;
    Align align = Align::right;
  };

  explicit TextTable(std::vector<Column> columns);

  /// Missing cells are empty and surplus ones are dropped; each is made printable().
  void add_row(std::vector<std::string> cells);

  /// Every line ends in a newline, and none in a space.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// The text with '?' for every control character, so that words from a peer can neither break a
/// line nor command the terminal.
std::string printable(std::string_view text, std::string_view kept = "");

}  // namespace rdmabench::report
