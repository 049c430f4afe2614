// The subcommands. Each adds itself to the command line, and runs if it was named.
//
// A file of tools/ parses, calls the library, prints and returns the exit code. The library
// measures and decides.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace rdmabench::tools {

/// What main() runs for the subcommand that was named; returns the exit code.
using Command = std::function<int()>;

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

}  // namespace rdmabench::tools
