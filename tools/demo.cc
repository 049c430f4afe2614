// rdmabench demo
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "control/secret.h"
#include "ending.h"
#include "flags/fields.h"
#include "options.h"
#include "output.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/results/result.h"
#include "rdmabench/run/client.h"

namespace rdmabench::inline v1::tools {
namespace {

using transport::OperationCode;
using workload::Shape;

constexpr std::size_t kParts = 4;  // latency and bandwidth of two operations
constexpr auto kStartLimit = std::chrono::seconds(10);

/// The child's first line; less where it ended or the time limit passed.
std::string first_line(int pipe) {
  const Deadline deadline = Deadline::after(kStartLimit);
  std::string line;
  while (line.find('\n') == std::string::npos && !deadline.passed()) {
    pollfd wait{.fd = pipe, .events = POLLIN, .revents = 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.left());
    if (poll(&wait, 1, static_cast<int>(left.count()) + 1) <= 0) continue;
    std::array<char, 256> some{};
    const ssize_t count = read(pipe, some.data(), some.size());
    if (count <= 0) break;
    line.append(some.data(), static_cast<std::size_t>(count));
  }
  return line;
}

/// A file without a name: the two processes need no home, and no file of the user.
int nameless_token(std::string_view bytes) {
  const int file = memfd_create("token", MFD_CLOEXEC);
  if (file < 0 || fchmod(file, S_IRUSR | S_IWUSR) != 0 ||
      ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    throw Error(Fault::failed, "a token in memory (memfd_create)", {}, errno);
  }
  return file;
}

/// `rdmabench serve` on a free port, in a child process that the destructor ends.
class ServerProcess {
 public:
  /// It serves this provider of libfabric, or UCX, too, whatever endangers a server. Throws
  /// Error(failed) when it does not listen within 10 seconds.
  ServerProcess(int cpu, const std::string& provider);
  ~ServerProcess();
  ServerProcess& operator=(ServerProcess&&) = delete;

  std::uint16_t port() const { return port_; }

  /// By which this process and nobody else is served.
  const control::Authentication& authentication() const { return authentication_; }

