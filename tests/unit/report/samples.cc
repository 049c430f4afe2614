#include "samples.h"

#include <limits>

#include "base/text.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

LatencyResult latency_row(std::uint64_t size, std::uint64_t count, double scale) {
  LatencyResult row;
  row.size_bytes = size;
  row.iterations = count;
  row.warmup_iterations = 100;
  row.operation = "write";
  row.kind = "half_round_trip";
  row.signal = "memory-poll";
  row.completion = "delivery";
  row.latency.count = count;
  row.latency.min_ns = 1000 * scale;
  row.latency.p50_ns = 1250 * scale;
  row.latency.p90_ns = 1500 * scale;
  row.latency.p99_ns = 1750 * scale;
  row.latency.p999_ns = 2000 * scale;
  row.latency.p9999_ns = 2250 * scale;
  row.latency.max_ns = 12500 * scale;
  row.latency.mean_ns = 1300.5 * scale;
  row.latency.stddev_ns = 250 * scale;
  row.latency.mad_ns = 125 * scale;
  row.latency.median_low_ns = 1240 * scale;
  row.latency.median_high_ns = 1260 * scale;
  row.spread = 0.0078125;
  return row;
}

}  // namespace

Report latency_sample() {
  Report report;
  report.config = {{"op", "write"}, {"size", "8,64K"}, {"depth", std::uint64_t{1}}};
  report.resolved = {"verbs",
                     "rxe",
                     "rxe0:1",
                     "rc",
                     "RoCE v2 GID 1 10.0.0.1: on the route to 10.0.0.2",
                     {{"mtu_bytes", std::uint64_t{1024}}, {"inline", true}}};
  report.environment.client = {{"hostname", "left"}, {"cpus_online", std::uint64_t{2}}};
  report.environment.server = {{"hostname", "right"}, {"smt_active", false}};
  report.clock = Clock{"tsc", "invariant, and trusted by the kernel", 0.4375, 1e-8, 22.5, 7.5};
  report.conditions.client = {{"noise_largest_gap_ns", 4250.0},
                              {"thread0_migrations", std::uint64_t{0}}};
  report.conditions.server = {{"thread0_cpus", "0-3"}};
  report.counters.client = {
      {"rxe0:1", "sequence_naks_received", "retransmission", "hw_counters/rcvd_seq_err", 3, false}};
  report.counters.server = {
      {"rxe0:1", "symbol_errors", "error", "counters/symbol_error", 65530, true},
      {"rxe0:1", "ack_timeouts", "retransmission", "hw_counters/x", std::nullopt, false}};
  report.suspicions = {{"retransmissions", "3 packets were sent again."}};
  LatencyResult small = latency_row(8, 100, 1);
  LatencyResult large = latency_row(65536, 100000, 16);
  large.validated = small.validated = true;
  large.stable = false;
  large.spread = 0.125;
  large.notes = {"The target's CPU was idle."};
  report.results = std::vector{small, large};
  return report;
}

Report bandwidth_sample() {
  BandwidthResult small;
  small.size_bytes = 64;
  small.iterations = 5000000;
  small.warmup_iterations = 1000;
  small.depth = 128;
  small.operation = "send";
  small.completion = "receiver_confirmed";
  small.bits_per_s = 1.28e9;
  small.bits_per_s_low = 1.25e9;
  small.bits_per_s_high = 1.3e9;
  small.messages_per_s = 2.5e6;
  small.elapsed_ns = 2e9;
  small.spread = 0.015625;
  small.notes = {"The governor is powersave."};
  BandwidthResult large = small;
  large.size_bytes = 65536;
  large.iterations = 100000;
  large.bits_per_s = 52.4288e9;
  large.bits_per_s_low = large.bits_per_s_high = 0;
  large.messages_per_s = 1e5;
  large.elapsed_ns = 1e9;
  Report report;
  report.config = {{"op", "send"}, {"provider", "tcp"}};
  report.resolved = {"ofi", "tcp;ofi_rxm", "lo", "rdm", "", {}};
  report.clock = Clock{"CLOCK_MONOTONIC_RAW", "", 1, 0, 30, 25};
  report.results = std::vector{small, large};
  report.notes = {"Both sides share one CPU."};
  return report;
}

Report hostile_sample() {
  Report report = latency_sample();
  const std::string evil = "\"a\",\r\nb\x1b[2J\xff\xc2\x9b;" + std::string(1, '\0');
  report.environment.server = {{evil, evil}, {"nan", kNaN}, {"infinity", -kInfinity}};
  report.config = {{evil, evil}, {"duration_s", kInfinity}};
  report.resolved = {evil, evil, evil, evil, evil, {{evil, kNaN}}};
  report.clock = Clock{evil, evil, kNaN, kInfinity, kNaN, kInfinity};
  report.notes = {evil};
  report.suspicions = {{"evil", evil}};
  report.conditions.server = {{evil, evil}};
  report.counters.server = {{evil, evil, "other", evil, 1, false}};
  report.error = evil;
  report.failure = Failure{.outcome = "wrong_data",
                           .library = evil,
                           .call = evil,
                           .status = evil,
                           .operation = evil,
                           .peer = evil,
                           .remedy = evil};
  LatencyResult row = latency_row(8, 0, kNaN);
  row.operation = evil;
  row.spread = kInfinity;
  row.stable = false;
  row.latency.max_ns = kInfinity;
  row.notes = {evil, evil};
  report.results = std::vector{row};
  return report;
}

Report failed_sample() {
  Report report;
  report.error = "the server at 10.0.0.2 did not answer in 5 s";
  report.failure =
      Failure{.fault = Fault::failed, .code = 110, .outcome = "stalled", .peer = "10.0.0.2"};
  return report;
}

std::vector<std::string> lines(const std::string& text) {
  const std::vector<std::string_view> parts = lines_of(text);
  return {parts.begin(), parts.end()};
}

}  // namespace rdmabench::inline v1::report
