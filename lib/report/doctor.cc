// The documents of a node's checks.
#include <fmt/format.h>

#include <algorithm>

#include "kinds.h"

namespace rdmabench::inline v1::report {
namespace {

std::vector<Judgement> judge_doctor(const Document& document) {
  std::vector<Judgement> list;
  const std::string host = text_of(json_of(document), "host");
  for (const Json& finding : list_of(json_of(document), "findings")) {
    Judgement one;
    const std::string subject = text_of(finding, "subject");
    one.group = "doctor." + text_of(finding, "group");
    const bool whole_node = subject.empty() || subject == host || subject == "node";
    one.subject = whole_node ? host : fmt::format("{}, {}", host, subject);
    one.id = text_of(finding, "id");
    one.outcome = status_of(text_of(finding, "status"));
    one.text = text_of(finding, "reason");
    if (one.text.empty() && one.outcome != Status::pass) {
      one.text = fmt::format("{}: {}; expected {}", text_of(finding, "title"),
                             any_text_of(finding, "observed"), any_text_of(finding, "expected"));
    }
    one.remedy = text_of(finding, "remedy");
    one.alike = fmt::format("{}: {}", one.id, text_of(finding, "title"));
    one.add_details(finding, {"title", "observed", "expected", "expected_source", "action",
                              "evidence", "privilege"});
    list.push_back(std::move(one));
  }
  return list;
}

std::vector<Section> doctor_details(const Document& document) {
  const std::string host = text_of(json_of(document), "host");
  Section section = table_of("Every check",
                             {{"host", false, [&host](const Json& /*row*/) { return Cell(host); }},
                              words_column("check", "id"),
                              status_column(),
                              words_column("of", "subject"),
                              words_column("what", "title"),
                              words_column("observed", "observed"),
                              words_column("expected", "expected"),
                              words_column("reason", "reason")},
                             list_of(json_of(document), "findings"));
  section.open = false;
  constexpr std::size_t kStatus = 2;
  std::stable_sort(section.rows.begin(), section.rows.end(),
                   [](const TableRow& a, const TableRow& b) {
                     return place_of(*a.cells[kStatus].status) < place_of(*b.cells[kStatus].status);
                   });
  return {std::move(section)};
}

}  // namespace

const DocumentKind kDoctorKind{kDoctorSchema, "Node checks", "findings",  "doctor",
                               judge_doctor,  no_figures,    no_sections, doctor_details};

}  // namespace rdmabench::inline v1::report
