// What documents of two sides say: comparisons, projections and decisions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "digest.h"

namespace rdmabench::report {

/// What a side, "a" or "b", is called; "A" or "B" where the document has no name.
std::string side_name(const Json& body, std::string_view side);

/// Of a verdict, for people: "WORSE", "EQUIVALENT", "DIFFERENT BUT IMMATERIAL".
std::string verdict_text(std::string_view verdict, std::string_view direction);

/// As the exit code judges a cell of a comparison: what is DIFFERENT by itself alone, and not after
/// the correction for many quantities, does not fail.
Status status_of_cell(const Json& body, const Json& cell, std::string_view direction);

/// "better", "worse" or empty, of a cell of a comparison; by its ratio where an older document does
/// not say.
std::string direction_of(const Json& family, const Json& cell);

/// The text of a phrase of a decision's page, and of each phrase in a list.
std::string said(const Json& object, std::string_view key);
std::vector<std::string> all_said(const Json& object, std::string_view key);

/// Every character that could begin markup is escaped; a line break would end a row of a table. A
/// zero-width space after an @ keeps a host's name from calling a person.
std::string escaped_for_markdown(std::string_view text);

/// The page of a decision as Markdown, its question as a heading of that level.
std::string decision_markdown(const Json& body, std::size_t level);
/// The same as text of 80 columns.
std::string decision_text(const Json& body);

}  // namespace rdmabench::report
