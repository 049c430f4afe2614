// A child process in which a plugin may crash or hang.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rdmabench/base/deadline.h"

namespace rdmabench::netplugin {

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
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int handle() const { return fd_; }
  /// False if the other end is closed or does not read.
  bool send(FrameKind kind, std::string_view text);
  /// Nothing if no frame comes within `wait`, or if the other end is closed; then `closed` is set.
  std::optional<Frame> receive(std::chrono::milliseconds wait, bool& closed);

 private:
  int fd_;
};

/// The current step of each end. The child writes it to shared memory; the parent can read it after
/// a crash.
struct Steps {
  static constexpr std::size_t kLength = 240;
  char text[2][kLength];
};

/// Runs in the child; its result is the text of FrameKind::result.
using Work = std::function<std::string(Pipe& parent, Steps& steps)>;

/// A child process. The destructor kills it.
class Child {
 public:
  /// Forks. The child's standard output goes to standard error, so that prints of a plugin do not
  /// mix with results. Throws Error(failed).
  explicit Child(const Work& work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Pipe& pipe() { return *pipe_; }
  /// " while STEP", with the last step of each end, or "".
  std::string at() const;
  /// Waits for the end of a child that closed its pipe. "crashed (SIGSEGV)", "ended the process
  /// (exit code 1)".
  std::string autopsy();

 private:
  pid_t pid_ = -1;
  Steps* steps_ = nullptr;
  std::optional<Pipe> pipe_;
};

/// Waits for the child's result. Throws Error(failed) that says whether the child crashed or hangs,
/// and at which step.
std::string result_text_of(Child& child, const Deadline& deadline);

}  // namespace rdmabench::netplugin
