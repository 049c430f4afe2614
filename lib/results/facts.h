// Looks up facts by name.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

/// The value of that fact; nothing where there is none, or it is of another type.
template <class Value>
std::optional<Value> value_of(const Facts& facts, std::string_view name) {
  for (const Fact& fact : facts) {
    if (fact.name != name) continue;
    if (const auto* const value = std::get_if<Value>(&fact.value)) return *value;
  }
  return std::nullopt;
}

/// Its value as text, whatever its type.
inline std::string text_of(const Fact& fact) {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, fact.value);
}

/// The same of the fact of that name; `absent` where there is none.
inline std::string text_of(const Facts& facts, std::string_view name,
                           std::string_view absent = "") {
  for (const Fact& fact : facts) {
    if (fact.name == name) return text_of(fact);
  }
  return std::string(absent);
}

}  // namespace rdmabench::inline v1::report
