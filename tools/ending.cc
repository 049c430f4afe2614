#include "ending.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <stop_token>

#include "flags/fields.h"
#include "rdmabench/base/error.h"

namespace rdmabench::tools {

int fail(const std::exception& error) {
  std::fputs(fmt::format("rdmabench: {}\n", with_flags(error.what())).c_str(), stderr);
  const auto* const known = dynamic_cast<const Error*>(&error);
  return static_cast<int>(known != nullptr ? known->fault() : Fault::failed);
}

CloseLimit::CloseLimit(std::chrono::nanoseconds limit, int code)
    : watcher_([this, limit, code] { watch(limit, code); }) {}

CloseLimit::~CloseLimit() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
  watcher_.join();
}

void CloseLimit::watch(std::chrono::nanoseconds limit, int code) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, limit, [this] { return closed_; })) return;
  std::fputs(
      fmt::format("rdmabench: the results are written, but the endpoints are not closed "
                  "after {:g} s: their driver waits for packets that it cannot send, for example "
                  "while a link is down. The process ends now.\n",
                  std::chrono::duration<double>(limit).count())
          .c_str(),
      stderr);
  _exit(code);  // exit(3) would run destructors, which may not return either
}

namespace {

std::stop_source stopping;

/// The first signal ends the run, so that what is finished is written; the second one ends the
/// process. No callback is registered with the stop_source, so that requesting the stop only sets
/// an atomic flag.
extern "C" void stop_running(int signal) {
  stopping.request_stop();
  std::signal(signal, SIG_DFL);
}

}  // namespace

int run_and_write(const run::Config& config, const std::string& host, std::uint16_t port,
                  const run::OnProgress& on_progress, const Write& write) {
  int code = 0;
  std::optional<CloseLimit> limit;
  const run::OnReport on_report = [&](const report::Report& report) {
    try {
      code = write(report);
    } catch (const std::exception& error) {
      code = fail(error);  // now: closing may take long
    }
    limit.emplace(config.timeout, code);
  };
  std::signal(SIGINT, stop_running);
  std::signal(SIGTERM, stop_running);
  const run::RunHooks hooks{
      .on_progress = on_progress, .on_report = on_report, .stop = stopping.get_token()};
  if (config.backend == "loop") {
    run::run_in_process(config, hooks);
  } else {
    run::run(config, host, port, hooks);
  }
  return code;
}

}  // namespace rdmabench::tools
