// A child process in which a plugin may crash or hang.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::netplugin {

/// Kinds of frames between a child and its parent.
enum class FrameKind : char {
  message = 'w',  ///< to or from the other end of the case
  result = 'o',   ///< the task's result, the last frame of a child
  ended = 'e',    ///< the other end has failed or is no more
};
struct Frame {
  FrameKind kind;
  std::string text;
};

inline constexpr std::size_t kMaxFrame = 16384;  // of a message; a result may be larger

/// One end of a socket pair of type SOCK_SEQPACKET. Thread rule: one thread at a time.
class Pipe {
 public:
  explicit Pipe(int fd) : fd_(fd) {}

  /// False if the other end is closed or does not read.
  bool send(FrameKind kind, std::string_view text);
  /// Nothing if no frame comes within `wait`, or if the other end is closed; then `closed` is set.
  std::optional<Frame> receive(std::chrono::milliseconds wait, bool& closed);

 private:
  Descriptor fd_;
};

/// The current step of each end. The child writes it to shared memory; the parent can read it after
/// a crash.
struct Steps {
  static constexpr std::size_t kLength = 240;
  char text[2][kLength];
  std::atomic<int> signal;     ///< that a handler of the plugin took over; 0 if none
  std::atomic<int> exit_code;  ///< 1 + what exit() was called with; 0 if it was not
};

inline constexpr std::size_t kMostLogBytes = std::size_t{64} << 20;  ///< that are kept of a child

/// Called in the child after a call that may install handlers of crashes: from then on a signal is
/// noted before the handler of the plugin runs. Any thread may call it; without a child it does
/// nothing.
void watch_handlers();

/// Runs in the child; its result is the text of FrameKind::result.
using Work = std::function<std::string(Pipe& parent, Steps& steps)>;

/// A child process. What it writes to standard output and standard error is kept in order, through
/// its crash, too. The destructor kills it.
class Child {
 public:
  /// Forks. Throws Error(failed).
  explicit Child(const Work& work);
  ~Child();
  Child& operator=(Child&&) = delete;

  Pipe& pipe() { return *pipe_; }
  /// " while STEP", with the last step of each end, or "".
  std::string at() const;
  /// Waits for the end of a child that closed its pipe. "crashed (SIGSEGV)", "called exit(1)",
  /// "crashed (SIGSEGV), and its own signal handler ended the process (exit code 1)".
  std::string exit_text();
  /// What a child does that gives no result: "hangs", or that its signal handler does not return.
  std::string delay() const;
  /// Whether a handler of the plugin took over a crash.
  bool handled_crash() const { return steps_->signal != 0; }
  /// Whether it has ended. Its pipe may still be open in a process that it started.
  bool ended() const;
  /// All that it has written so far.
  std::string log() const;

 private:
  pid_t pid_ = -1;
  Descriptor log_;
  Steps* steps_ = nullptr;
  std::optional<Pipe> pipe_;
};

/// Waits for the child's result. Throws Error(failed) that says whether the child crashed or hangs,
/// and at which step.
std::string result_text_of(Child& child, const Deadline& deadline);

}  // namespace rdmabench::inline v1::netplugin
