#include "fabric_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/listed.h"
#include "rdmabench/measure/statistics.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::report {

bool is_list_of_objects(const Json& json) {
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
  for (const char* list : {"findings", "leads", "withdrawn", "nodes", "node_differences"}) {
    for (const Json& one : list_of(record, list)) {
      if (text_of(one, "part") != "rail") check_rank(one, "a", nodes, refuse);
      check_rank(one, "b", nodes, refuse);
      check_rank(one, "rank", nodes, refuse);
    }
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
  json_of(document)["lost"] = Json::array();
  json_of(document)["verdict"] = nullptr;
  json_of(document).erase("expectations");  // of the attempt before
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
  put(*document, to_pair(record, json_of(*document)["nodes"].size(), refuse));
}

void FabricStream::add(Json& record, std::vector<Document>& documents, const Refuse& refuse) {
  const std::string kind = text_of(record, "record");
  if (kind == "measurement") return measure(record, documents, refuse);
  Document* document = current(documents);
  if (kind == "plan") {
    check_plan(record, refuse);
    const Json& plan = object_of(record, "plan");
    const bool again = document != nullptr && !record.contains("over_launches") &&
                       !json_of(*document).contains("over_launches") &&
                       number_text(json_of(*document), "launch") == number_text(record, "launch");
    if (again && json_of(*document)["plan"] == plan &&
        json_of(*document)["nodes"].size() == record["nodes"].size()) {
      begin_attempt(*document);
      return;
    }
    earlier_.clear();
    Json body{{"schema", kFabricSchema},
              {"plan", plan},
              {"nodes", std::move(record["nodes"])},
              {"lost", Json::array()},
              {"verdict", nullptr}};
    for (const char* const key : {"launch", "over_launches"}) {
      if (record.contains(key) && record[key].is_number()) body[key] = record[key];
    }
    documents.push_back({{}, std::string(kFabricSchema), body_of(std::move(body))});
    return;
  }
  if (document == nullptr) refuse("a record of a fabric stands before its plan");
  const std::size_t nodes = json_of(*document)["nodes"].size();
  if (kind == "lost") {
    check_rank(record, "rank", nodes, refuse);
    json_of(*document)["lost"].push_back(std::move(record));
  } else if (kind == "verdict") {
    if (record.contains("findings") && !is_list_of_objects(record["findings"])) {
      refuse("the verdict's \"findings\" is not a list of objects");
    }
    check_verdict(record, nodes, refuse);
    json_of(*document)["verdict"] = std::move(record);
  } else if (kind == "expectations") {
    json_of(*document)["expectations"] = std::move(record["expectations"]);
  }
}

std::uint64_t rank_in(const Json& object, std::string_view key) {
  const double value = number_of(object, key);
  return value >= 0 && value < 0x1p32 ? static_cast<std::uint64_t>(value) : 0;
}

FabricNames::FabricNames(const Document& fabric) {
  constexpr std::string_view kAuto = "auto";
  std::set<std::string> known;
  std::ptrdiff_t open = 0;  // rails that the plan left to the run
  for (const Json& node : list_of(json_of(fabric), "nodes")) {
    Node& one = nodes_[rank_in(node, "rank")];
    one.host = text_of(node, "host");
    for (const Json& rail : list_of(node, "rails")) one.rails.push_back(any_text(rail));
    if (!known.insert(one.host).second) shared_.insert(one.host);
    open += std::count(one.rails.begin(), one.rails.end(), kAuto);
  }
  for (auto pair = fabric.pairs.begin(); open > 0 && pair != fabric.pairs.end(); ++pair) {
    const auto node = nodes_.find(pair->sender);
    const std::string_view device = device_of(pair->over);
    if (node == nodes_.end() || pair->rail >= node->second.rails.size() || device.empty()) continue;
    std::string& rail = node->second.rails[pair->rail];
    if (rail != kAuto) continue;
    rail = device;
    --open;
  }
}

std::string FabricNames::host(std::uint64_t rank) const {
  const auto found = nodes_.find(rank);
  const bool is_named = found != nodes_.end() && !found->second.host.empty();
  return is_named ? found->second.host : fmt::format("node {}", rank);
}

std::string FabricNames::node(std::uint64_t rank) const {
  const std::string name = host(rank);
  return shared_.contains(name) ? fmt::format("{} ({})", name, rank) : name;
}

std::string FabricNames::numbered(std::uint64_t rank) const {
  const std::string number = fmt::format("node {}", rank);
  const std::string name = host(rank);
  return name == number ? name : fmt::format("{} ({})", number, name);
}

std::string FabricNames::rail(std::uint64_t rank, std::uint64_t rail) const {
  const auto found = nodes_.find(rank);
  const bool is_named = found != nodes_.end() && rail < found->second.rails.size();
  return is_named ? found->second.rails[rail] : fmt::format("rail {}", rail);
}

std::string_view device_of(std::string_view over) {
  constexpr std::string_view kBefore = ", device ";
  const std::size_t found = over.find(kBefore);
  return found == std::string_view::npos ? "" : over.substr(found + kBefore.size());
}

double typical_of(const Json& verdict, Metric metric, std::uint64_t size_bytes,
                  std::optional<std::uint32_t> rail) {
  const auto value_of = [&](const char* list, const char* key, bool of_rail) {
    for (const Json& one : list_of(verdict, list)) {
      const bool same = text_of(one, "metric") == name(metric) &&
                        number_of(one, "size_bytes") == double(size_bytes) &&
                        (!of_rail || number_of(one, "rail") == double(*rail));
      const double value = same ? number_of(one, key) : NAN;
      if (value > 0 && std::isfinite(value)) return value;
    }
    return double(NAN);
  };
  const double typical = value_of("typical", "value", false);
  const double ratio = rail ? value_of("rails", "ratio", true) : NAN;
  if (std::isnan(ratio)) return typical;
  return metric == Metric::latency ? typical / ratio : typical * ratio;
}

std::string not_rdma_of(const Document& fabric) {
  const Json& without = object_of(object_of(json_of(fabric), "verdict"), "not_rdma");
  if (without.empty()) return "";
  const Json& nodes = list_of(json_of(fabric), "nodes");
  const auto came = std::count_if(nodes.begin(), nodes.end(),
                                  [](const Json& node) { return !text_of(node, "host").empty(); });
  return terminal_safe(
      fmt::format("NOT RDMA: measured over {}, no {} on {} of {} nodes", text_of(without, "over"),
                  flag_of(without, "devices") ? "active port of an RDMA device" : "RDMA device",
                  list_of(without, "nodes").size(), came));
}

std::string text_of(const FabricSummary& summary) {
  constexpr std::size_t kMostNamed = 8;
  const std::size_t findings = summary.findings;
  std::string before = summary.not_rdma.empty() ? "" : summary.not_rdma + "; ";
  if (!summary.less.empty()) {
    before += fmt::format(
        "{} less than the other nodes: {}; ",
        summary.less.size() == 1 ? "1 node has" : fmt::format("{} nodes have", summary.less.size()),
        terminal_safe(listed(summary.less, kMostNamed)));
  }
  const std::string what = findings > 1     ? fmt::format("{} findings", findings)
                           : findings == 1  ? "1 finding"
                           : summary.judged ? "nothing stands out"
                                            : "nothing could be judged";
  if (summary.lost.empty()) return before + what;
  const std::string lost =
      before + fmt::format("{} of {} nodes lost: {}", summary.lost.size(), summary.nodes,
                           terminal_safe(listed(summary.lost, kMostNamed)));
  if (summary.lost.size() == summary.nodes) return lost;
  return lost + fmt::format("; among the other {} {}{}", summary.nodes - summary.lost.size(),
                            findings > 1    ? "there are "
                            : findings == 1 ? "there is "
                                            : "",
                            what);
}

FabricSummary summary_of(const Document& fabric) {
  const FabricNames names(fabric);
  const Json& verdict = object_of(json_of(fabric), "verdict");
  std::set<std::uint64_t> ranks;
  for (const Json& lost : list_of(json_of(fabric), "lost")) ranks.insert(rank_in(lost, "rank"));
  FabricSummary summary{
      {},
      list_of(json_of(fabric), "nodes").size(),
      list_of(verdict, "findings").size(),
      std::ranges::any_of(judged_slices(verdict), [](const auto& slice) { return slice.second; }),
      not_rdma_of(fabric)};
  std::set<std::uint64_t> less;
  for (const Json& one : list_of(verdict, "node_differences")) {
    if (text_of(one, "status") == name(Status::fail)) less.insert(rank_in(one, "rank"));
  }
  for (const std::uint64_t rank : less) summary.less.push_back(names.numbered(rank));
  for (const std::uint64_t rank : ranks) summary.lost.push_back(names.numbered(rank));
  return summary;
}

const Json& not_judged_of(const Json& verdict) {
  return list_of(verdict, verdict.contains("doubts") ? "doubts" : "not_judged");
}

std::map<std::string, bool> judged_slices(const Json& verdict) {
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
  return judged;
}

std::string cause_of(const FabricNames& names, const Json& verdict, const Measured& row) {
  const auto label = [&row](std::string_view key) {
    const auto found = std::ranges::find(row.labels, key, &Label::first);
    return found == row.labels.end() ? std::string() : found->second;
  };
  for (const Json& finding : list_of(verdict, "findings")) {
    if (text_of(finding, "metric") != label("metric") ||
        any_text_of(finding, "size_bytes") != label("size_bytes")) {
      continue;
    }
    const std::string rail = any_text_of(finding, "rail");
    if (std::isfinite(number_of(finding, "rail")) && rail != label("rail")) continue;
    const std::string a = any_text_of(finding, "a");
    const std::string part = text_of(finding, "part");
    const bool sends = a == label("sender");
    const bool receives = a == label("receiver");
    const bool concerned = part == "node"       ? sends || receives
                           : part == "sender"   ? sends
                           : part == "receiver" ? receives
                                                : false;
    if (!concerned) continue;
    const double ratio = number_of(finding, "ratio");
    const bool latency = label("metric") == name(Metric::latency);
    const double share = latency && ratio > 0 ? 1 / ratio : ratio;  // the lower the slower
    const std::string does = part == "sender"     ? "sends"
                             : part == "receiver" ? "receives"
                                                  : "sends and receives";
    return share > 0 ? fmt::format("{} {} at {} % of typical", suspect_of(names, finding), does,
                                   whole_percent(share))
                     : suspect_of(names, finding) + ": its measurements failed";
  }
  return "";
}

std::string whole_percent(double share) {
  if (!(share > 0)) return "-";
  return share < 0.01 ? fmt::format("{:.1g}", share * 100) : fmt::format("{:.0f}", share * 100);
}

std::string suspect_of(const FabricNames& names, const Json& finding) {
  const std::uint64_t a = rank_in(finding, "a");
  if (text_of(finding, "part") == "rail") {  // of the whole fabric
    return fmt::format("rail {} ({})", a, names.rail(0, a));
  }
  if (std::string element = text_of(finding, "element"); !element.empty()) return element;
  std::string text = names.node(a);
  if (std::isfinite(number_of(finding, "b"))) {
    text += fmt::format(" to {}", names.node(rank_in(finding, "b")));
  }
  if (std::isfinite(number_of(finding, "rail"))) {
    text += fmt::format(", {}", names.rail(a, rank_in(finding, "rail")));
  }
  return text;
}

Judgement cell_of(const FabricNames& names, const PairMeasurement& pair) {
  Judgement cell{"fabric.pair",
                 fmt::format("{} to {}, {}", names.node(pair.sender), names.node(pair.receiver),
                             names.rail(pair.sender, pair.rail)),
                 fmt::format("{} {} round {}", name(pair.metric),
                             size_text(double(pair.size_bytes)), pair.round)};
  cell.measured = true;
  cell.finding = false;
  return cell;
}

namespace {

struct Values {
  std::vector<double> as_sender;
  std::vector<double> as_receiver;
};
using Series = std::tuple<Metric, std::uint64_t, std::uint32_t>;  // and size and rail

}  // namespace

std::vector<NodeMedian> node_medians(const Document& fabric) {
  std::map<Series, std::map<std::uint32_t, Values>> nodes;
  std::map<Series, std::vector<double>> all;
  for (const PairMeasurement& pair : fabric.pairs) {
    if (!pair.error.empty() || pair.confirming) continue;
    const Series series{pair.metric, pair.size_bytes, pair.rail};
    nodes[series][pair.sender].as_sender.push_back(pair.value);
    nodes[series][pair.receiver].as_receiver.push_back(pair.value);
    all[series].push_back(pair.value);
  }
  const Json& verdict = object_of(json_of(fabric), "verdict");
  std::vector<NodeMedian> medians;
  for (auto& [series, by_rank] : nodes) {
    const auto& [metric, size_bytes, rail] = series;
    double typical = typical_of(verdict, metric, size_bytes, rail);
    if (std::isnan(typical)) typical = measure::median(all[series]);
    for (auto& [rank, values] : by_rank) {
      medians.push_back({rank, rail, metric, size_bytes, measure::median(values.as_sender),
                         measure::median(values.as_receiver), typical});
    }
  }
  return medians;
}

double NodeMedian::relative(double value) const {
  if (value <= 0 || typical <= 0) return 0;
  return metric == Metric::latency ? typical / value : value / typical;
}

}  // namespace rdmabench::inline v1::report
