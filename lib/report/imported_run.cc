#include "imported_run.h"

#include <fmt/format.h>

#include "rdmabench/report/documents.h"

namespace rdmabench::report {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::map<std::string, double>;

Json number(const Row& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() ? Json() : Json(found->second);
}

Json count(const Row& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() ? Json() : Json(static_cast<std::uint64_t>(found->second));
}

Json result_of(const ImportedRun& run, const Row& row) {
  const std::string& operation = run.operation;
  const bool answered =
      operation == "read" || operation == "compare-swap" || operation == "fetch-add";
  const bool known = operation != "unknown";
  Json json{{"operation", operation},
            {"backend", run.backend},
            {"provider", ""},
            {"device", run.device},
            {"size_bytes", count(row, "size_bytes")},
            {"iterations", count(row, "iterations")},
            {"warmup_iterations", nullptr},
            {"completion", !known     ? "unknown"
                           : answered ? "delivery"
                                      : "transmit"}};
  if (run.latency) {
    json.update(Json{{"kind", !known     ? "unknown"
                              : answered ? "completion"
                                         : "half_round_trip"},
                     {"signal", !known                          ? "unknown"
                                : answered                      ? "completion"
                                : operation.starts_with("send") ? "receive"
                                                                : "memory-poll"}});
    for (const char* key : {"min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns",
                            "mean_ns", "stddev_ns", "median_low_ns", "median_high_ns"}) {
      json[key] = number(row, key);
    }
    json["unsupported_percentiles"] = Json::array();
    if (const auto samples = row.find("iterations"); samples != row.end()) {
      const double beyond = samples->second / 1000;  // samples above the 99.9th percentile
      if (beyond < 10) json["unsupported_percentiles"].push_back("p999_ns");
      if (beyond < 1) json["unsupported_percentiles"].push_back("p99_ns");
    }
  } else {
    const char* const direction = run.both_ways ? "both_ways" : "one_way";
    json.update(Json{{"direction", known ? direction : "unknown"}, {"depth", run.depth}});
    for (const char* key :
         {"bits_per_s", "bits_per_s_low", "bits_per_s_high", "messages_per_s", "peak_bits_per_s"}) {
      json[key] = number(row, key);
    }
  }
  json["complete"] = true;
  json["notes"] = Json::array();
  return json;
}

}  // namespace

Json document_of(const ImportedRun& run) {
  Json results = Json::array();
  for (const Row& row : run.rows) results.push_back(result_of(run, row));
  const Json nobody{{"client", Json::array()}, {"server", Json::array()}};
  Json notes{
      fmt::format("Read from {}'s output: who measured, when, and with which kernel it does "
                  "not say.",
                  run.tool)};
  for (const std::string& note : run.notes) notes.push_back(note);
  return {{"schema", kRunSchema},
          {"test", run.latency ? "latency" : "bandwidth"},
          {"error", run.error.empty() ? Json() : Json(run.error)},
          {"failure", nullptr},
          {"suspect", false},
          {"suspicions", Json::array()},
          {"environment", nobody},
          {"config", {{"tool", run.tool}, {"test", run.test}}},
          {"resolved",
           {{"backend", run.backend},
            {"provider", ""},
            {"device", run.device},
            {"transport", run.transport},
            {"reason", fmt::format("as {} says", run.tool)},
            {"details", run.details}}},
          {"clock", nullptr},
          {"conditions", nobody},
          {"counters", nobody},
          {"results", std::move(results)},
          {"notes", std::move(notes)}};
}

}  // namespace rdmabench::report
