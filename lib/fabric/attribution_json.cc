#include "base/fields.h"
#include "rdmabench/fabric/attribution.h"
#include "report/row.h"

namespace rdmabench::fabric {
namespace {

using report::Json;
using report::list_of_each;
using report::or_null;

Json to_list(const std::vector<Finding>& findings) {
  return list_of_each(findings, [](const Finding& finding) {
    return Json{{"part", name(finding.part)},
                {"a", finding.a},
                {"b", or_null(finding.b)},
                {"rail", or_null(finding.rail)},
                {"element", finding.element},
                {"metric", name(finding.metric)},
                {"size_bytes", finding.size_bytes},
                {"ratio", finding.ratio},
                {"score", finding.score},
                {"confirmed", finding.confirmed},
                {"action", action_of(finding)},
                {"evidence", finding.evidence},
                {"text", finding.text}};
  });
}

}  // namespace

std::string to_json(const Attribution& attribution) {
  const Json typical = list_of_each(attribution.typical, [](const Typical& item) {
    return Json{{"metric", name(item.metric)}, {"size_bytes", item.size_bytes},
                {"value", item.value},         {"noise", item.noise},
                {"cells", item.cells},         {"failed", item.failed}};
  });
  const Json rails = list_of_each(attribution.rails, [](const RailSummary& item) {
    return Json{{"metric", name(item.metric)},
                {"size_bytes", item.size_bytes},
                {"rail", item.rail},
                {"ratio", item.ratio}};
  });
  const Json nodes = list_of_each(attribution.nodes, [](const NodeSummary& item) {
    return Json{{"metric", name(item.metric)},
                {"size_bytes", item.size_bytes},
                {"rank", item.rank},
                {"sender_ratio", item.sender_ratio},
                {"receiver_ratio", item.receiver_ratio},
                {"partners", item.partners},
                {"verdict", name(item.verdict)}};
  });
  Json json{{"findings", to_list(attribution.findings)},
            {"leads", to_list(attribution.leads)},
            {"withdrawn", to_list(attribution.withdrawn)},
            {"typical", typical},
            {"rails", rails},
            {"nodes", nodes},
            {"doubts", attribution.doubts}};
  if (attribution.crossed) {
    json["links"] = {{"directions", attribution.crossed->directions},
                     {"crossed", attribution.crossed->crossed},
                     {"fewest_pairs", attribution.crossed->fewest_pairs}};
  }
  return dump(json);
}

}  // namespace rdmabench::fabric
