#include "rdmabench/analysis/launch.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/json_values.h"
#include "base/nearest.h"
#include "base/nesting.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/documents.h"
#include "report/row.h"
#include "values.h"

namespace rdmabench::analysis {
namespace {

using ResultJson = nlohmann::json;

constexpr std::array<std::string_view, 5> kMetricNames{"p50", "p99", "p99.9", "bandwidth", "mean"};

constexpr const char* kRemedy =
    "Give what 'rdmabench lat', 'bw', 'load' or 'coll' wrote with --format json.";

[[noreturn]] void refuse(const std::string& source, const std::string& what) {
  throw Error(Fault::usage, fmt::format("{}: {}", source, what), kRemedy);
}

/// Reads members of a JSON object; errors name its place in the document.
class Reader {
 public:
  Reader(const ResultJson& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) refuse(where_, "not a JSON object");
  }

  const ResultJson& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) refuse(where_, fmt::format("the key '{}' is missing", key));
    return *found;
  }
  const ResultJson& list(const char* key) const {
    const ResultJson& value = at(key);
    if (!value.is_array()) refuse(where_, fmt::format("'{}' is not a list", key));
    return value;
  }
  std::string text(const char* key) const {
    const ResultJson& value = at(key);
    if (!value.is_string()) refuse(where_, fmt::format("'{}' is not a text", key));
    return value.get<std::string>();
  }
  std::uint64_t count(const char* key) const {
    const ResultJson& value = at(key);
    if (!value.is_number_unsigned()) {
      refuse(where_, fmt::format("'{}' is {}, which is not a whole number", key, value.dump()));
    }
    return value.get<std::uint64_t>();
  }
  /// 0 for null: what another tool did not tell.
  std::uint64_t count_or_none(const char* key) const { return at(key).is_null() ? 0 : count(key); }
  /// None for null, a metric without a value.
  std::optional<double> metric(const char* key) const {
    const ResultJson& value = at(key);
    if (value.is_null()) return std::nullopt;
    if (!value.is_number()) {
      refuse(where_, fmt::format("'{}' is {}, which is not a number", key, value.dump()));
    }
    return value.get<double>();
  }
  std::optional<std::string> optional_text(const char* key) const {
    return at(key).is_null() ? std::nullopt : std::optional(text(key));
  }

 private:
  const ResultJson& json_;
  std::string where_;
};

