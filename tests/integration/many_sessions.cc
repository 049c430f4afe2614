// Many short sessions, one after the other, for soak.py and load.py: a process for each would take
// longer to start than its session.
// Usage: many_sessions HOST PORT SESSIONS|--seconds N BACKEND [PROVIDER]
// With --seconds it says "ready", begins at a byte of standard input, and prints how many there
// were.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "rdmabench/run/backends.h"
#include "rdmabench/run/client.h"

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  using Clock = std::chrono::steady_clock;
  Clock::duration time{};
  Clock::time_point end = Clock::time_point::max();
  if (words.size() > 4 && words[2] == "--seconds") {
    const std::chrono::duration<double> given(std::atof(words[3].c_str()));
    time = std::chrono::duration_cast<Clock::duration>(given);
    words.erase(words.begin() + 2);
    words[2] = "2000000000";
  }
  if (words.size() < 4) {
    std::fputs("usage: many_sessions HOST PORT SESSIONS|--seconds N BACKEND [PROVIDER]\n", stderr);
    return 2;
  }
  rdmabench::run::Config config;
  config.stop = rdmabench::measure::StopRule::iterations(1);
  config.warmup = 0;
  config.traffic.watch = false;
  config.backend = words[3];
  if (words.size() > 4) config.endpoint.ofi.provider = words[4];
  if (time != Clock::duration()) {
    // Hundreds of clients on one machine: each loads its libraries before it has a deadline to
    // keep.
    static_cast<void>(rdmabench::run::find_backend(config.backend).devices());
    config.timeout = std::chrono::seconds(30);
    std::puts("ready");
    std::fflush(stdout);
    static_cast<void>(std::getchar());  // until all of them are
    end = Clock::now() + time;
  }
  const auto port = static_cast<std::uint16_t>(std::atoi(words[1].c_str()));
  const int most = std::atoi(words[2].c_str());
  for (int session = 1; session <= most; ++session) {
    if (Clock::now() >= end) {
      std::printf("%d\n", session - 1);
      return 0;
    }
    try {
      const auto report = rdmabench::run::run(config, words[0], port);
      if (!report.error) continue;
      std::fprintf(stderr, "session %d: %s\n", session, report.error->c_str());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "session %d: %s\n", session, error.what());
    }
    return 1;
  }
  return 0;
}
