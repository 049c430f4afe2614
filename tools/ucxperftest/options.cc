#include "options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "../flags/command_line.h"
#include "../flags/processors.h"
#include "../flags/values.h"
#include "base/refuse.h"
#include "base/text.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

namespace rdmabench::inline v1::tools::ucx_perftest {
namespace {

using measure::LatencySummary;
using run::Config;

constexpr Tool kTools[] = {{"ucx_perftest"}};
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 40;

/// What is known while the words are read.
struct State : Options {
  std::uint64_t iterations = 1'000'000;  ///< of each thread
  std::optional<std::uint32_t> window;
  std::string lower_name;  ///< of the test, where -t was of UCT
  std::string device;
  std::string transport;
};
using Flag = tools::Flag<State>;

std::vector<std::string_view> names_of_tests(bool taken) {
  std::vector<std::string_view> names;
  for (const Test& test : tests()) {
    if (test.instead.empty() != taken) continue;
    for (const std::string_view name : {test.name, test.lower_name}) {
      if (!name.empty()) names.push_back(name);
    }
  }
  return names;
}

void set_test(State& state, const Given& given) {
  const auto is_it = [&](const Test& test) {
    return !given.text.empty() && (given.text == test.name || given.text == test.lower_name);
  };
  const auto found = std::ranges::find_if(tests(), is_it);
  if (found == tests().end()) refuse_word(given, names_of_tests(true));
  refuse_if(!found->instead.empty(), fmt::format("-t {} is not accepted here", given.text),
            found->instead);
  state.test = &*found;
  state.lower_name = given.text == found->lower_name ? given.text : "";
}

void set_size(State& state, const Given& given) {
  refuse_if(given.text.find_first_of(",:") != std::string::npos, fmt::format("-s {}", given.text),
            "A message is one piece here, and not a scatter-gather list: give one size.");
  const std::uint64_t size = bytes(given);
  refuse_if(size == 0, "-s 0", "Here a message has at least one byte.");
  state.config.sizes = {size};
}

void set_percentile(State& state, const Given& given) {
  constexpr Percentile kRanks[] = {
      {"0", 0, &LatencySummary::min_ns},        {"50", 50, &LatencySummary::p50_ns},
      {"90", 90, &LatencySummary::p90_ns},      {"99", 99, &LatencySummary::p99_ns},
      {"99.9", 99.9, &LatencySummary::p999_ns}, {"99.99", 99.99, &LatencySummary::p9999_ns},
      {"100", 100, &LatencySummary::max_ns}};
  std::vector<std::string_view> words;
  for (const Percentile& one : kRanks) {
    if (real(given) == one.rank) {
      state.percentile = one;
      return;
    }
    words.push_back(one.word);
  }
  refuse_word(given, words);
}

void set_wait(State& state, const Given& given) {
  constexpr std::string_view kModes[] = {"poll", "sleep"};
  state.config.endpoint.events = one_of(given, kModes) == 1;
}

void check_thread_mode(State& /*state*/, const Given& given) {
  constexpr std::string_view kModes[] = {"single", "serialized", "multi"};
  one_of(given, kModes);
}

void check_errors(State& /*state*/, const Given& given) {
  refuse_if(given.text == "none", "-e none",
            "A dead peer ends the run here: endpoints have error handling, so leave it out.");
  if (!given.text.empty() && given.text != "peer") refuse_word(given, "peer");
}

void check_memory(State& /*state*/, const Given& given) {
  for (const std::string_view side : split(given.text, ',')) {
    refuse_if(side != "host", fmt::format("-m {} is not accepted here", given.text),
              "UCX gets memory of the host here. 'rdmabench bw --backend verbs --memory cuda:0' "
              "measures a GPU's.");
  }
}

void check_layout(State& /*state*/, const Given& given) {
  for (const std::string_view side : split(given.text, ',')) {
    refuse_if(side != "contig", fmt::format("-D {} is not accepted here", given.text),
              "A message is one piece here, and UCX chooses how it sends: UCX_ZCOPY_THRESH and "
              "UCX_RNDV_THRESH tell it.");
  }
}

constexpr Flag row(Spelling spelling, std::string_view text, Flag::Set set,
                   std::string_view option = {}) {
  return {spelling, 1, Handling::mapped, text, "unit", set, "", option};
}
/// Sets an option of rdmabench, by its name in run/options.h.
constexpr Flag same(Spelling spelling, std::string_view option, std::string_view text) {
  return row(spelling, text, nullptr, option);
}
constexpr Flag always(Spelling spelling, std::string_view text) {
  return {spelling, 1, Handling::not_needed, text, "unit"};
}
constexpr Flag ignored(Spelling spelling, std::string_view text) {
  return {spelling, 1, Handling::ignored, text, "unit"};
}
constexpr Flag refused(Spelling spelling, std::string_view instead, std::string_view usual = {}) {
  return {spelling, 1, Handling::refused, instead, "unit", nullptr, usual};
}

constexpr Flag kFlags[] = {
    row("-t=test", "test to run, see below", set_test, "operation"),
    row("-s=size", "bytes of a message [8]", set_size, "sizes"),
    row("-n=iters", "iterations of each thread [1000000]", set<&State::iterations, 1, kMaxCount>),
    row(
        "-w=iters", "iterations before the timed ones [by their size]",
        [](State& s, const Given& given) {
          s.config.warmup = static_cast<std::int64_t>(whole(given, 0, kMaxCount));
        },
        "warmup"),
    row("-O=count", "messages under way [32; ucp_get, ucp_fadd and ucp_cswap 1]",
        set<&State::window, 1, run::kMaxDepth>, "depth"),
    row(
        "-T=threads", "threads of each side, each with a worker of UCX [1]",
        [](State& s, const Given& given) {
          refuse_if(given.text.find(':') != std::string::npos, fmt::format("-T {}", given.text),
                    "No GPU posts here: give a number of threads.");
          s.config.traffic.threads = whole_as<std::uint32_t>(given, 1, run::kMaxWorkers);
        },
        "threads"),
    row("-M=mode", "single, serialized or multi: each thread has its own worker",
        check_thread_mode),
    row(
        "-c=cpulist", "run on these processors: 0,2-4",
        [](State& s, const Given& given) { s.processors = processors_of(given); }, "cpus"),
    row("-d=device", "device of this side; there of UCT's tests alone [UCX_NET_DEVICES]",
        set<&State::device>, "devices"),
    row("-x=transport", "transport of both sides; there of UCT's tests alone [UCX_TLS]",
        set<&State::transport>, "ucx_tls"),
    row("-p=port", "TCP port of the server [13337]",
        [](State& s, const Given& given) { s.port = whole_as<std::uint16_t>(given, 1, 65535); }),
    row("-R=rank", "percentile that is printed: 0, 50, 90, 99, 99.9, 99.99 or 100 [50]",
        set_percentile),
    row("-E=mode", "wait for completions by poll or sleep [poll]", set_wait, "events"),
    row("-m=memory", "host", check_memory),
    row("-D=layout", "contig", check_layout),
    same("-o", "target_idle", "the responder of a put, get or atomic takes no part"),
    same("-V", "validate", "check the data"),
    row("-f", "print the final line alone",
        [](State& s, const Given& /*given*/) { s.final_only = true; }),
    row("-v", "print CSV", [](State& s, const Given& /*given*/) { s.csv = true; }),
    row("-N", "print numbers in groups of three digits",
        [](State& s, const Given& /*given*/) { s.groups_digits = true; }),
    row("-e[mode]", "endpoints with error handling: always so", check_errors),
    always("-6", "the address of HOST decides"),
    always("-z", "memory is registered before the test"),
    always("-I", "events are asked for where they are needed"),
    ignored("-q", "Errors are always printed."),
    ignored("-W=count", "UCT's flow control window is not used here."),
    ignored("-r=mode", "UCX's streams are not used here."),
    ignored("-A=mode", "UCT's progress mode is not used here."),
    row("-h, --help", "this text", nullptr),
    row("--version", "rdmabench's version", nullptr),
    refused("-H=size", "The header of an active message is 8 bytes here: leave it out.", "0"),
    refused("-i=offset", "A message is one piece here: leave it out.", "0"),
    refused("-P=mode", "Two processes measure here, and no MPI: leave it out.", "0"),
    refused("-b=file", "Give a command line for each test."),
    refused("-l", "'rdmabench demo --backend ucx' measures within one machine."),
    refused("-B", "Memory is registered before the test: leave it out."),
    refused("-C", "Tags are matched whole here: leave it out."),
    refused("-U", "Receives are posted ahead here: leave it out."),
    refused("-X", "'rdmabench lat --backend ucx' says what UCX took."),
    refused("-y", "UCX keeps what comes here, and copies nothing more: leave it out."),
    refused("-a=device", "No GPU posts here: leave it out."),
    refused("-L=level", "No GPU posts here: leave it out."),
    refused("-F=size", "No GPU posts here: leave it out."),
    refused("-Y=mode", "No GPU posts here: leave it out."),
    refused("-g, --daemon-local=address", "No DPU's daemon sends here: leave it out."),
    refused("-G, --daemon-remote=address", "No DPU's daemon sends here: leave it out."),
    refused("-k", "No DPU's daemon sends here: leave it out."),
    refused("-K=port", "Both sides find each other by TCP: give HOST and -p."),
};

constexpr Flag kOwn[] = {
    same("--backend=NAME", "backend", "not UCX's: auto, verbs, ofi, ucx or loop [ucx]"),
    same("--timeout=TIME", "timeout_s",
         "not UCX's: fail when nothing completes for this long [10s]"),
};

/// A transport's name by which UCX takes what connects it, too.
std::string with_connection(const std::string& transport) {
  if (transport == "rc_verbs") return "rc_v";
  if (transport == "rc_mlx5") return "rc_x";
  return transport == "dc_mlx5" ? "dc_x" : transport;
}

void settle_path(State& state) {
  Config& config = state.config;
  // UCT calls that of shared memory so, and UCX has no name for it.
  if (!state.device.empty() && state.device != "memory") {
    config.placement.devices = {state.device};
  }
  config.endpoint.ucx.transports = with_connection(state.transport);
  const bool named = !state.device.empty() || !state.transport.empty();
  if (!state.lower_name.empty()) {
    state.notes.push_back(
        fmt::format("-t {} is measured over UCP, one layer above UCT{}", state.lower_name,
                    state.test->name.empty() ? "" : fmt::format(": as {}", state.test->name)));
  } else if (named && state.test != nullptr) {
    state.notes.emplace_back(
        "-d and -x are taken for this test, too: UCX's own takes UCX_TLS and UCX_NET_DEVICES alone");
  }
}

/// Checks combinations of flags, and completes the configuration.
void settle(State& state) {
  Config& config = state.config;
  settle_path(state);
  if (state.host.empty()) return;
  refuse_if(state.test == nullptr, "no test",
            fmt::format("Name one: -t {}.", fmt::join(names_of_tests(true), ", -t ")));
  const Test& test = *state.test;
  const std::uint32_t window = state.window.value_or(test.window);
  const bool answered = transport::is_timed_by_completion(test.operation);
  const bool latency = test.window == 0 || (answered && window == 1);
  config.traffic.shape = latency ? workload::Shape::latency : workload::Shape::bandwidth;
  config.traffic.operation = test.operation;
  config.endpoint.service = test.service;
  if (!latency) config.traffic.depth = window;
  config.stop = measure::StopRule::iterations(state.iterations * config.traffic.threads);
}

CommandLineStyle<State> style() {
  static const std::string footer = fmt::format(
      "Tests: {}.\nThose of UCT (put_lat, get, ...) are measured over UCP. Not taken: {}; the error "
      "says what to use instead, and so it does for flags that are not listed.\n"
      "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 not available here.",
      fmt::join(names_of_tests(true), ", "), fmt::join(names_of_tests(false), ", "));
  return {.about =
              "{} as rdmabench does it: its options and its table. Both sides must be "
              "rdmabench's; the client's options decide.\n"
              "Without HOST it is the server, which serves one client and ends.",
          .operand = "[HOST]",
          .version = "rdmabench " RDMABENCH_VERSION
                     ", takes the options of ucx_perftest of UCX 1.13 to 1.22\n",
          .footer = footer,
          .tables = {kFlags, kOwn},
          .config = [](State& state) -> Config& { return state.config; },
          .whose = nullptr};
}

}  // namespace

std::span<const Tool> tools() {
  return kTools;
}

std::vector<FieldFlag> fields() {
  std::vector<FieldFlag> fields{{"port", "-p"}};
  add_fields(kFlags, fields);
  add_fields(kOwn, fields);
  return fields;
}

Accepted accepted(const Tool& /*tool*/) {
  return tools::accepted(style(), 1);
}

Options parse(const std::vector<std::string>& words) {
  CommandLine<State> line;
  State& state = line.flags;
  state.config.backend = "ucx";
  read_command_line(style(), kTools[0].name, 1, words, line);
  state.answer = line.answer;
  state.config.authentication = line.authentication;
  state.host = line.operand;
  if (state.answer.empty()) settle(state);
  Options& options = state;
  return std::move(options);
}

}  // namespace rdmabench::inline v1::tools::ucx_perftest
