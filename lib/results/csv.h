// The one writer of comma-separated values, and of what has a row in each line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

/// A line of names, then a line for each row; each ends in CR LF. Source: RFC 4180.
class Csv {
 public:
  explicit Csv(std::vector<std::string> columns);

  /// Writes the values of an object's keys under the columns of the same names. A list becomes one
  /// field, its items separated by "; ". Null, an object and a missing key become an empty field. A
  /// text that a spreadsheet would take for a formula gets an apostrophe before it.
  void add(const nlohmann::ordered_json& row);

  const std::string& text() const { return text_; }
  /// What was added since the last call.
  std::string take() { return std::exchange(text_, ""); }

 private:
  std::vector<std::string> columns_;
  std::string text_;
};

/// The rows of a run, one a line, which are written as they come: to_csv(), or JSON Lines of the
/// same keys. Each row says whether the run is suspect, and in words where it was not RDMA.
class RunRecords {
 public:
  enum class As : bool { csv, json_lines };

  explicit RunRecords(As as) : as_(as) {}

  /// The rows that the report has more than at the last call. Whether the run is suspect is known
  /// to the `last` call alone: in earlier rows it is empty.
  std::string more(const Report& report, bool last);

 private:
  As as_;
  std::optional<Csv> csv_{};
  std::size_t told_ = 0;  ///< rows
};

std::vector<std::string> keys_of(const nlohmann::ordered_json& object);

}  // namespace rdmabench::inline v1::report
