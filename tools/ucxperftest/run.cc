#include <fmt/format.h>

#include "../ending.h"
#include "../flags/processors.h"
#include "../writing.h"
#include "options.h"
#include "output.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/run/client.h"

namespace rdmabench::inline v1::tools::ucx_perftest {
namespace {

void say(std::string_view text) {
  tools::tell(with_flags(text, fields()));
}

/// Whoever starts it says by that whom it serves; it serves one client.
int serve(const Options& options) {
  run::check_this_side(options.config);
  run::ServerConfig config{.port = options.port,
                           .backend = options.config.backend,
                           .authentication = options.config.authentication,
                           .timeout = options.config.timeout};
  if (!options.config.placement.devices.empty())
    config.device = options.config.placement.devices.front();
  return serve_one(config, say, [] { write_text("Waiting for connection...\n"); });
}

int measure(const Options& options) {
  run::check_this_side(options.config);
  const More begin = [&](const report::Report& /*report*/) { return heading(options); };
  const auto end = [&](const report::Report& report) {
    write_text(result_row(report, options));
    if (!report.error) return 0;
    if (!ended_unwritten(report)) say(*report.error);
    return static_cast<int>(Fault::failed);
  };
  return run_and_write(options.config, options.host, options.port, {}, end, begin);
}

}  // namespace

int run(const Tool& /*tool*/, const std::vector<std::string>& words) {
  const Options options = parse(words);
  if (!options.answer.empty()) {
    write_text(options.answer);
    return 0;
  }
  for (const std::string& note : options.notes) say(note);
  try {
    stay_on(options.processors, "-c");
    return options.host.empty() ? serve(options) : measure(options);
  } catch (const NoReader&) {
    throw;
  } catch (const Error& error) {
    say(error.what());
    return static_cast<int>(error.fault());
  }
}

}  // namespace rdmabench::inline v1::tools::ucx_perftest
