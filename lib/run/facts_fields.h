// The facts in the messages of sessions and ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/walk.h"
#include "rdmabench/base/error.h"
#include "rdmabench/report/conditions.h"
#include "report/row.h"

namespace rdmabench::run {

/// From a peer that is not trusted: at most `max_count` facts, names and texts of at most so many
/// bytes, made ascii_only(). A fact without a value is left out. Throws Error(failed) as
/// base/fields.h does.
inline report::Facts facts_from(const nlohmann::json& object, const char* key,
                                std::size_t max_count, std::size_t max_name, std::size_t max_text) {
  report::Facts facts;
  for (const nlohmann::json& item : get_list(object, key, max_count)) {
    report::Fact fact{.name = ascii_only(get_string(item, "name", max_name)), .value = ""};
    const auto value = item.find("value");
    if (value == item.end() || value->is_null()) continue;
    if (value->is_boolean()) {
      fact.value = value->get<bool>();
    } else if (value->is_number_unsigned()) {
      fact.value = value->get<std::uint64_t>();
    } else if (value->is_number()) {
      fact.value = value->get<double>();
    } else {
      fact.value = ascii_only(get_string(item, "value", max_text), max_text);
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

/// The same as a field of a walk().
inline void walk_facts(MessageFields& fields, const char* key, std::size_t max_count,
                       std::size_t max_name, std::size_t max_text, report::Facts& facts) {
  if (fields.from() == nullptr) return fields.put(key, report::to_list(facts));
  facts = facts_from(*fields.from(), key, max_count, max_name, max_text);
}

}  // namespace rdmabench::run
