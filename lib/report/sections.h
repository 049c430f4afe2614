// What a document says, as titled words and tables: Markdown, the page and the terminal draw them.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "digest.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::report {

struct Cell {
  Cell() = default;
  Cell(std::string words) : text(std::move(words)) {}
  Cell(const char* words) : text(words) {}
  Cell(Status judged, std::string words = {}) : text(std::move(words)), status(judged) {}
  Cell(double number, const Scale& scale) : text(scale.text(number)), value(number) {}

  std::string text{};                ///< with its unit; of a status alone its word
  double value = NAN;                ///< where the column has a scale with a unit
  std::optional<Status> status{};    ///< what was judged
  std::string hint{};                ///< what the text does not say
  std::vector<std::string> items{};  ///< more, one below another
};

struct Column {
  std::string heading;
  bool number = false;  ///< aligned to the right
  Scale scale{};
  int dispensable = 0;     ///< in a text table
  std::size_t widest = 0;  ///< as text, where rows are told as they come
  bool alike = false;      ///< ... and whether each will have the same text
};

struct TableRow {
  std::vector<Cell> cells;
  bool differs = false;  ///< two sides have not the same here
};

struct Section {
  std::string title{};
  bool open = true;  ///< else folded
  std::vector<Cell> words{};
  std::vector<Column> columns{};
  std::vector<TableRow> rows{};
  std::size_t left_out = 0;                    ///< rows, or else words, beyond what a reader takes
  std::size_t most_in_text = std::size_t(-1);  ///< words and rows that a terminal has
  std::string command{};                       ///< to type
};

/// A column, and how a row's cell in it is read.
struct ColumnOf {
  std::string heading;
  bool number = false;
  std::function<Cell(const Json&)> cell;
  Scale scale{};
  int dispensable = 0;
};
using Columns = std::vector<ColumnOf>;

ColumnOf words_column(std::string heading, std::string key, int dispensable = 0);
/// The scale gives "-" for what is not a number.
ColumnOf number_column(std::string heading, std::string key, const Scale& scale,
                       int dispensable = 0);

/// Of a percentile; in brackets where a repetition may give quite another.
ColumnOf measured_column(std::string heading, std::string key, const Scale& scale = kTimeScale,
                         int dispensable = 0);
/// The median, which a few samples tell too.
Cell median_cell(const Json& row);

/// The judgement in "status".
ColumnOf status_column();

/// A row for each item of the list.
Section table_of(std::string title, const Columns& columns, const Json& items);

/// A list of {"name", "value"}, or an object.
Section facts_table(std::string title, const Json& facts);

/// The counters of both sides, or of all ranks, folded.
Section counters_table(const Json& body);

/// The notes of a document, folded.
Section notes_of(const Json& body);

/// With its judgements, which a fabric has millions of: they are made once.
struct JudgedDocument {
  explicit JudgedDocument(const Document& one) : document(one), list(judgements(one)) {}
  JudgedDocument(const Document& one, std::span<const Document> all)
      : document(one), list(judgements(one, all)) {}

  const Document& document;
  std::vector<Judgement> list;
};

/// Its first sentence, and how that was judged. Empty where it has none.
Cell headline(const JudgedDocument& judged);

/// Those that say something, with the columns that do.
std::vector<Section> without_empty(std::vector<Section> sections);

/// What was measured, in the order of reading. Of a decision nothing: decision_sections() has it.
std::vector<Section> sections(const Document& document);

/// As text: what is not a number in a column with a unit is "-", what is left out of a table that
/// is too wide is named, and what cells have besides stands below their table.
/// Words are broken into lines where that is asked for.
std::string to_text(const std::vector<Section>& sections, std::size_t width, bool filled = false);

/// A section's table as text, whose rows are told as they come.
class TableText {
 public:
  explicit TableText(std::size_t width) : width_(width) {}

  /// `section`: the rows that are new. The `last` ones are followed by what cells have besides. A
  /// table that is told at once, by a first call that is the last, is as to_text() has it.
  std::string more(Section section, bool last);

 private:
  std::size_t width_;
  std::optional<TextTable> table_;
  Section all_;
};

/// The rows of over_launches() with their intervals.
Section launches_table(const Json& body);

/// The first sentence of a document, and its sections.
std::string to_text(const Document& document, std::size_t width);

/// A judgement that is not a pass, or several of which the same is to be said.
struct Found {
  struct Place {
    std::string source, where, id, text;
  };

  Judgement first{};
  std::size_t count = 0;
  bool same_id = true;
  bool same_text = true;
  std::vector<Place> places{};                    ///< the first ones of many
  std::map<std::string, std::size_t> observed{};  ///< in how many places, where it was told
  std::set<std::string> expected{};

  std::string what() const;
  std::string why() const;
  /// In one line.
  std::string text() const;
};

/// The worst first. What a row of the measurements says by itself is left out, and so are a node's
/// checks that were not made: they are a number.
std::vector<Found> found(std::span<const JudgedDocument> documents);

/// Names the document of each place only where it is `of_several`.
Section found_table(const std::vector<Found>& all, bool of_several);

/// The same as sentences, without the one that is the headline; findings that are alike after the
/// first few by name alone.
Section found_words(const std::vector<Found>& all);

/// The same sentence about other addresses, sizes and numbers.
std::string without_numbers(std::string_view sentence);

/// Each sentence once, with how many are like it but for their numbers, in the order of the first.
std::vector<std::string> folded(const std::vector<std::string>& sentences);

/// What stands under one heading of the page: a document, the checks of all nodes, or the runs of
/// one test.
struct Part {
  std::string title{};
  std::string kind{};  ///< the schema, or of runs the test
  std::vector<std::size_t> documents{};
  std::vector<Found> found{};
  std::vector<Cell> headlines{};
  std::vector<Section> sections{};  ///< of several documents joined, with a column of their names
};

std::vector<Part> parts(std::span<const Document> documents);

/// "64 nodes, gpu-01 to gpu-64, 2026-11-30: FAIL": where and when it was measured, as far as the
/// documents say it, and the worst that was found.
std::string title_of(std::span<const Document> documents, Status worst);

/// The rows of a run, of what fields_of() shows. Of times a text table has so many decimals.
Section run_rows(const std::string& test, const Json& rows, int decimals = 3);

}  // namespace rdmabench::inline v1::report
