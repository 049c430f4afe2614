// What the documents judge, each kind in its own words.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "fabric_document.h"
#include "kinds.h"

namespace rdmabench::report {

using Judgements = std::vector<Judgement>;

namespace {

/// What a verdict could not judge; earlier files call it "doubts".
const Json& not_judged_of(const Json& verdict) {
  return list_of(verdict, verdict.contains("doubts") ? "doubts" : "not_judged");
}

/// A metric and size for which no node could be judged is not a pass. Where nothing is told of that
/// and of any finding, the verdict is a pass.
void add_coverage(Judgements& list, const Document& document) {
  const Json& verdict = object_of(document.body, "verdict");
  const bool accused = !list_of(verdict, "findings").empty();
  const auto slice_of = [](const Json& one) {
    return fmt::format("{} {}", text_of(one, "metric"), size_text(number_of(one, "size_bytes")));
  };
  std::map<std::string, bool> judged;
  for (const Json& node : list_of(verdict, "nodes")) {
    const std::string word = text_of(node, "verdict");
    judged[slice_of(node)] |=
        word == "good" || word == "suspect" || word == "slow" || word == "failing";
  }
  for (const Json& node : list_of(verdict, "nodes")) {
    if (text_of(node, "verdict") == "ambiguous") judged[slice_of(node)] = false;
  }
  for (const Json& typical : list_of(verdict, "typical")) {
    if (number_of(typical, "value") == 0) judged[slice_of(typical)] = false;
  }
  if (judged.empty() && !accused) judged["who stands out"] = false;
  const Json& reasons = not_judged_of(verdict);  // which judge_fabric() tells in full
  const bool all_judged = reasons.empty();
  std::string why = "not judged: no node was measured with enough partners.";
  if (reasons.size() == 1) why = "not judged: " + any_text(reasons.front());
  if (reasons.size() > 1) {
    why = fmt::format("not judged; the verdict gives {} reasons", reasons.size());
  }
  bool all = true;
  for (const auto& [slice, is_judged] : judged) {
    all = all && is_judged;
    if (is_judged) continue;
    list.push_back({"fabric", "the verdict", slice, Status::skip, why});
    list.back().alike = "not every node could be judged";
  }
  const bool failed = std::any_of(document.pairs.begin(), document.pairs.end(),
                                  [](const PairMeasurement& pair) { return !pair.error.empty(); });
  if (all && all_judged && !accused && !failed && list_of(document.body, "lost").empty()) {
    list.push_back({"fabric", "the verdict", "who stands out", Status::pass,
                    "No node, direction, rail or route stands out."});
  }
}

/// A judgement of --require, not of --expect.
bool is_required(const Json& judged) {
  return text_of(judged, "expectation").starts_with("require ");
}

/// Of --expect and --require.
void add_expectations(Judgements& list, const Document& document) {
  for (const Json& judged : list_of(document.body, "expectations")) {
    Judgement& one = list.emplace_back(
        Judgement{"expect", text_of(judged, "row"), text_of(judged, "expectation"),
                  status_of(text_of(judged, "status")), text_of(judged, "text")});
    if (!one.subject.empty()) one.alike = one.id;
    one.add_details(judged, {"launches", "launches_needed"});
    if (one.outcome == Status::fail) {
      one.details.emplace_back("action", is_required(judged) ? "change setting" : "run doctor");
    }
  }
}

}  // namespace

Judgements judge_doctor(const Document& document) {
  Judgements list;
  const std::string host = text_of(document.body, "host");
  for (const Json& finding : list_of(document.body, "findings")) {
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

Judgements judge_run(const Document& document) {
  const Json& body = document.body;
  Judgements list;
  const std::string test = text_of(body, "test");
  const Json& environment = object_of(body, "environment");
  const std::string server = fact_of(list_of(environment, "server"), "hostname");
  const std::string client = fact_of(list_of(environment, "client"), "hostname");
  const std::string subject = server.empty() ? client : fmt::format("{} to {}", client, server);
  for_each_measured(document, [&](const Measured& measured) {
    Judgement one;
    one.group = "run." + test;
    one.subject = subject;
    for (const Label& label : measured.labels) {
      if (label.first == "operation" || label.first == "memory" || label.first == "load") {
        one.id += (one.id.empty() ? "" : " ") + label.second;
      }
      if (label.first == "size_bytes") {
        one.id += fmt::format("{}{} B", one.id.empty() ? "" : " ", label.second);
      }
    }
    for (const Value& value : measured.values) {
      one.details.emplace_back(value.first, fmt::format("{}", value.second));
      if (value.first == "stable" && value.second == 0) {
        one.outcome = Status::warn;
        one.text = one.alike = "The epochs still differed when the run ended.";
      }
    }
    one.measured = one.outcome == Status::pass;
    list.push_back(std::move(one));
  });
  for (const Json& suspicion : list_of(body, "suspicions")) {
    Judgement& one = list.emplace_back(Judgement{"run." + test, subject,
                                                 "suspect: " + text_of(suspicion, "code"),
                                                 Status::warn, text_of(suspicion, "text")});
    const std::string remedy = text_of(suspicion, "remedy");
    one.alike = text_of(suspicion, "summary") + (remedy.empty() ? "" : "; " + remedy);
  }
  const auto failed = [&](const std::string& why) {
    list.push_back({"run." + test, subject, "the run", Status::fail, why});
  };
  const std::string error = text_of(body, "error");
  const Json& errors = list_of(body, "errors");
  if (!error.empty()) failed(error);
  for (const Json& one : errors) failed(any_text(one));
  if (list_of(body, "results").empty() && error.empty() && errors.empty()) {
    list.push_back({"run." + test, subject, "the run", Status::error,
                    "The document has no result and no error that says why.", "Measure again."});
  }
  for (Judgement& one : list) one.finding = false;
  return list;
}

Judgements judge_fabric(const Document& document) {
  Judgements list;
  const FabricNames names(document);
  const Json& verdict = object_of(document.body, "verdict");
  const std::string headline = text_of(verdict, "summary");            // files of 0.1 have none
  if (!headline.empty() && !list_of(document.body, "lost").empty()) {  // it limits all the rest
    list.push_back({"fabric", "the verdict", "nodes lost", Status::fail, headline});
  }
  for (const Json& lost : list_of(document.body, "lost")) {
    list.push_back({"fabric.node",
                    lost.contains("rank") && lost["rank"].is_number()
                        ? names.numbered(rank_in(lost, "rank"))
                        : "?",
                    "lost in round " + any_text_of(lost, "round"),
                    Status::fail,
                    text_of(lost, "reason"),
                    "See whether the node is up and its process runs, and measure again.",
                    "nodes were lost",
                    {{"rank", any_text_of(lost, "rank")}, {"action", "run doctor"}}});
  }
  if (verdict.empty()) {
    list.push_back({"fabric", "the verdict", "the run", Status::error,
                    "The run did not come to its end: there is no verdict.",
                    "Resume it, or measure again."});
  } else {
    add_coverage(list, document);
  }
  for (const Json& finding : list_of(verdict, "findings")) {
    Judgement one;
    one.group = "fabric." + text_of(finding, "part");
    one.subject = suspect_of(names, finding);
    one.id = fmt::format("{} {}", text_of(finding, "metric"),
                         size_text(number_of(finding, "size_bytes")));
    one.outcome = flag_of(finding, "confirmed") ? Status::fail : Status::warn;
    one.text = text_of(finding, "text");
    one.add_details(finding, {"ratio", "score", "confirmed", "action", "evidence"});
    list.push_back(std::move(one));
  }
  for (const Json& why : not_judged_of(verdict)) {
    list.push_back({"fabric", "the verdict", "not judged", Status::skip, any_text(why)});
    list.back().alike = "not judged";
  }
  for (const PairMeasurement& pair : document.pairs) {
    if (pair.error.empty()) continue;
    Judgement& one = list.emplace_back(cell_of(names, pair));
    one.outcome = Status::fail;
    one.alike = "the measurement of a pair of nodes failed";
    one.text = pair.error;
  }
  return list;
}

/// A row is right or wrong; a run that ended early is a separate error.
Judgements judge_coll(const Document& document) {
  Judgements list;
  const std::string backend = text_of(document.body, "backend");
  if (const std::string error = text_of(document.body, "error"); !error.empty()) {
    Judgement& one = list.emplace_back(Judgement{"coll", backend, "run", Status::error, error});
    one.add_details(object_of(document.body, "blame"), {"action"});
  }
  if (const std::string blame = text_of(object_of(document.body, "blame"), "text");
      !blame.empty()) {
    list.push_back({"coll", backend, "blamed", Status::fail, blame});
  }
  if (list_of(document.body, "results").empty() && text_of(document.body, "error").empty()) {
    list.push_back({"coll", backend, "run", Status::error, "The document has no result."});
  }
  const Json& judged = list_of(document.body, "expectations");
  if (std::none_of(judged.begin(), judged.end(), is_required)) {  // else they are among those
    for (const Json& unmet : list_of(document.body, "unmet")) {
      list.push_back({"coll", backend, "required", Status::fail, any_text(unmet)});
    }
  }
  const Json& bisected = object_of(document.body, "bisected");
  if (!list_of(bisected, "suspects").empty()) {
    Judgement& one = list.emplace_back(
        Judgement{"coll", backend, "bisected", Status::fail, text_of(bisected, "text")});
    one.add_details(bisected, {"action"});
  }
  for (const Json& row : list_of(document.body, "results")) {
    list.push_back(judge_row(row, document.body));
  }
  return list;
}

Judgement judge_row(const Json& row, const Json& body) {
  Judgement one;
  one.group = "coll." + text_of(row, "operation");
  one.subject = text_of(body, "backend");
  one.id = fmt::format("{} {} {}{}", text_of(row, "type"), any_text_of(row, "reduction"),
                       size_text(number_of(row, "size_bytes")),
                       flag_of(row, "in_place") ? " in place" : "");
  if (const std::string group = text_of(row, "group"); !group.empty()) one.id += ", " + group;
  const Json& wrong = object_of(row, "wrong");
  const Json& first = object_of(wrong, "first");
  const Json& late = object_of(row, "late");
  if (const std::string why = text_of(row, "skipped"); !why.empty()) {
    one.outcome = Status::skip;
    one.text = one.alike = why;
  } else if (number_of(wrong, "wrong_elements") > 0 || !first.empty()) {
    one.outcome = Status::fail;
    one.text = fmt::format("{} wrong elements", any_text_of(wrong, "wrong_elements"));
    if (const std::string all = any_text_of(wrong, "checked_results"); !all.empty()) {
      one.text += fmt::format(" in {} of {} results", any_text_of(wrong, "wrong_results"), all);
    }
    if (!first.empty()) {  // other tools do not tell where
      one.text += fmt::format("; rank {}, iteration {}, byte {} for {} bytes: {}, {} for {}",
                              any_text_of(first, "rank"), any_text_of(first, "iteration"),
                              any_text_of(first, "offset_bytes"), any_text_of(first, "run_bytes"),
                              text_of(first, "pattern"), any_text_of(first, "actual"),
                              any_text_of(first, "expected"));
    }
    one.add_details(first, {"action"});
  }
  if (!late.empty()) {
    std::string who = "rank " + any_text_of(late, "rank");
    for (const Json& rank : list_of(body, "ranks")) {
      if (number_of(rank, "rank") == number_of(late, "rank")) {
        who += fmt::format(" ({})", text_of(rank, "host"));
      }
    }
    who += " is late";
    if (one.outcome == Status::pass) {
      one.outcome = Status::warn;
      one.alike = who;
    }
    one.text += fmt::format("{}{} by {} (clocks to {}), last in {}", one.text.empty() ? "" : "; ",
                            who, time_text(number_of(late, "by_ns")),
                            time_text(number_of(late, "error_bound_ns")),
                            percent_text(number_of(late, "share")));
  }
  for (const char* key : {"rank", "by_ns", "share", "action"}) {
    if (late.contains(key)) {
      one.details.emplace_back(fmt::format("late_{}", key), any_text_of(late, key));
    }
  }
  return one;
}

Judgements judgements(const Document& document) {
  const DocumentKind* const kind = find_kind(document.schema);
  Judgements list = kind != nullptr ? kind->judge(document) : Judgements();
  add_expectations(list, document);
  return list;
}

}  // namespace rdmabench::report
