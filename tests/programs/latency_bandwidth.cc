// Latency and bandwidth over one back end, against a server of this process.
//
//   latency_bandwidth ofi|ucx    libfabric, or UCX's tcp
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <rdmabench/rdmabench.h>

namespace run = rdmabench::run;
namespace report = rdmabench::report;

namespace {

void demand(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

report::Report measure(const std::string& backend, rdmabench::workload::Shape shape,
                       std::uint16_t port) {
  using rdmabench::transport::OperationCode;
  run::Config config;
  config.traffic.shape = shape;
  config.traffic.operation = backend == "ucx" ? OperationCode::send : OperationCode::write;
  if (backend == "ucx") config.endpoint.ucx.transports = "tcp";
  config.sizes = {8, 65536};
  config.stop = rdmabench::measure::StopRule::iterations(300);
  config.backend = backend;
  report::Report report = run::run(config, "127.0.0.1", port);
  demand(!report.error, report.error.value_or("").c_str());
  demand(report.resolved.backend == backend, "another back end than the one asked for");
  return report;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string backend = argc > 1 ? argv[1] : "ofi";
  if ((backend == "ucx" ? RDMABENCH_HAVE_UCX : RDMABENCH_HAVE_OFI) == 0) {
    return std::printf("skipped: this build lacks %s\n", backend.c_str()), 77;
  }
  run::ServerConfig serve;
  serve.address = "127.0.0.1";
  serve.port = 0;
  if (backend == "ucx") serve.allow_providers = {"ucx"};
  const run::ServerThread server(serve);
  const auto latency = measure(backend, rdmabench::workload::Shape::latency, server.port());
  const auto& rows = std::get<std::vector<report::LatencyResult>>(latency.results);
  demand(rows.size() == 2, "not one latency for each size");
  for (const auto& row : rows) {
    const auto& ns = row.latency;
    demand(row.complete && ns.count == 300, "not 300 latencies of a size");
    demand(
        0 < ns.min_ns && ns.min_ns <= ns.p50_ns && ns.p50_ns <= ns.p99_ns && ns.p99_ns <= ns.max_ns,
        "latencies in no order");
  }
  const auto bandwidth = measure(backend, rdmabench::workload::Shape::bandwidth, server.port());
  const auto& rates = std::get<std::vector<report::BandwidthResult>>(bandwidth.results);
  demand(rates.size() == 2, "not one bandwidth for each size");
  for (const auto& row : rates) {
    demand(row.complete && row.iterations == 300, "not 300 messages of a size");
    const double bits = 8 * static_cast<double>(row.size_bytes) * row.messages_per_s;
    demand(row.bits_per_s > 0.999 * bits && row.bits_per_s < 1.001 * bits,
           "bits and messages per second that do not agree");
  }
  demand(rates[1].bits_per_s > rates[0].bits_per_s, "large messages slower than small ones");
  std::printf("%s: %.0f ns, %.2f Gb/s\n", backend.c_str(), rows[0].latency.p50_ns,
              rates[1].bits_per_s / 1e9);
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
