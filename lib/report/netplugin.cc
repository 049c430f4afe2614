// The documents of checks of a network plugin.
#include <fmt/format.h>

#include "kinds.h"

namespace rdmabench::inline v1::report {
namespace {

ColumnOf interface_column() {
  return {"api", false,
          [](const Json& row) { return Cell("v" + any_text_of(row, "api_version")); }};
}

/// With why a case did not pass, and on which side.
Cell case_cell(const Json& row) {
  Cell cell(status_of(text_of(row, "status")));
  const std::string side = text_of(row, "side");
  const std::string reason = text_of(row, "reason");
  const bool of_one = *cell.status != Status::skip && !side.empty() && side != "both";
  if (!reason.empty()) {
    cell.items.push_back(of_one ? fmt::format("{} ({})", reason, side) : reason);
  }
  return cell;
}

Section plugin_rows(const Json& body, std::string_view metric, std::string title, Columns columns) {
  Json rows = Json::array();
  for (const Json& row : list_of(body, "results")) {
    if (text_of(row, "metric") == metric) rows.push_back(row);
  }
  columns.insert(columns.begin(),
                 {interface_column(), number_column("size", "size_bytes", size_text),
                  number_column("epochs", "epochs", whole_text),
                  number_column("iterations", "iterations", whole_text)});
  columns.push_back(words_column("error", "error"));
  return table_of(std::move(title), columns, rows);
}

std::vector<Section> netplugin_sections(const Document& document) {
  const Json& body = json_of(document);
  const Json& plugin = object_of(body, "plugin");
  Section about;
  about.words.emplace_back(fmt::format(
      "The plugin '{}' of {}, interfaces {}, device {}, both ends in {}.", text_of(plugin, "name"),
      text_of(plugin, "file"), any_text_of(plugin, "api_versions"),
      any_text_of(object_of(body, "config"), "device"), any_text_of(body, "ends")));
  if (const std::string error = text_of(body, "error"); !error.empty()) {
    about.words.emplace_back("The run ended early: " + error);
  }
  const Scale times{time_text, "us", 1e3, 2};
  return {std::move(about),
          table_of("Devices",
                   {words_column("name", "name"), words_column("Mb/s", "speed_mbps"),
                    words_column("receives in a group", "max_receives"),
                    words_column("memory", "memory")},
                   list_of(plugin, "devices")),
          table_of("Cases",
                   {interface_column(),
                    words_column("case", "id"),
                    {"status", false, case_cell},
                    words_column("what", "title")},
                   list_of(body, "cases")),
          plugin_rows(body, "latency", "Latency, half a round trip of isend to irecv",
                      {measured_column("min", "min_ns", times),
                       {"p50", true, median_cell, times},
                       measured_column("p99", "p99_ns", times),
                       measured_column("max", "max_ns", times)}),
          plugin_rows(body, "bandwidth", "Bandwidth, one way, each epoch confirmed by the receiver",
                      {number_column("min", "min_bits_per_s", kRateScale),
                       number_column("p50", "bits_per_s", kRateScale),
                       number_column("max", "max_bits_per_s", kRateScale)})};
}

/// The cases, and what was to be measured and was not.
std::vector<Judgement> judge_netplugin(const Document& document) {
  std::vector<Judgement> list;
  const std::string plugin = text_of(object_of(json_of(document), "plugin"), "name");
  for (const Json& row : list_of(json_of(document), "cases")) {
    Judgement one;
    one.group = "netplugin.v" + any_text_of(row, "api_version");
    one.subject = plugin;
    one.id = text_of(row, "id");
    one.outcome = status_of(text_of(row, "status"));
    one.text = text_of(row, "reason");
    if (one.outcome == Status::skip) one.alike = one.text;
    one.add_details(row, {"title", "side", "took_ms"});
    list.push_back(std::move(one));
  }
  for (const Json& row : list_of(json_of(document), "results")) {
    const std::string error = text_of(row, "error");
    if (error.empty()) continue;
    list.push_back({"netplugin.v" + any_text_of(row, "api_version"), plugin,
                    fmt::format("{} {} B", text_of(row, "metric"), any_text_of(row, "size_bytes")),
                    Status::fail, error});
  }
  if (const std::string error = text_of(json_of(document), "error"); !error.empty()) {
    list.push_back({"netplugin", plugin, "the run", Status::fail, error});
  }
  return list;
}

void measure_netplugin(const Document& document, const VisitMeasured& visit) {
  for (const Json& row : list_of(json_of(document), "results")) {
    Measured measured;
    measured.kind = text_of(row, "metric") == "bandwidth" ? "bandwidth" : "latency";
    add_label(measured, "plugin", text_of(object_of(json_of(document), "plugin"), "name"));
    add_row(measured, row, {"api_version", "kind", "completion", "size_bytes"});
    measured.error = text_of(row, "error");
    visit(measured);
  }
}

}  // namespace

const DocumentKind kNetPluginKind{kNetPluginSchema,  "Network plugin", "cases",
                                  "netplugin",       judge_netplugin,  measure_netplugin,
                                  netplugin_sections};

}  // namespace rdmabench::inline v1::report
