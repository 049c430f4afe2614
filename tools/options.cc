#include "options.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::tools {
namespace {

transport::OperationCode parse_operation(const std::string& text) {
  const auto& names = transport::kOperationNames;
  const auto* const found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    throw Error(Fault::usage, fmt::format("there is no operation '{}'", text),
                fmt::format("Choose --op {}.", fmt::join(names, ", ")));
  }
  return static_cast<transport::OperationCode>(found - names.begin());
}

/// A whole number within bounds, by parse_count().
template <class T>
T parse_bounded(const char* option, const std::string& text, std::uint64_t min, std::uint64_t max) {
  const std::uint64_t value = parse_count(text);
  if (value < min || value > max) {
    throw Error(Fault::usage, fmt::format("{} {}", option, text),
                fmt::format("It may be {} to {}.", min, max));
  }
  return static_cast<T>(value);
}

void set_stop(Options& options, const char* name, const measure::StopRule& rule) {
  if (!options.stop.empty()) {
    throw Error(Fault::usage, fmt::format("{} and {} together", options.stop, name),
                "Give one of them, or neither to measure until the result is stable.");
  }
  options.stop = name;
  options.config.stop = rule;
}

void add_traffic(CLI::App& app, Options& options) {
  run::Config& config = options.config;
  app.get_formatter()->column_width(34);
  add_parsed(
      app, "--op", [&](const std::string& text) { config.operation = parse_operation(text); },
      "send, write, write-imm or read [send]")
      ->type_name("OP");
  add_parsed(
      app, "-s,--size", [&](const std::string& text) { config.sizes = parse_size_list(text); },
      "message sizes in bytes: 8, or 8,64,4K, or 1:8M for every doubling [8; bw: 64K]")
      ->type_name("SIZES");
  app.add_flag_callback(
      "-a,--all", [&] { config.sizes = parse_size_list("1:8M"); },
      "every doubling from 1 byte to 8 MiB; short for --size 1:8M");
  add_parsed(
      app, "-n,--iterations",
      [&](const std::string& text) {
        set_stop(options, "--iterations", measure::StopRule::iterations(parse_count(text)));
      },
      "messages per size: 1000 or 5k [until stable]")
      ->type_name("N");
  add_parsed(
      app, "-D,--duration",
      [&](const std::string& text) {
        set_stop(options, "--duration", measure::StopRule::duration(parse_duration(text)));
      },
      "time per size: 10, 250ms or 2m [until stable]")
      ->type_name("TIME");
  add_parsed(
      app, "--warmup",
      [&](const std::string& text) {
        config.warmup = parse_bounded<std::int64_t>("--warmup", text, 0, 1U << 30);
      },
      "messages per size before the timed ones [200, fewer if large]")
      ->type_name("N");
  add_parsed(
      app, "-t,--depth",
      [&](const std::string& text) {
        config.depth = parse_bounded<std::uint32_t>("--depth", text, 1, run::kMaxDepth);
      },
      "messages outstanding at once [bw: 128; lat: 16, of which it uses one]")
      ->type_name("N");
  add_parsed(
      app, "--signal-every",
      [&](const std::string& text) {
        config.signal_every =
            parse_bounded<std::uint32_t>("--signal-every", text, 1, run::kMaxDepth);
      },
      "ask for one completion in N messages [bw: 32; lat: 8]")
      ->type_name("N");
  add_parsed(
      app, "-I,--inline",
      [&](const std::string& text) {
        config.inline_limit = text == "auto" ? -1
                                             : static_cast<std::int32_t>(std::min<std::uint64_t>(
                                                   parse_size(text), std::uint64_t{1} << 20));
      },
      "largest message to send inline (verbs) or inject (libfabric), 0 for none [auto]")
      ->type_name("SIZE");
  app.add_flag("--validate", config.validate,
               "fill and compare every message; the figures include the target's share of it");
}

