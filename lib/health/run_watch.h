// The conditions of one side of a run, from before its first epoch to after its last.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "health/counters.h"
#include "health/noise.h"
#include "health/placement.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1 {
class MessageFields;
}

namespace rdmabench::inline v1::health {

struct DeviceNode {
  std::string device;
  int numa_node = -1;
};

/// The conditions of one side of a run.
struct RunConditions {
  std::vector<report::Counter> counters;
  std::vector<report::Counter> bytes;  ///< byte_counters(); of this machine alone, not in messages
  std::vector<ThreadPlacement> threads;  ///< the thread that began the watch first
  Noise noise;
  double watched_ns = 0;  ///< from the end of begin() to the call of end()
  std::vector<DeviceNode> devices;
  std::string clock_source_begin;  ///< the kernel's clock source
  std::string clock_source_end;
  std::vector<std::string> notes;  ///< what could not be read; full sentences
};

/// Without the counters, which a report lists separately.
report::Facts condition_facts(const RunConditions& conditions);

/// Without `bytes`. A counter of an unknown class is refused.
void walk(MessageFields& fields, RunConditions& conditions);

struct WatchOptions {
  std::string root = "/";  ///< contains sys and proc
  std::chrono::nanoseconds noise = kNoiseSpin;
  /// how to wait; tests replace it
  std::function<void(std::chrono::nanoseconds)> sleep{};
};

/// Takes the snapshots around a run. begin() takes as long as its noise spin or the lifespan of the
/// kernel's counter cache (30 ms by default), whichever is longer; end() takes the latter. Thread
/// rule: both on the measuring thread, outside of every epoch. Failed reads become notes.
class RunWatch {
 public:
  /// Device names as for read_counters(), each once.
  explicit RunWatch(std::vector<std::string> devices, WatchOptions options = {});

  void begin();

  /// `others`: the placements of the other measuring threads, which watched themselves.
  RunConditions end(std::vector<ThreadPlacement> others = {});

 private:
  void settle(std::chrono::nanoseconds since);

  std::vector<std::string> devices_;
  WatchOptions options_;
  ThreadWatch thread_;
  RunConditions conditions_;
  Snapshot before_;
  std::chrono::steady_clock::time_point begin_{};
};

}  // namespace rdmabench::inline v1::health
