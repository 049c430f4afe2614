// Parts of the lines of topology files.
#pragma once

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {

/// The parts between the `at`, without blanks around them.
inline std::vector<std::string> parts_of(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (const std::string_view part : rdmabench::split(text, at)) parts.emplace_back(trimmed(part));
  return parts;
}

/// Of a line of CSV (RFC 4180): in quotes a comma is one of the cell, and two quotes are one.
inline std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line.substr(i, 2) == "\"\"") {
      cells.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

/// Of a line of topology.conf, by the keys in small letters. Quotes around a value are not of it.
inline std::map<std::string, std::string> conf_values(const std::string& line) {
  std::map<std::string, std::string> values;
  for (const std::string_view word : words_of(line)) {
    const std::size_t equals = std::min(word.find('='), word.size());
    std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (value.size() > 1 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    values[lower(word.substr(0, equals))] = value;
  }
  return values;
}

/// An extended regular expression of regex(7) for the beginning of a line.
class LinePattern {
 public:
  using Parts = std::array<std::string, 9>;  ///< the line, then what each pair of parentheses took

  explicit LinePattern(const char* expression) {
    if (const int fault = regcomp(&compiled_, expression, REG_EXTENDED); fault != 0) {
      std::array<char, 128> text{};
      regerror(fault, &compiled_, text.data(), text.size());
      throw Error(Fault::failed, fmt::format("regcomp: {}", text.data()));
    }
  }
  LinePattern& operator=(LinePattern&&) = delete;
  ~LinePattern() { regfree(&compiled_); }

  bool match(const std::string& line, Parts& parts) const {
    std::array<regmatch_t, std::tuple_size_v<Parts>> found{};
    if (regexec(&compiled_, line.c_str(), found.size(), found.data(), 0) != 0) return false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [begin, end] = found[i];
      parts[i] = begin < 0 ? ""
                           : line.substr(static_cast<std::size_t>(begin),
                                         static_cast<std::size_t>(end - begin));
    }
    return true;
  }

 private:
  regex_t compiled_{};
};

}  // namespace rdmabench::inline v1::fabric
