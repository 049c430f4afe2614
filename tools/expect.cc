#include "expect.h"

#include <cmath>
#include <cstdio>

#include "launches.h"
#include "options.h"
#include "report/body.h"
#include "report/limits.h"
#include "results/row.h"
#include "terminal.h"
#include "writing.h"

namespace rdmabench::inline v1::tools {
namespace {

using Json = nlohmann::ordered_json;

/// As a finding like those of --expect.
Json judged_finding(const report::RequirementFinding& finding) {
  report::LimitFinding judged{.limit = "require " + finding.required,
                              .row = finding.subject,
                              .status = finding.status,
                              .text = finding.text};
  if (finding.counted && std::isfinite(*finding.counted)) judged.value = finding.counted;
  if (finding.least > 0) judged.bound = finding.least;
  return to_json(judged);
}

}  // namespace

void add_expect(const OptionGroup& group, Limits& to) {
  const auto add = [&to](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) to.push_back(report::parse_limit(text));
  };
  group
      .texts(
          "--expect=LIMIT",
          "a limit that the results must keep, else the exit code is 1: 'bw>=360Gb/s', "
          "'p99<=5us', 'bw>=90%line', 'p50<=110%OLD.json', 'busbw>=40GB/s@64M+'; may be repeated",
          add)
      ->take_all();
  group.call("--profile=FILE", "the limits in the list \"expect\" of FILE, which is JSON",
             [&to](const Given& given) {
               // Who launched this process judges, and may have read it from a pipe.
               if (launch_part().is_launch()) return;
               const Limits profile = report::read_profile(given.text);
               to.insert(to.end(), profile.begin(), profile.end());
             });
}

void read_baselines(Limits& limits) {
  for (report::Limit& one : limits) report::read_baseline(one);
}

Judged judge(Json document, const Limits& limits,
             const std::vector<report::RequirementFinding>& required) {
  std::string schema = document["schema"];
  std::vector<report::Document> documents;
  documents.push_back({"the result", std::move(schema), report::body_of(std::move(document))});
  return judge(std::move(documents), limits, required);
}

Judged judge(std::vector<report::Document> documents, const Limits& limits,
             const std::vector<report::RequirementFinding>& required,
             std::span<const report::Document> launches) {
  Judged judged;
  Json bodies = Json::array();
  for (report::Document& document : documents) {
    const bool judges = launches.empty() || &document == &documents.front();
    // Of a document over launches: what came of --require in each.
    const Json before = json_of(document).value("expectations", Json::array());
    if (judges && (!limits.empty() || !required.empty() || !before.empty())) {
      report::judge(document, limits, launches);
      for (const Json& one : before) json_of(document)["expectations"].push_back(one);
      for (const report::RequirementFinding& one : required) {
        json_of(document)["expectations"].push_back(judged_finding(one));
      }
      judged.failed = judged.failed || report::limits_failed(document);
      judged.lines += report::limits_text(document);
      if (&document == &documents.front()) judged.expectations = json_of(document)["expectations"];
      judged.record += report::limits_record(document);
    }
    bodies.push_back(std::move(json_of(document)));
  }
  const Json whole = bodies.size() == 1
                         ? bodies[0]
                         : Json{{"schema", bodies[0]["schema"]}, {"documents", std::move(bodies)}};
  judged.json = report::document_text(whole);
  return judged;
}

void write_judged(std::string text, const Judged& judged, const Output& to) {
  const bool table = to.format == "table";
  if (table && !judged.lines.empty()) text += '\n' + for_reading(judged.lines, to.output);
  write_too(judged.json, to.json, [&] { write_text(text, to.output); });
  if (!table || !to.output.empty()) std::fputs(judged.lines.c_str(), stderr);
}

}  // namespace rdmabench::inline v1::tools