 private:
  control::Authentication authentication_;
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::uint16_t port_ = 0;
};

ServerProcess::ServerProcess(int cpu, const std::string& provider)
    : authentication_(control::Authentication::insecure()) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(Fault::failed, "pipe2", {}, errno);
  pipe_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<std::string> words{"rdmabench", "serve", "--address",    "127.0.0.1",
                                 "--port",    "0",     "--with-parent"};
  if (!provider.empty()) {  // whoever names it is the operator too
    words.insert(words.end(), {"--allow-provider", provider});
  }
  int token = -1;
  if (control::can_authenticate()) {
    const std::string bytes = control::random_bytes(control::kMinSecret);
    authentication_ = control::Authentication::secret(bytes);
    token = nameless_token(bytes);
    posix_spawn_file_actions_adddup2(&actions, token, token);  // which the child inherits
    words.insert(words.end(), {"--token-file", fmt::format("/proc/self/fd/{}", token)});
  } else {
    words.emplace_back("--insecure");
  }
  if (cpu >= 0) {
    words.emplace_back("--cpu");
    words.push_back(std::to_string(cpu));
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed =
      posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (token >= 0) close(token);
  const std::string line = failed == 0 ? first_line(pipe_) : "";
  const std::size_t colon = line.rfind(':');
  if (line.find("listening on ") == std::string::npos || colon == std::string::npos) {
    if (failed == 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(pipe_);
    throw Error(Fault::failed,
                fmt::format("the server process did not start; it printed '{}'", line), {}, failed);
  }
  port_ = static_cast<std::uint16_t>(std::strtoul(line.c_str() + colon + 1, nullptr, 10));
}

ServerProcess::~ServerProcess() {
  kill(pid_, SIGTERM);
  const Deadline deadline = Deadline::after(kStartLimit);
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (deadline.passed()) kill(pid_, SIGKILL);
    usleep(1000);
  }
  close(pipe_);
}

int demo(Options& options) {
  settle_format(options);
  check_writable(options.output);
  check_writable(options.json);
  // Two spinning processes on one processor would measure the scheduler's time slice.
  const std::vector<int> cpus = processors();
  const bool apart = cpus.size() >= 2;
  constexpr std::string_view kUsualProvider = "tcp";
  const bool is_ofi = options.config.backend == "ofi";
  std::string& provider = options.config.endpoint.ofi.provider;
  std::string without;  // what is said before all rows
  if (is_ofi && provider.empty()) {
    provider = kUsualProvider;
    const std::string words =
        "NOT RDMA: this demo measures TCP within this machine, which needs no RDMA device.";
    if (options.format == "table") {
      without = words + '\n';
    } else {
      tell(words);
    }
  }
  const ServerProcess server(apart ? cpus[0] : -1, is_ofi ? provider : options.config.backend);

  std::vector<report::Report> reports;
  Writer writer(options);
  std::string text;  // that was not written yet
  const auto write_all = [&] { return writer.write(text, reports); };
  const auto keep = [&](report::Report report) {
    name_flags(report);
    text += std::exchange(without, "");
    text += writer.rows(reports.emplace_back(std::move(report)), true);
    if (reports.back().error || reports.size() == kParts) return write_all();
    if (!writer.streams()) return 0;
    try {
      write_text(std::exchange(text, ""));
    } catch (const Error&) {
      write_all();  // to the file of --json
      throw;
    }
    return 0;
  };
  More more;
  if (writer.streams()) {
    more = [&](const auto& report) {
      return std::exchange(without, "") + writer.rows(report, false);
    };
  }
  for (const Shape shape : {Shape::latency, Shape::bandwidth}) {
    for (const OperationCode operation : {OperationCode::send, OperationCode::write}) {
      run::Config config = options.config;
      config.authentication = server.authentication();
      if (apart) config.placement.cpus = {cpus[1]};
      config.traffic.shape = shape;
      config.traffic.operation = operation;
      // UCX has no write that tells its target, which the latency of long ones needs.
      if (!is_ofi && shape == Shape::latency && operation == OperationCode::write) {
        config.traffic.operation = OperationCode::read;
      }
      int code = 0;
      try {
        code = run_and_write(config, "127.0.0.1", server.port(),
                             progress_line(reports.size(), kParts), keep, more);
      } catch (const Error&) {
        if (interrupted().empty()) throw;
        return write_all();  // of the runs before
      }
      if (code != 0 || reports.size() == kParts) return code;
    }
  }
  return 0;
}

}  // namespace

void add_demo(CLI::App& app, Command& command) {
  const auto [sub, options] = add_command<Options>(
      app, command, "demo",
      "Measure between two processes of this machine over libfabric or UCX; needs no hardware",
      "Measures latency and bandwidth of send and write between this process and a server that it\n"
      "starts, 0.2 s per size; over UCX the latency of read, not of write. The results show this\n"
      "machine's loopback and the library's software, not a network.",
      demo);
  run::Config& config = options.config;
  const OptionGroup group(sub);
  config.backend = "ofi";
  config.stop = measure::StopRule::duration(std::chrono::milliseconds(200));
  config.sizes = parse_size_list("8,64,1K,8K,64K,1M");
  group.add("--backend=NAME", config.backend, "ofi or ucx [ofi]", {"ofi", "ucx"});
  group.add("--ucx-tls=LIST", config.endpoint.ucx.transports,
            "with --backend ucx: the transports that UCX may take [UCX_TLS, or all]");
  group.add("--provider=NAME", config.endpoint.ofi.provider,
            "libfabric provider: tcp, shm ... [tcp]");
  group.add("-s, --size=SIZES", config.sizes, "message sizes in bytes [8,64,1K,8K,64K,1M]");
  add_output(group, options);
}

}  // namespace rdmabench::inline v1::tools
