#include "options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <span>

#include "rdmabench/base/error.h"
#include "sizes.h"

namespace rdmabench::tools::fabtests {
namespace {

using transport::OperationCode;
using transport::Service;

constexpr std::array<std::string_view, 5> kNames{"fi_rma_bw", "fi_rdm_pingpong", "fi_rma_pingpong",
                                                 "fi_rdm_bw", "fi_msg_pingpong"};
constexpr std::uint16_t kOutOfBandPort = 3000;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 30;

// Sets of programs, a bit for each.
constexpr unsigned bit(Program program) {
  return 1U << static_cast<unsigned>(program);
}
constexpr unsigned kAll = 31;
constexpr unsigned kRma = bit(Program::rma_bw) | bit(Program::rma_pingpong);
constexpr unsigned kMsgPingPong = bit(Program::msg_pingpong);

/// What is known while the words are read.
struct State {
  Options options;
  std::string source_port;
  std::string destination_port;
  std::uint16_t out_of_band_port = 0;  ///< of -b and -E, which stand before the other two
  std::int64_t iterations = 0;         ///< 0 = by size
  Service service = Service::rdm;
  bool page_aligned = false;
};

using Apply = void (*)(State&, const std::string&);

struct Flag {
  char letter;
  std::string_view argument;  ///< "" = none; "[=port]" = an optional one
  unsigned tests;             ///< that have it
  Apply apply;
  std::string_view text;
};

[[noreturn]] void skip(const std::string& what, std::string_view instead) {
  throw Skip(Skip::kNoSys, fmt::format("{}. {}", what, instead));
}

std::int64_t number(char letter, const std::string& text, std::int64_t min, std::int64_t max) {
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || value < min || value > max) {
    throw Error(Fault::usage, fmt::format("-{} {}", letter, text),
                fmt::format("It may be {} to {}.", min, max));
  }
  return value;
}

bool starts_with(std::string text, std::string_view word) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.starts_with(word);
}

void set_endpoint_type(State& state, const std::string& text) {
  // The programs that are named for a type set it themselves, whatever -e said before.
  if (state.options.test == Program::rdm_pingpong || state.options.test == Program::rdm_bw ||
      state.options.test == Program::msg_pingpong) {
    return;
  }
  if (starts_with(text, "msg")) {
    state.service = Service::msg;
  } else if (starts_with(text, "rdm")) {
    state.service = Service::rdm;
  } else if (starts_with(text, "dgram")) {
    throw Skip(Skip::kNoData,
               "-e dgram: datagrams have no one-sided operations. Take -e rdm or msg.");
  } else {
    throw Error(Fault::usage, fmt::format("-e {}", text), "It may be msg, rdm or dgram.");
  }
}

void set_operation(State& state, const std::string& text) {
  run::Config& config = state.options.config;
  const Program test = state.options.test;
  if (test == Program::msg_pingpong) {
    if (starts_with(text, "msg")) return;
    skip(fmt::format("-o {}", text), "Messages only are sent here: leave it out.");
  }
  if (starts_with(text, "writedata")) {
    config.operation = OperationCode::write_imm;
  } else if (starts_with(text, "write")) {
    config.operation = OperationCode::write;
  } else if (starts_with(text, "read") && test == Program::rma_bw) {
    config.operation = OperationCode::read;
  } else {
    throw Error(Fault::usage, fmt::format("-o {}", text),
                test == Program::rma_bw ? "It may be read, write or writedata."
                                        : "It may be write or writedata.");
  }
}

void set_completion(State& state, const std::string& text) {
  if (starts_with(text, "sread") || starts_with(text, "fd")) {
    state.options.config.events = true;
  } else if (starts_with(text, "yield")) {
    skip("-c yield", "Take -c spin, or -c fd to sleep.");
  } else if (!starts_with(text, "spin")) {
    throw Error(Fault::usage, fmt::format("-c {}", text), "It may be spin, sread, fd or yield.");
  }
}

