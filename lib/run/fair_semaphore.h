// Limits how many sessions do costly work at once. They take turns in the order of arrival.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::run {

/// Libraries look for devices under locks that are not fair: of 200 sessions that open at once,
/// some would wait for half a minute. Thread rule: any thread. It must outlive its turns.
class FairSemaphore {
  struct Entry {
    explicit Entry(std::string of) : address(std::move(of)) {}

    std::string address;
    bool may_go = false;
    std::condition_variable_any changed;
  };
  using Entries = std::list<Entry>;
  struct End {
    Entries::iterator own;
    void operator()(FairSemaphore* turns) const noexcept { turns->end(own); }
  };

 public:
  /// Permission to continue. Its destruction passes it to the next in line.
  using Turn = std::unique_ptr<FairSemaphore, End>;

  /// `all` at once, and `each` of one address. Neither is 0. `command` has an option --timeout; ""
  /// = none has.
  FairSemaphore(std::size_t all, std::size_t each, std::string command = "")
      : all_(all), each_(each), command_(std::move(command)) {}
  FairSemaphore& operator=(FairSemaphore&&) = delete;

  /// Returns when it is the turn of a client at `address`, which must not wait for its peer until
  /// the turn has gone. Throws Error(failed) with the number of those before it when the deadline
  /// passes or `stop` is requested.
  Turn wait(const std::string& address, const Deadline& deadline, const std::stop_token& stop = {});

  std::size_t waiting();

 private:
  void hand_out() noexcept;
  void end(Entries::iterator own) noexcept;

  std::size_t all_;
  std::size_t each_;
  std::string command_;
  std::mutex mutex_;
  Entries waiting_;  ///< the first one first
  Entries held_;
};

}  // namespace rdmabench::inline v1::run
