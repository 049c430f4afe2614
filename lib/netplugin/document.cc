// Writes a Check as JSON, CSV and text.
#include <fmt/format.h>

#include <algorithm>

#include "netplugin/net.h"
#include "rdmabench/base/units.h"
#include "rdmabench/measure/statistics.h"
#include "rdmabench/netplugin/check.h"
#include "rdmabench/report/text_table.h"
#include "report/csv.h"
#include "report/row.h"

namespace rdmabench::netplugin {
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

std::string us(double ns) {
  return fmt::format("{:.2f}", ns / 1e3);
}
std::string gbps(double bits) {
  return fmt::format("{:.3f}", bits / 1e9);
}

std::string measurement_tables(const Check& check) {
  using report::TextTable;
  TextTable latency({{"api", TextTable::Align::left},
                     {"size"},
                     {"round trips"},
                     {"min[us]"},
                     {"p50[us]"},
                     {"p99[us]"},
                     {"max[us]"}});
  TextTable bandwidth({{"api", TextTable::Align::left},
                       {"size"},
                       {"messages"},
                       {"min[Gb/s]"},
                       {"p50[Gb/s]"},
                       {"max[Gb/s]"}});
  std::string errors;
  for (const Measurement& one : check.measurements) {
    const std::string api = fmt::format("v{}", one.version);
    if (!one.error.empty()) {
      errors += fmt::format("{} {} of {} bytes: {}\n", api, name_of(one.metric), one.size_bytes,
                            one.error);
    } else if (one.metric == Metric::latency) {
      const measure::LatencySummary& s = one.latency;
      latency.add_row({api, format_size(one.size_bytes), fmt::format("{}", s.count), us(s.min_ns),
                       us(s.p50_ns), s.supports(99) ? us(s.p99_ns) : "-", us(s.max_ns)});
    } else {
      const auto [least, most] = std::minmax_element(one.bits_per_s.begin(), one.bits_per_s.end());
      bandwidth.add_row({api, format_size(one.size_bytes),
                         fmt::format("{}x{}", one.bits_per_s.size(), one.iterations), gbps(*least),
                         gbps(measure::median(std::span<const double>(one.bits_per_s))),
                         gbps(*most)});
    }
  }
  return fmt::format(
      "\nLatency, half a round trip of isend to irecv:\n{}\n"
      "Bandwidth, one way, {} requests in flight, each epoch confirmed by the receiver:\n{}{}{}",
      latency.text(), abi::kMaxRequests, bandwidth.text(), errors.empty() ? "" : "\n", errors);
}

}  // namespace

std::string to_json(const Check& check) {
  const Tally all = tally(check);
  const auto object = [](const auto& one) { return to_object(one); };
  const Ordered document = {
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
  return report::document_text(document);
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
  using report::TextTable;
  std::string text = fmt::format("{}: the plugin '{}', interface", check.file, check.plugin.name);
  for (const int version : check.plugin.versions) text += fmt::format(" v{}", version);
  text += fmt::format(", both ends in {}\n", check.two_processes ? "two processes" : "one process");
  for (std::size_t i = 0; i < check.plugin.devices.size(); ++i) {
    const Properties& p = check.plugin.devices[i];
    text += fmt::format("device {}{}: {}, {} Mb/s, {}receives in groups of up to {}\n", i,
                        static_cast<int>(i) == check.asked.device ? " (this one)" : "",
                        report::terminal_safe(p.name.value_or("without a name")), p.speed_mbps,
                        (p.pointer_kinds & abi::kDeviceMemory) != 0 ? "GPU memory, " : "",
                        p.max_receives);
  }
  text += '\n';
  TextTable table({{"api", TextTable::Align::left},
                   {"case", TextTable::Align::left},
                   {"", TextTable::Align::left},
                   {"what", TextTable::Align::left}});
  std::size_t not_run = 0;
  for (const CaseResult& row : check.cases) {
    if (!verbose && row.reason == kNotRun) {
      ++not_run;
      continue;
    }
    std::string what(title_of(row.id));
    if (row.status != Status::pass) {
      what = row.status != Status::skip && row.side != "both" && !row.side.empty()
                 ? fmt::format("{} ({})", row.reason, row.side)
                 : row.reason;
    } else if (!verbose) {
      what = "";
    }
    table.add_row({fmt::format("v{}", row.version), row.id, std::string(name(row.status)), what});
  }
  text += table.text(width);
  const Tally all = tally(check);
  text += fmt::format("{} PASS, {} WARN, {} FAIL, {} SKIP", all.pass, all.warn, all.fail, all.skip);
  text += not_run == 0 ? "\n" : fmt::format(": {} {}\n", not_run, kNotRun);
  if (!check.measurements.empty()) text += measurement_tables(check);
  if (!check.error.empty()) text += fmt::format("\nThe run ended early: {}\n", check.error);
  return text;
}

}  // namespace rdmabench::netplugin
