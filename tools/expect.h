// --expect and --profile of the commands that measure.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "option_group.h"
#include "rdmabench/report/documents.h"
#include "rdmabench/results/result.h"
#include "writing.h"

namespace rdmabench::inline v1::tools {

using Limits = std::vector<report::Limit>;

/// --expect and --profile.
void add_expect(const OptionGroup& group, Limits& to);

/// Before anything is measured: a baseline that cannot be read would cost the results. Throws
/// Error(usage).
void read_baselines(Limits& limits);

struct Judged {
  std::string json;                       ///< the documents, with what was judged
  std::string record;                     ///< what was judged, as a line of a fabric's stream
  std::string lines;                      ///< of what was judged, for people
  nlohmann::ordered_json expectations{};  ///< of the first document, or null
  bool failed = false;
};

/// `required`: what came of --require. `launches`: where there are several, the first document is
/// judged by them, and no other.
Judged judge(std::vector<report::Document> documents, const Limits& limits,
             const std::vector<report::RequirementFinding>& required = {},
             std::span<const report::Document> launches = {});
Judged judge(nlohmann::ordered_json document, const Limits& limits,
             const std::vector<report::RequirementFinding>& required = {});

/// Writes a result, a table with the lines behind it, and prints the lines on standard error where
/// they are not on standard output. With --json, the JSON first.
void write_judged(std::string text, const Judged& judged, const Output& to);

}  // namespace rdmabench::inline v1::tools
