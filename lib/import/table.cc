#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/nesting.h"
#include "base/number.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::import {

void Source::refuse(std::size_t line, const std::string& why) const {
  const std::string place = line == 0 ? "" : fmt::format(", line {}", line);
  throw Error(Fault::usage, fmt::format("'{}'{}: {}", name, place, why),
              fmt::format("Give what programs of {} write.", tool.name));
}

void Columns::read(std::string_view heading, std::span<const Column> known) {
  columns_.clear();
  for (heading = trimmed(heading); !heading.empty(); heading = trimmed(heading)) {
    Column next;
    for (const Column& one : known) {
      const std::string_view rest = heading.substr(std::min(one.heading.size(), heading.size()));
      const bool ends = rest.empty() || one.heading.ends_with('[') ||
                        kBlanks.find(rest[0]) != std::string_view::npos;
      if (ends && heading.starts_with(one.heading) && one.heading.size() > next.heading.size()) {
        next = one;
      }
    }
    std::size_t end = next.heading.size();
    if (next.heading.empty() || next.heading.ends_with('[')) {
      end += part_size(heading.substr(end));
      end = std::min(heading.substr(0, end).find(']'), end - 1) + 1;
    }
    if (next.heading.empty()) next.heading = heading.substr(0, end);  // one that is not known
    columns_.push_back(next);
    heading.remove_prefix(end);
  }
}

std::size_t Columns::find(std::string_view heading) const {
  const auto found = std::find_if(columns_.begin(), columns_.end(),
                                  [&](const Column& one) { return one.heading == heading; });
  return static_cast<std::size_t>(found - columns_.begin());
}

Row Columns::row(const Words& words, double rate, const Source& source, std::size_t line) const {
  Row row;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    add_number(row, columns_[i], words[i], rate, source, line);
  }
  return row;
}

void add_number(Row& row, const Column& column, std::string_view word, double rate,
                const Source& source, std::size_t line) {
  const bool negative = word.starts_with('-');
  std::string_view digits = word.substr(negative ? 1 : 0);
  constexpr std::string_view kEmphasis = "*_`";  // Markdown's
  digits.remove_prefix(std::min(digits.find_first_not_of(kEmphasis), digits.size()));
  digits = digits.substr(0, digits.find_last_not_of(kEmphasis) + 1);
  if (column.key.empty() || digits == "nan" || digits == "inf") return;
  const auto value = number_of_word(digits, column.kilo);
  if (!value) source.refuse(line, fmt::format("'{}' is not a number of a table", word));
  const double factor = column.factor == 0 ? rate : column.factor;
  if (!negative && factor > 0) row[column.key] = in_unit(*value, factor);
}

double in_unit(double value, double factor) {
  const std::string text = fmt::format("{}", value);
  const std::size_t point = text.find('.');
  if (point == std::string::npos || text.find('e') != std::string::npos) return value * factor;
  double scale = 1;
  for (std::size_t i = point + 1; i < text.size(); ++i) scale *= 10;
  return std::round(value * scale) * factor / scale;
}

std::optional<double> number_of_word(std::string_view word, double kilo) {
  constexpr double kMost = 1e18;
  double factor = 1;
  const std::size_t unit =
      word.empty() ? std::string_view::npos : std::string_view("kmg").find(word.back());
  if (kilo > 0 && unit != std::string_view::npos) {
    for (std::size_t i = 0; i <= unit; ++i) factor *= kilo;
    word.remove_suffix(1);
  }
  const auto value = parse_number<double>(word);
  if (!value || *value < 0 || *value * factor > kMost) return std::nullopt;
  return *value * factor;
}

void FirstError::set(std::string_view why, bool of_cut_row) {
  if (!text_.empty() && !of_cut_row_) return;
  text_ = why;
  of_cut_row_ = of_cut_row;
}

namespace {

bool opens(char bracket) {
  return bracket == '{' || bracket == '[';
}

/// Calls `visit` with the place of each bracket of JSON that is in no text.
template <class Visit>
void for_each_bracket(std::string_view text, Visit&& visit) {
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_text = !in_text;
    if (in_text && c == '\\') ++i;
    if (!in_text && (opens(c) || c == '}' || c == ']')) visit(i);
  }
}

/// Up to its last whole list or object, and closed.
std::string closed(std::string_view text) {
  std::string open;  // the brackets that are due
  std::string due;
  std::size_t end = 0;
  for_each_bracket(text, [&](std::size_t at) {
    if (opens(text[at])) {
      open += text[at] == '{' ? '}' : ']';
    } else if (!open.empty() && text[at] == open.back()) {
      open.pop_back();
      end = at + 1;
      due.assign(open.rbegin(), open.rend());
    }
  });
  return std::string(text.substr(0, end)) + due;
}

}  // namespace

void check_json(std::string_view text, const Source& source) {
  constexpr std::size_t kMostKeys = 256;
  if (const std::string excess = json_excess(text, {.keys = kMostKeys}); !excess.empty()) {
    source.refuse(0, excess);
  }
}

std::vector<JsonObject> json_objects(std::string_view text, const Source& source) {
  check_json(text, source);
  std::vector<JsonObject> objects;
  const auto add = [&](std::string_view one) {
    Json body = Json::parse(one, nullptr, false);
    const bool whole = !body.is_discarded();
    if (!whole) body = Json::parse(closed(one), nullptr, false);
    if (!body.is_object()) source.refuse(0, "not JSON");
    objects.push_back({std::move(body), whole});
  };
  std::size_t depth = 0;
  std::size_t begin = 0;
  for_each_bracket(text, [&](std::size_t at) {
    if (opens(text[at])) {
      if (depth++ == 0) begin = at;
    } else if (depth > 0 && --depth == 0) {
      add(text.substr(begin, at + 1 - begin));
    }
  });
  if (depth > 0 || objects.empty()) add(text.substr(begin));
  return objects;
}

}  // namespace rdmabench::inline v1::import
