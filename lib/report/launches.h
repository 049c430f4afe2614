// What several launches of one run say together.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "report/body.h"

namespace rdmabench::inline v1::report {

/// How many launches a run's document is made of, by its key "over_launches"; 1 of one run.
std::size_t launches_of(const nlohmann::ordered_json& body);

/// Whether it ended before its time, or lost a node: then no other launch follows.
bool ended_early(const Document& launch);

/// over_launches() of those that one command has measured: one at least, and none is refused, or
/// what was measured would be lost.
Document join_launches(std::span<const Document> launches);

/// The same of fabrics: `over` is one of them.
void join_fabrics(Document& over, std::span<const Document> launches);

/// Of the 95 % interval around the mean of these logs, by Student's t. Two at least.
double half_width(std::span<const double> logs);

/// Its rows for people, with what disturbed the launches.
std::string launches_text(const Document& over, std::size_t width);

/// Where the curves of several launches have their knees: a list with an object for each size. A
/// launch without a knee counts as above its highest load, or as below its lowest: those are null
/// and 0.
nlohmann::ordered_json knees_of(std::span<const Document> launches);

/// One of them for people.
std::string knee_text(const nlohmann::ordered_json& knee);

}  // namespace rdmabench::inline v1::report
