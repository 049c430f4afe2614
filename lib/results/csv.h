// The one writer of comma-separated values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

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

 private:
  std::vector<std::string> columns_;
  std::string text_;
};

std::vector<std::string> keys_of(const nlohmann::ordered_json& object);

}  // namespace rdmabench::inline v1::report
