// Where the clients of an incast wait for one another.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::run {

/// Lets clients through in groups, so that they start together. A group is the clients of one job
/// that came for the same number of clients. Thread rule: any thread.
class IncastBarrier {
 public:
  /// Returns when `clients` threads of `job` have called it, this one among them. Throws
  /// Error(failed) with the number of threads that called it when the deadline passes or `stop` is
  /// requested.
  void pass(const std::string& job, std::uint32_t clients, const Deadline& deadline,
            const std::stop_token& stop = {});

  /// Groups that somebody waits in.
  std::size_t groups();

 private:
  struct Group {
    std::uint32_t waiting = 0;  ///< for the next opening
    std::uint32_t inside = 0;   ///< threads that have not returned yet
    std::uint64_t opened = 0;   ///< how often it was complete
  };

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::pair<std::string, std::uint32_t>, Group> groups_;
};

}  // namespace rdmabench::inline v1::run
