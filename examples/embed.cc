// Inside another benchmark: its main() and its options are its own, and beside its figure it prints
// what the fabric gives for the same bytes. No command is started and no text is parsed: server and
// client are objects, and the results are typed.
//
//   embed [BYTES]           65536 if left out; over libfabric's tcp where this build has it
//   embed BYTES loop        over the loop back end
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <rdmabench/base/error.h>
#include <rdmabench/features.h>
#include <rdmabench/run/client.h>
#include <rdmabench/run/server.h>

namespace run = rdmabench::run;
namespace report = rdmabench::report;

namespace {

/// The benchmark that was here before: how fast memory is copied, in bits per second.
double copy_bits_per_s(std::size_t bytes) {
  constexpr int kCopies = 1000;
  std::vector<char> from(bytes, 'x'), to(bytes);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCopies; ++i) {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");  // or the compiler drops copies nobody reads
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return 8.0 * kCopies * static_cast<double>(bytes) / elapsed.count();
}

report::Report measure(std::size_t bytes, const std::string& backend, std::uint16_t port) {
  run::Config config;
  config.traffic.shape = rdmabench::workload::Shape::bandwidth;
  config.traffic.operation = rdmabench::transport::OperationCode::write;
  config.sizes = {bytes};
  config.stop = rdmabench::measure::StopRule::iterations(2000);
  config.backend = backend;
  if (backend == "ofi") config.endpoint.ofi.provider = "tcp;ofi_rxm";
  return run::run(config, "127.0.0.1", port);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 65536;
  const std::string backend = argc > 2 ? argv[2] : RDMABENCH_HAVE_OFI ? "ofi" : "loop";
  std::printf("memcpy: %.2f Gb/s\n", copy_bits_per_s(bytes) / 1e9);

  // A server of this process, on a port that the kernel chose. One server takes any number of
  // clients; on another node it would be `rdmabench serve`, or this same object.
  const run::ServerThread server({.address = "127.0.0.1", .port = 0, .allow_providers = {"tcp"}},
                                 [](const run::SessionEvent& event) {
                                   std::printf("server: %s\n", run::line_of(event).c_str());
                                 });
  const report::Report report = measure(bytes, backend, server.port());
  for (const auto& row : report.bandwidth()) {
    std::printf("%s of %s: %.2f Gb/s, %s\n", row.operation.c_str(),
                report.resolved.provider.c_str(), row.bits_per_s / 1e9, row.completion.c_str());
  }
  if (report.error) std::fprintf(stderr, "ended early: %s\n", report.error->c_str());
  return report.error ? 1 : 0;
} catch (const rdmabench::Error& error) {  // bad input, or nothing here to measure with
  std::fprintf(stderr, "%s\n", error.what());
  return static_cast<int>(error.fault());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
