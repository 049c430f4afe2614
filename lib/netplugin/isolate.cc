#include "isolate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::netplugin {
namespace {

constexpr std::size_t kMostBytes = 192 * 1024;  // within the default socket buffer

Steps* shared_steps() {
  void* const page =
      mmap(nullptr, sizeof(Steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw Error(Fault::failed, "mmap(shared page)", "", errno);
  return new (page) Steps{};
}

Steps* noted = nullptr;  // of this child

/// Also keeps the destructors and handlers of the parent, which the child has a copy of, from
/// running.
void note_exit(int code, void* /*unused*/) {
  noted->exit_code = 1 + code;
  _exit(code);
}

constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
struct sigaction handlers[std::size(kFatal)];  // of the plugin

extern "C" void note_signal(int signal, siginfo_t* info, void* /*context*/) {
  const int saved = errno;
  int none = 0;
  noted->signal.compare_exchange_strong(none, signal);
  const auto at = static_cast<std::size_t>(std::find(kFatal, std::end(kFatal), signal) - kFatal);
  sigaction(signal, &handlers[at], nullptr);
  // An instruction that faults does so again after the return; a signal that was sent does not.
  if (info->si_code <= 0) raise(signal);
  errno = saved;
}

[[noreturn]] void run_child(const Work& work, int fd, int log, Steps& steps) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(one, SIG_DFL) == SIG_IGN) std::signal(one, SIG_IGN);
  }
  for (const int one : kFatal) std::signal(one, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  __fpurge(stdout);  // what the parent has not written yet is the parent's
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // a crash must not lose what was printed
  noted = &steps;
  on_exit(&note_exit, nullptr);
  // No socket of the parent, on which it listens or has a peer, is for the plugin.
  constexpr int kPipe = STDERR_FILENO + 1;
  dup2(fd, kPipe);
  fcntl(kPipe, F_SETFD, FD_CLOEXEC);
  close_range(kPipe + 1, ~0U, 0);
  Pipe parent(kPipe);
  int code = 0;
  try {
    parent.send(FrameKind::result, work(parent, steps));
  } catch (...) {
    code = 125;
  }
  _exit(code);  // does not run the plugin's destructors, which no case checks
}

}  // namespace

void watch_handlers() {
  if (noted == nullptr) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < std::size(kFatal); ++i) {
    struct sigaction now {};
    sigaction(kFatal[i], nullptr, &now);
    const bool ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &note_signal;
    if (ours || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) continue;
    handlers[i] = now;
    struct sigaction first = now;
    first.sa_flags |= SA_SIGINFO;
    first.sa_sigaction = &note_signal;
    sigaction(kFatal[i], &first, nullptr);
  }
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
    if (sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno != EAGAIN && errno != EINTR) return false;
    pollfd ready{fd_.get(), POLLOUT, 0};
    poll(&ready, 1, 1);
  }
  return false;
}

std::optional<Frame> Pipe::receive(std::chrono::milliseconds wait, bool& closed) {
  pollfd ready{fd_.get(), POLLIN, 0};
  if (poll(&ready, 1, static_cast<int>(wait.count())) <= 0) return std::nullopt;
  std::string text(kMostBytes + 1, '\0');
  const ssize_t got = recv(fd_.get(), text.data(), text.size(), MSG_DONTWAIT);
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
  log_ = Descriptor(memfd_create("rdmabench-log", MFD_CLOEXEC));
  pid_ = log_.get() < 0 ? -1 : fork();
  if (pid_ == 0) {
    close(pair[0]);
    run_child(work, pair[1], log_.get(), *steps_);
  }
  const int code = errno;
  close(pair[1]);
  pipe_.emplace(pair[0]);
  if (pid_ < 0) {
    munmap(steps_, sizeof(Steps));
    if (log_.get() < 0) throw Error(Fault::failed, "memfd_create()", "", code);
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

bool Child::ended() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

std::string Child::log() const {
  struct stat file {};
  if (fstat(log_.get(), &file) != 0) return "";
  std::string text(std::min(static_cast<std::size_t>(file.st_size), kMostLogBytes), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t part =
        pread(log_.get(), text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (part <= 0) break;
    got += static_cast<std::size_t>(part);
  }
  text.resize(got);
  return text;
}

std::string Child::delay() const {
  if (steps_->signal == 0) return "hangs";
  return fmt::format("crashed (SIG{}), and its own signal handler does not return",
                     sigabbrev_np(steps_->signal));
}

std::string Child::exit_text() {
  int status = 0;
  const Deadline deadline = Deadline::after(std::chrono::seconds(5));
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (deadline.passed()) {
      return steps_->signal != 0 ? delay() : "closed its connection to the parent and still runs";
    }
    usleep(1000);
  }
  pid_ = -1;
  const int first = steps_->signal;
  std::string text = first == 0 ? "" : fmt::format("crashed (SIG{})", sigabbrev_np(first));
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == first) return text;
    if (first != 0) text += ", and its own signal handler ";
    return text + fmt::format("crashed (SIG{})", sigabbrev_np(WTERMSIG(status)));
  }
  if (first != 0) {
    return text + fmt::format(", and its own signal handler ended the process (exit code {})",
                              WEXITSTATUS(status));
  }
  if (steps_->exit_code != 0) return fmt::format("called exit({})", steps_->exit_code - 1);
  return fmt::format("ended the process (exit code {})", WEXITSTATUS(status));
}

std::string result_text_of(Child& child, const Deadline& deadline) {
  bool closed = false;
  while (!closed) {
    if (deadline.passed()) {
      throw Error(Fault::failed, fmt::format("the plugin {}{}", child.delay(), child.at()));
    }
    const bool over = child.ended();  // asked first: what it sent before that can be read
    auto frame = child.pipe().receive(std::chrono::milliseconds(50), closed);
    if (frame && frame->kind == FrameKind::result) return std::move(frame->text);
    if (over && !frame) break;
  }
  throw Error(Fault::failed, fmt::format("the plugin {}{}", child.exit_text(), child.at()));
}

}  // namespace rdmabench::inline v1::netplugin
