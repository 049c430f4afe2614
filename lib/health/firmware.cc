#include "firmware.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <vector>

#include "base/descriptor.h"
#include "base/text.h"
#include "child.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {
namespace {

/// "" where none of the folders has a tool.
std::string find_tool(std::span<const std::string_view> folders) {
  for (const char* const name : {"mstconfig", "mlxconfig"}) {
    for (const std::string_view folder : folders) {
      std::string path = fmt::format("{}/{}", folder, name);
      if (access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return "";
}

/// In a process group of its own, so that what a tool starts can be killed with it. The errno of
/// posix_spawn(3), or 0.
int start(const std::string& path, const std::string& address, int output, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  // -e: also what the device runs with now, and not only from its next reset on.
  std::array<std::string, 6> words{path, "-d", address, "-e", "q", "PCI_WR_ORDERING"};
  std::array<char*, words.size() + 1> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  std::string search = "PATH=/usr/bin:/usr/sbin:/bin:/sbin";
  std::string language = "LC_ALL=C";
  std::array<char*, 3> environment{search.data(), language.data()};
  const int failed = posix_spawn(&child, path.c_str(), &actions, &attributes, arguments.data(),
                                 environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/// A tool's last words: "-E- Failed to open the device".
std::string_view last_line(std::string_view text) {
  std::string_view last;
  for (const std::string_view line : lines_of(text)) {
    if (!trimmed(line).empty()) last = trimmed(line);
  }
  return last;
}

}  // namespace

std::string firmware_facts(const std::string& address, std::span<const std::string_view> folders,
                           std::chrono::milliseconds limit) {
  const auto not_told = [](std::string_view why) { return fmt::format("{}{}\n", kNotTold, why); };
  const std::string path = find_tool(folders);
  if (path.empty()) {
    return not_told(
        fmt::format("neither mstconfig nor mlxconfig is in {}", fmt::join(folders, ", ")));
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return not_told("pipe2: " + errno_text(errno));
  Descriptor input(ends[0]);
  Descriptor output(ends[1]);
  pid_t child = -1;
  const int failed = start(path, address, output.get(), child);
  output = {};
  if (failed != 0) return not_told(path + " does not start: " + errno_text(failed));
  const Deadline deadline = Deadline::after(limit);
  std::string text = read_all(input.get(), deadline);
  input = {};  // a child that still prints ends by SIGPIPE
  const std::optional<int> status = end_of(child, deadline, std::chrono::seconds(1));
  if (!status) {
    return not_told(fmt::format("{} did not end within {:g} s", path,
                                std::chrono::duration<double>(limit).count()));
  }
  if (text.size() == kMaxFileBytes) return not_told(path + " prints without end");
  if (WIFSIGNALED(*status)) {
    return not_told(fmt::format("{} was ended by signal {}", path, WTERMSIG(*status)));
  }
  if (const int code = WEXITSTATUS(*status); code != 0) {
    return not_told(fmt::format("{} ended with {}: {}", path, code, last_line(text)));
  }
  return text;
}

std::optional<FirmwareSetting> firmware_setting(std::string_view text, std::string_view name) {
  std::vector<std::string_view> columns;
  for (const std::string_view line : lines_of(text)) {
    const std::vector<std::string_view> words = words_of(line);
    if (!words.empty() && words[0] == "Configurations:") {
      for (const std::string_view word : words) {
        if (word != words[0] && word != "Boot") columns.push_back(word);  // of "Next Boot"
      }
    }
    const auto at = std::find(words.begin(), words.end(), name);
    if (at == words.end()) continue;
    const std::vector<std::string_view> values(at + 1, words.end());
    if (values.size() != columns.size()) return std::nullopt;
    FirmwareSetting setting;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (columns[i] == "Current") setting.now = values[i];
      if (columns[i] == "Next") setting.next = values[i];
    }
    if (setting.now.empty() || setting.now == "N/A") setting.now = setting.next;
    return setting;
  }
  return std::nullopt;
}

}  // namespace rdmabench::inline v1::health
