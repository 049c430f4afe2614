// Decodes credentials of MUNGE in a thread of its own. While munged does not answer, munge_decode()
// takes ten seconds, and those who have nothing to do with that credential must not wait for it.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>

#include "base/event.h"
#include "secret.h"

namespace rdmabench::inline v1::control {

/// Thread rule: one thread.
class MungeDecoder {
 public:
  class Job {
   public:
    bool done() const noexcept { return done_; }

    /// Once done(): what munge_decode() returned, or throws what it threw.
    std::unique_ptr<WipedText> take();

   private:
    friend class MungeDecoder;
    std::string credential_;
    std::unique_ptr<WipedText> payload_;
    std::exception_ptr failure_;
    std::atomic<bool> done_{false};
  };

  /// Throws Error(failed) where this process has no room for one more file descriptor.
  MungeDecoder();
  /// Does not wait for munged.
  ~MungeDecoder();
  MungeDecoder& operator=(MungeDecoder&&) = delete;

  /// One after the other. A job that nobody holds any more is left out. The first call starts the
  /// thread. Throws Error(failed) where there is none for it.
  std::shared_ptr<Job> decode(std::string credential);

  /// Set once a job is done, until the caller clears it.
  const Event& event() const noexcept;

 private:
  struct State;
  static void work(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  bool started_ = false;
};

}  // namespace rdmabench::inline v1::control
