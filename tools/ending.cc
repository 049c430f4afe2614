#include "ending.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/descriptor.h"
#include "flags/fields.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/backends.h"
#include "terminal.h"
#include "writing.h"

namespace rdmabench::inline v1::tools {
namespace {

/// std::thread says no more than that something is unavailable.
std::string text_of(const std::exception& error) {
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  const bool thread =
      system != nullptr && system->code() == std::errc::resource_unavailable_try_again;
  return thread ? fmt::format(
                      "start a thread: {}. This user has as many as 'ulimit -u' allows, or "
                      "this service as many as its TasksMax.",
                      error.what())
                : with_flags(error.what());
}

std::stop_source stopping;
std::atomic<int> caught{0};
std::atomic<const Event*> event{nullptr};  // set by a signal

constexpr int kOfSignals = 128;  // as shells have it
constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

/// The first of them: the next one, whichever it is, ends the process. No callback is registered
/// with the stop_source, so that requesting the stop only sets an atomic flag.
extern "C" void stop_running(int signal) {
  const int before = errno;
  caught = signal;
  stopping.request_stop();
  if (const Event* const waited_for = event) waited_for->set();
  for (const int one : kSignals) {
    if (std::signal(one, SIG_DFL) == SIG_IGN) std::signal(one, SIG_IGN);
  }
  errno = before;
}

pid_t teller = 0;

/// Before there is a result: the process ends by the signal, but not without a word. A child that
/// was forked has another parent to speak for it.
extern "C" void tell_and_end(int signal) {
  if (getpid() == teller) {
    const std::string_view text = signal == SIGINT    ? "rdmabench: interrupted by SIGINT\n"
                                  : signal == SIGTERM ? "rdmabench: interrupted by SIGTERM\n"
                                                      : "rdmabench: interrupted by SIGHUP\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void set_handlers(void (*handler)(int)) {
  for (const int signal : kSignals) {
    if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

}  // namespace

void tell_interruption() {
  teller = getpid();
  set_handlers(tell_and_end);
}

void catch_interruption() {
  static const bool once = [] {
    set_handlers(stop_running);
    return true;
  }();
  static_cast<void>(once);
}

std::stop_token interruption() {
  return stopping.get_token();
}

int interrupting_signal() {
  return caught;
}

std::string interrupted() {
  const int signal = caught;
  if (signal == 0) return "";
  return fmt::format("interrupted by {}", signal == SIGINT    ? "SIGINT"
                                          : signal == SIGTERM ? "SIGTERM"
                                                              : "SIGHUP");
}

int exit_status(int code) {
  return caught == 0 ? code : kOfSignals + caught;
}

OnInterruption::OnInterruption(std::function<void()> write_and_end) {
  static const Event signalled;
  if (signalled.get() < 0 || ended_.get() < 0) throw Error(Fault::failed, "eventfd", {}, errno);
  event = &signalled;
  thread_ = std::thread([this, write_and_end = std::move(write_and_end)] {
    std::array<pollfd, 2> waits{pollfd{.fd = signalled.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = ended_.get(), .events = POLLIN, .revents = 0}};
    while (poll(waits.data(), waits.size(), -1) < 0) {
    }
    if (waits[0].revents != 0) write_and_end();
  });
  catch_interruption();
}

OnInterruption::~OnInterruption() {
  ended_.set();
  thread_.join();
}

std::string why_no_rows(const std::exception& unwritten) {
  return dynamic_cast<const NoReader*>(&unwritten) != nullptr
             ? "the reader of standard output left"
             : "standard output could not be written";
}

bool ended_unwritten(const report::Report& report) {
  const bool stopped = report.failure && report.failure->fault == Fault::cancelled;
  return stopped && stopping.stop_requested() && interrupted().empty();
}

int fail(const std::exception& error) {
  if (dynamic_cast<const NoReader*>(&error) != nullptr) return kOfSignals + SIGPIPE;
  tell(text_of(error));
  const auto* const known = dynamic_cast<const Error*>(&error);
  return static_cast<int>(known != nullptr ? known->fault() : Fault::failed);
}

CloseLimit::CloseLimit(std::chrono::nanoseconds limit, int code)
    : watcher_([limit, code](const std::stop_token& closed) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait_for(lock, closed, limit, [] { return false; });
        if (closed.stop_requested()) return;
        std::fputs(
            fmt::format("rdmabench: the results are written, but the endpoints are not closed "
                        "after {:g} s: their driver waits for packets that it cannot send, for "
                        "example while a link is down. The process ends now.\n",
                        std::chrono::duration<double>(limit).count())
                .c_str(),
            stderr);
        _exit(code);  // exit(3) would run destructors, which may not return either
      }) {}

int serve_one(run::ServerConfig config, const std::function<void(std::string_view line)>& tell,
              const std::function<void()>& listening) {
  config.max_clients = 1;
  config.sessions = 1;
  config.allow = config.allow_providers = {"any"};
  raise_descriptor_limit();
  run::Server server(config, [&](const run::SessionEvent& what) { tell(run::line_of(what)); });
  listening();
  server.run();  // until a client was served
  return server.failed_sessions() == 0 ? 0 : static_cast<int>(Fault::failed);
}

namespace {

/// Hooks by which a signal ends the run once something was timed.
run::RunHooks interruptible(const run::OnProgress& on_progress) {
  return {.on_progress =
              [on_progress](const run::Progress& progress) {
                catch_interruption();
                if (on_progress) on_progress(progress);
              },
          .stop = interruption()};
}

}  // namespace

int run_and_write(const run::Config& config, const std::string& host, std::uint16_t port,
                  const run::OnProgress& on_progress, const Write& write, const More& more,
                  bool each_load) {
  int code = 0;
  std::optional<CloseLimit> limit;
  std::exception_ptr unwritten;
  std::string why_unwritten;
  std::size_t rows = 0;
  const run::OnReport print = [&](const report::Report& report) {
    if (unwritten) return;
    try {
      erase_progress();
      write_text(more(report));
    } catch (const std::exception& error) {
      unwritten = std::current_exception();
      why_unwritten = why_no_rows(error);
      stopping.request_stop();  // what was measured may go elsewhere, too
    }
  };
  const run::OnReport print_row = [&](const report::Report& report) {
    // The last row is written with what is known of the whole run.
    if (++rows < config.sizes.size()) print(report);
  };
  const run::OnReport on_report = [&](report::Report report) {
    if (report.error && !interrupted().empty()) report.error = interrupted();
    if (ended_unwritten(report)) report.error = why_unwritten;
    erase_progress();
    try {
      code = write(report);
      if (unwritten) std::rethrow_exception(unwritten);
    } catch (const std::exception& error) {
      code = fail(error);  // now: closing may take long
    }
    limit.emplace(config.timeout, exit_status(code));
  };
  run::RunHooks hooks = interruptible(on_progress);
  if (more) {
    hooks.on_begin = print;
    hooks.on_row = print_row;
    if (each_load) hooks.on_load = print;
  }
  hooks.on_report = on_report;
  if (!run::reaches_others(config.backend)) {
    run::run_in_process(config, hooks);
  } else {
    run::run(config, host, port, hooks);
  }
  return code;
}

}  // namespace rdmabench::inline v1::tools
