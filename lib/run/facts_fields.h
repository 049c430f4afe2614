// Facts in the messages of a session and of a fabric: the one writer and the one reader of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "rdmabench/control/fields.h"
#include "rdmabench/report/fact.h"

namespace rdmabench::run {

inline nlohmann::ordered_json facts_json(const report::Facts& facts) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const report::Fact& fact : facts) {
    auto value = std::visit([](const auto& v) { return nlohmann::ordered_json(v); }, fact.value);
    list.push_back({{"name", fact.name}, {"value", std::move(value)}});
  }
  return list;
}

/// From a peer that is not trusted: at most `max_count` facts, names and texts of at most so many
/// bytes. A fact without a value is left out. Throws Error(failed) as control/fields.h does.
inline report::Facts facts_from(const nlohmann::json& object, const char* key,
                                std::size_t max_count, std::size_t max_name, std::size_t max_text) {
  report::Facts facts;
  for (const nlohmann::json& item : control::get_list(object, key, max_count)) {
    report::Fact fact{.name = control::get_string(item, "name", max_name), .value = ""};
    const auto value = item.find("value");
    if (value == item.end() || value->is_null()) continue;
    if (value->is_boolean()) {
      fact.value = value->get<bool>();
    } else if (value->is_number_unsigned()) {
      fact.value = value->get<std::uint64_t>();
    } else if (value->is_number()) {
      fact.value = value->get<double>();
    } else {
      fact.value = control::get_string(item, "value", max_text);
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

}  // namespace rdmabench::run
