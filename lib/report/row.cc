#include "row.h"

#include <cmath>

namespace rdmabench::report {
namespace {

std::vector<std::string> unsupported_percentiles(const measure::LatencySummary& latency) {
  std::vector<std::string> keys;
  for (const Percentile& percentile : kPercentiles) {
    if (!latency.supports(percentile.percent)) keys.emplace_back(percentile.key);
  }
  return keys;
}

Cell optional(const std::optional<std::uint64_t>& value) {
  return value ? Cell(*value) : Cell();
}

}  // namespace

Cell finite(double value) {
  return std::isfinite(value) ? Cell(value) : Cell();
}

Row to_row(const LatencyResult& result, const Resolved& resolved) {
  const measure::LatencySummary& latency = result.latency;
  Row row{
      {"operation", result.operation},
      {"backend", resolved.backend},
      {"provider", resolved.provider},
      {"device", resolved.device},
      {"kind", result.kind},
      {"signal", result.signal},
      {"completion", result.completion},
      {"size_bytes", result.size_bytes},
      {"iterations", result.iterations},
      {"warmup_iterations", result.warmup_iterations},
      {"min_ns", finite(latency.min_ns)},
  };
  for (const Percentile& percentile : kPercentiles) {
    row.push_back({percentile.key, finite(latency.*percentile.value)});
  }
  const Row rest{
      {"max_ns", finite(latency.max_ns)},
      {"mean_ns", finite(latency.mean_ns)},
      {"stddev_ns", finite(latency.stddev_ns)},
      {"mad_ns", finite(latency.mad_ns)},
      {"median_low_ns", finite(latency.median_low_ns)},
      {"median_high_ns", finite(latency.median_high_ns)},
      {"percentile_error", finite(latency.percentile_error)},
      {"unsupported_percentiles", unsupported_percentiles(latency)},
      {"succeeded", optional(result.succeeded)},
      {"validated", result.validated},
      {"stable", result.stable},
      {"spread", finite(result.spread)},
      {"notes", result.notes},
  };
  row.insert(row.end(), rest.begin(), rest.end());
  return row;
}

Row to_row(const BandwidthResult& result, const Resolved& resolved) {
  const bool interval = result.bits_per_s_low != 0 || result.bits_per_s_high != 0;
  return {
      {"operation", result.operation},
      {"backend", resolved.backend},
      {"provider", resolved.provider},
      {"device", resolved.device},
      {"direction", result.direction},
      {"completion", result.completion},
      {"size_bytes", result.size_bytes},
      {"iterations", result.iterations},
      {"warmup_iterations", result.warmup_iterations},
      {"depth", result.depth},
      {"bits_per_s", finite(result.bits_per_s)},
      {"bits_per_s_low", interval ? finite(result.bits_per_s_low) : Cell()},
      {"bits_per_s_high", interval ? finite(result.bits_per_s_high) : Cell()},
      {"messages_per_s", finite(result.messages_per_s)},
      {"elapsed_ns", finite(result.elapsed_ns)},
      {"peak_bits_per_s", result.peak_bits_per_s > 0 ? finite(result.peak_bits_per_s) : Cell()},
      {"offered_messages_per_s",
       result.offered_messages_per_s > 0 ? finite(result.offered_messages_per_s) : Cell()},
      {"lost", optional(result.lost)},
      {"succeeded", optional(result.succeeded)},
      {"intervals", result.intervals},
      {"validated", result.validated},
      {"stable", result.stable},
      {"spread", finite(result.spread)},
      {"notes", result.notes},
  };
}

Row to_row(const LoadResult& result, const Resolved& resolved) {
  Row row{{"load", finite(result.load)},
          {"offered_messages_per_s", finite(result.offered_messages_per_s)},
          {"achieved_messages_per_s", finite(result.achieved_messages_per_s)},
          {"max_lag_ns", finite(result.max_lag_ns)},
          {"knee", result.knee}};
  const Row latency = to_row(result.latency, resolved);
  row.insert(row.end(), latency.begin(), latency.end());
  return row;
}

}  // namespace rdmabench::report
