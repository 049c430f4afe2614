// Lines for standard error, whoever reads it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/event.h"

namespace rdmabench::inline v1::tools {

/// Writes lines to a descriptor by a thread of its own. A reader that does not keep up, or does not
/// read at all, costs lines and never time: a full queue drops them, and the next line that is
/// written says how many.
class LogQueue {
 public:
  static constexpr std::size_t kMostLines = 1024;

  explicit LogQueue(int descriptor);
  /// Gives what is queued a tenth of a second.
  ~LogQueue();
  LogQueue& operator=(LogQueue&&) = delete;

  /// Thread rule: any thread. `line` has no end of line.
  void put(std::string line);

  std::uint64_t dropped();

 private:
  void write_lines();
  /// False when the descriptor takes no more before the end.
  bool write_all(const std::string& text);

  int descriptor_;
  Event wake_;  ///< readable once the queue is to end
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::string> lines_;
  std::uint64_t dropped_ = 0;       ///< in all ...
  std::uint64_t dropped_told_ = 0;  ///< ... and how many of them a line has told
  bool ending_ = false;
  std::thread writer_;
};

}  // namespace rdmabench::inline v1::tools
