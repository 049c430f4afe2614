#include "options.h"

#include <fmt/format.h>

#include <cstdio>

#include "../ending.h"
#include "../flags/fields.h"
#include "../flags/processors.h"
#include "../writing.h"
#include "base/refuse.h"
#include "control/tcp.h"
#include "output.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/client.h"

namespace rdmabench::inline v1::tools::fabtests {
namespace {

/// An error, or a line about a client, in the words of `program`.
void say(Program program, std::string_view text) {
  std::fputs(fmt::format("{}\n", with_flags(text, fields(program))).c_str(), stderr);
}

/// The numeric address of a name of this machine.
std::string numeric(const std::string& name) {
  if (name.empty()) return "";
  const control::LookUp found(name, 0);
  refuse_if(!found.error.empty(), fmt::format("-s {}: {}", name, found.error),
            "Name an address of this machine.");
  return found.endpoints.front().address();
}

int serve(const Options& options) {
  constexpr auto kMaxTimeout = std::chrono::minutes(10);
  run::check_this_side(options.config);
  run::ServerConfig config{.address = options.source,
                           .port = options.port,
                           .authentication = options.config.authentication,
                           .timeout = options.config.timeout,
                           .max_timeout = kMaxTimeout};
  if (!options.config.placement.devices.empty())
    config.device = options.config.placement.devices.front();
  return serve_one(config, [&](std::string_view line) { say(options.test, line); });
}

int measure(const Options& options) {
  run::check_this_side(options.config);
  std::size_t told = 0;
  const More more = [&](const auto& report) { return more_text(report, options, told); };
  const auto end = [&](const report::Report& report) {
    write_text(more(report));
    if (!report.error) return 0;
    if (!ended_unwritten(report)) say(options.test, *report.error);
    return static_cast<int>(Fault::failed);
  };
  return run_and_write(options.config, options.host, options.port, {}, end, more);
}

/// A failure must not look like a skipped test to fabtests' runner.
int exit_code(const Error& error) {
  constexpr int kFailure = 1;
  constexpr int kMost = 123;  // timeout(1), which runs the tests, has 124
  if (error.fault() == Fault::unavailable) return Skip::kNoData;
  const int code = error.code();
  const bool skips = code == Skip::kNoData || code == Skip::kNoSys;
  return code <= 0 || code > kMost || skips ? kFailure : code;
}

}  // namespace

int run(const Tool& tool, const std::vector<std::string>& words) {
  try {
    Options options = parse(tool.program, words);
    if (!options.answer.empty()) {
      say(tool.program, options.answer);
      return EXIT_FAILURE;
    }
    for (const std::string& note : options.notes) {
      say(tool.program, fmt::format("{}: {}", tool.name, note));
    }
    stay_on(options.cores, "--pin-core");
    options.config.placement.source_ip = numeric(options.source);
    return options.host.empty() ? serve(options) : measure(options);
  } catch (const Skip& skip) {
    say(tool.program, fmt::format("{}: skipped: {}", tool.name, skip.what()));
    return skip.code();
  } catch (const Error& error) {
    say(tool.program, fmt::format("{}: {}", tool.name, error.what()));
    return exit_code(error);
  }
}

}  // namespace rdmabench::inline v1::tools::fabtests