void set_out_of_band(State& state, const std::string& text) {
  // getopt leaves the '=' of -b=4000 in the argument.
  const std::string port = text.starts_with("=") ? text.substr(1) : text;
  state.out_of_band_port =
      port.empty() ? kOutOfBandPort : static_cast<std::uint16_t>(number('b', port, 1, 65535));
}

constexpr std::array kFlags{
    Flag{'p', "provider", kAll,
         [](State& s, const std::string& t) { s.options.config.provider = t; },
         "libfabric provider: tcp, shm, efa"},
    Flag{'d', "domain", kAll,
         [](State& s, const std::string& t) { s.options.config.devices = {t}; },
         "domain of this side"},
    Flag{'f', "fabric", kAll, [](State& s, const std::string& t) { s.options.config.fabric = t; },
         "fabric of this side: efa, efa-direct"},
    Flag{'e', "type", kAll, set_endpoint_type, "endpoint type, msg or rdm [rdm]"},
    Flag{'I', "number", kAll,
         [](State& s, const std::string& t) { s.iterations = number('I', t, 1, kMaxCount); },
         "iterations of each size [by size]"},
    Flag{'S', "size", kAll,
         [](State& s, const std::string& t) { s.options.config.sizes = parse_sizes(t); },
         "bytes; all; r:first,step,last; l:one,another [64,256,1K,4K,64K,1M]"},
    Flag{'w', "number", kAll,
         [](State& s, const std::string& t) {
           s.options.config.warmup = number('w', t, 0, kMaxCount);
         },
         "iterations before the timed ones [10]"},
    Flag{'W', "number", kAll,
         [](State& s, const std::string& t) {
           const std::int64_t window = number('W', t, 1, run::kMaxDepth);
           if (!is_ping_pong(s.options.test)) {
             s.options.config.depth = static_cast<std::uint32_t>(window);
           }
         },
         "messages under way, of a bandwidth test [64]"},
    Flag{'o', "op", kRma | kMsgPingPong, set_operation, "write, writedata, and read of fi_rma_bw"},
    Flag{'U', "", kAll & ~kMsgPingPong,
         [](State& s, const std::string&) { s.options.config.delivery = true; },
         "complete at delivery (FI_DELIVERY_COMPLETE)"},
    Flag{'v', "", kAll, [](State& s, const std::string&) { s.options.config.validate = true; },
         "check the data"},
    Flag{'j', "size", kAll,
         [](State& s, const std::string& t) {
           // Messages below that size are injected, not those of it.
           s.options.config.inline_limit =
               static_cast<std::int32_t>(std::max<std::int64_t>(number('j', t, 0, 1 << 20) - 1, 0));
         },
         "inject messages below this size [as the provider has it]"},
    Flag{'c', "method", kAll, set_completion, "wait for completions by spin, sread or fd [spin]"},
    Flag{'t', "type", kAll,
         [](State&, const std::string& t) {
           if (starts_with(t, "counter"))
             skip("-t counter", "Completion queues only: take -t queue.");
         },
         "queue"},
    Flag{'m', "", kAll, [](State& s, const std::string&) { s.options.machine_readable = true; },
         "machine-readable results"},
    Flag{'l', "", kAll, [](State& s, const std::string&) { s.page_aligned = true; },
         "align every message to a page"},
    Flag{'s', "address", kAll, [](State& s, const std::string& t) { s.options.source = t; },
         "address of this side"},
    Flag{'B', "port", kAll, [](State& s, const std::string& t) { s.source_port = t; },
         "port on which the server listens [9228]"},
    Flag{'P', "port", kAll, [](State& s, const std::string& t) { s.destination_port = t; },
         "port of the server to connect to [9228]"},
    Flag{'b', "[=port]", kAll, set_out_of_band, "control connection at this port [3000]"},
    Flag{'E', "[=port]", kAll, set_out_of_band, "the same"},
    Flag{'D', "interface", kAll,
         [](State&, const std::string& t) {
           skip(fmt::format("-D {}", t), "Memory of devices is not served over libfabric here.");
         },
         "(skipped)"},
    Flag{'i', "device", kAll, [](State&, const std::string&) {}, "the device of -D"},
    Flag{'H', "", kAll,
         [](State&, const std::string&) { skip("-H", "FI_HMEM is not asked for here."); },
         "(skipped)"},
    Flag{'K', "", kAll,
         [](State&, const std::string&) { skip("-K", "No child is forked here: leave it out."); },
         "(skipped)"},
    Flag{'k', "", kAll,
         [](State&, const std::string&) {
           throw Skip(Skip::kNoData,
                      "-k: no endpoint here takes a prefix (FI_MSG_PREFIX). Leave it out.");
         },
         "(skipped)"},
    Flag{'M', "mode", kAll,
         [](State&, const std::string& t) {
           skip(fmt::format("-M {}", t), "Every mode that a provider wants is complied with.");
         },
         "(skipped)"},
    Flag{'Q', "", kAll,
         [](State&, const std::string&) { skip("-Q", "Events are the endpoint's: leave it out."); },
         "(skipped)"},
    Flag{'a', "name", kAll,
         [](State&, const std::string& t) {
           skip(fmt::format("-a {}", t), "Address vectors are not shared: leave it out.");
         },
         "(skipped)"},
    Flag{'C', "number", kAll,
         [](State&, const std::string& t) {
           if (number('C', t, 1, kMaxCount) > 1) {
             skip(fmt::format("-C {}", t), "For many clients take 'rdmabench serve'.");
           }
         },
         "connections to the server, 1"},
    Flag{'F', "format", kAll,
         [](State&, const std::string& t) {
           skip(fmt::format("-F {}", t), "The address of HOST decides: name one of that kind.");
         },
         "(skipped)"},
    Flag{'h', "", kAll, [](State& s, const std::string&) { s.options.help = true; }, "this text"},
};