std::string fact_text(const ResultJson& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_facts(Launch& launch, const std::string& prefix, const ResultJson& facts) {
  if (!facts.is_object()) refuse(launch.source, fmt::format("'{}' is not an object", prefix));
  for (const auto& [key, value] : facts.items()) {
    launch.facts[fmt::format("{}.{}", prefix, key)] = fact_text(value);
  }
}

/// Parses "2026-11-21T17:02:05Z"; none for another form.
std::optional<double> seconds(const std::string& utc) {
  tm parts{};
  const char* const end = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(timegm(&parts));
}

/// A list of {"name", "value"}.
void add_fact_list(Launch& launch, const std::string& prefix, const Reader& of, const char* key,
                   const std::string& what) {
  for (const ResultJson& fact : of.list(key)) {
    const Reader reader(fact, fmt::format("{}: a fact of {}", launch.source, what));
    launch.facts[prefix + "." + reader.text("name")] = fact_text(reader.at("value"));
  }
}

void read_environment(Launch& launch, const Reader& environment) {
  for (const char* side : {"client", "server"}) {
    const std::string prefix = fmt::format("environment.{}", side);
    add_fact_list(launch, prefix, environment, side, "the environment");
    if (!launch.time_s) launch.time_s = seconds(fact_of(launch, prefix + ".collected_utc"));
  }
  launch.pair = fact_of(launch, "environment.client.hostname") + " " +
                fact_of(launch, "environment.server.hostname");
}

void read_counters(Launch& launch, const ResultJson& counters) {
  for (const char* side : {"client", "server"}) {
    for (const ResultJson& counter : Reader(counters, launch.source).list(side)) {
      const Reader reader(counter, launch.source + ": a counter");
      const std::string kind = reader.text("class");
      if (kind == "traffic" || kind == "other" || reader.at("change").is_null()) continue;
      if (const std::uint64_t change = reader.count("change")) launch.disturbances[kind] += change;
    }
  }
}

std::vector<Percentile> percentiles(const Reader& reader,
                                    std::span<const report::Percentile> known) {
  std::set<std::string> unsupported;
  for (const ResultJson& key : reader.list("unsupported_percentiles")) {
    if (key.is_string()) unsupported.insert(key.get<std::string>());
  }
  std::vector<Percentile> all;
  for (const report::Percentile& one : known) {
    const std::string key(one.key);
    if (const auto value = reader.metric(key.c_str())) {
      all.push_back({one.percent, *value, !unsupported.contains(key)});
    }
  }
  return all;
}

void read_latency(Row& row, const Reader& reader) {
  row.kind = reader.text("kind");
  row.facts["signal"] = reader.text("signal");
  row.percentiles = percentiles(reader, report::kPercentiles);
  if (row.percentiles.empty()) row.mean_ns = reader.metric("mean_ns");
}

Row read_row(const ResultJson& json, const std::string& test, const std::string& where) {
  const Reader reader(json, where);
  Row row;
  row.operation = reader.text("operation");
  row.size_bytes = reader.count("size_bytes");
  if (row.size_bytes == 0) refuse(where, "'size_bytes' is 0");
  row.samples = reader.count_or_none("iterations");
  row.facts["completion"] = reader.text("completion");
  if (test == "bandwidth") {
    row.kind = reader.text("direction");
    row.facts["depth"] = std::to_string(reader.count("depth"));
    row.bits_per_s = reader.metric("bits_per_s");
  } else {
    read_latency(row, reader);
    if (test == "load") row.load = reader.metric("load");
  }
  return row;
}

/// Skips rows that were not measured. Whatever distinguishes rows of one operation and size becomes
/// part of the operation's name.
void read_coll_rows(Launch& launch, const Reader& document) {
  for (const ResultJson& json : document.list("results")) {
    const Reader reader(json, launch.source + ": a result");
    if (reader.optional_text("skipped")) continue;
    Row row;
    row.operation = fmt::format("{} {}", reader.text("operation"), reader.text("type"));
    if (const auto reduction = reader.optional_text("reduction")) row.operation += " " + *reduction;
    if (reader.at("in_place") == true) row.operation += " in place";
    if (const auto group = json.find("group"); group != json.end() && group->is_string()) {
      row.operation += ", " + group->get<std::string>();
    }
    row.kind = "longest_of_all_ranks";
    row.size_bytes = reader.count("size_bytes");
    const auto wrong = json.find("wrong");
    if (wrong != json.end() && wrong->is_object() && !launch.error) {
      const std::uint64_t elements =
          Reader(*wrong, launch.source + ": wrong").count_or_none("wrong_elements");
      if (elements > 0) {
        launch.error = fmt::format("{} wrong elements in {} of {} bytes", elements, row.operation,
                                   row.size_bytes);
      }
    }
    row.samples = reader.count_or_none("iterations");
    row.facts["batch"] = std::to_string(reader.count("batch"));
    row.percentiles = percentiles(reader, std::span(report::kPercentiles).first(4));  // to p99.9
    if (row.percentiles.empty()) {  // nccl-tests and others print only means
      const auto bytes = reader.metric("algorithm_bytes_per_s");
      if (bytes) {
        launch.test = "bandwidth";
        row.bits_per_s = *bytes * kBitsPerByte;
      } else {
        row.mean_ns = reader.metric("mean_ns");
      }
    }
    launch.rows.push_back(std::move(row));
  }
}

Launch read_coll(const ResultJson& json, const std::string& source) {
  const Reader reader(json, source);
  Launch launch;
  launch.source = source;
  launch.test = "collective";
  launch.error = reader.optional_text("error");
  add_fact_list(launch, "environment.client", reader, "environment", "'environment'");
  add_fact_list(launch, "config", reader, "config", "'config'");
  add_fact_list(launch, "resolved", reader, "library", "'library'");
  launch.facts["resolved.backend"] = reader.text("backend");
  if (const std::size_t ranks = reader.list("ranks").size(); ranks > 0) {
    launch.facts["resolved.ranks"] = std::to_string(ranks);
  }
  launch.time_s = seconds(fact_of(launch, "environment.client.collected_utc"));
  for (const ResultJson& rank : reader.list("ranks")) {
    launch.pair +=
        (launch.pair.empty() ? "" : " ") + Reader(rank, source + ": a rank").text("host");
  }
  read_coll_rows(launch, reader);
  if (launch.rows.empty() && !launch.error) refuse(source, "it holds no results");
  launch.document = json.dump(-1, ' ', false, ResultJson::error_handler_t::replace);
  return launch;
}

Launch read_launch(const ResultJson& json, const std::string& source) {
  const Reader reader(json, source);
  if (reader.text("schema") == report::kCollSchema) return read_coll(json, source);
  Launch launch;
  launch.source = source;
  if (const std::string schema = reader.text("schema"); schema != report::kRunSchema) {
    refuse(source, fmt::format("its schema is '{}', not '{}'", schema, report::kRunSchema));
  }
  launch.test = reader.text("test");
  if (launch.test != "latency" && launch.test != "bandwidth" && launch.test != "load") {
    refuse(source, fmt::format("a test '{}' cannot be compared", launch.test));
  }
  launch.error = reader.optional_text("error");
  for (const ResultJson& one : reader.list("suspicions")) {
    const Reader suspicion(one, source + ": a suspicion");
    const std::string code = suspicion.text("code");
    launch.suspicions.push_back(code);
    if (one.contains("remedy")) launch.remedies[code] = suspicion.text("remedy");
  }
  read_environment(launch, Reader(reader.at("environment"), source));
  read_counters(launch, reader.at("counters"));
  add_facts(launch, "config", reader.at("config"));
  const Reader resolved(reader.at("resolved"), source + ": resolved");
  for (const char* key : {"backend", "provider", "device", "transport"}) {
    launch.facts[fmt::format("resolved.{}", key)] = resolved.text(key);
  }
  add_facts(launch, "details", resolved.at("details"));
  for (const ResultJson& row : reader.list("results")) {
    const std::string where = fmt::format("{}: result {}", source, launch.rows.size() + 1);
    launch.rows.push_back(read_row(row, launch.test, where));
  }
  if (launch.rows.empty() && !launch.error) refuse(source, "it holds no results");
  launch.document = json.dump(-1, ' ', false, ResultJson::error_handler_t::replace);
  return launch;
}

/// Made of other documents, of `lat --launches`.
bool is_over_launches(const ResultJson& document) {
  if (!document.is_object() || !document.contains("results")) return false;
  const ResultJson& rows = document["results"];
  if (!rows.is_array() || rows.empty() || !rows[0].is_object()) return false;
  const auto launches = rows[0].find("launches");
  return launches != rows[0].end() && launches->is_number() && launches->get<double>() > 1;
}

}  // namespace

