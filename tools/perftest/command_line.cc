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

namespace rdmabench::tools::perftest {
namespace {

/// Applies a flag that was typed, or throws what stands against it.
void take(const Tool& tool, const Flag& flag, const std::string& text, Flags& flags) {
  const Given given{flag.short_name(), text};
  if (flag.take == Take::refused) {
    throw Error(Fault::usage, fmt::format("{} does not take {} here", tool.name, given.name),
                flag.text);
  }
  if (!contains(flag.tools, tool)) {
    throw Error(Fault::usage, fmt::format("{} does not take {}", tool.name, given.name),
                fmt::format("perftest has it for {}.", to_text(flag.tools)));
  }
  if (flag.take == Take::ignored) {
    flags.notes.push_back(fmt::format("{} has no effect: {}", given.name, flag.text));
  }
  if (flag.set != nullptr) flag.set(flags, given);
}

std::string names_of(const Flag& flag) {
  return flag.letter == '\0' ? fmt::format("--{}", flag.name)
                             : fmt::format("-{},--{}", flag.letter, flag.name);
}

void add_flag(CLI::App& app, const Tool& tool, const Flag& flag, Flags& flags) {
  if (flag.name == "help" || flag.name == "version") return;  // CLI11's own
  const bool ours = flag.text.rfind("--", 0) == 0;
  const std::string help = fmt::format("{}{}", ours ? "as rdmabench's " : "", flag.text);
  CLI::Option* const option =
      flag.value.empty()
          ? app.add_flag_callback(
                names_of(flag), [&] { take(tool, flag, "", flags); }, help)
          : app.add_option_function<std::string>(
                names_of(flag), [&](const std::string& text) { take(tool, flag, text, flags); },
                help);
  option->take_last();
  if (!flag.value.empty()) option->type_name(std::string(flag.value));
  if (flag.take == Take::refused || !contains(flag.tools, tool)) option->group("");  // not in help
}

void add_own(CLI::App& app, Flags& flags) {
  app.add_option("HOST", flags.host, "the server's name or address; none: be the server, once");
  app.add_option("--backend", flags.backend, "not perftest's: verbs, ofi or loop [verbs]")
      ->type_name("NAME")
      ->take_last();
  app.add_option("--provider", flags.provider, "not perftest's: libfabric provider [by route]")
      ->type_name("NAME")
      ->take_last();
  app.add_option_function<std::string>(
         "--timeout", [&](const std::string& text) { flags.timeout = parse_duration(text); },
         "not perftest's: give up when nothing moves for this long [10s]")
      ->type_name("TIME")
      ->take_last();
}

/// What no single flag can tell.
void check(const Tool& tool, const Flags& flags) {
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    throw Error(Fault::usage, fmt::format("{}: {}", tool.name, what), remedy);
  };
  const bool atomic = transport::is_atomic(tool.operation);
  if (atomic && flags.size.value_or(transport::kAtomicBytes) != transport::kAtomicBytes) {
    refuse(fmt::format("-s {}", *flags.size), "Atomics have 8 bytes: leave it out.");
  }
  if (flags.ib_port != 0 && flags.device.empty() && flags.ib_port != 1) {
    refuse(fmt::format("-i {} without -d", flags.ib_port), "Name the device too: -d NAME.");
  }
  if (flags.file_offset != 0 && flags.file.empty()) {
    refuse("--mmap-offset without --mmap", "Name the file too.");
  }
  if (flags.huge_pages && !flags.file.empty()) {
    refuse("--use_hugepages with --mmap", "Give one of them.");
  }
  const bool gpu = !flags.gpu.empty() || !flags.gpu_address.empty();
  if (!flags.gpu.empty() && !flags.gpu_address.empty()) {
    refuse("--use_cuda with --use_cuda_bus_id", "Give one of them.");
  }
  const bool polls = tool.latency && tool.operation == transport::OperationCode::write;
  if (gpu && polls && !flags.immediate) {
    refuse(flags.gpu.empty() ? "--use_cuda_bus_id" : "--use_cuda",
           "It sees arrival by polling the last byte, which is the GPU's here: give "
           "--write_with_imm too, or take ib_send_lat or ib_read_lat.");
  }
  if (gpu && (flags.huge_pages || !flags.file.empty())) {
    refuse("a GPU's memory with --use_hugepages or --mmap", "Give one of them.");
  }
  if (flags.gpu_dma_buf && !gpu) {
    refuse("--use_cuda_dmabuf without --use_cuda", "Name the GPU too: --use_cuda=0.");
  }
  if ((flags.gpu_pcie || flags.gpu_data_direct) && !flags.gpu_dma_buf) {
    refuse(fmt::format("--{} without --use_cuda_dmabuf",
                       flags.gpu_pcie ? "use_cuda_pcie_mapping" : "use_data_direct"),
           "Give it too: it is a dma-buf's mapping.");
  }
  if (flags.margin && !flags.duration) refuse("-f without -D", "Give the duration too.");
  if (flags.margin && *flags.margin * 2 >= *flags.duration) {
    refuse("twice the margin of -f is as long as -D", "Give a smaller margin.");
  }
  if (flags.one_number != OneNumber::none &&
      tool.latency != (flags.one_number == OneNumber::latency)) {
    refuse("--output of the other kind of tool",
           tool.latency ? "Choose --output=latency." : "Choose bandwidth or message_rate.");
  }
  if (flags.rate_limit && flags.both_ways) {
    refuse("--rate_limit with -b", "Give one of them: a paced stream goes one way.");
  }
}

}  // namespace

CommandLine parse(const Tool& tool, const std::vector<std::string>& words) {
  CommandLine line;
  Flags& flags = line.flags;
  CLI::App app(
      fmt::format("perftest's {}, measured by rdmabench. Both sides must be rdmabench's; the "
                  "client's flags decide.",
                  tool.name),
      std::string(tool.name));
  app.set_help_flag("-h,--help", "this text");
  app.set_version_flag(
      "-V,--version", "rdmabench " RDMABENCH_VERSION ", takes the flags of perftest 4.5 and 26.04");
  app.footer(
      "Flags that are not listed are refused, with a word on what to use instead; "
      "docs/perftest.md has them all.");
  for (const FlagGroup& group : flag_groups()) {
    for (const Flag& flag : group.flags) add_flag(app, tool, flag, flags);
  }
  add_own(app, flags);
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
    if (!better.empty()) throw Error(Fault::usage, fmt::format("{}: {}", tool.name, better));
    throw Error(Fault::usage, fmt::format("{}: {}", tool.name, error.what()),
                fmt::format("Try '{} --help'.", tool.name));
  }
  check(tool, flags);
  const bool gpu = !flags.gpu.empty() || !flags.gpu_address.empty();
  if (gpu && flags.host.empty() && flags.backend != "loop") {
    flags.notes.push_back(fmt::format(
        "{} has no effect at the server: the client decides whether it takes a GPU's memory, and "
        "then it is that of the GPU nearest to the server's NIC",
        flags.gpu.empty() ? "--use_cuda_bus_id" : "--use_cuda"));
  }
  return line;
}

}  // namespace rdmabench::tools::perftest
