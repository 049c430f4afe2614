#include "rdmabench/analysis/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <span>

#include "base/fields.h"
#include "base/nearest.h"
#include "base/number.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/documents.h"
#include "report/body.h"
#include "report/launches.h"
#include "results/row.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

using ResultJson = nlohmann::json;

constexpr std::array<std::string_view, 5> kMetricNames{"p50", "p99", "p99.9", "bandwidth", "mean"};

constexpr const char* kRemedy =
    "Give what 'rdmabench lat', 'bw', 'load' or 'coll' wrote with --format json.";

[[noreturn]] void refuse(const std::string& source, const std::string& what) {
  throw Error(Fault::usage, fmt::format("{}: {}", source, what), kRemedy);
}

constexpr std::size_t kMost = 1'000'000;  // bytes of a text, items of a list
constexpr double kMaxValue = 1e18;        // far above any device's

std::string text(const ResultJson& json, const char* key) {
  return get_string(json, key, kMost);
}

const ResultJson& list(const ResultJson& json, const char* key) {
  return get_list(json, key, kMost);
}

/// Null, where another tool did not tell, and a metric without a value; a missing key is refused.
bool is_null(const ResultJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_null();
}

std::uint64_t count_or_none(const ResultJson& json, const char* key) {
  return is_null(json, key) ? 0 : get_uint<std::uint64_t>(json, key);
}

std::optional<double> metric(const ResultJson& json, const char* key) {
  return is_null(json, key) ? std::nullopt : std::optional(get_double(json, key, 0, kMaxValue));
}

std::optional<std::string> optional_text(const ResultJson& json, const char* key) {
  return is_null(json, key) ? std::nullopt : std::optional(text(json, key));
}

/// What `read` refuses is told with its place in the document.
template <class Read>
decltype(auto) in_place(const std::string& where, Read read) {
  try {
    return read();
  } catch (const FieldError& error) {
    refuse(where, error.shown().empty() ? fmt::format("the key '{}' is missing", error.key())
                                        : fmt::format("'{}' is {}, not {}", error.key(),
                                                      error.shown(), error.wanted()));
  }
}

std::string fact_text(const ResultJson& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_facts(Launch& launch, const std::string& prefix, const ResultJson& facts) {
  for (const auto& [key, value] : facts.items()) {
    launch.facts[fmt::format("{}.{}", prefix, key)] = fact_text(value);
  }
}

/// Parses "2026-11-21T17:02:05.123Z", or without the fraction as earlier releases wrote; none for
/// another form.
std::optional<double> seconds(const std::string& utc) {
  tm parts{};
  const char* const end = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || !utc.ends_with('Z')) return std::nullopt;
  const std::string_view rest(end, utc.c_str() + utc.size() - 1);
  const auto fraction = rest.empty() ? 0 : parse_number<double>(std::string("0").append(rest));
  if (!fraction || (!rest.empty() && rest[0] != '.')) return std::nullopt;
  return static_cast<double>(timegm(&parts)) + *fraction;
}

/// A list of {"name", "value"}.
void add_fact_list(Launch& launch, const std::string& prefix, const ResultJson& of,
                   const char* key) {
  for (const ResultJson& fact : list(of, key)) {
    const std::string name = text(fact, "name");
    const auto value = fact.find("value");
    if (value == fact.end()) throw FieldError("a fact has no value", kRemedy, "value", "", "");
    launch.facts[prefix + "." + name] = fact_text(*value);
  }
}

void read_environment(Launch& launch, const ResultJson& environment) {
  for (const char* side : {"client", "server"}) {
    const std::string prefix = fmt::format("environment.{}", side);
    add_fact_list(launch, prefix, environment, side);
    if (!launch.time_s) launch.time_s = seconds(fact_of(launch, prefix + ".collected_utc"));
  }
  launch.pair = fact_of(launch, "environment.client.hostname") + " " +
                fact_of(launch, "environment.server.hostname");
}

void read_counters(Launch& launch, const ResultJson& counters) {
  for (const char* side : {"client", "server"}) {
    for (const ResultJson& counter : list(counters, side)) {
      const std::string kind = text(counter, "class");
      if (kind == "traffic" || kind == "other") continue;
      const std::uint64_t change = count_or_none(counter, "change");
      if (change > 0) launch.disturbances[kind] += change;
    }
  }
}

std::vector<Percentile> percentiles(const ResultJson& row,
                                    std::span<const report::Percentile> known) {
  const std::vector<std::string> unsupported =
      get_string_list(row, "unsupported_percentiles", kMost, kMost);
  std::vector<Percentile> all;
  for (const report::Percentile& one : known) {
    const std::string key(one.key);
    const bool is_supported =
        std::find(unsupported.begin(), unsupported.end(), key) == unsupported.end();
    if (const auto value = metric(row, key.c_str())) {
      all.push_back({one.percent, *value, is_supported});
    }
  }
  return all;
}

Row read_row(const ResultJson& json, const std::string& test) {
  Row row;
  row.operation = text(json, "operation");
  row.size_bytes = get_uint<std::uint64_t>(json, "size_bytes", 1);
  row.samples = count_or_none(json, "iterations");
  row.facts["completion"] = text(json, "completion");
  if (test == "bandwidth") {
    row.kind = text(json, "direction");
    if (const std::uint64_t depth = count_or_none(json, "depth"); depth > 0) {
      row.facts["depth"] = std::to_string(depth);
    }
    row.bits_per_s = metric(json, "bits_per_s");
    return row;
  }
  row.kind = text(json, "kind");
  row.facts["signal"] = text(json, "signal");
  row.percentiles = percentiles(json, report::kPercentiles);
  if (row.percentiles.empty()) row.mean_ns = metric(json, "mean_ns");
  if (test == "load") row.load = metric(json, "load");
  return row;
}

