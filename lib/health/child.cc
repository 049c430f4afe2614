#include "child.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {

std::string read_all(int input, const Deadline& deadline) {
  std::string text(kMaxFileBytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left());
    pollfd ready{input, POLLIN, 0};
    const int found = poll(&ready, 1, static_cast<int>(left.count()));
    if (found == 0) break;
    if (found < 0) continue;
    const ssize_t got = read(input, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::optional<int> end_of(pid_t child, const Deadline& deadline,
                          std::chrono::milliseconds after_kill) {
  const Deadline last = Deadline::after(deadline.left() + after_kill);
  bool killed = false;
  int status = 0;
  for (;;) {
    const pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child || (got < 0 && errno == ECHILD)) break;
    if (!killed && deadline.passed()) {
      kill(-child, SIGKILL);
      killed = true;
    }
    if (last.passed()) return std::nullopt;
    usleep(1000);
  }
  // Else the signal came when it had ended already.
  const bool by_us = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return killed && by_us ? std::nullopt : std::optional(status);
}

}  // namespace rdmabench::inline v1::health
