// --cpu_util: how busy the processors of this machine were.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace rdmabench::inline v1::tools::perftest {

/// Reads the kernel's counters between epochs, at most ten times a second. One thread at a time may
/// use it. Source: proc(5), /proc/stat.
class CpuMeter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit CpuMeter(std::string file = "/proc/stat") : file_(std::move(file)) {}

  /// An epoch of messages of that size ended at `now`.
  void add(std::uint64_t size_bytes, Time now);

  /// The share of all processors' time that was not idle, from the first to the last reading of
  /// that size; 0 to 100. NaN where there were fewer than two, or the file cannot be read.
  double percent(std::uint64_t size_bytes) const;

 private:
  struct Ticks {
    std::uint64_t all = 0;
    std::uint64_t idle = 0;
  };
  struct Span {
    Time due;
    Ticks first;
    Ticks last;
  };

  Ticks read() const;

  std::string file_;
  std::map<std::uint64_t, Span> spans_;  // by size
};

}  // namespace rdmabench::inline v1::tools::perftest
