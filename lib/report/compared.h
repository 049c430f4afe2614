// What documents of two sides say: comparisons, projections and decisions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sections.h"

namespace rdmabench::inline v1::report {

/// What a side, "a" or "b", is called; "A" or "B" where the document has no name.
std::string side_name(const Json& body, std::string_view side);

/// Of a verdict, for people: "WORSE", "EQUIVALENT", "DIFFERENT BUT IMMATERIAL".
std::string verdict_text(std::string_view verdict, std::string_view direction);

/// Whether the estimate says nothing: the launches vary so much that more of them would hardly
/// help, and half or double is within its interval.
bool is_too_noisy(const Json& estimate, const Json& judged);
inline constexpr std::string_view kTooNoisy = "too noisy to compare";

/// "1.25 times (1.2 to 1.3)", or that it is too noisy by what was `judged`.
std::string ratio_text(const Json& estimate, const Json& judged);
/// "+12.3 %", of 0.123.
std::string signed_percent(double share);

/// Half, double or beyond.
bool is_told_in_times(double ratio);
/// "+12.3 %"; in times where `typical` is half, double or beyond.
std::string change_text(double ratio, double typical);
std::string change_interval(const Json& estimate, const Json& judged);

/// With spaces for underscores.
std::string spaced(std::string_view text);

/// What both sides are called at the heads of columns.
struct SideNames {
  explicit SideNames(const Json& body);

  std::string a, b;
  Section legend{};  ///< empty where these are their names
};

/// The verdict of a cell or a row, what stands in its way, and why.
Cell verdict_cell(Status status, const Json& judged, const std::string& direction);

/// What stands below a decision's answer; of several sections of one title the first has it.
std::vector<Section> decision_sections(const Json& body);

/// The text of a phrase of a decision's page, and of each phrase in a list.
std::string said(const Json& object, std::string_view key);
std::vector<std::string> all_said(const Json& object, std::string_view key);

/// Every character that could begin markup is escaped; a line break would end a row of a table. A
/// zero-width space after an @ keeps a host's name from calling a person.
std::string escaped_for_markdown(std::string_view text);

/// The page of a decision as Markdown, its question as a heading of that level.
std::string decision_markdown(const Json& body, std::size_t level);
/// The same as text.
std::string decision_text(const Json& body, std::size_t width);

}  // namespace rdmabench::inline v1::report
