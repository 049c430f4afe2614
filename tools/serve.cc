// rdmabench serve
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/prctl.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>

#include "commands.h"
#include "flags/authentication.h"
#include "flags/fields.h"
#include "options.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/units.h"
#include "rdmabench/run/server.h"

namespace rdmabench::tools {
namespace {

std::atomic<run::Server*> serving{nullptr};

/// The first signal stops the server when its clients are done; the second one ends the process.
extern "C" void stop_serving(int signal) {
  if (run::Server* const server = serving) server->stop();
  std::signal(signal, SIG_DFL);
}

void log_line(const std::string& line) {
  std::fputs(
      fmt::format("{:%Y-%m-%dT%H:%M:%SZ} {}\n", fmt::gmtime(std::time(nullptr)), with_flags(line))
          .c_str(),
      stderr);
}

struct State {
  run::ServerConfig config;
  bool with_parent = false;
};

int serve(const State& state) {
  const run::ServerConfig& config = state.config;
  if (config.cpus.size() == 1) pin_this_thread(config.cpus[0]);
  if (state.with_parent) prctl(PR_SET_PDEATHSIG, SIGTERM);
  std::signal(SIGPIPE, SIG_IGN);  // a closed log must not end the sessions
  run::Server server(config, log_line);
  serving = &server;
  std::signal(SIGINT, stop_serving);
  std::signal(SIGTERM, stop_serving);
  std::fputs(fmt::format("rdmabench: listening on {}:{}{}\n",
                         config.address.empty() ? "*" : config.address, server.port(),
                         who_is_served(config.authentication))
                 .c_str(),
             stderr);
  server.run();
  serving = nullptr;
  return 0;
}

}  // namespace

void add_serve(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("serve", "Answer measurements of any number of clients");
  sub->footer(
      "Runs until SIGINT or SIGTERM and serves several clients at once. The clients set every parameter.\n"
      "It writes one line per client to standard error. It serves those alone who have the same token,\n"
      "by default this user's own file, made at first use: docs/security.md. With --insecure anyone who can\n"
      "connect to the port can make this machine send data and allocate receive buffers.");
  auto state = std::make_shared<State>();
  run::ServerConfig& config = state->config;
  sub->add_option("--address", config.address, "listen on this address only [all, IPv4 and IPv6]")
      ->type_name("ADDRESS");
  add_port(*sub, config.port);
  add_authentication(*sub, config.authentication, "Options");
  add_cpus(*sub, config.cpus);
  sub->add_option("--device", config.device,
                  "use this device only: NAME[:PORT] or a libfabric domain [to match the client]")
      ->type_name("NAME");
  sub->add_option("--max-clients", config.max_clients, "clients at once [64]")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  add_parsed(
      *sub, "--max-memory",
      [&config](const std::string& text) { config.max_memory = parse_size(text); },
      "memory that all sessions may register together [4G]")
      ->type_name("SIZE");
  add_parsed(
      *sub, "--timeout",
      [&config](const std::string& text) { config.timeout = parse_duration(text); },
      "how long a client may take for each step of its set-up [10s]")
      ->type_name("TIME");
  add_parsed(
      *sub, "--max-timeout",
      [&config](const std::string& text) { config.max_timeout = parse_duration(text); },
      "longest --timeout that a client may ask for [1m]")
      ->type_name("TIME");
  sub->add_flag("--with-parent", state->with_parent)->group("");  // for the demo's own server
  sub->callback([state, &command] { command = [state] { return serve(*state); }; });
}

}  // namespace rdmabench::tools