enum LongOption : int { kPinCore = 1000, kTimeout, kDebugAssert };

std::vector<int> parse_cores(const std::string& text) {
  std::vector<int> cores;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::string item = text.substr(at, text.find(',', at) - at);
    at += item.size() + 1;
    const std::size_t dash = item.find('-');
    const auto core = [&](const std::string& one) {
      return static_cast<int>(number('-', one, 0, 1023));
    };
    const int first = core(item.substr(0, dash));
    const int last = dash == std::string::npos ? first : core(item.substr(dash + 1));
    for (int cpu = first; cpu <= last; ++cpu) cores.push_back(cpu);
  }
  return cores;
}

void apply_long(State& state, int code, const std::string& text) {
  if (code == kPinCore) {
    state.options.cores = parse_cores(text);
  } else if (code == kTimeout) {
    state.options.config.timeout = std::chrono::seconds(number('-', text, 1, 600));
  } else {
    skip("--debug-assert", "There is nothing to attach to: leave it out.");
  }
}

std::string letters(Program test) {
  std::string all;
  for (const Flag& flag : kFlags) {
    if ((flag.tests & bit(test)) == 0) continue;
    all += flag.letter;
    if (!flag.argument.empty()) all += flag.argument.starts_with("[") ? "::" : ":";
  }
  return all;
}

void read_words(State& state, std::vector<std::string>& words) {
  static constexpr std::array<option, 4> kLong{
      {{"pin-core", required_argument, nullptr, kPinCore},
       {"timeout", required_argument, nullptr, kTimeout},
       {"debug-assert", no_argument, nullptr, kDebugAssert},
       {nullptr, 0, nullptr, 0}}};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int count = static_cast<int>(words.size());
  const std::string short_options = ":" + letters(state.options.test);
  optind = 0;  // this is not the process's first command line where a test parses several
  for (;;) {
    const int code =
        getopt_long(count, arguments.data(), short_options.c_str(), kLong.data(), nullptr);
    if (code == -1) break;
    if (code == '?' || code == ':') {
      throw Error(Fault::usage,
                  fmt::format("{}: '{}' {}", name(state.options.test),
                              arguments[static_cast<std::size_t>(optind - 1)],
                              code == '?' ? "is not known" : "needs a value"),
                  fmt::format("See '{} -h'.", name(state.options.test)));
    }
    const std::string text = optarg == nullptr ? "" : optarg;
    const auto* const flag =
        std::find_if(kFlags.begin(), kFlags.end(), [&](const Flag& f) { return f.letter == code; });
    if (flag != kFlags.end()) {
      flag->apply(state, text);
    } else {
      apply_long(state, code, text);
    }
  }
  if (optind < count) state.options.host = arguments[static_cast<std::size_t>(optind)];
}

