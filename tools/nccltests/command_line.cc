#include "command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "../nearest.h"
#include "flag_table.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/features.h"

namespace rdmabench::tools::nccltests {
namespace {

void add_flag(CLI::App& app, const Flag& flag, Flags& flags) {
  const std::string names = fmt::format("-{},--{}", flag.letter, flag.name);
  CLI::Option* const option = app.add_option_function<std::string>(
      names,
      [&flag, &flags](const std::string& text) {
        flag.set(flags, {fmt::format("-{}", flag.letter), text});
      },
      fmt::format("{} [{}]", flag.text, flag.usual));
  option->take_last()->type_name(std::string(flag.value));
  if (flag.take == Take::refused) option->group("");  // not in the help
}

void add_own(CLI::App& app, Flags& flags) {
  app.add_option("--backend", flags.backend, "not nccl-tests': nccl or mpi [nccl]")
      ->check(CLI::IsMember({"nccl", "mpi"}))
      ->type_name("NAME");
  app.add_option("--gpu", flags.nccl.device,
                 "not nccl-tests': this rank's GPU [its number among the ranks of its host]")
      ->type_name("NAME");
}

void refuse_of_nccl(const Flags& flags) {
  const collective::NcclOptions& nccl = flags.nccl;
  const char* const name = nccl.graph                                            ? "-G"
                           : nccl.registration != collective::Registration::none ? "-R"
                           : nccl.cta_policy >= 0                                ? "-x"
                           : nccl.misalign != 0                                  ? "-u"
                           : !nccl.device.empty()                                ? "--gpu"
                                                                                 : nullptr;
  if (name == nullptr) return;
  throw Error(Fault::usage, fmt::format("{} with --backend mpi", name), "It is of --backend nccl.");
}

/// What no single flag can tell.
void check(const Flags& flags) {
  if (flags.backend == "mpi") refuse_of_nccl(flags);
  if (flags.min_bytes > flags.max_bytes) {
    throw Error(Fault::usage,
                fmt::format("-b {} is more than -e {}", format_size(flags.min_bytes),
                            format_size(flags.max_bytes)),
                "Give both: each is 32M by itself.");
  }
  if (flags.step_factor == 1 && flags.step_bytes == 0 && flags.min_bytes != flags.max_bytes) {
    throw Error(Fault::usage, "-i 0 never reaches -e", "Give a step, or a factor with -f.");
  }
  sizes(flags);
}

}  // namespace

std::vector<std::uint64_t> sizes(const Flags& flags) {
  constexpr std::size_t kMost = 10'000;
  std::vector<std::uint64_t> once;
  for (std::uint64_t size = flags.min_bytes; size <= flags.max_bytes;) {
    once.push_back(size);
    const std::uint64_t next =
        flags.step_factor > 1 ? size * flags.step_factor : size + flags.step_bytes;
    if (next <= size) break;  // one size, or 0 times a factor
    size = next;
    if (once.size() * flags.cycles > kMost) {
      throw Error(Fault::usage, fmt::format("more than {} sizes", kMost),
                  "Take larger steps with -f or -i.");
    }
  }
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < flags.cycles; ++i) all.insert(all.end(), once.begin(), once.end());
  return all;
}

CommandLine parse(const Tool& tool, const std::vector<std::string>& words) {
  if (!tool.refused.empty()) {
    throw Error(Fault::usage, fmt::format("there is no {} here", tool.name), tool.refused);
  }
  CommandLine line;
  CLI::App app(
      fmt::format("nccl-tests' {}, measured by rdmabench: NCCL is loaded when it runs, and "
                  "no MPI is needed.",
                  tool.name),
      std::string(tool.name));
  app.set_help_flag("-h,--help", "this text");
  app.set_version_flag("--version",
                       "rdmabench " RDMABENCH_VERSION ", takes the flags of nccl-tests 2.19.6");
  app.footer(
      "Flags that are not listed are refused but for their defaults, with a word on what to use\n"
      "instead; docs/nccl-tests.md has them all, and how ranks find one another.");
  for (const Flag& flag : nccltests::flags()) add_flag(app, flag, line.flags);
  add_own(app, line.flags);
  std::vector<std::string> arguments;
  for (const std::string& word : words) arguments.push_back(completed(app, word));
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    line.answer = app.help();
    return line;
  } catch (const CLI::CallForVersion& version) {
    line.answer = fmt::format("{}\n", version.what());
    return line;
  } catch (const CLI::ParseError& error) {
    const std::string better = suggestion(app);
    throw Error(Fault::usage,
                fmt::format("{}: {}", tool.name, better.empty() ? error.what() : better),
                fmt::format("Try '{} --help'.", tool.name));
  }
  check(line.flags);
  return line;
}

}  // namespace rdmabench::tools::nccltests
