#include "document_samples.h"

#include <array>
#include <nlohmann/json.hpp>

#include "rdmabench/results/result.h"
#include "report/digest.h"
#include "samples.h"

namespace rdmabench::inline v1::report {
namespace {

Json measurement(unsigned sender, unsigned receiver, unsigned rail, const char* metric,
                 double value) {
  const bool latency = std::string(metric) == "latency";
  return {{"schema", kFabricSchema},
          {"record", "measurement"},
          {"round", sender},
          {"pattern", "full"},
          {"sender", sender},
          {"receiver", receiver},
          {"rail", rail},
          {"metric", metric},
          {"size_bytes", latency ? 8 : 1048576},
          {"value", value},
          {"p99_ns", latency ? Json(2 * value) : Json(nullptr)},
          {"error", value > 0 ? Json(nullptr) : Json("no answer within 5 s")},
          {"confirming", false},
          {"notes", Json::array()}};
}

}  // namespace

std::string fabric_text() {
  std::string text;
  const auto add = [&](const Json& record) { text += record.dump() + "\n"; };
  add({{"schema", kFabricSchema},
       {"record", "plan"},
       {"nodes",
        {{{"rank", 0}, {"host", "node0"}, {"rails", {"mlx5_0", "mlx5_1"}}},
         {{"rank", 1}, {"host", kHostileName}, {"rails", {"mlx5_0", "mlx5_1"}}},
         {{"rank", 2}, {"host", "node2"}, {"rails", {"mlx5_0", "mlx5_1"}}}}},
       {"plan", {{"pattern", "full"}, {"rounds", 0}}}});
  for (unsigned rail = 0; rail < 2; ++rail) {
    for (unsigned sender = 0; sender < 3; ++sender) {
      for (unsigned receiver = 0; receiver < 3; ++receiver) {
        if (sender == receiver) continue;
        const bool failed = sender == 2 && receiver == 0 && rail == 1;
        add(measurement(sender, receiver, rail, "bandwidth",
                        failed        ? 0
                        : sender == 1 ? 100e9
                                      : 200e9));
        add(measurement(sender, receiver, rail, "latency", sender == 1 ? 4000 : 2000));
      }
    }
  }
  add({{"record", "lost"}, {"rank", 2}, {"round", 7}, {"reason", "no answer within 20 s"}});
  add({{"record", "verdict"},
       {"summary", "1 of 3 nodes lost: node 2 (node2); among the other 2 there is 1 finding"},
       {"findings",
        {{{"part", "sender"},
          {"a", 1},
          {"b", nullptr},
          {"rail", nullptr},
          {"metric", "bandwidth"},
          {"size_bytes", 1048576},
          {"ratio", 0.5},
          {"score", 9.5},
          {"confirmed", true},
          {"action", "change setting"},
          {"evidence", {"4 of 4 partners see it"}},
          {"text", "sends at 50 % of typical"}}}},
       {"typical", {{{"metric", "bandwidth"}, {"size_bytes", 1048576}, {"value", 200e9}}}}});
  return text;
}

std::string doctor_text() {
  Json findings = Json::array();
  for (const char* status : {"PASS", "WARN", "FAIL", "SKIP", "ERROR", "PERHAPS"}) {
    findings.push_back({{"id", std::string("port.") + status},
                        {"group", "port"},
                        {"title", "The port's state"},
                        {"subject", "mlx5_0:1"},
                        {"status", status},
                        {"reason", std::string(status) + " because of it"},
                        {"observed", "INIT"},
                        {"expected", "ACTIVE"},
                        {"expected_source", "standard"},
                        {"remedy", "Start a subnet manager."},
                        {"evidence", {"sys/class/infiniband/mlx5_0/ports/1/state"}},
                        {"privilege", "none"}});
  }
  return Json{{"schema", kDoctorSchema},
              {"host", "node7"},
              {"root", "/"},
              {"summary", {{"pass", 1}}},
              {"findings", findings}}
      .dump(2);
}

std::string compare_text() {
  Json cells = Json::array();
  for (const char* verdict : {"EQUIVALENT", "DIFFERENT", "INCONCLUSIVE", "REFUSED"}) {
    const bool refused = std::string(verdict) == "REFUSED";
    const Json estimate{{"ratio", 1.25}, {"ratio_low", 1.2}, {"ratio_high", 1.3}};
    cells.push_back({{"size_bytes", 8 * (cells.size() + 1)},
                     {"load", nullptr},
                     {"unit", "ns"},
                     {"a", 2000.0},
                     {"b", 2500.0},
                     {"a_units", 7},
                     {"b_units", 7},
                     {"estimate", refused ? Json(nullptr) : estimate},
                     {"verdict", verdict},
                     {"more_launches", nullptr},
                     {"reason", ""}});
  }
  return Json{{"schema", kCompareSchema},
              {"verdict", "CONFOUNDED"},
              {"as_they_stand", "DIFFERENT"},
              {"settings", {{"margin", 0.05}}},
              {"confounds",
               {{{"name", "environment.client.kernel"},
                 {"where", ""},
                 {"a", {"6.1"}},
                 {"b", {"6.5"}},
                 {"declared", false}}}},
              {"families",
               {{{"test", "latency"},
                 {"operation", "write"},
                 {"kind", "half_round_trip"},
                 {"metric", "p50"},
                 {"verdict", "DIFFERENT"},
                 {"cells", cells}}}}}
      .dump(2);
}

std::string project_text() {
  const Json step{{"step_s", 1.5}, {"step_low_s", 1.25}, {"step_high_s", 1.75}};
  const Json difference{
      {"ratio", 1.0}, {"ratio_low", 0.99}, {"ratio_high", 1.01}, {"verdict", "EQUIVALENT"}};
  Json rows = Json::array();
  rows.push_back({{"value", 8}, {"a", step}, {"b", step}, {"difference", difference}});
  rows.push_back({{"value", 4096}, {"a", nullptr}, {"b", nullptr}, {"refusal", "too few samples"}});
  return Json{{"schema", kProjectSchema},
              {"axis", "nodes"},
              {"assumptions",
               {{{"name", "overlap"}, {"value", 0.5}, {"unit", ""}, {"origin", kHostileName}}}},
              {"rows", rows}}
      .dump();
}

std::vector<Document> every_document() {
  const std::array reports{latency_sample(), bandwidth_sample(), hostile_sample(), failed_sample()};
  std::vector<Document> all = parse_documents(fabric_text(), "fabric.jsonl");
  for (const auto& [text, source] : {std::pair{doctor_text(), "node7.json"},
                                     {compare_text(), "compare.json"},
                                     {project_text(), "project.json"},
                                     {to_json(reports), kHostileName}}) {
    for (Document& one : parse_documents(text, source)) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace rdmabench::inline v1::report
