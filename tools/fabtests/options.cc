#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "../flags/command_line.h"
#include "../flags/processors.h"
#include "../flags/values.h"
#include "base/number.h"
#include "base/text.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

namespace rdmabench::inline v1::tools::fabtests {
namespace {

using run::Config;
using transport::OperationCode;
using transport::Service;

constexpr std::array<Tool, 6> kTools{{{"fi_rma_bw", Program::rma_bw},
                                      {"fi_rdm_pingpong", Program::rdm_pingpong},
                                      {"fi_rma_pingpong", Program::rma_pingpong},
                                      {"fi_rdm_bw", Program::rdm_bw},
                                      {"fi_msg_pingpong", Program::msg_pingpong},
                                      {"fi_pingpong", Program::pingpong}}};
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 30;
constexpr std::size_t kMostSizes = 10000;

constexpr ToolSet set_of(Program program) {
  return ToolSet{1} << static_cast<unsigned>(program);
}
constexpr ToolSet kAll = 31;  // of fabtests
constexpr ToolSet kPingPong = set_of(Program::pingpong);
constexpr ToolSet kRma = set_of(Program::rma_bw) | set_of(Program::rma_pingpong);
constexpr ToolSet kMsgPingPong = set_of(Program::msg_pingpong);

/// What is known while the words are read.
struct State : Options {
  std::string source_port;
  std::string destination_port;
  std::uint16_t out_of_band_port = 0;  ///< of -b and -E, which count more than the other two
  std::uint64_t iterations = 0;        ///< 0 = by size
  std::uint64_t window = 64;           ///< messages under way, of a bandwidth test
  Service service = Service::rdm;
  bool page_aligned = false;
  bool typed = false;  ///< -e was given
};

using Flag = tools::Flag<State>;

[[noreturn]] void skip(std::string_view what, std::string_view instead) {
  throw Skip(Skip::kNoSys, fmt::format("{}. {}", what, instead));
}

bool starts_with(std::string_view text, std::string_view word) {
  return lower(text).starts_with(word);
}

void set_endpoint_type(State& state, const Given& given) {
  constexpr std::array kTypes{"msg", "rdm", "dgram"};
  const auto is_given = [&](const char* type) { return starts_with(given.text, type); };
  if (std::none_of(kTypes.begin(), kTypes.end(), is_given)) {
    refuse_word(given, "msg, rdm or dgram");
  }
  // The programs that are named for a type set it themselves, whatever -e said before.
  if ((set_of(state.test) & kRma) == 0) return;
  if (is_given("dgram")) {
    throw Skip(Skip::kNoData,
               "-e dgram: datagrams have no one-sided operations. Use -e rdm or msg.");
  }
  state.service = is_given("msg") ? Service::msg : Service::rdm;
}

/// fi_pingpong's: the word alone, and a datagram by default.
void set_ping_pong_type(State& state, const Given& given) {
  const std::string type = lower(given.text);
  if (type == "dgram") {
    throw Skip(Skip::kNoData,
               "-e dgram: datagrams are not sent over libfabric here. Use -e rdm, or for verbs' "
               "'rdmabench lat --service ud'.");
  }
  if (type != "msg" && type != "rdm") refuse_word(given, "rdm or msg");
  state.service = type == "msg" ? Service::msg : Service::rdm;
  state.typed = true;
}

void set_operation(State& state, const Given& given) {
  Config& config = state.config;
  const Program test = state.test;
  if (test == Program::msg_pingpong) {
    if (starts_with(given.text, "msg")) return;
    skip(fmt::format("-o {}", given.text), "This program sends messages only: leave it out.");
  }
  if (starts_with(given.text, "writedata")) {
    config.traffic.operation = OperationCode::write_imm;
  } else if (starts_with(given.text, "write")) {
    config.traffic.operation = OperationCode::write;
  } else if (starts_with(given.text, "read") && test == Program::rma_bw) {
    config.traffic.operation = OperationCode::read;
  } else {
    refuse_word(given, test == Program::rma_bw ? "read, write or writedata" : "write or writedata");
  }
}

void set_completion(State& state, const Given& given) {
  if (starts_with(given.text, "sread") || starts_with(given.text, "fd")) {
    state.config.endpoint.events = true;
  } else if (starts_with(given.text, "yield")) {
    skip("-c yield", "Use -c spin, or -c fd to sleep.");
  } else if (!starts_with(given.text, "spin")) {
    refuse_word(given, "spin, sread, fd or yield");
  }
}

void check_queue(State& /*state*/, const Given& given) {
  if (starts_with(given.text, "counter")) {
    skip("-t counter", "Completion queues only: use -t queue.");
  } else if (!starts_with(given.text, "queue")) {
    refuse_word(given, "queue or counter");
  }
}

void set_injection(State& state, const Given& given) {
  // Messages below that size are injected, not those of it.
  const auto below = whole_as<std::int32_t>(given, 0, 1U << 20);
  state.config.endpoint.inline_limit = std::max(below - 1, 0);
}

void set_out_of_band(State& state, const Given& given) {
  constexpr std::uint16_t kUsual = 3000;
  // getopt leaves the '=' of -b=4000 in the value.
  const std::string port = given.text.starts_with("=") ? given.text.substr(1) : given.text;
  state.out_of_band_port =
      port.empty() ? kUsual : whole_as<std::uint16_t>({given.name, port}, 1, 65535);
}

[[noreturn]] void refuse(const std::string& text) {
  throw Error(Fault::usage, fmt::format("invalid -S '{}'", text),
              fmt::format("It may be all, r:first,step,last, l:one,another or 1 to {} bytes.",
                          run::kMaxSize));
}

std::vector<std::uint64_t> parse_list(std::string_view list, const std::string& whole) {
  std::vector<std::uint64_t> numbers;
  for (const std::string_view item : split(list, ',')) {
    numbers.push_back(parse_number<std::uint64_t>(item).value_or(run::kMaxSize + 1));
    if (numbers.back() > run::kMaxSize) refuse(whole);
  }
  return numbers;
}

/// Each power of two up to 8 MiB, and half way to the next.
std::vector<std::uint64_t> all_sizes() {
  constexpr std::uint64_t kLargest = std::uint64_t{8} << 20;
  std::vector<std::uint64_t> sizes{1};
  for (std::uint64_t size = 2; size < kLargest; size *= 2) {
    sizes.push_back(size);
    sizes.push_back(size + size / 2);
  }
  sizes.push_back(kLargest);
  return sizes;
}

std::vector<std::uint64_t> parse_range(const std::string& text) {
  const std::vector<std::uint64_t> range = parse_list(std::string_view(text).substr(2), text);
  if (range.size() != 3 || range[1] == 0 || range[2] < range[0] ||
      (range[2] - range[0]) / range[1] >= kMostSizes) {
    refuse(text);
  }
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = range[0]; size <= range[2]; size += range[1]) sizes.push_back(size);
  return sizes;
}

/// "all", "r:first,step,last", "l:one,another", or a number of bytes. Throws Error(usage) for other
/// text, and Skip for messages of no bytes.
std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  if (text == "all") return all_sizes();
  std::vector<std::uint64_t> sizes;
  if (text.starts_with("r:")) {
    sizes = parse_range(text);
  } else if (text.starts_with("l:")) {
    sizes = parse_list(std::string_view(text).substr(2), text);
  } else {
    sizes = parse_list(text, text);
    if (sizes.size() != 1) refuse(text);
  }
  for (const std::uint64_t size : sizes) {
    if (size == 0) throw Skip(Skip::kNoSys, "-S 0: here a message has at least one byte.");
  }
  return sizes;
}

