// --expect and --profile of the commands that measure.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "option_group.h"
#include "rdmabench/report/conditions.h"
#include "report/expectation.h"

namespace rdmabench::tools {

using Expectations = std::vector<report::Expectation>;

/// --expect and --profile.
void add_expect(const OptionGroup& group, Expectations& to);

/// Before anything is measured: a baseline that cannot be read would cost the results. Throws
/// Error(usage).
void read_baselines(Expectations& expectations);

struct Judged {
  std::string json;                       ///< the documents, with what was judged
  std::string record;                     ///< what was judged, as a line of a fabric's stream
  std::string lines;                      ///< of what was judged, for people
  nlohmann::ordered_json expectations{};  ///< of the first document, or null
  bool failed = false;
};

/// `required`: what came of --require. `launches`: where there are several, the first document is
/// judged by them, and no other.
Judged judge(std::vector<report::Document> documents, const Expectations& expectations,
             const std::vector<report::RequirementFinding>& required = {},
             std::span<const report::Document> launches = {});
Judged judge(nlohmann::ordered_json document, const Expectations& expectations,
             const std::vector<report::RequirementFinding>& required = {});

/// Writes a result, a table with the lines behind it, and prints the lines on standard error where
/// they are not on standard output. "" is standard output.
void write_judged(std::string text, const Judged& judged, const std::string& format,
                  const std::string& output);

}  // namespace rdmabench::tools
