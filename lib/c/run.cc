#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stop_token>

#include "c/guard.h"
#include "rdmabench.h"
#include "rdmabench/features.h"
#include "rdmabench/results/result.h"
#include "rdmabench/run/client.h"
#include "results/row.h"

struct rdmabench_cancel {
  // No callback is registered with it, so that a request only sets an atomic flag.
  std::stop_source source;
};

namespace rdmabench::inline v1::c {

static_assert(RDMABENCH_FAILED == static_cast<int>(Fault::failed) &&
              RDMABENCH_USAGE == static_cast<int>(Fault::usage) &&
              RDMABENCH_UNAVAILABLE == static_cast<int>(Fault::unavailable) &&
              RDMABENCH_CANCELLED == static_cast<int>(Fault::cancelled));

std::string failure_text(const std::exception& error) {
  return report::document_text(
      {{"error", error.what()}, {"failure", report::to_json(failure_of(error))}});
}

namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string to_text(const run::Progress& progress) {
  return nlohmann::ordered_json{{"size_index", progress.size_index},
                                {"sizes", progress.sizes},
                                {"size_bytes", progress.size_bytes},
                                {"iterations", progress.iterations},
                                {"target_iterations", progress.target_iterations},
                                {"elapsed_s", seconds(progress.elapsed)},
                                {"target_time_s", seconds(progress.target_time)},
                                {"messages_per_s", report::finite(progress.messages_per_s)}}
      .dump();
}

/// The caller's hooks, as far as they have the members that this version knows.
rdmabench_hooks known_hooks(const rdmabench_hooks* given) {
  rdmabench_hooks hooks{};
  if (given == nullptr) return hooks;
  if (given->size < sizeof hooks) {
    throw Error(Fault::usage, fmt::format("`size` of rdmabench_hooks is {}", given->size),
                "Set it to sizeof(rdmabench_hooks).");
  }
  return *given;
}

int measure(const char* config, const rdmabench_hooks* given, std::string& text) {
  const run::ClientConfig client = run::config_from_json(required(config, "the configuration"));
  const rdmabench_hooks hooks = known_hooks(given);
  std::stop_source stop = hooks.cancel != nullptr ? hooks.cancel->source : std::stop_source();
  const auto tell = [&](rdmabench_callback callback, const std::string& json) {
    if (callback(hooks.user, json.c_str()) != 0) stop.request_stop();
  };
  run::RunHooks calls{.stop = stop.get_token()};
  if (hooks.on_progress != nullptr) {
    calls.on_progress = [&](const run::Progress& progress) {
      tell(hooks.on_progress, to_text(progress));
    };
  }
  if (hooks.on_row != nullptr) {
    calls.on_row = [&](const report::Report& report) { tell(hooks.on_row, to_json(report)); };
  }
  if (hooks.on_report != nullptr) {
    calls.on_report = [&](const report::Report& report) {
      hooks.on_report(hooks.user, to_json(report).c_str());
    };
  }
  const report::Report report = client.host.empty()
                                    ? run::run_in_process(client.config, calls)
                                    : run::run(client.config, client.host, client.port, calls);
  text = to_json(report);
  return report.failure ? static_cast<int>(report.failure->fault) : RDMABENCH_OK;
}

}  // namespace
}  // namespace rdmabench::inline v1::c

extern "C" {

const char* rdmabench_version(void) {
  return RDMABENCH_VERSION;
}

void rdmabench_free(char* text) {
  std::free(text);
}

rdmabench_cancel* rdmabench_cancel_new(void) {
  try {
    return new rdmabench_cancel;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void rdmabench_cancel_request(rdmabench_cancel* cancel) {
  cancel->source.request_stop();
}

void rdmabench_cancel_free(rdmabench_cancel* cancel) {
  delete cancel;
}

int rdmabench_run(const char* config, const rdmabench_hooks* hooks, char** result) {
  return rdmabench::c::guarded(
      result, [&](std::string& text) { return rdmabench::c::measure(config, hooks, text); });
}

}  // extern "C"