/// Skips rows that were not measured. Whatever distinguishes rows of one operation and size becomes
/// part of the operation's name.
void read_coll_row(Launch& launch, const ResultJson& json) {
  if (optional_text(json, "skipped")) return;
  Row row;
  row.operation = fmt::format("{} {}", text(json, "operation"), text(json, "type"));
  if (const auto reduction = optional_text(json, "reduction")) row.operation += " " + *reduction;
  if (get_bool(json, "in_place")) row.operation += " in place";
  if (json.contains("group") && !is_null(json, "group")) {
    row.operation += ", " + text(json, "group");
  }
  row.kind = "longest_of_all_ranks";
  row.size_bytes = get_uint<std::uint64_t>(json, "size_bytes");
  if (json.contains("wrong") && !is_null(json, "wrong") && !launch.error) {
    const std::uint64_t elements = count_or_none(get_object(json, "wrong"), "wrong_elements");
    if (elements > 0) {
      launch.error = fmt::format("{} wrong elements in {} of {} bytes", elements, row.operation,
                                 row.size_bytes);
    }
  }
  row.samples = count_or_none(json, "iterations");
  row.facts["batch"] = std::to_string(get_uint<std::uint64_t>(json, "batch"));
  row.percentiles = percentiles(json, std::span(report::kPercentiles).first(4));  // to p99.9
  if (row.percentiles.empty()) {  // nccl-tests and others print only means
    if (const auto bytes = metric(json, "algorithm_bytes_per_s")) {
      launch.test = "bandwidth";
      row.bits_per_s = *bytes * kBitsPerByte;
    } else {
      row.mean_ns = metric(json, "mean_ns");
    }
  }
  launch.rows.push_back(std::move(row));
}

void read_coll(Launch& launch, const ResultJson& json) {
  launch.test = "collective";
  add_fact_list(launch, "environment.client", json, "environment");
  add_fact_list(launch, "config", json, "config");
  add_fact_list(launch, "resolved", json, "library");
  launch.facts["resolved.backend"] = text(json, "backend");
  if (const std::size_t ranks = list(json, "ranks").size(); ranks > 0) {
    launch.facts["resolved.ranks"] = std::to_string(ranks);
  }
  launch.time_s = seconds(fact_of(launch, "environment.client.collected_utc"));
  for (const ResultJson& rank : list(json, "ranks")) {
    launch.pair += (launch.pair.empty() ? "" : " ") + text(rank, "host");
  }
}

void read_run(Launch& launch, const ResultJson& json) {
  launch.test = text(json, "test");
  if (launch.test != "latency" && launch.test != "bandwidth" && launch.test != "load") {
    refuse(launch.source, fmt::format("a test '{}' cannot be compared", launch.test));
  }
  for (const ResultJson& suspicion : list(json, "suspicions")) {
    const std::string code = text(suspicion, "code");
    launch.suspicions.push_back(code);
    if (suspicion.contains("remedy")) launch.remedies[code] = text(suspicion, "remedy");
  }
  // Without conditions of a side nobody looked, as of `--no-watch` and of another tool.
  if (const auto conditions = json.find("conditions"); conditions != json.end()) {
    launch.watched = std::any_of(conditions->begin(), conditions->end(),
                                 [](const ResultJson& side) { return !side.empty(); });
  }
  launch.watched = launch.watched || !launch.suspicions.empty();
  read_environment(launch, get_object(json, "environment"));
  read_counters(launch, get_object(json, "counters"));
  add_facts(launch, "config", get_object(json, "config"));
  const ResultJson& resolved = get_object(json, "resolved");
  for (const char* key : {"backend", "provider", "device", "transport"}) {
    launch.facts[fmt::format("resolved.{}", key)] = text(resolved, key);
  }
  add_facts(launch, "details", get_object(resolved, "details"));
}

/// Made of the documents that follow it, by `lat --launches`.
bool is_over_launches(const report::Document& document) {
  return report::launches_of(json_of(document)) > 1;
}

}  // namespace

Launch to_launch(const report::Document& document) {
  const bool is_coll = document.schema == report::kCollSchema;
  Launch launch;
  launch.source = document.source;
  if (is_over_launches(document)) refuse(launch.source, "it is of several launches");
  if (!is_coll && document.schema != report::kRunSchema) {
    refuse(launch.source,
           fmt::format("its schema is '{}', not '{}'", document.schema, report::kRunSchema));
  }
  const ResultJson json(json_of(document));
  const ResultJson& rows = in_place(launch.source, [&]() -> const ResultJson& {
    launch.error = optional_text(json, "error");
    if (json.contains("not_rdma")) launch.not_rdma = text(json, "not_rdma");
    is_coll ? read_coll(launch, json) : read_run(launch, json);
    return list(json, "results");
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    in_place(fmt::format("{}: result {}", launch.source, i + 1), [&] {
      is_coll ? read_coll_row(launch, rows[i])
              : launch.rows.push_back(read_row(rows[i], launch.test));
    });
  }
  if (launch.rows.empty() && !launch.error) refuse(launch.source, "it holds no results");
  launch.document = json.dump(-1, ' ', false, ResultJson::error_handler_t::replace);
  return launch;
}

Launch to_launch(const report::Report& report, const std::string& source) {
  report::Document document = report::to_document(report);
  document.source = source;
  return to_launch(document);
}

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
  std::vector<Launch> launches;
  for (const report::Document& document : report::parse_documents(text, source, program)) {
    if (!document.notes.empty()) refuse(source, document.notes.front());
    if (!is_over_launches(document)) launches.push_back(to_launch(document));
  }
  if (launches.empty()) refuse(source, "it holds what launches had in common, and none of them");
  return launches;
}

}  // namespace rdmabench::inline v1::analysis
