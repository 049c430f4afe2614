// SIGINT, SIGTERM and SIGHUP to a command that measures: what is finished is written, then it ends
// with 128 + signal.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/event.h"

namespace rdmabench::tools {

/// Called when there is a result that a signal must not lose. From then on the first signal
/// requests the stop of interruption(), and the second one ends the process. Who ignored one of
/// them, as nohup(1) does, still ignores it. Thread rule: any.
void catch_interruption();

std::stop_token interruption();

/// "interrupted by SIGINT"; "" without a signal.
std::string interrupted();

/// 128 + the signal's number after one, else `code`.
int exit_status(int code);

/// Calls `write_and_end` in a thread of its own at the first signal: for a command whose main
/// thread may be in a call that does not return.
class OnInterruption {
 public:
  explicit OnInterruption(std::function<void()> write_and_end);
  ~OnInterruption();
  OnInterruption(const OnInterruption&) = delete;
  OnInterruption& operator=(const OnInterruption&) = delete;

 private:
  Event ended_;
  std::thread thread_;
};

}  // namespace rdmabench::tools
