#include "process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "control/secret.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"

namespace rdmabench::tools {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(10);

/// The child's first line; less where it ended or the time limit passed.
std::string first_line(int pipe) {
  const Deadline deadline = Deadline::after(kStartLimit);
  std::string line;
  while (line.find('\n') == std::string::npos && !deadline.passed()) {
    pollfd wait{.fd = pipe, .events = POLLIN, .revents = 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.left());
    if (poll(&wait, 1, static_cast<int>(left.count()) + 1) <= 0) continue;
    std::array<char, 256> some{};
    const ssize_t count = read(pipe, some.data(), some.size());
    if (count <= 0) break;
    line.append(some.data(), static_cast<std::size_t>(count));
  }
  return line;
}

/// A file without a name: the two processes need no home, and no file of the user.
int nameless_token(std::string_view bytes) {
  const int file = memfd_create("token", MFD_CLOEXEC);
  if (file < 0 || fchmod(file, S_IRUSR | S_IWUSR) != 0 ||
      ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    throw Error(Fault::failed, "a token in memory (memfd_create)", {}, errno);
  }
  return file;
}

}  // namespace

ServerProcess::ServerProcess(int cpu, const std::string& provider)
    : authentication_(control::Authentication::insecure()) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(Fault::failed, "pipe2", {}, errno);
  pipe_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<std::string> words{"rdmabench", "serve", "--address",    "127.0.0.1",
                                 "--port",    "0",     "--with-parent"};
  if (!provider.empty()) {  // whoever names it is the operator too
    words.insert(words.end(), {"--allow-provider", provider});
  }
  int token = -1;
  if (control::can_authenticate()) {
    const std::string bytes = control::random_bytes(control::kMinSecret);
    authentication_ = control::Authentication::secret(bytes);
    token = nameless_token(bytes);
    posix_spawn_file_actions_adddup2(&actions, token, token);  // which the child inherits
    words.insert(words.end(), {"--token-file", fmt::format("/proc/self/fd/{}", token)});
  } else {
    words.emplace_back("--insecure");
  }
  if (cpu >= 0) {
    words.emplace_back("--cpu");
    words.push_back(std::to_string(cpu));
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed =
      posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (token >= 0) close(token);
  const std::string line = failed == 0 ? first_line(pipe_) : "";
  const std::size_t colon = line.rfind(':');
  if (line.find("listening on ") == std::string::npos || colon == std::string::npos) {
    if (failed == 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(pipe_);
    throw Error(Fault::failed,
                fmt::format("the server process did not start; it printed '{}'", line), {}, failed);
  }
  port_ = static_cast<std::uint16_t>(std::strtoul(line.c_str() + colon + 1, nullptr, 10));
}

ServerProcess::~ServerProcess() {
  kill(pid_, SIGTERM);
  const Deadline deadline = Deadline::after(kStartLimit);
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (deadline.passed()) kill(pid_, SIGKILL);
    usleep(1000);
  }
  close(pipe_);
}

}  // namespace rdmabench::tools