void add_path(CLI::App& app, Options& options) {
  run::Config& config = options.config;
  app.add_option("--backend", config.backend, "auto, verbs, ofi or loop [auto]")->type_name("NAME");
  app.add_option("-d,--device", config.device,
                 "this side's device: NAME[:PORT] for verbs, a domain for libfabric [by route]")
      ->type_name("NAME");
  app.add_option("--provider", config.provider,
                 "libfabric provider, on both sides: tcp, shm, efa ... [by route]")
      ->type_name("NAME");
  app.add_option("-c,--transport", options.transport, "rc (verbs) or rdm (libfabric) [by back end]")
      ->type_name("NAME");
  add_parsed(
      app, "-x,--gid-index",
      [&](const std::string& text) {
        config.gid_index = parse_bounded<std::int32_t>("--gid-index", text, 0, 255);
      },
      "RoCE GID of this side's port [by route, RoCE v2 first]")
      ->type_name("N");
  add_parsed(
      app, "-m,--mtu",
      [&](const std::string& text) {
        config.mtu = parse_bounded<std::int32_t>("--mtu", text, 256, 4096);
      },
      "verbs path MTU: 256, 512, 1024, 2048 or 4096 [the smaller active one]")
      ->type_name("BYTES");
  add_parsed(
      app, "--timeout", [&](const std::string& text) { config.timeout = parse_duration(text); },
      "give up when nothing moves for this long [10s]")
      ->type_name("TIME");
}

}  // namespace

void add_measuring(CLI::App& app, Options& options) {
  app.add_option("HOST", options.host, "the server's name or address (not with --backend loop)");
  add_traffic(app, options);
  add_path(app, options);
  add_port(app, options.port);
  add_cpu(app, options.cpu);
  add_output(app, options);
}

void add_output(CLI::App& app, Options& options) {
  app.add_option("--format", options.format, "table, json or csv [table]")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "csv"}));
  app.add_option("--output", options.output, "write the results to FILE [standard output]")
      ->type_name("FILE");
}

void add_cpu(CLI::App& app, int& cpu) {
  add_parsed(
      app, "--cpu",
      [&](const std::string& text) { cpu = parse_bounded<int>("--cpu", text, 0, 1023); },
      "run on this processor [where the kernel puts it]")
      ->type_name("N");
}

void add_port(CLI::App& app, std::uint16_t& port) {
  add_parsed(
      app, "-p,--port",
      [&](const std::string& text) {
        port = parse_bounded<std::uint16_t>("--port", text, 0, 65535);
      },
      "TCP port of the server [18515]")
      ->type_name("N");
}

void settle(Options& options) {
  std::string& backend = options.config.backend;
  if (backend == "loop" && !options.host.empty()) {
    throw Error(Fault::usage, fmt::format("--backend loop with the host '{}'", options.host),
                "The loop back end stays in this process: leave out the host.");
  }
  if (backend == "loop" && options.cpu >= 0) {
    throw Error(
        Fault::usage, fmt::format("--cpu {} with --backend loop", options.cpu),
        "Both ends are threads of this process and would share that processor: leave it out.");
  }
  if (backend != "loop" && options.host.empty()) {
    throw Error(Fault::usage, "no HOST to measure against",
                "Name the machine where 'rdmabench serve' runs, or add --backend loop.");
  }
  if (options.transport.empty()) return;
  const std::string transport = CLI::detail::to_lower(options.transport);  // perftest writes RC
  const char* const needed = transport == "rc" ? "verbs" : transport == "rdm" ? "ofi" : nullptr;
  if (needed == nullptr) {
    throw Error(Fault::usage, fmt::format("there is no transport '{}'", options.transport),
                "Choose --transport rc or rdm.");
  }
  if (backend != "auto" && backend != needed) {
    throw Error(Fault::usage,
                fmt::format("--transport {} with --backend {}", options.transport, backend),
                fmt::format("Add --backend {}, or leave one of them out.", needed));
  }
  backend = needed;
}

}  // namespace rdmabench::tools
