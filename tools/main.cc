// rdmabench: the command.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "commands.h"
#include "fabtests/fabtests.h"
#include "nearest.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

namespace rdmabench::tools {
namespace {

int fail(const std::string& text, Fault fault) {
  std::fputs(fmt::format("rdmabench: {}\n", text).c_str(), stderr);
  return static_cast<int>(fault);
}

/// The words that could have stood where a user's word is not known.
std::vector<std::string> known_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : app.get_subcommands({})) words.push_back(sub->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  return words;
}

std::string hint(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands()) {
    if (const std::string deeper = hint(*sub); !deeper.empty()) return deeper;
  }
  for (const std::string& word : app.remaining()) {
    const std::string found = nearest(word.substr(0, word.find('=')), known_words(app));
    if (!found.empty()) return fmt::format("'{}' is not known. Did you mean {}?", word, found);
  }
  return "";
}

/// Another program's name, as the first word or as what this one was started by: its command line.
std::vector<std::string> personality(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (!words.empty()) {
    std::string own = words[0].substr(words[0].rfind('/') + 1);
    if (fabtests::find_program(own)) {
      words[0] = std::move(own);
      return words;
    }
    words.erase(words.begin());
  }
  if (!words.empty() && fabtests::find_program(words[0])) return words;
  return {};
}

int parse_and_run(int argc, char** argv) {
  if (const std::vector<std::string> words = personality(argc, argv); !words.empty()) {
    return fabtests::run(*fabtests::find_program(words[0]), words);
  }
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
  add_demo(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    const std::string better = hint(app);
    return fail(fmt::format("{}\nTry 'rdmabench --help'.", better.empty() ? error.what() : better),
                Fault::usage);
  }
  return command();
}

}  // namespace
}  // namespace rdmabench::tools

int main(int argc, char** argv) {
  using rdmabench::Error;
  using rdmabench::Fault;
  try {
    return rdmabench::tools::parse_and_run(argc, argv);
  } catch (const Error& error) {
    return rdmabench::tools::fail(error.what(), error.fault());
  } catch (const std::exception& error) {
    return rdmabench::tools::fail(error.what(), Fault::failed);
  }
}
