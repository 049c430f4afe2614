// Transports among other benchmarks of a program, by Google Benchmark.
//
//   google_benchmark [--benchmark_...]                            over the loop back end
//   google_benchmark [--benchmark_...] BACKEND BYTES [PROVIDER [CPU PEER_CPU]]
//                                                                 and this: ofi 64 shm 0 1
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <rdmabench/google_benchmark.h>

namespace google_benchmark = rdmabench::google_benchmark;
using rdmabench::transport::Send, rdmabench::transport::Write;

RDMABENCH_BENCHMARK(Write, "loop", 64);
RDMABENCH_BENCHMARK(Send, "loop", 4096);

/// The reporter of the flags, and whether a benchmark failed: Google Benchmark ends with 0 then.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  bool failed() const { return failed_; }

  bool ReportContext(const Context& context) override { return chosen_->ReportContext(context); }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) failed_ = failed_ || failed(run);
    chosen_->ReportRuns(runs);
  }
  void Finalize() override { chosen_->Finalize(); }

 private:
  template <class AnyRun>
  static bool failed(const AnyRun& run) {
    if constexpr (requires { run.error_occurred; }) {
      return run.error_occurred;
    } else {  // from release 1.8 on
      return run.skipped != decltype(run.skipped){};
    }
  }

  std::unique_ptr<BenchmarkReporter> chosen_{benchmark::CreateDefaultDisplayReporter()};
  bool failed_ = false;
};

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own flags out
  if (argc > 2) {
    google_benchmark::Options options;
    options.backend = argv[1];
    options.bytes = std::strtoull(argv[2], nullptr, 10);
    options.provider = argc > 3 ? argv[3] : "";
    if (argc > 5) {  // two that share no core
      options.cpu = std::atoi(argv[4]);
      options.peer_cpu = std::atoi(argv[5]);
    }
    const std::string way = options.backend + "/" + argv[2] + "/" + options.provider;
    google_benchmark::add<Write>("write/" + way, options);
    options.depth = 32;
    google_benchmark::add<Send>("stream of sends/" + way, options);
  }
  Reporter reporter;
  const bool ran = benchmark::RunSpecifiedBenchmarks(&reporter) > 0;
  return ran && !reporter.failed() ? 0 : 1;
}
