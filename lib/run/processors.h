// How the threads of a server that poll and find nothing share its processors.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace rdmabench::inline v1::run {

/// While there is a processor for each thread that polls, all of them spin. Where there are more
/// threads, each address of those that have some has an equal part of the processors. Thread rule:
/// any thread. It must outlive every Polling.
class Processors {
 public:
  explicit Processors(std::size_t count) : count_(static_cast<double>(count)) {}
  Processors& operator=(Processors&&) = delete;

 private:
  friend class Polling;
  using Threads = std::atomic<std::size_t>;

  double count_;
  Threads all_{0};
  std::atomic<std::size_t> addresses_{0};
  std::mutex mutex_;
  std::map<std::string, Threads> of_address_;  ///< of those that have some
};

/// The threads of a session, which poll for as long as this lives. Thread rule: any thread.
class Polling {
 public:
  Polling(Processors& processors, const std::string& address, std::size_t threads);
  ~Polling();
  Polling& operator=(Polling&&) = delete;

  /// How many times as long as it polls a thread has to sleep, so that those of its address that
  /// find nothing take no more than its part of the processors. 0: it may spin.
  double rest() const noexcept;

 private:
  Processors& processors_;
  std::size_t threads_;
  std::map<std::string, Processors::Threads>::iterator address_;
};

/// What one thread has to know of an epoch in which nothing arrives. `idle` is for how long nothing
/// has completed by then. Thread rule: one thread.
class IdleThread {
 public:
  /// A time without a completion counts as a pause where it is not shorter than `pause`.
  explicit IdleThread(std::chrono::nanoseconds pause) : pause_(pause) {}

  void note(std::chrono::nanoseconds idle) noexcept {
    if (idle < idle_) count();
    idle_ = idle;
  }

  /// How long to sleep; 0 while it may spin. `busy` is the processor time that this thread has had
  /// in all.
  std::chrono::nanoseconds nap(const Polling& polling, std::chrono::nanoseconds busy) noexcept;

  /// At the end: all pauses.
  std::chrono::nanoseconds paused() noexcept {
    count();
    return paused_;
  }

 private:
  void count() noexcept {
    if (idle_ >= pause_) paused_ += idle_;
    idle_ = {};
  }

  std::chrono::nanoseconds pause_;
  std::chrono::nanoseconds idle_{0};
  std::chrono::nanoseconds paused_{0};
  std::chrono::nanoseconds busy_{0};
};

}  // namespace rdmabench::inline v1::run
