// A sweep that its program cancels in the middle of the third size: what is finished stays.
//
//   cancelled_sweep LIMIT_MS     of the time from the stop to the return
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <rdmabench/rdmabench.h>

namespace report = rdmabench::report;
using Clock = std::chrono::steady_clock;

int main(int argc, char** argv) {
  const std::chrono::milliseconds limit(argc > 1 ? std::atoi(argv[1]) : 100);
  rdmabench::run::Config config;
  config.backend = "loop";
  config.sizes = {8, 64, 4096, 65536};
  config.counts = {1000, 1000, 4'000'000'000, 1000};  // the third takes minutes
  std::stop_source source;
  Clock::time_point asked;
  std::promise<void> under_way;
  std::thread user([&] {
    under_way.get_future().wait();
    asked = Clock::now();
    source.request_stop();
  });
  bool told = false;
  const auto on_progress = [&](const rdmabench::run::Progress& progress) {
    if (progress.size_index == 2 && !std::exchange(told, true)) under_way.set_value();
  };
  const report::Report report = rdmabench::run::run_in_process(
      config, {.on_progress = on_progress, .stop = source.get_token()});
  const auto returned = Clock::now();
  if (!told) under_way.set_value();
  user.join();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(returned - asked);
  const auto& rows = std::get<std::vector<report::LatencyResult>>(report.results);
  std::printf("%zu rows, returned %lld ms after the stop: %s\n", rows.size(),
              static_cast<long long>(took.count()), report.error.value_or("no error").c_str());
  const bool whole = rows.size() == 3 && rows[0].complete && rows[0].latency.count == 1000 &&
                     rows[1].complete && rows[1].latency.count == 1000 && !rows[2].complete;
  const bool as_cancelled = report.failure && report.failure->outcome == "cancelled";
  return whole && as_cancelled && took <= limit ? 0 : 1;
}
