#include <nlohmann/json.hpp>

#include "rdmabench/health/doctor.h"

namespace rdmabench::health {
namespace {

using Json = nlohmann::ordered_json;

Json to_object(const Finding& finding) {
  const CheckInfo* const check = find_check(finding.check);
  Json object;
  object["id"] = finding.check;
  object["group"] = check->group();
  object["title"] = check->title;
  object["subject"] = finding.subject;
  object["status"] = name(finding.status);
  object["reason"] = finding.reason;
  object["observed"] = finding.observed;
  object["expected"] = finding.expected;
  object["expected_source"] = name(finding.source);
  object["remedy"] = finding.remedy;
  object["evidence"] = finding.evidence;
  object["privilege"] = check->root ? "root" : "none";
  return object;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

}  // namespace

std::string to_json(const Diagnosis& diagnosis) {
  const Tally tally = diagnosis.tally();
  Json findings = Json::array();
  for (const Finding& finding : diagnosis.findings) findings.push_back(to_object(finding));
  const Json document = {{"schema", "rdmabench-doctor/1"},
                         {"host", diagnosis.host},
                         {"root", diagnosis.root},
                         {"summary",
                          {{"pass", tally.pass},
                           {"warn", tally.warn},
                           {"fail", tally.fail},
                           {"skip", tally.skip},
                           {"error", tally.error}}},
                         {"findings", std::move(findings)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_csv(const Diagnosis& diagnosis) {
  std::string text =
      "host,id,group,title,subject,status,reason,observed,expected,expected_source,remedy,evidence,"
      "privilege\r\n";
  for (const Finding& finding : diagnosis.findings) {
    text += csv_cell(diagnosis.host);
    const Json object = to_object(finding);
    for (const auto& [key, value] : object.items()) {
      std::string cell;
      if (value.is_array()) {
        for (const Json& one : value) cell += (cell.empty() ? "" : "; ") + one.get<std::string>();
      } else {
        cell = value.get<std::string>();
      }
      text += ',' + csv_cell(cell);
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace rdmabench::health
