#include "ending.h"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>

#include "base/descriptor.h"
#include "flags/fields.h"
#include "interruption.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/backends.h"
#include "writing.h"

namespace rdmabench::tools {
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

}  // namespace

int fail(const std::exception& error) {
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

run::RunHooks interruptible(const run::OnProgress& on_progress) {
  return {.on_progress =
              [on_progress](const run::Progress& progress) {
                catch_interruption();
                if (on_progress) on_progress(progress);
              },
          .stop = interruption()};
}

int serve_one(run::ServerConfig config, const run::OnEvent& on_event,
              const std::function<void()>& listening) {
  config.max_clients = 1;
  config.sessions = 1;
  config.allow = config.allow_providers = {"any"};
  raise_descriptor_limit();
  run::Server server(config, on_event);
  listening();
  server.run();  // until a client was served
  return server.failed_sessions() == 0 ? 0 : static_cast<int>(Fault::failed);
}

int run_and_write(const run::Config& config, const std::string& host, std::uint16_t port,
                  const run::OnProgress& on_progress, const Write& write) {
  int code = 0;
  std::optional<CloseLimit> limit;
  const run::OnReport on_report = [&](report::Report report) {
    if (report.error && !interrupted().empty()) report.error = interrupted();
    try {
      code = write(report);
    } catch (const std::exception& error) {
      code = fail(error);  // now: closing may take long
    }
    limit.emplace(config.timeout, exit_status(code));
  };
  run::RunHooks hooks = interruptible(on_progress);
  hooks.on_report = on_report;
  if (!run::reaches_others(config.backend)) {
    run::run_in_process(config, hooks);
  } else {
    run::run(config, host, port, hooks);
  }
  return code;
}

}  // namespace rdmabench::tools
