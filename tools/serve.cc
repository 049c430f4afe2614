// rdmabench serve
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/descriptor.h"
#include "base/shared_memory_files.h"
#include "base/text.h"
#include "commands.h"
#include "flags/fields.h"
#include "log_queue.h"
#include "options.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/server.h"
#include "run/server_options.h"

namespace rdmabench::inline v1::tools {
namespace {

/// Takes SIGINT, SIGTERM and SIGHUP in a thread of its own, and blocks them in all others: while
/// libfabric loads its providers one of them, psm2, has handlers of its own, which end the process
/// with 1. A SIGHUP that is ignored, as nohup(1) has it, still is.
/// The first signal ends the sessions, which tell their clients, and the server within a second.
/// More of them change nothing: timeout(1) sends two.
class StopSignals {
 public:
  /// Before any other thread is started: those have the mask of this one.
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    struct sigaction hangup {};
    sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) sigaddset(&signals_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this] { wait(); });
  }
  ~StopSignals() {
    over_ = true;
    // It is blocked, and sigwait() takes it: NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread)
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }
  StopSignals& operator=(StopSignals&&) = delete;

  /// Null before the server is destroyed.
  void set_server(run::Server* server) {
    const std::lock_guard lock(mutex_);
    server_ = server;
  }

 private:
  void wait() {
    int signal = 0;
    sigwait(&signals_, &signal);
    if (over_) return;
    {
      const std::lock_guard lock(mutex_);
      if (server_ != nullptr) server_->stop();
    }
    const Deadline limit = Deadline::after(std::chrono::milliseconds(950));
    while (!over_ && !limit.passed()) {  // a second signal changes nothing
      const timespec left{0, static_cast<long>(limit.left() / std::chrono::nanoseconds(1))};
      sigtimedwait(&signals_, nullptr, &left);
    }
    if (!over_) stop_at_once();
  }

  /// Where a library's call keeps a session: the kernel frees what it has.
  [[noreturn]] static void stop_at_once() {
    constexpr std::string_view kText =
        "rdmabench: not all ended within a second; a library's call may not return. The process "
        "ends now.\n";
    pollfd room{STDERR_FILENO, POLLOUT, 0};  // who does not read must not keep us either
    if (poll(&room, 1, 0) > 0) {
      static_cast<void>(!::write(STDERR_FILENO, kText.data(), kText.size()));
    }
    _exit(0);
  }

  sigset_t signals_{};
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  run::Server* server_ = nullptr;
  std::thread thread_;
};

std::string log_line(const std::string& line) {
  return utc_text(std::time(nullptr), "%Y-%m-%dT%H:%M:%SZ ") + with_flags(line);
}

/// What clients and servers of this user left in /dev/shm when they were killed.
void clean(LogQueue& log) {
  const RemovedFiles removed = remove_abandoned_memory();
  if (removed.count > 0) log.put(log_line(to_text(removed)));
}

struct State {
  run::ServerConfig config;
  bool with_parent = false;
};

/// Blocks of this size and more are mapped, and so given back when a session ends. By default
/// glibc moves the limit up to 32 MiB as such blocks are freed, and keeps later ones in its heaps:
/// 500 MiB after 100 sessions over libfabric. Source: mallopt(3).
void give_back_large_blocks() {
#ifdef M_MMAP_THRESHOLD
  constexpr int kLarge = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLarge);
#endif
}

int serve(State& state) {
  const run::ServerConfig& config = state.config;
  if (config.cpus.size() == 1) pin_this_thread(config.cpus[0]);
  if (state.with_parent) prctl(PR_SET_PDEATHSIG, SIGTERM);
  raise_descriptor_limit();
  give_back_large_blocks();
  StopSignals signals;
  run::check_device(config.device);  // else each client would be told, and nobody here
  LogQueue log(STDERR_FILENO);
  run::Server server(
      config, [&log](const run::SessionEvent& event) { log.put(log_line(run::line_of(event))); });
  signals.set_server(&server);
  log.put(fmt::format("rdmabench: listening on {}:{}{}",
                      config.address.empty() ? "*" : config.address, server.port(),
                      who_is_served(config.authentication)));
  clean(log);
  server.run();
  signals.set_server(nullptr);
  clean(log);
  return 0;
}

void add_options(const OptionGroup& group, run::ServerConfig& config) {
  const auto add = [&](const char* /*name*/, const std::string& flag, auto& value, const char* help,
                       const run::Bounds& bounds = {}) {
    using T = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<T, control::Authentication>) {
      add_authentication(group, value);
    } else if constexpr (std::is_same_v<T, std::vector<int>>) {
      add_cpus(group, value);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      group.list(flag, value, help)->allow_extra_args(false);
    } else if (!flag.empty()) {
      group.add(flag, value, help, bounds);
    }
  };
  run::walk_options(config, add);
}

}  // namespace

void add_serve(CLI::App& app, Command& command) {
  const auto [sub, state] = add_command<State>(
      app, command, "serve", "Run the server that clients measure against",
      "Runs until SIGINT, SIGTERM or SIGHUP and serves several clients at once. The clients set every parameter.\n"
      "It writes one line per client to standard error. It serves those alone who have the same token,\n"
      "by default this user's own file, made at first use: docs/security.md; they can make this machine send\n"
      "data to where they connect from and use memory, within the limits below: docs/limits.md.",
      serve);
  run::ServerConfig& config = state.config;
  config.command = "rdmabench serve";
  add_options(OptionGroup(sub), config);
  sub.add_flag("--with-parent", state.with_parent)->group("");  // for the demo's own server
}

}  // namespace rdmabench::inline v1::tools
