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

/// What goes between a child and its parent.
enum class FrameKind : char {
  word = 'w',     ///< for the other end of the case, or from it
  outcome = 'o',  ///< the child's last
  ended = 'e',    ///< the other end has failed or is no more
};
struct Frame {
  FrameKind kind;
  std::string text;
};

inline constexpr std::size_t kMaxFrame = 16384;  // of a word; an outcome may have more

/// One end of a socket pair that keeps the bounds of messages. Thread rule: one thread at a time.
class Pipe {
 public:
  explicit Pipe(int fd) : fd_(fd) {}
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int handle() const { return fd_; }
  /// False when the other end is closed, or does not read.
  bool send(FrameKind kind, std::string_view text);
  /// Nothing within `wait`, or `closed` set.
  std::optional<Frame> receive(std::chrono::milliseconds wait, bool& closed);

 private:
  int fd_;
};

/// What each of the two sides is at: written by the child, and still there when it is dead.
struct Steps {
  static constexpr std::size_t kLength = 240;
  char text[2][kLength];
};

/// Runs in the child; its result is sent as the outcome.
using Work = std::function<std::string(Pipe& parent, Steps& steps)>;

/// Ends with the object, whatever the child is at.
class Child {
 public:
  /// Forks. Standard output of the child is standard error, so that a plugin that prints does not
  /// spoil results. Throws Error(failed).
  explicit Child(const Work& work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Pipe& pipe() { return *pipe_; }
  /// "while ...", by the step that the child wrote last, or "".
  std::string at() const;
  /// Waits for the end of a child that closed its pipe, and says how it ended: "crashed (SIGSEGV)".
  std::string autopsy();

 private:
  pid_t pid_ = -1;
  Steps* steps_ = nullptr;
  std::optional<Pipe> pipe_;
};

/// Until the child's outcome is here. Throws Error(failed) that says how it crashed or that it
/// hangs, and at what.
std::string outcome_of(Child& child, const Deadline& deadline);

}  // namespace rdmabench::netplugin
