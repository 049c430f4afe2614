#include "fabric_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "digest.h"

namespace rdmabench::report {

bool is_list_of_objects(const nlohmann::ordered_json& json) {
  return json.is_array() &&
         std::all_of(json.begin(), json.end(), [](const auto& item) { return item.is_object(); });
}

namespace {

using Refuse = FabricStream::Refuse;

constexpr std::array<std::string_view, 2> kMetricNames{"bandwidth", "latency"};
// Far above any device's value: a bound on what a peer may claim.
constexpr double kMaxValue = 1e18;

/// A rank that is a number must be one of the plan's nodes; anything else is read as nothing.
template <class Object>
void check_rank(const Object& object, const char* key, std::size_t nodes, const Refuse& refuse) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return;
  if (!found->is_number_unsigned() || found->template get<std::uint64_t>() >= nodes) {
    refuse(fmt::format("\"{}\" is {}, but the plan has {} nodes", key, found->dump(), nodes));
  }
}

PairMeasurement to_pair(const nlohmann::json& record, std::size_t nodes, const Refuse& refuse) {
  check_rank(record, "sender", nodes, refuse);
  check_rank(record, "receiver", nodes, refuse);
  try {
    auto pair = read_fields<PairMeasurement>(record);
    if (pair.error.empty() && pair.value <= 0) pair.error = "There is no value.";
    return pair;
  } catch (const FieldError& error) {
    refuse(fmt::format("a measurement's \"{}\" must be {}", error.key(), error.wanted()));
    throw;
  }
}

void check_verdict(const Json& record, std::size_t nodes, const Refuse& refuse) {
  for (const char* key : {"findings", "leads", "withdrawn"}) {
    const auto list = record.find(key);
    if (list == record.end() || !list->is_array()) continue;
    for (const Json& finding : *list) {
      if (!finding.is_object()) continue;
      if (text_of(finding, "part") != "rail") check_rank(finding, "a", nodes, refuse);
      check_rank(finding, "b", nodes, refuse);
    }
  }
  const auto summaries = record.find("nodes");
  if (summaries == record.end() || !summaries->is_array()) return;
  for (const Json& node : *summaries) {
    if (node.is_object()) check_rank(node, "rank", nodes, refuse);
  }
}

/// Of a node the checks and the writers read rank, host, rails and environment.
void check_plan(const Json& record, const Refuse& refuse) {
  if (!record.contains("nodes") || !is_list_of_objects(record["nodes"])) {
    refuse("the plan has no list of objects \"nodes\"");
  }
  for (const Json& node : record["nodes"]) {
    if (!node.contains("rank") || !node["rank"].is_number_unsigned()) {
      refuse("a node of the plan has no whole number \"rank\"");
    }
    check_rank(node, "rank", record["nodes"].size(), refuse);
  }
}

FabricStream::Key key(const PairMeasurement& pair) {
  return {pair.round,      pair.sender, pair.receiver,  pair.rail,
          pair.size_bytes, pair.metric, pair.confirming};
}

}  // namespace

std::string_view name(Metric metric) noexcept {
  return kMetricNames.at(static_cast<std::size_t>(metric));
}

void walk_cell(MessageFields& fields, PairMeasurement& pair) {
  fields.number("receiver", pair.receiver);
  if (!fields.lacks("rail")) fields.number("rail", pair.rail);
  fields.name("metric", kMetricNames, pair.metric);
  fields.number("size_bytes", pair.size_bytes);
  if (!fields.lacks("value")) fields.real("value", 0, kMaxValue, pair.value);
  fields.positive("low", kMaxValue, pair.low);
  fields.positive("high", kMaxValue, pair.high);
  fields.positive("p99_ns", kMaxValue, pair.p99_ns);
  fields.positive("p99_low_ns", kMaxValue, pair.p99_low_ns);
  fields.positive("p99_high_ns", kMaxValue, pair.p99_high_ns);
  fields.text_or_null("error", pair.error, kMaxText);
  fields.text_or_null("over", pair.over, kMaxText);
  fields.positive("line_bits_per_s", kMaxValue, pair.line_bits_per_s);
  fields.text_or_null("line_origin", pair.line_origin, kMaxText);
  if (!fields.lacks("notes")) fields.texts("notes", kMaxNotes, kMaxText, pair.notes);
  if (fields.from() == nullptr || pair.error.empty()) return;
  pair.value = pair.low = pair.high = pair.p99_ns = pair.p99_low_ns = pair.p99_high_ns = 0;
}

void walk(MessageFields& fields, PairMeasurement& pair) {
  if (!fields.lacks("round")) fields.number("round", pair.round);
  fields.text_or_null("pattern", pair.pattern, kMaxWord);
  fields.number("sender", pair.sender);
  walk_cell(fields, pair);
  if (!fields.lacks("confirming")) fields.flag("confirming", pair.confirming);
}

void FabricStream::begin_attempt(Document& document) {
  document.body["lost"] = Json::array();
  document.body["verdict"] = nullptr;
  document.body.erase("expectations");  // of the attempt before
  earlier_.clear();
  for (std::size_t i = 0; i < document.pairs.size(); ++i) earlier_[key(document.pairs[i])] = i;
}

void FabricStream::put(Document& document, PairMeasurement pair) {
  const auto found = earlier_.find(key(pair));
  if (found == earlier_.end()) {
    document.pairs.push_back(std::move(pair));
  } else {
    document.pairs[found->second] = std::move(pair);
  }
}

Document* FabricStream::current(std::vector<Document>& documents) const {
  const auto found = std::find_if(documents.rbegin(), documents.rend(),
                                  [](const Document& one) { return one.schema == kFabricSchema; });
  return found == documents.rend() ? nullptr : &*found;
}

void FabricStream::measure(const nlohmann::json& record, std::vector<Document>& documents,
                           const Refuse& refuse) {
  Document* const document = current(documents);
  if (document == nullptr) refuse("a record of a fabric stands before its plan");
  if (++pairs_ > limits_.pairs) refuse(fmt::format("more than {} measurements", limits_.pairs));
  put(*document, to_pair(record, document->body["nodes"].size(), refuse));
}

void FabricStream::add(Json& record, std::vector<Document>& documents, const Refuse& refuse) {
  const std::string kind = text_of(record, "record");
  if (kind == "measurement") return measure(record, documents, refuse);
  Document* document = current(documents);
  if (kind == "plan") {
    check_plan(record, refuse);
    const Json& plan = object_of(record, "plan");
    if (document != nullptr && document->body["plan"] == plan &&
        document->body["nodes"].size() == record["nodes"].size()) {
      begin_attempt(*document);
      return;
    }
    earlier_.clear();
    Json body{{"schema", kFabricSchema},
              {"plan", plan},
              {"nodes", std::move(record["nodes"])},
              {"lost", Json::array()},
              {"verdict", nullptr}};
    documents.push_back({{}, std::string(kFabricSchema), std::move(body)});
    return;
  }
  if (document == nullptr) refuse("a record of a fabric stands before its plan");
  const std::size_t nodes = document->body["nodes"].size();
  if (kind == "lost") {
    check_rank(record, "rank", nodes, refuse);
    document->body["lost"].push_back(std::move(record));
  } else if (kind == "verdict") {
    if (record.contains("findings") && !is_list_of_objects(record["findings"])) {
      refuse("the verdict's \"findings\" is not a list of objects");
    }
    check_verdict(record, nodes, refuse);
    document->body["verdict"] = std::move(record);
  } else if (kind == "expectations") {
    document->body["expectations"] = std::move(record["expectations"]);
  }
}

}  // namespace rdmabench::report
