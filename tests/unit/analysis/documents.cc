#include "documents.h"

#include <fmt/format.h>

#include <cmath>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::analysis {
namespace {

report::Report frame(int minute) {
  report::Report report;
  report.config = {{"operation", std::string("write")},
                   {"depth", std::uint64_t{128}},
                   {"backend", std::string("verbs")}};
  report.resolved = {.backend = "verbs",
                     .provider = "mlx5",
                     .device = "mlx5_0:1",
                     .transport = "rc",
                     .reason = "by route",
                     .details = {{"mtu", std::string("4096")}, {"qpn", fmt::format("{}", minute)}}};
  for (report::Facts* side : {&report.environment.client, &report.environment.server}) {
    *side = {{"hostname", std::string(side == &report.environment.client ? "node1" : "node2")},
             {"kernel", std::string("6.1.0")},
             {"collected_utc",
              fmt::format("2026-11-21T{:02}:{:02}:00Z", minute / 60 % 24, minute % 60)}};
  }
  return report;
}

}  // namespace

report::Report latency_report(const std::map<std::uint64_t, double>& p50_ns, int minute,
                              std::uint64_t samples) {
  report::Report report = frame(minute);
  std::vector<report::LatencyResult> rows;
  for (const auto& [size, p50] : p50_ns) {
    report::LatencyResult row;
    row.size_bytes = size;
    row.iterations = samples;
    row.operation = "write";
    row.kind = "half_round_trip";
    row.signal = "memory-poll";
    row.completion = "delivery";
    row.latency.count = samples;
    row.latency.min_ns = p50 * 0.9;
    row.latency.p50_ns = p50;
    row.latency.p90_ns = p50 * 1.1;
    row.latency.p99_ns = p50 * 1.2;
    row.latency.p999_ns = p50 * 1.3;
    row.latency.p9999_ns = p50 * 1.4;
    row.latency.max_ns = p50 * 2;
    rows.push_back(row);
  }
  report.results = rows;
  return report;
}

report::Report bandwidth_report(const std::map<std::uint64_t, double>& bits_per_s, int minute) {
  report::Report report = frame(minute);
  std::vector<report::BandwidthResult> rows;
  for (const auto& [size, rate] : bits_per_s) {
    report::BandwidthResult row;
    row.size_bytes = size;
    row.iterations = 10'000;
    row.depth = 128;
    row.operation = "write";
    row.completion = "receiver_confirmed";
    row.bits_per_s = rate;
    rows.push_back(row);
  }
  report.results = rows;
  return report;
}

Launch launch_of(const report::Report& report, const std::string& source) {
  return read_launches(report::to_json(report), source).at(0);
}

std::vector<Launch> bandwidth_launches(int count, double bits_per_s, double deviation,
                                       std::uint64_t seed, int minute, int step) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, deviation);
  std::vector<Launch> launches;
  for (int i = 0; i < count; ++i) {
    const double rate = bits_per_s * std::exp(noise(random));
    launches.push_back(launch_of(bandwidth_report({{65536, rate}}, minute + i * step),
                                 fmt::format("{}-{}.json", seed, i)));
  }
  return launches;
}

Sides in_turn(int count, double rate_a, double rate_b, double deviation) {
  return {bandwidth_launches(count, rate_a, deviation, 1, 0, 2),
          bandwidth_launches(count, rate_b, deviation, 2, 1, 2)};
}

void set_fact(report::Facts& facts, const std::string& name, const std::string& value) {
  for (report::Fact& fact : facts) {
    if (fact.name != name) continue;
    fact.value = value;
    return;
  }
  facts.push_back({name, value});
}

}  // namespace rdmabench::inline v1::analysis
