#include "rdmabench/health/doctor.h"
#include "results/csv.h"
#include "results/row.h"

namespace rdmabench::inline v1::health {
namespace {

using report::Json;

Json to_object(const Finding& finding) {
  const CheckInfo* const check = find_check(finding.id);
  Json object;
  object["id"] = finding.id;
  object["group"] = check->group();
  object["title"] = check->title;
  object["subject"] = finding.subject;
  object["status"] = name(finding.status);
  object["reason"] = finding.reason;
  object["observed"] = finding.observed;
  object["expected"] = finding.expected;
  object["expected_source"] = name(finding.source);
  object["remedy"] = finding.remedy;
  object["action"] = action_of(finding);
  object["evidence"] = finding.evidence;
  object["privilege"] = check->root ? "root" : "none";
  return object;
}

}  // namespace

std::string to_json(const Diagnosis& diagnosis) {
  const Tally tally = diagnosis.tally();
  const Json document = {{"schema", "rdmabench-doctor/1"},
                         {"host", diagnosis.host},
                         {"root", diagnosis.root},
                         {"summary",
                          {{"pass", tally.pass},
                           {"warn", tally.warn},
                           {"fail", tally.fail},
                           {"skip", tally.skip},
                           {"error", tally.error}}},
                         {"findings", report::list_of_each(diagnosis.findings, to_object)}};
  return report::document_text(document);
}

std::string to_csv(const Diagnosis& diagnosis) {
  report::Csv csv({"host", "id", "group", "title", "subject", "status", "reason", "observed",
                   "expected", "expected_source", "remedy", "action", "evidence", "privilege"});
  for (const Finding& finding : diagnosis.findings) {
    Json row = to_object(finding);
    row["host"] = diagnosis.host;
    csv.add(row);
  }
  return csv.text();
}

}  // namespace rdmabench::inline v1::health
