// rdmabench: the command.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "commands.h"
#include "ending.h"
#include "fabtests/options.h"
#include "flags/fields.h"
#include "flags/flag.h"
#include "launches.h"
#include "nccltests/flags.h"
#include "nccltests/tool.h"
#include "option_group.h"
#include "perftest/command_line.h"
#include "perftest/tool.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "terminal.h"
#include "ucxperftest/options.h"
#include "writing.h"

namespace rdmabench::inline v1::tools {

std::vector<Suite> suites() {
  const auto suite = [](std::string_view name, const auto& tools) {
    Suite one{name, {}, {}};
    for (const auto& tool : tools) {
      one.programs.emplace_back(tool.name);
      one.accepted.push_back(accepted(tool));
    }
    return one;
  };
  return {suite("perftest", perftest::tools()), suite("nccl-tests", nccltests::tools()),
          suite("libfabric and fabtests", fabtests::tools()), suite("UCX", ucx_perftest::tools())};
}

namespace {

/// Where to go from the name of a program that is not taken; "" for other words.
std::string instead_of(const std::string& word) {
  if (!nearest(word, {"bandwidth"}).empty()) {
    return fmt::format("'{}' is not known. Did you mean bw?", word);
  }
  const std::array alike{word.starts_with("ib_"), word.ends_with("_perf"), word.starts_with("fi_"),
                         word.starts_with("ucx_")};
  const auto* const found = std::find(alike.begin(), alike.end(), true);
  if (found == alike.end()) return "";
  const Suite suite = suites()[static_cast<std::size_t>(found - alike.begin())];
  return fmt::format(
      "'{}' is not among the programs of {} whose command lines rdmabench takes: {}. "
      "'rdmabench lat HOST' and 'rdmabench bw HOST' measure over every transport.",
      word, suite.name, fmt::join(suite.programs, ", "));
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

std::set<std::string> long_flags(const CLI::App& app) {
  std::set<std::string> flags;
  for (const CLI::App* sub : app.get_subcommands({})) {
    for (const CLI::Option* option : sub->get_options()) {
      for (const std::string& name : option->get_lnames()) flags.insert("--" + name);
    }
  }
  return flags;
}

/// The subcommand that was named, or `app`.
const CLI::App& named(const CLI::App& app) {
  const std::vector<CLI::App*> subs = app.get_subcommands();
  return subs.empty() ? app : *subs.front();
}

/// "-D": any other letter is as near to it.
bool is_letter(const std::string& word) {
  return word.size() == 2 && word[0] == '-';
}

/// The option of another command that was meant by `word`; "" for none: "--bidirectional is an
/// option of bw".
std::string option_elsewhere(const CLI::App& app, const std::string& word) {
  constexpr std::size_t kLeast = 5;  // "--dep"
  if (app.get_parent() == nullptr || (word.size() < kLeast && !is_letter(word))) return "";
  for (const CLI::App* sub : app.get_parent()->get_subcommands({})) {
    for (const std::string& known : known_words(*sub)) {
      if (known == word || (known.starts_with("--") && known.starts_with(word))) {
        return fmt::format("{} is an option of {}", known, sub->get_name());
      }
    }
  }
  return "";
}

/// What is wrong with a word that `app` or its subcommand does not know: "'--sise' is not known.
/// Did you mean --size?"; "" where there is no such word.
std::string unknown_word(const CLI::App& app) {
  const CLI::App& sub = named(app);
  if (&sub != &app) {
    if (std::string deeper = unknown_word(sub); !deeper.empty()) return deeper;
  }
  const bool is_top = app.get_parent() == nullptr;
  std::vector<std::string> words = known_words(app);
  if (is_top) {
    for (const Suite& one : suites()) {
      words.insert(words.end(), one.programs.begin(), one.programs.end());
    }
    words.emplace_back("help");
  }
  std::string unknown;
  for (const std::string& word : app.remaining()) {
    if (std::string other = is_top ? instead_of(word) : ""; !other.empty()) return other;
    std::vector<std::string> alike;  // a flag for a flag, a command for a command
    std::copy_if(words.begin(), words.end(), std::back_inserter(alike),
                 [&](const std::string& known) { return (known[0] == '-') == (word[0] == '-'); });
    const std::string plain = word.substr(0, word.find('='));
    const std::string found = is_letter(plain) ? "" : nearest(plain, alike);
    if (!found.empty()) return fmt::format("'{}' is not known. Did you mean {}?", word, found);
    if (const std::string other = option_elsewhere(app, plain); !other.empty()) {
      return fmt::format("'{}' is not known. {}.", word, other);
    }
    if (unknown.empty()) unknown = fmt::format("'{}' is not known.", word);
  }
  return unknown;
}

/// 'rdmabench help' and 'rdmabench help COMMAND' ask for what --help prints.
std::vector<char*> without_help_word(int argc, char** argv) {
  static char help[] = "--help";
  std::vector<char*> words(argv, argv + argc);
  if (words.size() < 2 || std::string_view(words[1]) != "help") return words;
  words.erase(words.begin() + 1);
  words.push_back(help);
  return words;
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
    try_as(ucx_perftest::tools(), ucx_perftest::run);
  }
  return code;
}

int parse_and_run(int given, char** given_words) {
  std::vector<char*> words = without_help_word(given, given_words);
  const int argc = static_cast<int>(words.size());
  char** const argv = words.data();
  CLI::App app(
      "rdmabench measures RDMA fabrics: InfiniBand and RoCE by verbs, EFA, TCP and more by "
      "libfabric.",
      "rdmabench");
  set_help(app);
  app.set_version_flag("--version", "rdmabench " RDMABENCH_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Start 'rdmabench serve' on one node and 'rdmabench lat NODE' on another; 'rdmabench COMMAND "
      "--help' or 'rdmabench help COMMAND' has the options. Results go to standard output, everything "
      "else to standard error. 'rdmabench ib_write_bw ...' takes the command lines of perftest's eight "
      "tools, 'rdmabench all_reduce_perf ...' those of nccl-tests' programs, fi_rma_bw, "
      "fi_rdm_bw, fi_rdm_pingpong, fi_rma_pingpong and fi_msg_pingpong those of fabtests, fi_pingpong "
      "that of libfabric, and ucx_perftest that of UCX. A symbolic link of "
      "such a name to this program does the same.\n"
      "\n"
      "Exit codes: 0 done; 1 the measurement or a check failed, or a limit or condition was not met; "
      "2 wrong usage; 3 not available here; 128 and the signal's number after SIGINT, SIGTERM or "
      "SIGHUP: what was finished by then is written.");
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
  add_decide(app, command);
  add_netplugin(app, command);
  add_completion(app, command);
  know_flags(long_flags(app));
  if (const std::optional<int> code = run_as_another(argc, argv)) return *code;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const CLI::App& sub = named(app);
    const std::string better = unknown_word(app);
    // --help and --version; but the help of a command that there is not is no help.
    if (error.get_exit_code() == 0 && (&sub != &app || better.empty())) {
      std::ostringstream text;
      const int code = app.exit(error, text, text);
      write_text(help_for_reading(text.str()));
      return code;
    }
    return fail(Error(Fault::usage, fmt::format("{}\nTry 'rdmabench {}--help'.",
                                                better.empty() ? error.what() : better,
                                                &sub == &app ? "" : sub.get_name() + ' ')));
  }
  return command();
}

}  // namespace
}  // namespace rdmabench::inline v1::tools

int main(int argc, char** argv) {
  using namespace rdmabench::tools;
  prepare_streams();
  if (is_first_rank() && !launch_part().is_launch()) tell_interruption();
  int code = 0;
  try {
    code = parse_and_run(argc, argv);
    flush_output();
  } catch (const std::exception& error) {
    code = fail(error);
  }
  return exit_status(code);
}
