// Facts, counters and notes in the messages of sessions and ranks. Texts of a peer are made
// ascii_only().
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/walk.h"
#include "rdmabench/base/error.h"
#include "rdmabench/results/result.h"
#include "results/row.h"

namespace rdmabench::inline v1::report {

/// From a peer that is not trusted: at most `max_count` facts, names and texts of at most so many
/// bytes, made ascii_only(). A fact without a value is left out. Throws Error(failed) as
/// base/fields.h does.
inline Facts facts_from(const nlohmann::json& object, const char* key, std::size_t max_count,
                        std::size_t max_name, std::size_t max_text) {
  Facts facts;
  for (const nlohmann::json& item : get_list(object, key, max_count)) {
    Fact fact{.name = ascii_only(get_string(item, "name", max_name)), .value = ""};
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
                       std::size_t max_name, std::size_t max_text, Facts& facts) {
  if (fields.from() == nullptr) return fields.put(key, to_list(facts));
  facts = facts_from(*fields.from(), key, max_count, max_name, max_text);
}

/// A text of at most `most` bytes; the rest of a longer one is not sent.
inline void walk_text(MessageFields& fields, const char* key, std::string& text,
                      std::size_t most = kMaxName) {
  text = ascii_only(text.substr(0, most));
  fields.text(key, text, most);
  text = ascii_only(text);
}

inline void walk(MessageFields& fields, Counter& counter) {
  walk_text(fields, "device", counter.device);
  walk_text(fields, "name", counter.name);
  walk_text(fields, "kind", counter.kind);
  walk_text(fields, "source", counter.source);
  fields.optional("change", counter.change,
                  [&](std::uint64_t& change) { fields.number("change", change); });
  fields.flag("at_least", counter.at_least);
}

inline void walk_notes(MessageFields& fields, std::vector<std::string>& notes) {
  constexpr std::size_t kMost = 256;
  constexpr std::size_t kMostBytes = 1024;
  notes.resize(std::min(notes.size(), kMost));
  for (std::string& note : notes) note = ascii_only(note.substr(0, kMostBytes));
  fields.texts("notes", kMost, kMostBytes, notes);
  for (std::string& note : notes) note = ascii_only(note);
}

}  // namespace rdmabench::inline v1::report
