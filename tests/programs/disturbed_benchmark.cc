// A benchmark whose threads lost their processor, as the kernel tells here: its label says so.
#include <dlfcn.h>
#include <rdmabench/google_benchmark.h>
#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

namespace {

namespace google_benchmark = rdmabench::google_benchmark;

/// Keeps the labels.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) labels.push_back(run.report_label);
  }

  std::vector<std::string> labels;
};

}  // namespace

/// In place of that of libc: from one call to the next a thread has lost its processor a million
/// times.
extern "C" int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  static std::atomic<long> lost = 0;
  const int result =
      reinterpret_cast<decltype(&getrusage)>(dlsym(RTLD_NEXT, "getrusage"))(who, usage);
  usage->ru_nivcsw = lost += 1'000'000;
  return result;
}

int main() {
  const int cpu = sched_getcpu();
  google_benchmark::add<rdmabench::transport::Write>(
      "write", {.backend = "loop", .bytes = 64, .cpu = cpu, .peer_cpu = cpu})
      ->Iterations(1000);
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  for (const std::string& label : reporter.labels) {
    std::puts(label.c_str());
    const bool begins = label.rfind("loop, completion: delivery; suspect: ", 0) == 0;
    if (begins && label.find("preemption") != std::string::npos) return 0;
  }
  return 1;
}
