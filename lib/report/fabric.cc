// The documents of fabrics: what they judge, and their figures.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "fabric_document.h"
#include "kinds.h"

namespace rdmabench::inline v1::report {
namespace {

/// A metric and size for which no node could be judged is not a pass. Where nothing is told of that
/// and of any finding, the verdict is a pass.
void add_coverage(std::vector<Judgement>& list, const Document& document) {
  const Json& verdict = object_of(json_of(document), "verdict");
  const bool accused = !list_of(verdict, "findings").empty();
  std::map<std::string, bool> judged = judged_slices(verdict);
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
  const Json& differences = list_of(verdict, "node_differences");
  const bool less = std::any_of(differences.begin(), differences.end(), [](const Json& one) {
    return text_of(one, "status") == name(Status::fail);
  });
  if (all && all_judged && !accused && !failed && !less &&
      list_of(json_of(document), "lost").empty()) {
    list.push_back({"fabric", "the verdict", "who stands out", Status::pass,
                    "No node, direction, rail or route stands out."});
    list.back().headline = true;
  }
}

std::vector<Judgement> judge_fabric(const Document& document) {
  std::vector<Judgement> list;
  const FabricNames names(document);
  const Json& verdict = object_of(json_of(document), "verdict");
  const std::string headline = text_of(verdict, "summary");  // files of 0.1 have none
  if (const std::string without = not_rdma_of(document); !without.empty()) {
    const bool allowed = flag_of(object_of(verdict, "not_rdma"), "allowed");
    list.push_back({"fabric", "the verdict", "RDMA", allowed ? Status::warn : Status::fail,
                    headline.empty() ? without : headline,
                    "Run 'rdmabench doctor' on these nodes. Where TCP is meant: --allow-tcp."});
    list.back().headline = true;
  }
  if (!headline.empty() && !list_of(json_of(document), "lost").empty()) {  // it limits all the rest
    list.push_back({"fabric", "the verdict", "nodes lost", Status::fail, headline});
    list.back().headline = true;
  }
  for (const Json& lost : list_of(json_of(document), "lost")) {
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
  for (const Json& difference : list_of(verdict, "node_differences")) {
    Judgement one;
    one.group = "fabric.node";
    one.subject = names.numbered(rank_in(difference, "rank"));
    one.id = text_of(difference, "check");
    one.outcome = status_of(text_of(difference, "status"));
    one.text = fmt::format("{}: {}; expected {}", text_of(difference, "title"),
                           text_of(difference, "observed"), text_of(difference, "expected"));
    one.remedy = text_of(difference, "remedy");
    one.alike = fmt::format("{}: {}", one.id, text_of(difference, "title"));
    one.add_details(difference, {"title", "observed", "expected", "action"});
    list.push_back(std::move(one));
  }
  for (const Json& why : not_judged_of(verdict)) {
    list.push_back({"fabric", "the verdict", std::string(kNotJudged), Status::skip, any_text(why)});
    list.back().alike = kNotJudged;
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

void measure_fabric(const Document& document, const VisitMeasured& visit) {
  const auto identity = [](const PairMeasurement& pair) {
    return std::tuple(pair.sender, pair.receiver, pair.rail, pair.size_bytes, pair.metric);
  };
  const FabricNames names(document);
  std::set<decltype(identity(document.pairs.front()))> confirmed;
  for (const PairMeasurement& pair : document.pairs) {
    if (pair.confirming && pair.error.empty()) confirmed.insert(identity(pair));
  }
  for (const PairMeasurement& pair : document.pairs) {
    Measured measured;
    measured.kind = "pair";
    measured.replaced = !pair.confirming && confirmed.contains(identity(pair));
    measured.labels = {{"metric", std::string(name(pair.metric))},
                       {"sender", fmt::format("{}", pair.sender)},
                       {"receiver", fmt::format("{}", pair.receiver)},
                       {"sender_host", names.host(pair.sender)},
                       {"receiver_host", names.host(pair.receiver)},
                       {"rail", fmt::format("{}", pair.rail)},
                       {"round", fmt::format("{}", pair.round)},
                       {"pattern", pair.pattern},
                       {"size_bytes", fmt::format("{}", pair.size_bytes)}};
    if (pair.error.empty()) {
      measured.values.emplace_back(pair.latency() ? "p50_ns" : "bits_per_s", pair.value);
      if (pair.high > 0) {
        measured.values.emplace_back(pair.latency() ? "median_low_ns" : "bits_per_s_low", pair.low);
        measured.values.emplace_back(pair.latency() ? "median_high_ns" : "bits_per_s_high",
                                     pair.high);
      }
      if (pair.line_bits_per_s > 0) {
        measured.values.emplace_back("line_bits_per_s", pair.line_bits_per_s);
      }
      measured.line_origin = pair.line_origin;
      for (const Value& one : {Value{"p99_ns", pair.p99_ns}, Value{"p99_low_ns", pair.p99_low_ns},
                               Value{"p99_high_ns", pair.p99_high_ns}}) {
        if (one.second > 0) measured.values.push_back(one);
      }
    }
    measured.error = pair.error;
    visit(measured);
  }
}

}  // namespace

const DocumentKind kFabricKind{kFabricSchema,   "Fabric",      "",
                               "fabric",        judge_fabric,  measure_fabric,
                               fabric_sections, fabric_details};

}  // namespace rdmabench::inline v1::report
