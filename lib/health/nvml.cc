#include "nvml.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/text.h"
#include "child.h"
#include "firmware.h"
#include "loaded/library.h"
#include "nvml_abi.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::health {
namespace {

/// Begins a line with the name of a fact; what follows up to the next mark is its text.
constexpr char kMark = '@';
constexpr std::string_view kEnd = "@end\n";

/// Whether a function is there and has succeeded.
template <class Function, class... Arguments>
bool tells(Function* function, Arguments... arguments) {
  return function != nullptr && function(arguments...) == nvml::kSuccess;
}

std::string fabric_line(const nvml::Functions& call, nvml::Device device) {
  nvml::FabricInfo info{.version = nvml::kFabricInfo3};
  if (!tells(call.fabric, device, &info)) {
    info = {.version = nvml::kFabricInfo2};
    if (!tells(call.fabric, device, &info)) return "";
    info.summary = 0;
  }
  return fmt::format("fabric state={} status={} health={:#x} summary={} clique={} cluster={:02x}\n",
                     info.state, info.status, info.health, info.summary, info.clique,
                     fmt::join(info.cluster, ""));
}

std::string link_line(const nvml::Functions& call, nvml::Device device) {
  std::array<unsigned, 2> number{};
  for (unsigned link = 0; link < nvml::kMostLinks; ++link) {
    int active = 0;
    if (tells(call.link, device, link, &active)) ++number[active != 0 ? 1 : 0];
  }
  if (number[0] + number[1] == 0) return "";
  return fmt::format("nvlink active={} inactive={}\n", number[1], number[0]);
}

std::string memory_lines(const nvml::Functions& call, nvml::Device device) {
  std::string text;
  int now = 0;
  int next = 0;
  if (tells(call.ecc_mode, device, &now, &next)) {
    unsigned long long count = 0;
    text += fmt::format("ecc mode={}", now);
    if (tells(call.ecc_errors, device, nvml::kUncorrected, nvml::kSinceLoad, &count)) {
      text += fmt::format(" uncorrected={}", count);
    }
    text += '\n';
  }
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (tells(call.rows, device, &corrected, &uncorrected, &pending, &failed)) {
    text += fmt::format("rows corrected={} uncorrected={} pending={} failed={}\n", corrected,
                        uncorrected, pending, failed);
  }
  return text;
}

std::string setting_lines(const nvml::Functions& call, nvml::Device device) {
  std::string text;
  unsigned long long bits = 0;
  if (tells(call.event_reasons, device, &bits) || tells(call.throttle_reasons, device, &bits)) {
    text += fmt::format("slowed {:#x}\n", bits);
  }
  unsigned now = 0;
  unsigned next = 0;
  if (tells(call.mig, device, &now, &next)) text += fmt::format("mig now={} next={}\n", now, next);
  int on = 0;
  if (tells(call.persistence, device, &on)) text += fmt::format("persistence on={}\n", on);
  if (tells(call.clock, device, nvml::kSmClock, &now) &&
      tells(call.default_clock, device, nvml::kSmClock, &next)) {
    text += fmt::format("clock mhz={} default_mhz={}\n", now, next);
  }
  nvml::FieldValue field;
  field.field = nvml::kRecoveryAction;
  if (tells(call.fields, device, 1, &field) && field.result == nvml::kSuccess) {
    text += fmt::format("recovery action={}\n", field.number);
  }
  return text;
}

std::string gpu_facts(const nvml::Functions& call, const std::string& address) {
  nvml::Device device = nullptr;
  const nvml::Result answer = call.by_address(address.c_str(), &device);
  std::string text = fmt::format("answer={}\n", answer);
  if (answer != nvml::kSuccess) return text;
  return text + fabric_line(call, device) + link_line(call, device) + memory_lines(call, device) +
         setting_lines(call, device);
}

void write_all(int output, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(output, text.data(), text.size());
    if (put <= 0) _exit(1);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

/// The life of the child. What it has told of a GPU is kept if the next one never answers.
[[noreturn]] void ask(const nvml::Functions& call, const std::vector<std::string>& addresses,
                      const std::string& fabric_manager, int output) {
  const nvml::Result init = call.init();
  write_all(output, fmt::format("{}nvml\ninit={}\n", kMark, init));
  for (const std::string& address : addresses) {
    if (init != nvml::kSuccess) break;
    write_all(output, fmt::format("{}gpu/{}\n", kMark, address));  // the last one is complete
    write_all(output, gpu_facts(call, address));
  }
  write_all(output, kEnd);
  if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) _exit(1);
  write_all(output, fmt::format("{}fabric_manager\n", kMark));
  execl(fabric_manager.c_str(), fabric_manager.c_str(), "--version", nullptr);
  _exit(1);
}

/// Takes what was told apart. A fact counts where a mark follows it.
void add_told(MemoryStore& facts, std::string_view text) {
  while (!text.empty() && text.front() == kMark) {
    const std::size_t line = text.find('\n');
    const std::size_t end = text.find(std::string("\n") + kMark, line);
    if (line == std::string_view::npos || end == std::string_view::npos) return;
    if (text.substr(0, line + 1) != kEnd) {
      facts.add_file("rdmabench/" + std::string(text.substr(1, line - 1)),
                     std::string(text.substr(line + 1, end - line)));
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

GpuQuestion::GpuQuestion(const std::vector<std::string>& addresses,
                         const std::string& fabric_manager, std::chrono::milliseconds limit)
    : limit_(limit), deadline_(Deadline::after(limit)) {
  if (addresses.empty()) return;
  const loaded::Found& library = loaded::nvml.load();
  if (library.handle == nullptr) {
    failed_ = fmt::format("{} is missing: {}", loaded::nvml.name(), library.absence);
    return;
  }
  const nvml::Functions call([](const char* name) { return loaded::nvml.find(name); });
  std::array<int, 2> ends{};
  if (call.init == nullptr || call.by_address == nullptr) {
    failed_ = library.file + " is too old";
  } else if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    failed_ = "pipe2: " + errno_text(errno);
  } else {
    input_ = Descriptor(ends[0]);
    const Descriptor output(ends[1]);
    const pid_t own = getpid();
    child_ = fork();
    if (child_ == 0) {
      // A doctor that is killed leaves no process behind.
      if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != own) _exit(1);
      setpgid(0, 0);
      std::signal(SIGPIPE, SIG_DFL);
      ask(call, addresses, fabric_manager, output.get());
    }
    if (child_ < 0) failed_ = "fork: " + errno_text(errno);
    if (child_ > 0) setpgid(child_, child_);  // whichever of the two is first
  }
}

GpuQuestion::~GpuQuestion() {
  if (child_ > 0) end_of(child_, Deadline::after({}), std::chrono::milliseconds(20));
}

void GpuQuestion::take(MemoryStore& facts) {
  if (!failed_.empty()) facts.add_file("rdmabench/nvml", fmt::format("{}{}\n", kNotTold, failed_));
  if (child_ <= 0) return;
  std::string text = read_all(input_.get(), deadline_);
  input_ = {};
  const bool ended = end_of(child_, deadline_, std::chrono::milliseconds(20)).has_value();
  child_ = -1;
  const std::string fabric = fmt::format("\n{}fabric_manager\n", kMark);
  const std::size_t version = text.find(fabric);
  if (ended && version != std::string::npos && version + fabric.size() < text.size()) {
    text += text.ends_with('\n') ? kEnd : std::string("\n") + std::string(kEnd);
  }
  add_told(facts, text);
  if (text.find(kEnd) != std::string::npos) return;
  // Of GPUs that were not told of, the checks say this.
  facts.add_file("rdmabench/nvml",
                 ended ? fmt::format("{}NVML ended the process that asked it\n", kNotTold)
                       : fmt::format("{}NVML did not answer within {:g} s\n", kNotTold,
                                     std::chrono::duration<double>(limit_).count()));
}

}  // namespace rdmabench::inline v1::health
