// The subcommands. Each adds itself to the command line, and runs if it was named.
//
// A file of tools/ parses, calls the library, prints and returns the exit code. The library
// measures and decides.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flags/flag.h"

namespace rdmabench::inline v1::tools {

/// What main() runs for the subcommand that was named; returns the exit code.
using Command = std::function<int()>;

/// Adds a command whose options are an object, which run() gets; both live as long as `app`.
template <class Options>
std::pair<CLI::App&, Options&> add_command(CLI::App& app, Command& command, const char* name,
                                           const char* about, const std::string& footer,
                                           int (*run)(Options& options)) {
  CLI::App* const sub = app.add_subcommand(name, about);
  if (!footer.empty()) sub->footer(footer);  // else that of `app`
  auto options = std::make_shared<Options>();
  sub->callback([=, &command] { command = [=] { return run(*options); }; });
  return {*sub, *options};
}

/// Another suite, and the names of its programs whose command lines are accepted.
struct Suite {
  std::string_view name;
  std::vector<std::string> programs;
  std::vector<Accepted> accepted;  ///< of each program
};
std::vector<Suite> suites();

void add_lat(CLI::App& app, Command& command);
void add_bw(CLI::App& app, Command& command);
void add_load(CLI::App& app, Command& command);
void add_serve(CLI::App& app, Command& command);
void add_devices(CLI::App& app, Command& command);
void add_reg(CLI::App& app, Command& command);
void add_fabric(CLI::App& app, Command& command);
void add_coll(CLI::App& app, Command& command);
void add_report(CLI::App& app, Command& command);
void add_doctor(CLI::App& app, Command& command);
void add_demo(CLI::App& app, Command& command);
void add_compare(CLI::App& app, Command& command);
void add_project(CLI::App& app, Command& command);
void add_decide(CLI::App& app, Command& command);
void add_netplugin(CLI::App& app, Command& command);
void add_completion(CLI::App& app, Command& command);

}  // namespace rdmabench::inline v1::tools
