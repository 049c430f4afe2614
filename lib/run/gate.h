// Where the clients of an incast wait for one another.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

#include "rdmabench/base/deadline.h"

namespace rdmabench::run {

/// Lets clients through in groups, so that they start together. Groups are told apart by their size
/// alone. Thread rule: any thread.
class Gate {
 public:
  /// Returns when `clients` threads have called it, this one among them. Throws Error(failed) with
  /// the number of threads that called it when the deadline passes.
  void pass(std::uint32_t clients, const Deadline& deadline);

 private:
  struct Group {
    std::uint32_t waiting = 0;
    std::uint64_t opened = 0;  ///< how often it was complete
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, Group> groups_;
};

}  // namespace rdmabench::run
