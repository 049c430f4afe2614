// Every sentence of a decision's page, in each language.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/decision.h"

namespace rdmabench::analysis {

/// A text with named arguments, as {fmt} takes them: the same ones in every language.
struct TextRow {
  std::string_view key;
  std::string_view english;
  std::string_view korean;
};

std::span<const TextRow> decision_texts() noexcept;

/// What stands in a text, and where it comes from.
struct Value {
  std::string name;
  std::variant<double, std::string> raw;  ///< in the unit of the JSON: seconds, ratios
  std::string shown;
};

/// A sentence, or a part of a table, with the values in it.
struct Phrase {
  std::string key;
  std::string text;
  std::vector<Value> values;
};

/// Throws std::logic_error for a key that is not in the table, and fmt::format_error for a text
/// that takes another value.
Phrase phrase(std::string_view key, Language language, std::vector<Value> values = {});

}  // namespace rdmabench::analysis
