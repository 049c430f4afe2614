#include "local_ranks.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/descriptor.h"
#include "control/launch.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools::nccltests {
namespace {

constexpr auto kEndWait = std::chrono::seconds(10);
constexpr auto kPause = std::chrono::milliseconds(5);

/// A port that is free now. If another process takes it before rank 0 does, the run ends with an
/// error that says so.
std::uint16_t free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (socket.get() < 0 || ::bind(socket.get(), any, sizeof address) != 0 ||
      ::getsockname(socket.get(), any, &size) != 0) {
    throw Error(Fault::failed, "bind a port of 127.0.0.1", "", errno);
  }
  return ntohs(address.sin_port);
}

}  // namespace

bool is_launched() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  return std::ranges::any_of(control::launchers(), is_set, &control::Launcher::rank) ||
         is_set("PMIX_RANK") || is_set("JOB_COMPLETION_INDEX");
}

int LocalRanks::spawn_self(pid_t* child, char* const* arguments) {
  return ::posix_spawn(child, "/proc/self/exe", nullptr, nullptr, arguments, environ);
}

/// Delegates to the default constructor: the object is then complete, so its destructor ends the
/// ranks that were started if the body throws.
LocalRanks::LocalRanks(std::uint32_t ranks, const std::vector<std::string>& words,
                       const Spawn& spawn)
    : LocalRanks() {
  children_.reserve(ranks);
  ::setenv("RDMABENCH_SIZE", std::to_string(ranks).c_str(), 1);
  ::setenv("RDMABENCH_RENDEZVOUS", fmt::format("127.0.0.1:{}", free_port()).c_str(), 1);
  std::vector<std::string> copies{"rdmabench"};
  copies.insert(copies.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    ::setenv("RDMABENCH_RANK", std::to_string(rank).c_str(), 1);
    pid_t child = -1;
    if (const int code = spawn(&child, arguments.data()); code != 0) {
      throw Error(Fault::failed, fmt::format("start rank {} of {}", rank, ranks), "", code);
    }
    children_.push_back(child);
  }
  ::setenv("RDMABENCH_RANK", "0", 1);
}

LocalRanks::~LocalRanks() {
  for (const pid_t child : children_) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

bool LocalRanks::wait() {
  const Deadline deadline = Deadline::after(kEndWait);
  bool good = true;
  while (!children_.empty() && !deadline.passed()) {
    int status = 0;
    const pid_t ended = ::waitpid(children_.back(), &status, WNOHANG);
    if (ended == 0) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    good = good && ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    children_.pop_back();
  }
  return good && children_.empty();
}

}  // namespace rdmabench::inline v1::tools::nccltests
