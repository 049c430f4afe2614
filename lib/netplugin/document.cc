// Writes a Check as JSON, CSV and text.
#include <fmt/format.h>

#include <algorithm>

#include "netplugin/check.h"
#include "netplugin/net.h"
#include "rdmabench/measure/statistics.h"
#include "rdmabench/report/documents.h"
#include "report/body.h"
#include "report/sections.h"
#include "results/csv.h"
#include "results/row.h"

namespace rdmabench::inline v1::netplugin {
namespace {

using Ordered = report::Json;
using report::list_of_each;
using report::text_or_null;

std::string_view name_of(Metric metric) {
  return metric == Metric::latency ? "latency" : "bandwidth";
}

std::string_view title_of(std::string_view id) {
  for (const CaseInfo& info : cases()) {
    if (info.id == id) return info.title;
  }
  return "";
}

Ordered to_object(const Properties& p) {
  Ordered kinds = Ordered::array();
  if ((p.pointer_kinds & abi::kHostMemory) != 0) kinds.push_back("host");
  if ((p.pointer_kinds & abi::kDeviceMemory) != 0) kinds.push_back("cuda");
  if ((p.pointer_kinds & abi::kDmaBuf) != 0) kinds.push_back("dma-buf");
  return {{"name", report::or_null(p.name)},
          {"pci_path", report::or_null(p.pci_path)},
          {"guid", fmt::format("{:#x}", p.guid)},
          {"memory", std::move(kinds)},
          {"speed_mbps", p.speed_mbps},
          {"port", p.port},
          {"latency_us", p.latency_us},
          {"max_comms", p.max_comms},
          {"max_receives", p.max_receives},
          {"rail_id", report::or_null(p.rail_id)},
          {"plane_id", report::or_null(p.plane_id)}};
}

Ordered to_object(const CaseResult& row) {
  return {{"id", row.id},
          {"title", title_of(row.id)},
          {"api_version", row.version},
          {"status", name(row.status)},
          {"reason", row.reason},
          {"side", row.side},
          {"took_ms", row.took_ms}};
}

Ordered to_object(const Measurement& one) {
  Ordered json = {{"metric", name_of(one.metric)},
                  {"api_version", one.version},
                  {"size_bytes", one.size_bytes},
                  {"iterations", one.iterations},
                  {"error", text_or_null(one.error)}};
  if (!one.error.empty()) return json;
  if (one.metric == Metric::bandwidth) {
    json["kind"] = "stream";
    json["completion"] = "receiver_confirmed";
    json["bits_per_s"] = measure::median(std::span<const double>(one.bits_per_s));
    json["min_bits_per_s"] = *std::min_element(one.bits_per_s.begin(), one.bits_per_s.end());
    json["max_bits_per_s"] = *std::max_element(one.bits_per_s.begin(), one.bits_per_s.end());
    json["epochs"] = one.bits_per_s.size();
    return json;
  }
  json["kind"] = "half_round_trip";
  json["completion"] = "receiver_confirmed";
  report::add_latency(json, one.latency);
  json["unsupported_percentiles"] = report::unsupported_percentiles(one.latency);
  return json;
}

struct Tally {
  int pass = 0, warn = 0, fail = 0, skip = 0;
};

Tally tally(const Check& check) {
  Tally all;
  for (const CaseResult& row : check.cases) {
    ++(row.status == Status::pass   ? all.pass
       : row.status == Status::warn ? all.warn
       : row.status == Status::fail ? all.fail
                                    : all.skip);
  }
  return all;
}

Ordered to_document(const Check& check) {
  const Tally all = tally(check);
  const auto object = [](const auto& one) { return to_object(one); };
  return {
      {"schema", "rdmabench-netplugin/1"},
      {"plugin",
       {{"file", check.file},
        {"name", check.plugin.name},
        {"api_versions", check.plugin.versions},
        {"devices", list_of_each(check.plugin.devices, object)},
        {"trouble", text_or_null(check.plugin.trouble)}}},
      {"ends", check.two_processes ? "two processes" : "one process"},
      {"error", text_or_null(check.error)},
      {"environment",
       {{"client", report::to_list(check.environment.client)},
        {"server", report::to_list(check.environment.server)}}},
      {"config",
       {{"api_versions", check.asked.versions},
        {"device", check.asked.device},
        {"iterations", check.asked.iterations},
        {"timeout_ms", check.asked.timeout.count()}}},
      {"summary", {{"pass", all.pass}, {"warn", all.warn}, {"fail", all.fail}, {"skip", all.skip}}},
      {"cases", list_of_each(check.cases, object)},
      {"results", list_of_each(check.measurements, object)}};
}

}  // namespace

std::string to_json(const Check& check) {
  return report::document_text(to_document(check));
}

std::string to_csv(const Check& check) {
  report::Csv csv({"kind", "id", "api_version", "status", "side", "reason", "size_bytes",
                   "iterations", "min_ns", "p50_ns", "p99_ns", "max_ns", "bits_per_s"});
  for (const CaseResult& one : check.cases) {
    Ordered row = to_object(one);
    row["kind"] = "case";
    csv.add(row);
  }
  for (const Measurement& one : check.measurements) {
    Ordered row = to_object(one);
    row["kind"] = name_of(one.metric);
    row["id"] = fmt::format("{} {} B", name_of(one.metric), one.size_bytes);
    row["status"] = name(one.error.empty() ? Status::pass : Status::fail);
    row["reason"] = one.error;
    csv.add(row);
  }
  return csv.text();
}

std::string to_text(const Check& check, bool verbose, std::size_t width) {
  report::Document document{"", std::string(report::kNetPluginSchema),
                            report::body_of(to_document(check))};
  std::size_t not_run = 0;
  if (!verbose) {
    Ordered& rows = json_of(document)["cases"];
    not_run = rows.size();
    Ordered shown = Ordered::array();
    for (Ordered& row : rows) {
      row["title"] = "";
      if (row["reason"] != kNotRun) shown.push_back(std::move(row));
    }
    rows = std::move(shown);
    not_run -= rows.size();
  }
  const Tally all = tally(check);
  return fmt::format(
      "{}{}\n{} PASS, {} WARN, {} FAIL, {} SKIP{}\n", report::to_text(document, width),
      check.measurements.empty() ? "" : fmt::format("Requests in flight: {}.\n", abi::kMaxRequests),
      all.pass, all.warn, all.fail, all.skip,
      not_run == 0 ? "" : fmt::format(": {} {}", not_run, kNotRun));
}

}  // namespace rdmabench::inline v1::netplugin
