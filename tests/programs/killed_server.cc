// The server's process is killed while the second size is measured: run() returns in time, with
// what was finished and with the reason.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <rdmabench/rdmabench.h>

namespace run = rdmabench::run;
namespace report = rdmabench::report;
using Clock = std::chrono::steady_clock;

namespace {

/// A server in a process of its own.
pid_t start_server(std::uint16_t& port) {
  int ends[2];
  if (pipe(ends) != 0) std::perror("pipe"), std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    run::Server server({.address = "127.0.0.1", .port = 0, .allow_providers = {"tcp"}}, nullptr);
    const std::uint16_t own = server.port();
    if (write(ends[1], &own, sizeof own) == sizeof own) server.run();
    std::_Exit(0);
  }
  if (child < 0 || read(ends[0], &port, sizeof port) != sizeof port) std::exit(1);
  return child;
}

}  // namespace

int main() try {
  if (RDMABENCH_HAVE_OFI == 0) return std::puts("skipped: this build lacks libfabric"), 77;
  std::uint16_t port = 0;
  const pid_t server = start_server(port);
  run::Config config;
  config.backend = "ofi";
  config.endpoint.ofi.provider = "tcp;ofi_rxm";
  config.sizes = {8, 64};
  config.counts = {100, 4'000'000'000};
  config.timeout = std::chrono::seconds(4);
  std::promise<void> under_way;
  Clock::time_point killed;
  std::thread killer([&] {
    under_way.get_future().wait();
    kill(server, SIGKILL);
    killed = Clock::now();
    waitpid(server, nullptr, 0);
  });
  bool told = false;
  const auto on_progress = [&](const run::Progress& progress) {
    if (progress.size_index == 1 && !std::exchange(told, true)) under_way.set_value();
  };
  const report::Report report = run::run(config, "127.0.0.1", port, {.on_progress = on_progress});
  const auto returned = Clock::now();
  if (!told) under_way.set_value();
  killer.join();
  const auto& rows = std::get<std::vector<report::LatencyResult>>(report.results);
  std::printf("%zu rows, %.0f ms after the kill: %s: %s\n", rows.size(),
              std::chrono::duration<double, std::milli>(returned - killed).count(),
              report.failure ? report.failure->outcome.c_str() : "no failure",
              report.error.value_or("no error").c_str());
  const bool whole = !rows.empty() && rows[0].complete && rows[0].latency.count == 100 &&
                     (rows.size() == 1 || !rows[1].complete);
  if (!whole || !report.error || !report.failure || returned - killed >= config.timeout) return 1;
  const std::string& outcome = report.failure->outcome;
  return outcome == "interrupted" || outcome.empty() ? 0 : 1;  // empty: between two epochs
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
