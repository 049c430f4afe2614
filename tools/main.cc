// rdmabench: the command.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "ending.h"
#include "fabtests/fabtests.h"
#include "nccltests/run.h"
#include "nccltests/tool.h"
#include "nearest.h"
#include "perftest/run.h"
#include "perftest/tool.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

namespace rdmabench::tools {
namespace {

std::vector<std::string> other_names() {
  std::vector<std::string> names;
  for (const perftest::Tool& tool : perftest::tools()) names.emplace_back(tool.name);
  for (const nccltests::Tool& tool : nccltests::tools()) names.emplace_back(tool.name);
  return names;
}

/// Another program's command line, by the name that this one was called by or by its first word.
std::optional<int> run_as_another(int argc, char** argv) {
  for (int i = 0; i < std::min(argc, 2); ++i) {
    const std::string word = argv[i];
    std::vector<std::string> words(argv + i, argv + argc);
    words[0] = word.substr(word.rfind('/') + 1);
    if (const auto program = fabtests::find_program(words[0])) {
      return fabtests::run(*program, words);
    }
    if (const nccltests::Tool* const tool = nccltests::find_tool(word)) {
      return nccltests::run(*tool, {words.begin() + 1, words.end()});
    }
    if (const perftest::Tool* const tool = perftest::find_tool(word)) {
      return perftest::run(*tool, {words.begin() + 1, words.end()});
    }
  }
  return std::nullopt;
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
      "says more. Results go to standard output, everything else to standard error.\n"
      "'rdmabench ib_write_bw ...' takes the command lines of perftest's eight tools, and\n"
      "'rdmabench all_reduce_perf ...' those of nccl-tests' programs.\n"
      "\n"
      "fi_rma_bw, fi_rdm_pingpong, fi_rma_pingpong, fi_rdm_bw and fi_msg_pingpong, as first word or\n"
      "as this program's name, take fabtests' options.\n"
      "\n"
      "Exit codes: 0 done; 1 the measurement failed; 2 wrong usage; 3 not available here.");
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    const std::string better = suggestion(app, other_names());
    return fail(Error(Fault::usage, fmt::format("{}\nTry 'rdmabench --help'.",
                                                better.empty() ? error.what() : better)));
  }
  return command();
}

}  // namespace
}  // namespace rdmabench::tools

int main(int argc, char** argv) {
  try {
    return rdmabench::tools::parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    return rdmabench::tools::fail(error);
  }
}
