// Latency and bandwidth of libfabric's net, against a server of this process.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

#include <rdmabench/rdmabench.h>

namespace run = rdmabench::run;
namespace report = rdmabench::report;

namespace {

void demand(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

report::Report measure(rdmabench::workload::Shape shape, std::uint16_t port) {
  run::Config config;
  config.traffic.shape = shape;
  config.traffic.operation = rdmabench::transport::OperationCode::write;
  config.sizes = {8, 65536};
  config.stop = rdmabench::measure::StopRule::iterations(300);
  config.backend = "ofi";
  report::Report report = run::run(config, "127.0.0.1", port);
  demand(!report.error, report.error.value_or("").c_str());
  demand(report.resolved.backend == "ofi", "another back end than the one asked for");
  return report;
}

}  // namespace

int main() try {
  if (RDMABENCH_HAVE_OFI == 0) return std::puts("skipped: this build lacks libfabric"), 77;
  const run::ServerThread server({.address = "127.0.0.1", .port = 0});
  const auto latency = measure(rdmabench::workload::Shape::latency, server.port());
  const auto& rows = std::get<std::vector<report::LatencyResult>>(latency.results);
  demand(rows.size() == 2, "not one latency for each size");
  for (const auto& row : rows) {
    const auto& ns = row.latency;
    demand(row.complete && ns.count == 300, "not 300 latencies of a size");
    demand(
        0 < ns.min_ns && ns.min_ns <= ns.p50_ns && ns.p50_ns <= ns.p99_ns && ns.p99_ns <= ns.max_ns,
        "latencies in no order");
  }
  const auto bandwidth = measure(rdmabench::workload::Shape::bandwidth, server.port());
  const auto& rates = std::get<std::vector<report::BandwidthResult>>(bandwidth.results);
  demand(rates.size() == 2, "not one bandwidth for each size");
  for (const auto& row : rates) {
    demand(row.complete && row.iterations == 300, "not 300 messages of a size");
    const double bits = 8 * static_cast<double>(row.size_bytes) * row.messages_per_s;
    demand(row.bits_per_s > 0.999 * bits && row.bits_per_s < 1.001 * bits,
           "bits and messages per second that do not agree");
  }
  demand(rates[1].bits_per_s > rates[0].bits_per_s, "large messages slower than small ones");
  std::printf("net: %.0f ns, %.2f Gb/s\n", rows[0].latency.p50_ns, rates[1].bits_per_s / 1e9);
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
