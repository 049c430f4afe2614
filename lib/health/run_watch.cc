#include "health/run_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "devices.h"
#include "rdmabench/measure/clock.h"

namespace rdmabench::inline v1::health {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// The kernel counts the age of its cache in jiffies, of up to 10 ms, and rounds up.
constexpr milliseconds kJiffies(20);
// A lifespan may be up to 10 s, too long to wait after each run.
constexpr milliseconds kLongestSettle(1000);

std::string clock_source(const std::string& root) {
  return measure::read_clock_facts(root + "/sys").kernel_clocksource;
}

void sleep_for(nanoseconds time) {
  std::this_thread::sleep_for(time);
}

}  // namespace

RunWatch::RunWatch(std::vector<std::string> devices, WatchOptions options)
    : devices_(std::move(devices)), options_(std::move(options)), thread_(options_.root) {
  if (!options_.sleep) options_.sleep = sleep_for;
}

void RunWatch::begin() {
  conditions_ = RunConditions();
  for (const std::string& text : devices_) {
    const int node = numa_node_of(find_device(text, options_.root), options_.root);
    conditions_.devices.push_back({text, node});
  }
  conditions_.clock_source_begin = clock_source(options_.root);
  if (options_.noise.count() > 0) conditions_.noise = measure_noise(options_.noise);
  settle(options_.noise);
  before_ = read_counters(devices_, options_.root);
  thread_.begin();
  begin_ = std::chrono::steady_clock::now();
}

RunConditions RunWatch::end(std::vector<ThreadPlacement> others) {
  conditions_.watched_ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin_).count();
  conditions_.threads = {thread_.end()};
  std::move(others.begin(), others.end(), std::back_inserter(conditions_.threads));
  conditions_.clock_source_end = clock_source(options_.root);
  settle(nanoseconds(0));
  Snapshot after = read_counters(devices_, options_.root);
  conditions_.counters = difference(before_, after);
  conditions_.bytes = byte_counters(before_, after);
  conditions_.notes.insert(conditions_.notes.end(), after.notes.begin(), after.notes.end());
  return conditions_;
}

/// Waits until no counter can come from a cache filled before now - `since`. A cache from before
/// the first epoch would add earlier traffic to the run, one from before the end would lack traffic
/// of the run.
void RunWatch::settle(nanoseconds since) {
  const milliseconds life = lifespan(devices_, options_.root);
  if (life.count() == 0) return;
  const milliseconds wait = life + kJiffies;
  if (wait > kLongestSettle) {
    const std::string note = fmt::format(
        "The kernel refreshes hw_counters every {} ms only, which is not waited for, so changes "
        "may be missing: write 10 to their file lifespan.",
        life.count());
    if (conditions_.notes.empty() || conditions_.notes.back() != note)
      conditions_.notes.push_back(note);
  }
  const nanoseconds left = std::min<nanoseconds>(wait, kLongestSettle) - since;
  if (left.count() > 0) options_.sleep(left);
}

}  // namespace rdmabench::inline v1::health