/// fi_pingpong's: "all", of which it has none above 6 MiB, or a number of bytes.
void set_ping_pong_sizes(State& state, const Given& given) {
  const bool all = lower(given.text) == "all";
  if (!all && !parse_number<std::uint64_t>(given.text)) {
    refuse_word(given, "all or a number of bytes");
  }
  state.config.sizes = parse_sizes(all ? "all" : given.text);
  if (all) state.config.sizes.pop_back();
}

void check_mode(State& /*state*/, const Given& given) {
  if (lower(given.text) != "msg") {
    skip(fmt::format("-m {}", given.text), "Messages are untagged here: leave it out.");
  }
}

void check_connections(State& /*state*/, const Given& given) {
  if (whole(given, 1, kMaxCount) > 1) {
    skip(fmt::format("-C {}", given.text), "For many clients use 'rdmabench serve'.");
  }
}

constexpr Flag row(Spelling spelling, std::string_view text, Flag::Set set, ToolSet tools = kAll,
                   std::string_view option = {}) {
  return {spelling, tools, Handling::mapped, text, "unit", set, "", option};
}
/// Sets an option of rdmabench, by its name in run/options.h.
constexpr Flag same(Spelling spelling, std::string_view option, std::string_view text,
                    ToolSet tools = kAll) {
  return row(spelling, text, nullptr, tools, option);
}
constexpr Flag skipped(Spelling spelling, std::string_view instead) {
  return {spelling, kAll, Handling::refused, instead, "unit"};
}

