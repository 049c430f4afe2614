#include "options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "base/refuse.h"
#include "flags/values.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/backends.h"
#include "terminal.h"

namespace rdmabench::inline v1::tools {
namespace {

/// "HOST:18515" and "[fd00::1]:18515": people write it so.
void split_port(Options& options) {
  std::string& host = options.host;
  const std::size_t colon = host.rfind(':');
  if (colon == std::string::npos) return;
  const bool bracketed = host.front() == '[' && colon > 1 && host[colon - 1] == ']';
  if (!bracketed && host.find(':') != colon) return;  // an IPv6 address
  const auto port =
      whole_as<std::uint16_t>({"the port of HOST:PORT", host.substr(colon + 1)}, 1, 65535);
  refuse_if(options.port != run::kDefaultPort && options.port != port,
            fmt::format("{} with --port {}", host, options.port), "Name the port once.");
  options.port = port;
  host = bracketed ? host.substr(1, colon - 2) : host.substr(0, colon);
}

}  // namespace

void add_measuring(CLI::App& app, Options& options, run::TestSet test) {
  app.add_option("HOST", options.host, "the server's name or address (not with --backend loop)");
  for (const run::OptionGroup& group : run::option_groups()) {
    add_options(app, options, group.title, test);
  }
  app.get_option("--op")->description(fmt::format("{} [{}]",
                                                  fmt::join(transport::kOperationNames, ", "),
                                                  test == run::kLoad ? "send-imm" : "send"));
  OptionGroup(app).add("-p, --port=N", options.port, "TCP port of the server [18515]", {0, 65535});
  add_authentication(OptionGroup(app, "Path"), options.config.authentication);
  add_cpus(OptionGroup(app, "Other"), options.config.placement.cpus);
  add_output(OptionGroup(app), options);
  add_expect(OptionGroup(app, "Limits"), options.expect);
  shorten_help(app, {"--op", "--size", "--bidirectional", "--rate", "--iterations", "--duration",
                     "--launches", "--qps", "--depth", "--backend", "--device", "--transport",
                     "--memory", "--port", "--expect", "--format", "--output"});
}

void add_link(CLI::App& app, Options& options) {
  for (const std::string_view group : {run::kQueues, run::kPath, run::kMemory}) {
    add_options(app, options, group, run::kEveryTest);
  }
  add_cpus(OptionGroup(app), options.config.placement.cpus);
}

void add_formats(const OptionGroup& group, Output& to, const Formats& formats) {
  to.formats = formats;
  std::vector<std::string> words;
  std::vector<std::string_view> ends;
  for (const auto& [word, end] : formats) {
    if (std::find(words.begin(), words.end(), word) != words.end()) continue;
    words.emplace_back(word);
    if (!end.empty()) ends.push_back(end);
  }
  group.add("--format=FORMAT", to.format,
            fmt::format("{} or {} [by the output's name: {}; else {}]",
                        fmt::join(words.begin(), words.end() - 1, ", "), words.back(),
                        fmt::join(ends, ", "), words.front()),
            words);
  group.call("-o, --output=FILE", "write the result to FILE [standard output, also by -]",
             [&to](const Given& given) { to.output = given.text == "-" ? "" : given.text; });
  if (std::find(words.begin(), words.end(), "json") != words.end()) add_json_too(group, to);
}

void add_json_too(const OptionGroup& group, Output& to) {
  group.add("--json=FILE", to.json, "write the same as JSON to FILE, too")->take_last();
}

void add_output(const OptionGroup& group, Options& options) {
  Formats formats = kTableFormats;
  formats.emplace_back("jsonl", ".jsonl");
  formats.emplace_back("perftest", "");
  add_formats(group, options, formats);
  group.add("--verbose", options.verbose, "show every suspicion with its numbers");
  add_wide(group, options.wide);
}

void settle_format(Output& to, std::string_view hint) {
  refuse_if(to.format == "html" && to.output.empty() && isatty(STDOUT_FILENO) != 0,
            "a page of HTML cannot be shown on a terminal",
            "Name a file with --output FILE, or another --format.");
  if (!to.format.empty()) return;
  if (to.output.empty()) {
    to.format = to.formats.front().first;
    return;
  }
  const std::string name = to.output.substr(to.output.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  const std::string given = dot == std::string::npos ? ".txt" : name.substr(dot);
  std::string ends;
  for (const auto& [format, end] : to.formats) {
    if (given == end) to.format = format;
    if (!end.empty()) ends += fmt::format("{}, ", end);
  }
  if (!to.format.empty()) return;
  throw Error(Fault::usage, fmt::format("--output {}: its name does not say a format", to.output),
              fmt::format("End it with {}or name the --format.{}", ends, hint));
}

CLI::Option* add_wide(const OptionGroup& group, bool& wide) {
  return group.add(
      "--wide", wide,
      "show every column of the table [as many as COLUMNS or the terminal has, else 80]");
}

void add_program(const OptionGroup& group, std::string& program) {
  group.add("--as=PROGRAM", program,
            "what printed the files, where they do not say: all_gather_perf, fi_rma_bw, ... "
            "[what their names begin with]");
}

void add_launches(const OptionGroup& group, std::uint32_t& launches) {
  group.add("--launches=N", launches, kLaunchesHelp, {1, kMaxLaunches});
}

void add_cpus(const OptionGroup& group, std::vector<int>& cpus) {
  group
      .list("--cpu=N", cpus,
            "processors to run on: one for each thread, separated by commas [the kernel's choice]")
      ->check(CLI::Range(0, 1023));
}

void add_authentication(const OptionGroup& group, control::Authentication& to) {
  for (const Flag<control::Authentication>& flag : authentication_flags()) {
    group.call(flag, std::string(flag.text), [&](const Given& given) { flag.set(to, given); });
  }
}

void add_rank_options(const OptionGroup& group, control::RendezvousOptions& to, std::uint32_t least,
                      std::uint32_t most) {
  group.add("--rank=N", to.rank, "rank of this process; 0 leads [from the launcher]",
            {0, most - 1});
  group.add("--ranks=N", to.size,
            least == 1 ? "number of ranks; 1 is this process alone [from the launcher]"
                       : "number of ranks [from the launcher]",
            {least, most});
  group.add("--rendezvous=ADDRESS", to.address, "address of rank 0, HOST:PORT [from the launcher]");
  add_authentication(group, to.authentication);
}

bool leads(const control::RendezvousOptions& options) {
  return is_first_rank() && options.rank.value_or(0) == 0;
}

void settle_backend(run::Config& config) {
  const std::string_view needed = run::backend_of(config.endpoint.service);
  if (needed.empty() || !run::reaches_others(config.backend)) return;
  refuse_if(config.backend != "auto" && config.backend != needed,
            fmt::format("--transport {} with --backend {}",
                        transport::name(config.endpoint.service), config.backend),
            fmt::format("Add --backend {}, or leave one of them out.", needed));
  config.backend = needed;
}

void settle(Options& options) {
  run::Config& config = options.config;
  refuse_if(
      !options.output.empty() &&
          options.output.find_first_not_of("0123456789") == std::string::npos,
      fmt::format("--output {}: a number", options.output),
      fmt::format("Did you mean --outstanding {0}, which is perftest's -o? A file of that name "
                  "is ./{0}.",
                  options.output));
  settle_format(options);
  split_port(options);
  const bool loop = !run::reaches_others(config.backend);
  refuse_if(loop && !options.host.empty(),
            fmt::format("--backend loop with the host '{}'", options.host),
            "The loop back end does not leave this process: leave out the host.");
  refuse_if(
      loop && !config.placement.cpus.empty(),
      fmt::format("--cpu {} with --backend loop", fmt::join(config.placement.cpus, ",")),
      "Both sides are threads of this process; each is bound to its own processor. Leave out --cpu.");
  refuse_if(!loop && options.host.empty(), "HOST is missing",
            "Name the machine where 'rdmabench serve' runs, or add --backend loop.");
  if (options.port_number != 0) {
    refuse_if(config.placement.devices.size() != 1 ||
                  config.placement.devices[0].find(':') != std::string::npos,
              fmt::format("--ib-port {}", options.port_number),
              "It needs exactly one --device NAME; for several devices write NAME:PORT,NAME:PORT.");
    config.placement.devices[0] += fmt::format(":{}", options.port_number);
  }
  config.traffic.threads =
      std::max(config.traffic.threads, static_cast<std::uint32_t>(config.placement.devices.size()));
  if (const std::uint64_t bytes = transport::traits(config.traffic.operation).bytes;
      bytes != 0 && config.sizes == run::usual_config(workload::Shape::bandwidth).sizes) {
    config.sizes = {bytes};  // in place of the default of bw
  }
  settle_backend(config);
}

}  // namespace rdmabench::inline v1::tools