std::string fact_of(const Launch& launch, const std::string& name) {
  const auto found = launch.facts.find(name);
  return found == launch.facts.end() ? "" : found->second;
}

std::string_view name(Metric metric) noexcept {
  return kMetricNames[static_cast<std::size_t>(metric)];
}

Metric parse_metric(std::string_view text) {
  return value_of_word<Metric>("metric", text, kMetricNames);
}

std::vector<Launch> read_launches(const std::string& text, const std::string& source,
                                  const std::string& program) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) refuse(source, "it is empty");
  if (report::is_imported(text)) {
    std::vector<Launch> imported;
    for (const auto& document : report::imported_documents(text, source, program)) {
      imported.push_back(
          read_launch(ResultJson(document), fmt::format("{}#{}", source, imported.size() + 1)));
    }
    return imported;
  }
  if (!begins_as_json(text)) {
    refuse(source, "neither JSON nor the text of a tool that is known");
  }
  ResultJson json;
  const report::ReadLimits limits;
  const std::string excess = json_excess(text, {.depth = limits.depth, .keys = limits.keys});
  if (!excess.empty()) refuse(source, excess);
  try {
    json = ResultJson::parse(text);
  } catch (const ResultJson::exception& error) {
    refuse(source, fmt::format("not JSON: {}", error.what()));
  }
  if (!json.is_object() || !json.contains("documents")) return {read_launch(json, source)};
  std::vector<Launch> launches;
  for (const ResultJson& document : Reader(json, source).list("documents")) {
    if (is_over_launches(document)) continue;  // those follow
    launches.push_back(read_launch(document, fmt::format("{}#{}", source, launches.size() + 1)));
  }
  if (launches.empty()) refuse(source, "it holds no documents");
  return launches;
}

}  // namespace rdmabench::analysis