/// Of every program.
constexpr Flag kShared[] = {
    same("-p=provider", "provider", "libfabric provider: tcp, shm, efa", kAll | kPingPong),
    row(
        "-d=domain", "domain of this side",
        [](State& s, const Given& given) { s.config.placement.devices = {given.text}; },
        kAll | kPingPong, "devices"),
    same("-f=fabric", "fabric", "fabric of this side: efa, efa-direct", kAll | kPingPong),
    row("-I=number", "iterations of each size [by size; 10 of fi_pingpong]",
        set<&State::iterations, 1, kMaxCount>, kAll | kPingPong),
    row(
        "-s=address", "address of this side",
        [](State& s, const Given& given) { s.source = given.text; }, kAll | kPingPong),
    row("-B=port", "port on which the server listens [9228; 47592 of fi_pingpong]",
        set<&State::source_port>, kAll | kPingPong),
    row("-P=port", "port of the server to connect to [the same]", set<&State::destination_port>,
        kAll | kPingPong),
    row(
        "--timeout=SECONDS", "longest wait for the peer [10]",
        [](State& s, const Given& given) {
          s.config.timeout = std::chrono::seconds(whole_as<int>(given, 1, 600));
        },
        kAll | kPingPong),
    row("-h, --help", "this text", nullptr, kAll | kPingPong),
    row("--version", "rdmabench's version", nullptr, kAll | kPingPong),
};

/// fi_pingpong's own: -c, -m and -v mean something else in fabtests.
constexpr Flag kPingPongFlags[] = {
    row("-e=type", "endpoint type, rdm or msg [rdm; dgram there]", set_ping_pong_type, kPingPong,
        "service"),
    row("-S=size", "bytes, or all [64,256,1K,4K,64K,1M]", set_ping_pong_sizes, kPingPong, "sizes"),
    same("-c", "validate", "check the data", kPingPong),
    row("-m=mode", "msg", check_mode, kPingPong),
    Flag{"-v", kPingPong, Handling::ignored, "rdmabench prints nothing to debug by.", "unit"},
    Flag{"-6", kPingPong, Handling::not_needed, "the address of HOST decides", "unit"},
};

/// fabtests' own.
constexpr Flag kFlags[] = {
    row("-e=type", "endpoint type, msg or rdm [rdm]", set_endpoint_type, kAll, "service"),
    row(
        "-S=size", "bytes; all; r:first,step,last; l:one,another [64,256,1K,4K,64K,1M]",
        [](State& s, const Given& given) { s.config.sizes = parse_sizes(given.text); }, kAll,
        "sizes"),
    row("-w=number", "iterations before the timed ones [10]",
        [](State& s, const Given& given) {
          set_value(s.config.warmup, given, {0, kMaxCount});
        }),
    row("-W=number", "messages under way, of a bandwidth test [64]",
        set<&State::window, 1, run::kMaxDepth>, kAll, "depth"),
    row("-o=op", "write, writedata, and read of fi_rma_bw", set_operation, kRma | kMsgPingPong,
        "operation"),
    same("-U", "delivery", "complete at delivery (FI_DELIVERY_COMPLETE)", kAll & ~kMsgPingPong),
    same("-v", "validate", "check the data"),
    row("-j=size", "inject messages below this size [as the provider has it]", set_injection, kAll,
        "inline_limit"),
    row("-c=method", "wait for completions by spin, sread or fd [spin]", set_completion, kAll,
        "events"),
    row("-t=type", "queue", check_queue),
    row("-m", "machine-readable results",
        [](State& s, const Given& /*given*/) { s.machine_readable = true; }),
    row("-l", "align every message to a page", set<&State::page_aligned>),
    row("-b[=port]", "control connection at this port [3000]", set_out_of_band),
    row("-E[=port]", "the same", set_out_of_band),
    row("-i=device", "the device of -D", nullptr),
    row("-C=number", "connections to the server, 1", check_connections),
    row(
        "--pin-core=LIST", "run on these processors: 0,2-4",
        [](State& s, const Given& given) { s.cores = processors_of(given); }, kAll, "cpus"),
    row("-k", "",
        [](State& /*s*/, const Given& /*given*/) {
          throw Skip(Skip::kNoData,
                     "-k: no endpoint here takes a prefix (FI_MSG_PREFIX). Leave it out.");
        }),
    skipped("-D=interface", "Memory of devices is not served over libfabric here."),
    skipped("-H", "FI_HMEM is not requested here."),
    skipped("-K", "No child is forked here: leave it out."),
    skipped("-M=mode", "rdmabench supports every mode that a provider requires: leave it out."),
    skipped("-Q", "Events belong to the endpoint: leave it out."),
    skipped("-a=name", "Address vectors are not shared: leave it out."),
    skipped("-F=format", "The address of HOST decides: give an address of that kind."),
    skipped("--debug-assert", "There is nothing to attach to: leave it out."),
};

/// The originals' counts where -I is not given.
std::uint64_t usual_count(Program test, std::uint64_t size) {
  constexpr std::uint64_t kOfPingPong = 10;
  if (test == Program::pingpong) return kOfPingPong;
  const std::uint64_t count = size >= (1U << 20) ? 100 : size >= (1U << 16) ? 1000 : 10000;
  return is_ping_pong(test) ? count : 2 * count;
}

