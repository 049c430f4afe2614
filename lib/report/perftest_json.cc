#include <fmt/format.h>
#include <fmt/ranges.h>

#include "perftest_info.h"
#include "rdmabench/report/perftest.h"
#include "row.h"

namespace rdmabench::report {
namespace {

Json test_info(const PerftestInfo& info) {
  std::string test = fmt::format("{}_Test", fmt::join(info.test, "_"));
  for (char& c : test) {
    if (c == ' ') c = '_';
  }
  Json json{{"test", test}};
  if (info.completion_vector) {
    json["Test with events"] = fmt::format("Using_{}_comp{}", info.device, *info.completion_vector);
  }
  for (const PerftestField& field : info.fields) json[std::string(field.key)] = field.value;
  return json;
}

Json row(const BandwidthResult& result, const PerftestStyle& style) {
  const double average = perftest_bandwidth(result, style);
  const double scale = result.bits_per_s > 0 ? average / result.bits_per_s : 0;
  return {{"MsgSize", result.size_bytes},
          {"n_iterations", result.iterations},
          {"BW_peak", style.peak ? result.peak_bits_per_s * scale : 0},
          {"BW_average", average},
          {"BW_unit", style.gigabits ? "Gb/s" : "MiB/s"},
          {"MsgRate", result.messages_per_s / 1e6}};
}

Json row(const LatencyResult& result, const Report& report, const PerftestStyle& style) {
  const bool ticks = style.cycles && report.clock && report.clock->ns_per_tick > 0;
  const double unit = ticks ? report.clock->ns_per_tick : 1e3;
  const measure::LatencySummary& ns = result.latency;
  Json json{{"MsgSize", result.size_bytes}, {"n_iterations", result.iterations}};
  if (is_perftest_short(report)) {
    const double round_ns = result.kind == "half_round_trip" ? 2 * ns.mean_ns : ns.mean_ns;
    json["t_avg"] = ns.mean_ns / unit;
    json["tps_average"] = round_ns > 0 ? 1e9 / round_ns : 0;
  } else {
    json["t_min"] = ns.min_ns / unit;
    json["t_max"] = ns.max_ns / unit;
    json["t_typical"] = ns.p50_ns / unit;
    json["t_avg"] = ns.mean_ns / unit;
    json["t_stdev"] = ns.stddev_ns / unit;
    json["percentile_99"] = ns.p99_ns / unit;
    json["percentile_99.9"] = ns.p999_ns / unit;
  }
  json["t_unit"] = ticks ? "cycles" : "usec";
  return json;
}

}  // namespace

std::string to_perftest_json(const Report& report, const PerftestStyle& style) {
  Json rows = Json::array();
  if (const auto* results = std::get_if<std::vector<BandwidthResult>>(&report.results)) {
    for (const BandwidthResult& result : *results) rows.push_back(row(result, style));
  }
  for (const LatencyResult& result : latency_results(report)) {
    rows.push_back(row(result, report, style));
  }
  const Json document{{"test_info", test_info(perftest_info(report))},
                      {"results", rows.size() == 1 ? rows[0] : rows}};
  return document_text(document);
}

}  // namespace rdmabench::report
