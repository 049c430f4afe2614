#include "expect.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/refuse.h"
#include "launches.h"
#include "options.h"
#include "report/row.h"
#include "terminal.h"
#include "writing.h"

namespace rdmabench::tools {
namespace {

using Json = nlohmann::ordered_json;

/// What a profile says to measurements; doctor reads the rest of it.
void add_profile(const std::string& path, Expectations& to) {
  const Json profile = Json::parse(read_document(path), nullptr, false);
  const bool is_list =
      profile.is_object() && profile.contains("expect") && profile["expect"].is_array();
  refuse_if(!is_list || profile["expect"].empty(),
            fmt::format("{} has no {}list \"expect\"", path, is_list ? "limit in its " : ""),
            R"(A profile is {"expect": ["bw>=90%line"], "rate_gbps": 400, ...}.)");
  for (const Json& one : profile["expect"]) {
    refuse_if(!one.is_string(), fmt::format("{}: \"expect\" has {}, not a text", path, one.dump()));
    to.push_back(report::parse_expectation(one.get<std::string>()));
    to.back().of_profile = true;
  }
}

/// As a judgement like those of --expect.
Json judged_finding(const report::RequirementFinding& finding) {
  Json judged = report::judgement("require " + finding.required, finding.subject, finding.status,
                                  finding.text);
  if (finding.counted && std::isfinite(*finding.counted)) judged["value"] = *finding.counted;
  if (finding.least > 0) judged["limit"] = finding.least;
  return judged;
}

}  // namespace

void add_expect(const OptionGroup& group, Expectations& to) {
  const auto add = [&to](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) to.push_back(report::parse_expectation(text));
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
               if (!launch_part().is_launch()) add_profile(given.text, to);
             });
}

void read_baselines(Expectations& expectations) {
  for (report::Expectation& one : expectations) report::read_baseline(one);
}

Judged judge(Json document, const Expectations& expectations,
             const std::vector<report::RequirementFinding>& required) {
  std::string schema = document["schema"];
  std::vector<report::Document> documents;
  documents.push_back({"the result", std::move(schema), std::move(document)});
  return judge(std::move(documents), expectations, required);
}

Judged judge(std::vector<report::Document> documents, const Expectations& expectations,
             const std::vector<report::RequirementFinding>& required,
             std::span<const report::Document> launches) {
  Judged judged;
  Json bodies = Json::array();
  for (report::Document& document : documents) {
    const bool judges = launches.empty() || &document == &documents.front();
    // Of a document over launches: what came of --require in each.
    const Json before = document.body.value("expectations", Json::array());
    if (judges && (!expectations.empty() || !required.empty() || !before.empty())) {
      report::judge_expectations(document, expectations, launches);
      for (const Json& one : before) document.body["expectations"].push_back(one);
      for (const report::RequirementFinding& one : required) {
        document.body["expectations"].push_back(judged_finding(one));
      }
      judged.failed = judged.failed || report::failed_expectation(document);
      judged.lines += report::expectations_text(document);
      if (&document == &documents.front()) judged.expectations = document.body["expectations"];
      judged.record +=
          Json{{"record", "expectations"}, {"expectations", document.body["expectations"]}}.dump(
              -1, ' ', true, Json::error_handler_t::replace) +
          '\n';
    }
    bodies.push_back(std::move(document.body));
  }
  const Json whole = bodies.size() == 1
                         ? bodies[0]
                         : Json{{"schema", bodies[0]["schema"]}, {"documents", std::move(bodies)}};
  judged.json = report::document_text(whole);
  return judged;
}

void write_judged(std::string text, const Judged& judged, const std::string& format,
                  const std::string& output) {
  const bool table = format == "table";
  if (table && !judged.lines.empty()) text += '\n' + for_reading(judged.lines, output);
  write_text(text, output);
  if (!table || !output.empty()) std::fputs(judged.lines.c_str(), stderr);
}

}  // namespace rdmabench::tools
