#include <array>

#include "rdmabench/base/error.h"
#include "rdmabench/fabric/attribution.h"
#include "report/row.h"

namespace rdmabench::fabric {
namespace {

using report::Json;
using report::or_null;

std::string_view metric_name(Metric metric) {
  return metric == Metric::latency ? "latency" : "bandwidth";
}

Metric metric_of(const Json& json) {
  const auto& text = json.at("metric").get_ref<const std::string&>();
  if (text == "latency") return Metric::latency;
  if (text == "bandwidth") return Metric::bandwidth;
  throw Error(Fault::usage, "verdict: the metric \"" + text + "\"",
              "Known are bandwidth and latency");
}

template <class Kind, std::size_t count>
Kind named(const Json& json, const char* key) {
  const auto& text = json.at(key).get_ref<const std::string&>();
  for (std::size_t i = 0; i < count; ++i) {
    if (text == name(static_cast<Kind>(i))) return static_cast<Kind>(i);
  }
  throw Error(Fault::usage, std::string("verdict: ") + key + " \"" + text + "\" is not known",
              "The file is damaged, or of a newer rdmabench");
}

std::optional<std::uint32_t> maybe(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  return found->get<std::uint32_t>();
}

Json to_list(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"part", name(finding.part)},
                    {"a", finding.a},
                    {"b", or_null(finding.b)},
                    {"rail", or_null(finding.rail)},
                    {"element", finding.element},
                    {"metric", metric_name(finding.metric)},
                    {"size_bytes", finding.size_bytes},
                    {"ratio", finding.ratio},
                    {"score", finding.score},
                    {"confirmed", finding.confirmed},
                    {"evidence", finding.evidence},
                    {"text", finding.text}});
  }
  return list;
}

std::vector<Finding> findings_of(const Json& json, const char* key) {
  std::vector<Finding> list;
  const auto found = json.find(key);
  if (found == json.end()) return list;
  for (const Json& item : *found) {
    Finding finding;
    finding.metric = metric_of(item);
    finding.size_bytes = item.at("size_bytes").get<std::uint64_t>();
    finding.part = named<Part, 8>(item, "part");
    finding.a = item.at("a").get<std::uint32_t>();
    finding.b = maybe(item, "b");
    finding.rail = maybe(item, "rail");
    finding.element = item.value("element", "");
    finding.ratio = item.at("ratio").get<double>();
    finding.score = item.at("score").get<double>();
    finding.confirmed = item.at("confirmed").get<bool>();
    finding.evidence = item.at("evidence").get<std::vector<std::string>>();
    finding.text = item.at("text").get<std::string>();
    list.push_back(std::move(finding));
  }
  return list;
}

Attribution read(const Json& json) {
  Attribution out;
  out.findings = findings_of(json, "findings");
  out.leads = findings_of(json, "leads");
  out.withdrawn = findings_of(json, "withdrawn");
  for (const Json& item : json.at("typical")) {
    out.typical.push_back({metric_of(item), item.at("size_bytes").get<std::uint64_t>(),
                           item.at("value").get<double>(), item.at("noise").get<double>(),
                           item.at("cells").get<std::uint32_t>(),
                           item.at("failed").get<std::uint32_t>()});
  }
  for (const Json& item : json.at("rails")) {
    out.rails.push_back({metric_of(item), item.at("size_bytes").get<std::uint64_t>(),
                         item.at("rail").get<std::uint32_t>(), item.at("ratio").get<double>()});
  }
  for (const Json& item : json.at("nodes")) {
    out.nodes.push_back(
        {metric_of(item), item.at("size_bytes").get<std::uint64_t>(),
         item.at("rank").get<std::uint32_t>(), item.at("sender_ratio").get<double>(),
         item.at("receiver_ratio").get<double>(), item.at("partners").get<std::uint32_t>(),
         named<Verdict, 7>(item, "verdict")});
  }
  out.doubts = json.at("doubts").get<std::vector<std::string>>();
  if (const auto links = json.find("links"); links != json.end()) {
    out.crossed = {links->at("directions").get<std::uint32_t>(),
                   links->at("crossed").get<std::uint32_t>(),
                   links->at("fewest_pairs").get<std::uint32_t>()};
  }
  return out;
}

}  // namespace

std::string to_json(const Attribution& attribution) {
  Json typical = Json::array();
  for (const Typical& item : attribution.typical) {
    typical.push_back({{"metric", metric_name(item.metric)},
                       {"size_bytes", item.size_bytes},
                       {"value", item.value},
                       {"noise", item.noise},
                       {"cells", item.cells},
                       {"failed", item.failed}});
  }
  Json rails = Json::array();
  for (const RailSummary& item : attribution.rails) {
    rails.push_back({{"metric", metric_name(item.metric)},
                     {"size_bytes", item.size_bytes},
                     {"rail", item.rail},
                     {"ratio", item.ratio}});
  }
  Json nodes = Json::array();
  for (const NodeSummary& item : attribution.nodes) {
    nodes.push_back({{"metric", metric_name(item.metric)},
                     {"size_bytes", item.size_bytes},
                     {"rank", item.rank},
                     {"sender_ratio", item.sender_ratio},
                     {"receiver_ratio", item.receiver_ratio},
                     {"partners", item.partners},
                     {"verdict", name(item.verdict)}});
  }
  Json json{{"findings", to_list(attribution.findings)},
            {"leads", to_list(attribution.leads)},
            {"withdrawn", to_list(attribution.withdrawn)},
            {"typical", std::move(typical)},
            {"rails", std::move(rails)},
            {"nodes", std::move(nodes)},
            {"doubts", attribution.doubts}};
  if (attribution.crossed) {
    json["links"] = {{"directions", attribution.crossed->directions},
                     {"crossed", attribution.crossed->crossed},
                     {"fewest_pairs", attribution.crossed->fewest_pairs}};
  }
  // Host names and errors come from peers: bytes that are not UTF-8 are replaced.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Attribution attribution_from_json(std::string_view text) {
  try {
    return read(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw Error(Fault::usage, std::string("verdict of a fabric: ") + error.what(),
                "The file is damaged or was not written by rdmabench fabric");
  }
}

}  // namespace rdmabench::fabric