/// fabtests' counts where -I is not given.
std::uint64_t usual_count(Program test, std::uint64_t size) {
  const std::uint64_t count = size >= (1U << 20) ? 100 : size >= (1U << 16) ? 1000 : 10000;
  return is_ping_pong(test) ? count : 2 * count;
}

void settle(State& state) {
  Options& options = state.options;
  run::Config& config = options.config;
  config.service = options.test == Program::msg_pingpong ? Service::msg : state.service;
  for (const std::uint64_t size : config.sizes) {
    config.counts.push_back(state.iterations > 0 ? static_cast<std::uint64_t>(state.iterations)
                                                 : usual_count(options.test, size));
  }
  if (!config.counts.empty()) {
    config.stop = measure::StopRule::iterations(config.counts.front());
  }
  if (state.page_aligned) {
    constexpr std::uint64_t kPage = 4096;
    const std::uint64_t largest = *std::max_element(config.sizes.begin(), config.sizes.end());
    config.stride = (largest + kPage - 1) / kPage * kPage;
  }
  const bool client = !options.host.empty();
  if (client && !state.source_port.empty()) {
    skip("-B of a client", "The kernel chooses its port: leave it out.");
  }
  const std::string& port = client ? state.destination_port : state.source_port;
  if (state.out_of_band_port != 0) {
    options.port = state.out_of_band_port;
  } else if (!port.empty()) {
    options.port = static_cast<std::uint16_t>(number(client ? 'P' : 'B', port, 1, 65535));
  }
}

}  // namespace

std::optional<Program> find_program(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Program>(found - kNames.begin());
}

std::string_view name(Program test) {
  return kNames[static_cast<std::size_t>(test)];
}

Options parse(Program test, const std::vector<std::string>& words) {
  constexpr std::int64_t kWarmup = 10;
  constexpr std::uint32_t kWindow = 64;
  State state;
  state.options.test = test;
  state.options.words = words;
  run::Config& config = state.options.config;
  config.backend = "ofi";
  config.shape = is_ping_pong(test) ? workload::Shape::latency : workload::Shape::stream;
  config.operation = (bit(test) & kRma) != 0 ? OperationCode::write : OperationCode::send;
  config.sizes = default_sizes();
  config.warmup = kWarmup;
  if (!is_ping_pong(test)) config.depth = kWindow;
  std::vector<std::string> permuted = words;  // getopt moves them about
  read_words(state, permuted);
  settle(state);
  return state.options;
}

std::string usage(Program test) {
  std::string text = fmt::format(
      "{0} as rdmabench does it: fabtests' options, figures and exit codes.\n\n"
      "  {0} [OPTIONS]         the server: serves one client and ends\n"
      "  {0} [OPTIONS] HOST    the client\n\n",
      name(test));
  for (const Flag& flag : kFlags) {
    if ((flag.tests & bit(test)) == 0) continue;
    text +=
        fmt::format("  {:<20}{}\n", fmt::format("-{} {}", flag.letter, flag.argument), flag.text);
  }
  text += fmt::format("  {:<20}{}\n", "--pin-core LIST", "run on these processors: 0,2-4");
  text += fmt::format("  {:<20}{}\n", "--timeout SECONDS", "longest wait for the peer [10]");
  return text +
         "\nExit codes: 0 done; 61 and 38 skipped, for no provider fits or it is not here; "
         "else failed.\n";
}

}  // namespace rdmabench::tools::fabtests
