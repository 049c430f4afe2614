// A sweep over sizes with its progress, which another thread cancels in the third size: what is
// finished stays.
//
//   cancelled_sweep [LIMIT_MS]     fails too where run() returns later than that after the stop
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <semaphore>
#include <stop_token>
#include <thread>

#include <rdmabench/rdmabench.h>

namespace run = rdmabench::run;
namespace report = rdmabench::report;
using Clock = std::chrono::steady_clock;

namespace {

run::Config sweep() {
  run::Config config;
  config.backend = "loop";
  config.sizes = {8, 64, 4096, 65536};
  config.counts = {1000, 1000, 4'000'000'000, 1000};  // the third takes minutes
  return config;
}

/// A stop that was requested before anything is connected is an exception.
bool throws_before_it_begins() {
  std::stop_source source;
  source.request_stop();
  try {
    run::run_in_process(sweep(), {.stop = source.get_token()});
  } catch (const rdmabench::Cancelled& cancelled) {
    return cancelled.fault() == rdmabench::Fault::cancelled;
  }
  return false;
}

/// Later it is a result: the rows that were finished, and the one that was cut.
bool is_as_cancelled(const report::Report& result) {
  const auto& rows = result.latency();
  return result.error && result.failure && result.failure->fault == rdmabench::Fault::cancelled &&
         rows.size() == 3 && rows[0].complete && rows[0].latency.count == 1000 &&
         rows[1].complete && !rows[2].complete;
}

}  // namespace

int main(int argc, char** argv) try {
  std::stop_source source;
  std::binary_semaphore third_size(0);
  Clock::time_point asked;
  std::thread user([&] {  // a button, a deadline, a signal's thread
    third_size.acquire();
    asked = Clock::now();
    source.request_stop();
  });

  run::RunHooks hooks;
  hooks.stop = source.get_token();
  hooks.on_row = [](const report::Report& so_far) {
    const auto& row = so_far.latency().back();
    std::printf("%llu bytes: p50 %.0f ns\n", static_cast<unsigned long long>(row.size_bytes),
                row.latency.p50_ns);
  };
  bool told = false;
  hooks.on_progress = [&](const run::Progress& progress) {
    if (progress.size_index < 2 || told) return;
    told = true;
    third_size.release();
  };
  const report::Report result = run::run_in_process(sweep(), hooks);
  const auto returned = Clock::now();
  if (!told) third_size.release();
  user.join();

  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(returned - asked);
  std::printf("%lld ms after the stop: %s\n", static_cast<long long>(took.count()),
              result.error.value_or("no error").c_str());
  const bool in_time = argc < 2 || took.count() <= std::atoi(argv[1]);
  return in_time && is_as_cancelled(result) && throws_before_it_begins() ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
