// All that health can tell of one side of a run, from before its first epoch to after its last.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "health/counters.h"
#include "health/noise.h"
#include "health/placement.h"
#include "rdmabench/report/conditions.h"
#include "rdmabench/report/fact.h"

namespace rdmabench::health {

/// Where a device is attached.
struct DeviceNode {
  std::string device;
  int numa_node = -1;
};

/// What one side of a run found.
struct RunConditions {
  std::vector<report::Counter> counters;
  std::vector<Placement> threads;  ///< the one that watched first, then the others
  Noise noise;
  double watched_ns = 0;  ///< from the end of begin() to the call of end()
  std::vector<DeviceNode> devices;
  std::string clock_source_begin;  ///< what the kernel keeps time by
  std::string clock_source_end;
  std::vector<std::string> notes;  ///< what could not be read; whole sentences
};

/// For the wire and for report::Report::conditions. Counters are facts too, see counter_facts().
report::Facts to_facts(const RunConditions& conditions);

/// Without the counters, for a report that lists these by themselves.
report::Facts condition_facts(const RunConditions& conditions);

/// The peer's words, so trusted in nothing: Error(failed) for a counter without its five parts, an
/// unknown class, a negative or infinite number, or more than 1024 facts. A fact of another name is
/// skipped, so that a newer peer may tell more.
RunConditions conditions_from_facts(const report::Facts& facts);

struct WatchOptions {
  std::string root = "/";  ///< holds sys and proc
  std::chrono::nanoseconds noise = kNoiseSpin;
  /// How to wait; a test gives its own.
  std::function<void(std::chrono::nanoseconds)> sleep{};
};

/// Takes the snapshots around a run. begin() takes as long as its noise spin, or as the kernel's
/// cache of counters lives (30 ms by default), whichever is longer; end() takes the latter. Thread
/// rule: both on the measuring thread, outside of every epoch. Reading fails softly, into notes.
class RunWatch {
 public:
  /// Names as read_counters() takes them, each once.
  explicit RunWatch(std::vector<std::string> devices, WatchOptions options = {});

  void begin();

  /// `others` are the placements of further measuring threads, each watched by itself.
  RunConditions end(std::vector<Placement> others = {});

 private:
  void settle(std::chrono::nanoseconds since);

  std::vector<std::string> devices_;
  WatchOptions options_;
  ThreadWatch thread_;
  RunConditions conditions_;
  Snapshot before_;
  std::chrono::steady_clock::time_point begin_{};
};

}  // namespace rdmabench::health
