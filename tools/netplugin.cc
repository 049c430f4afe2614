// rdmabench netplugin
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include "base/descriptor.h"
#include "base/refuse.h"
#include "commands.h"
#include "ending.h"
#include "flags/values.h"
#include "netplugin/check.h"
#include "options.h"
#include "output.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::inline v1::tools {
namespace {

constexpr const char* kShuttingDown = "the server is shutting down";

struct State : Output {
  netplugin::Options options;
  control::Authentication authentication;
  std::string host;
  std::string address;
  std::string listen_port;  ///< of --listen, which may be without a value
  bool listen = false;
  bool once = false;
  bool list = false;
  bool verbose = false;
  std::string log;
  std::optional<std::uint16_t> port;
};

std::atomic<control::Listener*> listening{nullptr};
std::atomic<int> served{-1};  // the socket of the client that is being served

/// Ends what waits for a client, too: one that says nothing would keep this process for minutes.
extern "C" void stop_listening(int signal) {
  const int saved = errno;
  if (control::Listener* const listener = listening) listener->stop();
  if (const int socket = served; socket >= 0) static_cast<void>(::shutdown(socket, SHUT_RD));
  std::signal(signal, SIG_DFL);
  errno = saved;
}

/// Whether standard error takes a line at once. Who listens must not wait for who reads its lines;
/// a LogQueue would be another thread beside the plugin's.
bool takes_a_line() {
  pollfd error{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&error, 1, 0) == 1;
}

/// Where goes what the plugin logs and prints.
netplugin::OnLog keep_log(const State& state) {
  if (!state.log.empty()) {
    check_writable(state.log);
    write_file("", state.log);
  }
  return [&state](const std::string& what, const std::string& text) {
    const std::string entry =
        fmt::format("{}:\n{}{}", what, text, text.ends_with('\n') ? "" : "\n");
    if (!state.log.empty()) append(entry, state.log);
    if (state.verbose && (!state.listen || takes_a_line())) {
      erase_progress();
      tell(fmt::format("the plugin wrote, {}", entry.substr(0, entry.size() - 1)));
    }
  };
}

int serve(const State& state) {
  const netplugin::OnLog on_log = keep_log(state);
  const std::uint16_t port =
      state.listen_port.empty()
          ? state.port.value_or(netplugin::kDefaultPort)
          : whole_as<std::uint16_t>({"--listen", state.listen_port}, 0, 65535);
  raise_descriptor_limit();
  control::Listener listener(state.address, port, state.authentication);
  listening = &listener;
  std::signal(SIGINT, stop_listening);
  std::signal(SIGTERM, stop_listening);
  if (std::signal(SIGHUP, stop_listening) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  const auto say = [](const std::string& text) {
    if (takes_a_line()) tell(text);
  };
  say(fmt::format("listening on {}:{}{}", state.address.empty() ? "*" : state.address,
                  listener.port(), who_is_served(state.authentication)));
  int code = 0;
  while (!listener.stopped()) {
    std::optional<control::Channel> client;
    try {
      client = listener.accept(Deadline::after(std::chrono::hours(1)));
      if (client) served = client->handle();
      if (listener.stopped()) break;
      if (client) netplugin::serve(state.options.file, *client, say, on_log);
    } catch (const std::exception& error) {
      if (client) client->abort(listener.stopped() ? kShuttingDown : error.what());
      if (!listener.stopped()) {
        code = takes_a_line() ? fail(error) : static_cast<int>(Fault::failed);
      }
    }
    served = -1;
    if (!client) {
      // Where there is no room for one more connection, there may be later.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    if (state.once) break;
  }
  listening = nullptr;
  return state.once ? code : 0;
}

int print_cases() {
  std::string text;
  for (const netplugin::CaseInfo& info : netplugin::cases()) {
    text += fmt::format("{:20} {}\n", info.id, info.title);
  }
  write_text(text);
  return 0;
}

netplugin::OnProgress progress() {
  return [](const std::string& what) {
    catch_interruption();
    if (!interrupted().empty()) throw Error(Fault::failed, interrupted());
    show_progress(what + " ...", "");
  };
}

int check(State& state) {
  settle_format(state);
  check_writable(state.output);
  check_writable(state.json);
  const netplugin::OnLog on_log = keep_log(state);
  const auto on_progress = progress();
  netplugin::Check result;
  if (state.host.empty()) {
    result = netplugin::check_in_process(state.options, on_progress, on_log);
  } else {
    control::Channel server = control::Channel::connect(
        state.host, state.port.value_or(netplugin::kDefaultPort),
        Deadline::after(std::chrono::seconds(10)), std::chrono::seconds(5), state.authentication);
    result = netplugin::check_with(state.options, server, on_progress, on_log);
  }
  erase_progress();
  const std::string text =
      state.format == "json" ? netplugin::to_json(result)
      : state.format == "csv"
          ? netplugin::to_csv(result)
          : for_reading(netplugin::to_text(result, state.verbose, table_width(state.wide)),
                        state.output);
  write_result(text, netplugin::to_json(result), state);
  if (!result.error.empty()) tell(result.error);
  return result.failed() ? 1 : 0;
}

int run(State& state) {
  if (state.list) return print_cases();
  refuse_if(state.options.file.empty(), "no plugin was named",
            "Give its file, for example libnccl-net.so.");
  refuse_if(state.listen && !state.host.empty(), "--listen and a HOST exclude each other",
            "One process listens; the other one names the listener's host.");
  refuse_if(!state.listen && (state.once || !state.address.empty()),
            fmt::format("{} without --listen", state.once ? "--once" : "--address"),
            "Only the process that listens takes it.");
  const bool port_has_use = !state.host.empty() || (state.listen && state.listen_port.empty());
  refuse_if(state.port && !port_has_use, "--port without a HOST",
            "Name the host that listens there, or write --listen PORT.");
  refuse_if(!state.options.conformance && !state.options.performance,
            "--cases-only with --measure-only",
            "Leave out one of them: together they leave nothing to do.");
  return state.listen ? serve(state) : check(state);
}

void set_api(netplugin::Options& options, const Given& given) {
  options.every_version = given.text == "all";
  if (options.every_version) return;
  options.versions = {whole_as<int>(given, netplugin::kOldestVersion, netplugin::kNewestVersion)};
}

constexpr const char* kFooter =
    "Needs no GPU, no NCCL and no MPI: buffers are in host memory. Each case runs in a child process:\n"
    "a plugin that crashes or hangs FAILs only that case. WARN: NCCL works with it, and the interface\n"
    "demands something else.\n"
    "\n"
    "Examples:\n"
    "  rdmabench netplugin libnccl-net.so                  both ends in one process\n"
    "  rdmabench netplugin libnccl-net.so --listen         on one host, and on another\n"
    "  rdmabench netplugin libnccl-net.so node1\n"
    "  rdmabench netplugin libnccl-net.so --only order --api 8\n"
    "\n"
    "Exit codes: 0 no case FAILs; 1 a case FAILs or the run ended early; 2 wrong usage, or the file is\n"
    "not a plugin; 3 the plugin cannot be loaded here.";

}  // namespace

void add_netplugin(CLI::App& app, Command& command) {
  const auto [sub, state] = add_command<State>(
      app, command, "netplugin",
      "Check and measure a network plugin of NCCL, without a GPU or NCCL", kFooter, run);
  netplugin::Options& options = state.options;
  const OptionGroup group(sub);
  group.operand("file", options.file, "file of the plugin", "FILE.so");
  group.operand("host", state.host,
                "host where 'netplugin FILE.so --listen' runs [both ends in this process]", "HOST");
  const auto set_listen = [&to = state](const std::vector<std::string>& port) {
    to.listen = true;
    // Without a value CLI11 passes "true" or "{}".
    const bool given = !port.empty() && port[0] != "true" && port[0] != "{}";
    if (given) to.listen_port = port[0];
  };
  group
      .texts("--listen=[PORT]",
             "serve clients, one after the other, until SIGINT, SIGTERM or SIGHUP [18517]",
             set_listen)
      ->expected(0, 1);
  group.add("--address=ADDRESS", state.address, "listen on this address only [all]");
  group.add("--once", state.once, "serve one client only");
  group.add("--port=PORT", state.port, "port on which HOST listens [18517]", {1, 65535});
  add_authentication(group, state.authentication);
  group.call("--api=VERSION",
             "interface version, 6 to 12, or all versions of the plugin [its newest]",
             [&options](const Given& given) { set_api(options, given); });
  group.add("--device=N", options.device, "number of the plugin's device [0]", {0, INT_MAX});
  group.list("--only=CASES", options.only, "run init and these cases only, separated by commas")
      ->allow_extra_args(false);
  group.add("--list", state.list, "list all cases and exit");
  group.add("--verbose", state.verbose,
            "also print what each PASS has checked, and what the plugin writes, on standard error");
  group.add("--log=FILE", state.log, "write all that the plugin logs and prints to FILE");
  group.add("--cases-only", options.performance, "run the cases, measure nothing");
  group.add("--measure-only", options.conformance, "measure, run no case but init");
  group.add("--size=SIZES", options.sizes, "sizes to measure [8,4K,64K,1M]");
  group.add("--iterations=N", options.iterations,
            "round trips for latency, messages for bandwidth [200]",
            {1, netplugin::kMaxIterations});
  group.add("--timeout=TIME", options.timeout,
            "timeout of each case and each size, 100ms to 10m [10s]");
  add_formats(group, state, kTableFormats);
  add_wide(group, state.wide);
}

}  // namespace rdmabench::inline v1::tools
