// Another benchmark's main: measures over the in-process transport, and reads the typed result.
#include <rdmabench/features.h>
#include <rdmabench/run/client.h>
#include <cstdio>

int main() {
  rdmabench::run::Config config;
  config.backend = "loop";
  config.stop = rdmabench::measure::StopRule::iterations(1000);
  const rdmabench::report::Report report = rdmabench::run::run_in_process(config);
  const auto& rows = report.latency();
  if (report.error || rows.size() != 1 || rows[0].latency.count != 1000) return 1;
  std::printf("rdmabench %s: 8 B over loop: p50 %.1f ns\n", RDMABENCH_VERSION,
              rows[0].latency.p50_ns);
  return 0;
}
