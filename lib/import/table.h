// The readers of each tool's output, and what they share: columns by their headings, rows, errors,
// JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lines.h"
#include "run.h"

namespace rdmabench::inline v1::import {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string_view>;

struct Tool;

/// What is read.
struct Source {
  std::string name;     ///< of the file
  std::string program;  ///< that printed it, where the text does not say; "": see the file's name
  const Tool& tool;

  /// Throws Error(usage). `line` 0: of none.
  [[noreturn]] void refuse(std::size_t line, const std::string& why) const;
};

struct Column {
  std::string_view heading;  ///< in a text; one that ends in "[" is followed by its unit and "]"
  std::string_view json;     ///< in JSON or YAML
  std::string_view key;      ///< of a Row; "": it is not taken
  double factor = 1;         ///< from the tool's unit to ours; 0: by the unit of the table's rates
  double kilo = 0;           ///< of "10k"; 0: no number of it is written so
};

/// The columns of one table.
class Columns {
 public:
  /// From left to right: a heading of `known` where one begins, the longest that does; of another
  /// one what stands before two blanks, or up to its "]".
  void read(std::string_view heading, std::span<const Column> known);
  void clear() { columns_.clear(); }
  bool empty() const { return columns_.empty(); }
  std::size_t size() const { return columns_.size(); }
  /// The place of that heading; size() where there is none.
  std::size_t find(std::string_view heading) const;

  /// As many words as columns. `rate`: the factor of those that have none of their own; 0: they are
  /// left out.
  Row row(const Words& words, double rate, const Source& source, std::size_t line) const;

 private:
  std::vector<Column> columns_;
};

/// Adds a number in our unit, if it is one: not "nan" or "inf", where the tool divided by nothing,
/// nor below 0, where its counts overflow. Throws Error(usage) for any other word.
void add_number(Row& row, const Column& column, std::string_view word, double rate,
                const Source& source, std::size_t line);

/// Their product, of the decimal digits that were printed: 16.24 times 1000 is 16240, not
/// 16239.999999999998.
double in_unit(double value, double factor);

/// "64", "10k", "1.2m"; none below 0 or above 10^18.
std::optional<double> number_of_word(std::string_view word, double kilo);

inline constexpr std::string_view kCutRow = "its table ends within a row";

/// The first one that is set is kept, but for a row that was cut: what comes behind it says why.
class FirstError {
 public:
  void set(std::string_view why, bool of_cut_row = false);
  void add(std::string_view more) { text_.append(": ").append(more); }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool of_cut_row_ = false;
};

/// One object of JSON; of one that was cut off, up to its last whole list or object.
struct JsonObject {
  Json body;
  bool whole = true;
};

/// Those that stand one behind the other. Throws Error(usage) for what is no JSON, or too deep.
std::vector<JsonObject> json_objects(std::string_view text, const Source& source);

/// Throws Error(usage) for JSON that takes too long to read.
void check_json(std::string_view text, const Source& source);

/// A tool whose output is read. Help and errors name it from here.
struct Tool {
  std::string_view name;
  std::span<const std::string_view> programs;  ///< with what the names of its programs begin
  /// Whether this line and those behind it are its own, up to one that begins another tool's.
  bool (*begins)(const Line&) noexcept;
  /// Each run in the lines. Throws Error(usage) with the source and the line for a table that makes
  /// no sense.
  std::vector<Run> (*read)(const Lines&, const Source&);
  /// Whether it seems to have written the text; null: by a line in which a run begins.
  bool (*is)(std::string_view) noexcept = nullptr;
};
#define TOOL(name) extern const Tool name;
#include "tools.inc"
#undef TOOL

}  // namespace rdmabench::inline v1::import
