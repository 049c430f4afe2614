// The options that measuring commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "rdmabench/run/config.h"

namespace rdmabench::tools {

struct Options {
  run::Config config;
  std::string host;
  std::uint16_t port = run::kDefaultPort;
  int cpu = -1;
  std::string transport;
  std::string format = "table";
  std::string output;  ///< "" = standard output
  std::string stop;    ///< which option set the rule, to refuse a second one
};

/// HOST, and everything that says what to measure.
void add_measuring(CLI::App& app, Options& options);

/// --format and --output.
void add_output(CLI::App& app, Options& options);

/// --cpu: on which processor to run.
void add_cpu(CLI::App& app, int& cpu);

/// --port.
void add_port(CLI::App& app, std::uint16_t& port);

/// An option whose text a function of the library reads; its Error then names the option.
template <class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, Parse&& parse,
                        const std::string& help) {
  return app.add_option_function<std::string>(name, std::forward<Parse>(parse), help);
}

/// What no single option can tell: throws Error(usage). A transport that was named settles the back
/// end.
void settle(Options& options);

}  // namespace rdmabench::tools
