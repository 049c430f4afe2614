// What an engineer who brings up a machine hears of the library, by a hook; and nothing without
// one.
//
//   bring_up_log [quiet]
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include <rdmabench/base/log.h>
#include <rdmabench/control/listener.h>
#include <rdmabench/rdmabench.h>

namespace run = rdmabench::run;

namespace {

void bring_up() {
  run::shared_libraries();
  run::Config config;
  config.backend = "loop";
  config.stop = rdmabench::measure::StopRule::iterations(10);
  run::run_in_process(config);
  try {
    const std::uint16_t closed = rdmabench::control::Listener("127.0.0.1", 0).port();
    config.connect_retry = std::chrono::milliseconds(50);
    run::run(config, "127.0.0.1", closed);
  } catch (const rdmabench::Error&) {  // nobody listens there any more
  }
}

}  // namespace

int main(int argc, char** /*argv*/) {
  if (argc > 1) return bring_up(), 0;
  std::mutex mutex;
  std::vector<std::string> heard;
  rdmabench::set_log([&](std::string_view line) {
    const std::lock_guard lock(mutex);
    heard.emplace_back(line);
  });
  bring_up();
  rdmabench::set_log(nullptr);
  for (const std::string& line : heard) std::printf("%s\n", line.c_str());
  int missing = 0;
  for (const std::string wanted : {"loaded: lib", "chosen: loop: ", "session begun: 127.0.0.1",
                                   "session ended: 127.0.0.1", "connection refused: 127.0.0.1"}) {
    bool found = false;
    for (const std::string& line : heard) found = found || line.find(wanted) != std::string::npos;
    if (!found) std::printf("no line has '%s'\n", wanted.c_str()), ++missing;
  }
  return missing;
}
