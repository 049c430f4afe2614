// The options that measuring commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expect.h"
#include "option_group.h"
#include "rdmabench/control/rendezvous.h"
#include "rdmabench/run/config.h"
#include "run/options.h"

namespace rdmabench::inline v1::tools {

struct Options : Output {
  run::Config config;
  std::string host;
  std::uint16_t port = run::kDefaultPort;
  bool verbose = false;           ///< every suspicion with its numbers
  std::uint32_t launches = 1;     ///< how often the whole is measured, each time in a process
  std::uint32_t port_number = 0;  ///< of the device, perftest's -i; 0 = any
  Limits expect;
  std::string stop;  ///< the option that set the rule; a second one is refused
};

/// Adds the options that run/options.h has under that heading for one of `tests`, and those of the
/// command line alone.
void add_options(CLI::App& app, Options& options, std::string_view group, run::TestSet tests);

/// HOST, and everything that says what to measure by `test`.
void add_measuring(CLI::App& app, Options& options, run::TestSet test);

/// Options of the connection, but not of what is measured: queues, path, memory and processors.
void add_link(CLI::App& app, Options& options);

/// --wide: every column, however many the table then needs.
CLI::Option* add_wide(const OptionGroup& group, bool& wide);

/// --format, one of `formats`, -o, --output, and where JSON is a format --json, alike in every
/// command: the first format is that of standard output and of a name without an end.
void add_formats(const OptionGroup& group, Output& to, const Formats& formats);

/// The same for a table, JSON and CSV.
inline const Formats kTableFormats{{"table", ".txt"}, {"json", ".json"}, {"csv", ".csv"}};

/// --json: the same as JSON, whatever the format.
void add_json_too(const OptionGroup& group, Output& to);

/// add_formats(), --verbose and --wide.
void add_output(const OptionGroup& group, Options& options);

/// Where no format was named, sets it by the end of the output's name, which without one is a text.
/// Throws Error(usage) for a name that ends otherwise, with `hint` behind it.
void settle_format(Output& to, std::string_view hint = {});
inline constexpr std::string_view kReportHint =
    " 'rdmabench report' makes HTML, Markdown and JUnit of the JSON.";

/// --launches.
inline constexpr const char* kLaunchesHelp =
    "measure in N processes, one after another: intervals are then over them, and limits judged by "
    "them [1]";
inline constexpr std::uint32_t kMaxLaunches = 100;
void add_launches(const OptionGroup& group, std::uint32_t& launches);

/// --cpu: on which processors to run.
void add_cpus(const OptionGroup& group, std::vector<int>& cpus);

/// --token-file, --auth and --insecure.
void add_authentication(const OptionGroup& group, control::Authentication& to);

/// --rank, --ranks, --rendezvous and add_authentication(), of every command whose ranks a launcher
/// starts. `least` and `most`: how many ranks it takes.
void add_rank_options(const OptionGroup& group, control::RendezvousOptions& to, std::uint32_t least,
                      std::uint32_t most);

/// Whether this process is rank 0, as far as is known before the ranks meet.
bool leads(const control::RendezvousOptions& options);

/// --as: which program printed the files, where neither they nor their names say so.
void add_program(const OptionGroup& group, std::string& program);

/// Sets the back end that --transport needs. Throws Error(usage) where --backend is another one.
void settle_backend(run::Config& config);

/// Checks combinations of options, and completes the configuration. Throws Error(usage).
void settle(Options& options);

}  // namespace rdmabench::inline v1::tools
