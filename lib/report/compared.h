// What comparisons, projections and decisions judge.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "digest.h"

namespace rdmabench::report {

/// A verdict of all, and one of each quantity; by what the comparison was asked to fail on.
std::vector<Judgement> judge_comparison(const Document& document);

/// Of each row, none of which fails: a difference is what was asked for.
std::vector<Judgement> judge_projection(const Document& document);

/// The answer, and what each section of the page says. No answer fails.
std::vector<Judgement> judge_decision(const Document& document);

/// The text of a phrase of a decision's page, and of each phrase in a list.
std::string said(const nlohmann::ordered_json& object, std::string_view key);
std::vector<std::string> all_said(const nlohmann::ordered_json& object, std::string_view key);

}  // namespace rdmabench::report
