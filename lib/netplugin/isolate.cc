#include "isolate.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include "rdmabench/base/error.h"

namespace rdmabench::netplugin {
namespace {

constexpr std::size_t kMostBytes = 192 * 1024;  // within the default socket buffer

Steps* shared_steps() {
  void* const page =
      mmap(nullptr, sizeof(Steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw Error(Fault::failed, "mmap(shared page)", "", errno);
  return new (page) Steps{};
}

[[noreturn]] void run_child(const Work& work, int fd, Steps& steps) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int one : {SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGBUS}) std::signal(one, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  Pipe parent(fd);
  int code = 0;
  try {
    parent.send(FrameKind::result, work(parent, steps));
  } catch (...) {
    code = 125;
  }
  _exit(code);  // does not run the plugin's destructors, which no case checks
}

}  // namespace

Pipe::~Pipe() {
  if (fd_ >= 0) close(fd_);
}

bool Pipe::send(FrameKind kind, std::string_view text) {
  if (text.size() > kMostBytes) return false;
  char mark = static_cast<char>(kind);
  iovec parts[2] = {{&mark, 1}, {const_cast<char*>(text.data()), text.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  // A reader that does not read must not block the writer forever.
  for (int tries = 0; tries < 1000; ++tries) {
    if (sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno != EAGAIN && errno != EINTR) return false;
    pollfd ready{fd_, POLLOUT, 0};
    poll(&ready, 1, 1);
  }
  return false;
}

std::optional<Frame> Pipe::receive(std::chrono::milliseconds wait, bool& closed) {
  pollfd ready{fd_, POLLIN, 0};
  if (poll(&ready, 1, static_cast<int>(wait.count())) <= 0) return std::nullopt;
  std::string text(kMostBytes + 1, '\0');
  const ssize_t got = recv(fd_, text.data(), text.size(), MSG_DONTWAIT);
  if (got <= 0) {
    closed = got == 0 || (errno != EAGAIN && errno != EINTR);
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(got));
  return Frame{static_cast<FrameKind>(text[0]), text.substr(1)};
}

Child::Child(const Work& work) : steps_(shared_steps()) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    munmap(steps_, sizeof(Steps));
    throw Error(Fault::failed, "socketpair()", "", errno);
  }
  pid_ = fork();
  if (pid_ == 0) {
    close(pair[0]);
    run_child(work, pair[1], *steps_);
  }
  const int code = errno;
  close(pair[1]);
  pipe_.emplace(pair[0]);
  if (pid_ < 0) {
    munmap(steps_, sizeof(Steps));
    throw Error(Fault::failed, "fork()", "Check the limit on processes (ulimit -u).", code);
  }
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  munmap(steps_, sizeof(Steps));
}

std::string Child::at() const {
  std::string text;
  for (const auto& one : steps_->text) {
    const std::string_view step(one, strnlen(one, Steps::kLength - 1));
    if (!step.empty()) text += fmt::format("{}{}", text.empty() ? " while " : ", and ", step);
  }
  return text;
}

std::string Child::autopsy() {
  int status = 0;
  const Deadline deadline = Deadline::after(std::chrono::seconds(5));
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (deadline.passed()) return "closed its connection to the parent and still runs";
    usleep(1000);
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    return fmt::format("crashed (SIG{})", sigabbrev_np(WTERMSIG(status)));
  }
  return fmt::format("ended the process (exit code {})", WEXITSTATUS(status));
}

std::string result_text_of(Child& child, const Deadline& deadline) {
  bool closed = false;
  while (!closed) {
    if (deadline.passed()) {
      throw Error(Fault::failed, fmt::format("the plugin hangs{}", child.at()));
    }
    auto frame = child.pipe().receive(std::chrono::milliseconds(50), closed);
    if (frame && frame->kind == FrameKind::result) return std::move(frame->text);
  }
  throw Error(Fault::failed, fmt::format("the plugin {}{}", child.autopsy(), child.at()));
}

}  // namespace rdmabench::netplugin
