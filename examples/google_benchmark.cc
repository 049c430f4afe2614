// Transports among other benchmarks of a program, by Google Benchmark.
//
//   google_benchmark [--benchmark_...]                            over the loop back end
//   google_benchmark [--benchmark_...] BACKEND BYTES [PROVIDER]   and this: ofi 64 shm
#include <cstdlib>
#include <string>

#include <rdmabench/google_benchmark.h>

namespace google_benchmark = rdmabench::google_benchmark;
using rdmabench::transport::Send, rdmabench::transport::Write;

RDMABENCH_BENCHMARK(Write, "loop", 64);
RDMABENCH_BENCHMARK(Send, "loop", 4096);

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own flags out
  if (argc > 2) {
    google_benchmark::Options options{.backend = argv[1],
                                      .provider = argc > 3 ? argv[3] : "",
                                      .bytes = std::strtoull(argv[2], nullptr, 10)};
    const std::string way = options.backend + "/" + argv[2] + "/" + options.provider;
    google_benchmark::add<Write>("write/" + way, options);
    options.depth = 32;
    google_benchmark::add<Send>("stream of sends/" + way, options);
  }
  return benchmark::RunSpecifiedBenchmarks() > 0 ? 0 : 1;
}
