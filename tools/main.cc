// rdmabench: the command.
#include <fmt/format.h>
#include <cstdlib>

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "commands.h"
#include "ending.h"
#include "fabtests/fabtests.h"
#include "flags/flag.h"
#include "interruption.h"
#include "nccltests/run.h"
#include "nccltests/tool.h"
#include "perftest/run.h"
#include "perftest/tool.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "writing.h"

namespace rdmabench::tools {
namespace {

/// The programs whose command lines are accepted, by their names.
std::vector<std::string_view> other_names() {
  std::vector<std::string_view> names;
  const auto add = [&](const auto& tools) {
    for (const auto& tool : tools) names.push_back(tool.name);
  };
  add(perftest::tools());
  add(nccltests::tools());
  add(fabtests::tools());
  return names;
}

/// The words that are valid where the user's word is unknown.
std::vector<std::string> known_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : app.get_subcommands({})) words.push_back(sub->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  return words;
}

/// A hint for a command line that `app` or its subcommand refused: "'--sise' is not known. Did you
/// mean --size?"; "" where no known word is near.
std::string suggestion(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands()) {
    if (std::string deeper = suggestion(*sub); !deeper.empty()) return deeper;
  }
  std::vector<std::string> words = known_words(app);
  for (const std::string_view name : other_names()) words.emplace_back(name);
  for (const std::string& word : app.remaining()) {
    std::vector<std::string> alike;  // a flag for a flag, a command for a command
    std::copy_if(words.begin(), words.end(), std::back_inserter(alike),
                 [&](const std::string& known) { return (known[0] == '-') == (word[0] == '-'); });
    const std::string found = nearest(word.substr(0, word.find('=')), alike);
    if (!found.empty()) return fmt::format("'{}' is not known. Did you mean {}?", word, found);
  }
  return "";
}

/// Runs the command line of another program, whose name is argv[0] or the first word; nothing where
/// neither is one.
std::optional<int> run_as_another(int argc, char** argv) {
  std::optional<int> code;
  for (int i = 0; i < std::min(argc, 2) && !code; ++i) {
    const std::vector<std::string> words(argv + i + 1, argv + argc);
    const auto try_as = [&](const auto& tools, const auto& run) {
      if (code) return;
      if (const auto* const tool = find_tool_in(tools, argv[i])) code = run(*tool, words);
    };
    try_as(fabtests::tools(), fabtests::run);
    try_as(nccltests::tools(), nccltests::run);
    try_as(perftest::tools(), perftest::run);
  }
  return code;
}

int parse_and_run(int argc, char** argv) {
  if (const std::optional<int> code = run_as_another(argc, argv)) return *code;
  CLI::App app(
      "rdmabench measures RDMA fabrics: InfiniBand and RoCE by verbs, EFA, TCP and more by "
      "libfabric.",
      "rdmabench");
  app.set_version_flag("--version", "rdmabench " RDMABENCH_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Start 'rdmabench serve' on one node and 'rdmabench lat NODE' on another; 'rdmabench COMMAND "
      "--help'\n"
      "has the options. Results go to standard output, everything else to standard error.\n"
      "'rdmabench ib_write_bw ...' takes the command lines of perftest's eight tools,\n"
      "'rdmabench all_reduce_perf ...' those of nccl-tests' programs, and fi_rma_bw, fi_rdm_bw,\n"
      "fi_rdm_pingpong, fi_rma_pingpong and fi_msg_pingpong those of fabtests. A symbolic link of\n"
      "such a name to this program does the same.\n"
      "\n"
      "Exit codes: 0 done; 1 the measurement failed; 2 wrong usage; 3 not available here; 128 and the\n"
      "signal's number after SIGINT, SIGTERM or SIGHUP: what was finished by then is written.");
  Command command;
  add_devices(app, command);
  add_serve(app, command);
  add_lat(app, command);
  add_bw(app, command);
  add_load(app, command);
  add_reg(app, command);
  add_fabric(app, command);
  add_coll(app, command);
  add_report(app, command);
  add_doctor(app, command);
  add_demo(app, command);
  add_compare(app, command);
  add_project(app, command);
  add_netplugin(app, command);
  add_completion(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    const std::string better = suggestion(app);
    return fail(Error(Fault::usage, fmt::format("{}\nTry 'rdmabench --help'.",
                                                better.empty() ? error.what() : better)));
  }
  return command();
}

}  // namespace
}  // namespace rdmabench::tools

int main(int argc, char** argv) {
  using namespace rdmabench::tools;
  prepare_streams();
  // Before libfabric is loaded, which reads it once: at its own default of 4096, tcp;ofi_rxm fills
  // 70 MiB with receive buffers for each endpoint. This is its default for every other provider.
  setenv("FI_OFI_RXM_MSG_RX_SIZE", "128", 0);
  int code = 0;
  try {
    code = parse_and_run(argc, argv);
    flush_output();
  } catch (const std::exception& error) {
    code = fail(error);
  }
  return exit_status(code);
}
