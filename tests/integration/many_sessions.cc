// Many short sessions, one after the other, for soak.py: a process for each would take longer to
// start than its session. Usage: many_sessions HOST PORT SESSIONS BACKEND [PROVIDER]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "rdmabench/run/client.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 4) {
    std::fputs("usage: many_sessions HOST PORT SESSIONS BACKEND [PROVIDER]\n", stderr);
    return 2;
  }
  rdmabench::run::Config config;
  config.stop = rdmabench::measure::StopRule::iterations(1);
  config.warmup = 0;
  config.watch = false;
  config.backend = words[3];
  if (words.size() > 4) config.provider = words[4];
  const auto port = static_cast<std::uint16_t>(std::atoi(words[1].c_str()));
  for (int session = 1; session <= std::atoi(words[2].c_str()); ++session) {
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