/// Checks combinations of flags, and completes the configuration.
void settle(State& state) {
  Config& config = state.config;
  config.endpoint.service = state.test == Program::msg_pingpong ? Service::msg : state.service;
  if (!is_ping_pong(state.test)) config.traffic.depth = static_cast<std::uint32_t>(state.window);
  for (const std::uint64_t size : config.sizes) {
    config.counts.push_back(state.iterations > 0 ? state.iterations
                                                 : usual_count(state.test, size));
  }
  if (!config.counts.empty()) {
    config.stop = measure::StopRule::iterations(config.counts.front());
  }
  if (state.page_aligned) {
    constexpr std::uint64_t kPage = 4096;
    const std::uint64_t largest = *std::max_element(config.sizes.begin(), config.sizes.end());
    config.traffic.stride = (largest + kPage - 1) / kPage * kPage;
  }
  if (state.test == Program::pingpong && !state.typed) {
    state.notes.emplace_back(
        "without -e fi_pingpong sends datagrams (dgram), which are not offered here: this is -e rdm");
  }
  const bool client = !state.host.empty();
  if (client && !state.source_port.empty()) {
    skip("-B of a client", "The kernel chooses its port: leave it out.");
  }
  const std::string& port = client ? state.destination_port : state.source_port;
  if (state.out_of_band_port != 0) {
    state.port = state.out_of_band_port;
  } else if (!port.empty()) {
    state.port = whole_as<std::uint16_t>({client ? "-P" : "-B", port}, 1, 65535);
  }
}

std::string names_of(ToolSet set) {
  std::string text;
  for (const Tool& tool : kTools) {
    if ((set & set_of(tool.program)) == 0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", tool.name);
  }
  return text;
}

}  // namespace

std::span<const Tool> tools() {
  return kTools;
}

std::string_view name(Program test) {
  return kTools[static_cast<std::size_t>(test)].name;
}

std::vector<FieldFlag> fields(Program test) {
  std::vector<FieldFlag> fields{{"port", "-P or -B"}};
  add_fields(kShared, fields);
  if (test == Program::pingpong) {
    add_fields(kPingPongFlags, fields);
  } else {
    add_fields(kFlags, fields);
  }
  return fields;
}

namespace {

CommandLineStyle<State> style(Program test) {
  const std::span<const Flag> own = test == Program::pingpong
                                        ? std::span<const Flag>(kPingPongFlags)
                                        : std::span<const Flag>(kFlags);
  return {
      .about =
          "{} as rdmabench does it: its options, figures and exit codes.\n"
          "Without HOST it is the server, which serves one client and ends.",
      .operand = "[HOST]",
      .version = "rdmabench " RDMABENCH_VERSION
                 ", takes the options of fabtests 1.17 and of libfabric's fi_pingpong",
      .footer =
          "Exit codes: 0 done; 61 no provider fits; 38 not offered here; any other: failed.\n"
          "Options of fabtests that are not listed end with 38 or 61, which its runner counts as "
          "skipped.",
      .tables = {kShared, own},
      .config = [](State& state) -> Config& { return state.config; },
      .whose = [](ToolSet set) { return fmt::format("It is an option of {}.", names_of(set)); },
      .refuse = skip};
}

}  // namespace

Accepted accepted(const Tool& tool) {
  return tools::accepted(style(tool.program), set_of(tool.program));
}

Options parse(Program test, const std::vector<std::string>& words) {
  constexpr std::int64_t kWarmup = 10;
  constexpr std::uint16_t kPortOfPingPong = 47592;
  const bool ping_pong = test == Program::pingpong;
  CommandLine<State> line;
  State& state = line.flags;
  state.test = test;
  state.words = {std::string(name(test))};
  state.words.insert(state.words.end(), words.begin(), words.end());
  Config& config = state.config;
  config.backend = "ofi";
  config.traffic.shape = is_ping_pong(test) ? workload::Shape::latency : workload::Shape::bandwidth;
  config.traffic.operation =
      (set_of(test) & kRma) != 0 ? OperationCode::write : OperationCode::send;
  config.sizes = {64, 256, 1024, 4096, 65536, 1048576};
  config.warmup = ping_pong ? 0 : kWarmup;  // it times its first message
  if (ping_pong) state.port = kPortOfPingPong;
  read_command_line(style(test), name(test), set_of(test), words, line);
  state.answer = line.answer;
  config.authentication = line.authentication;
  state.host = line.operand;
  if (state.answer.empty()) settle(state);
  return state;
}

}  // namespace rdmabench::inline v1::tools::fabtests
