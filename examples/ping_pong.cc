// The shortest program: how long does a message of each size take, there and back, halved?
//
//   ping_pong           both ends in this process, over the loop back end: needs no hardware
//   ping_pong node1     against `rdmabench serve` on node1, over the best that both machines have
#include <cstdio>
#include <exception>

#include <rdmabench/rdmabench.h>

namespace run = rdmabench::run;
namespace report = rdmabench::report;

namespace {

report::Report measure(const char* host) {
  // What is left out has a default that run/config.h tells; every option of the command is here.
  run::Config config;
  config.traffic.operation = rdmabench::transport::OperationCode::send;
  config.sizes = {8, 64, 4096};
  config.stop = rdmabench::measure::StopRule::iterations(2000);  // of each size
  config.traffic.validate = true;                                // compare every byte that arrives
  if (host != nullptr) return run::run(config, host, run::kDefaultPort);
  config.backend = "loop";
  return run::run_in_process(config);
}

int print(const report::Report& report) {
  std::printf("%s on %s: %s\n", report.resolved.provider.c_str(), report.resolved.device.c_str(),
              report.resolved.reason.c_str());
  // Plain values in nanoseconds. A latency run holds latency rows, a stream bandwidth rows.
  for (const auto& row : report.latency()) {
    std::printf("%5llu bytes: p50 %.0f ns, p99 %.0f ns of %llu messages\n",
                static_cast<unsigned long long>(row.size_bytes), row.latency.p50_ns,
                row.latency.p99_ns, static_cast<unsigned long long>(row.iterations));
  }
  for (const report::Suspicion& doubt : report.suspicions) {
    std::printf("suspect: %s\n", doubt.text.c_str());  // the numbers, but not to be trusted blindly
  }
  // A failure half way keeps the sizes that were finished, and says here why it ended.
  if (report.error) std::printf("ended early: %s\n", report.error->c_str());
  return report.error ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return print(measure(argc > 1 ? argv[1] : nullptr));
  } catch (const rdmabench::Error& error) {  // set-up failed: the text names what to try
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.fault());  // 1 failed, 2 wrong usage, 3 not available here
  } catch (const std::exception& error) {    // such as too little memory
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
