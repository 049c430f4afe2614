#include "base/shared_memory_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string_view>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

constexpr std::string_view kOwnFiles = "rdmabench-";

/// "rdmabench-NAMESPACE-PID-": 0 for a namespace that is not known.
std::string prefix_of(std::uint64_t name_space, pid_t process) {
  return fmt::format("{}{}-{}-", kOwnFiles, name_space, process);
}

/// The number of this process's PID namespace, which no other one has at the same time. Source:
/// namespaces(7).
std::uint64_t own_namespace() noexcept {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/// Takes a number and the '-' behind it from the front of `text`.
template <class T>
std::optional<T> take_number(std::string_view& text) noexcept {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() + text.size() || *end != '-') return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return value;
}

/// Whether a process of this PID namespace made it that has ended.
bool is_abandoned(std::string_view name, std::uint64_t name_space) noexcept {
  if (name_space == 0 || !name.starts_with(kOwnFiles)) return false;
  name.remove_prefix(kOwnFiles.size());
  if (take_number<std::uint64_t>(name) != name_space) return false;
  const std::optional<pid_t> process = take_number<pid_t>(name);
  return process && *process > 0 && kill(*process, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string shared_memory_name() {
  std::array<std::uint64_t, 2> number{};
  if (getrandom(number.data(), sizeof number, 0) != sizeof number) {
    throw Error(Fault::failed, "getrandom() of a name", {}, errno);
  }
  return fmt::format("{}{:016x}{:016x}", prefix_of(own_namespace(), getpid()), number[0],
                     number[1]);
}

bool is_of_this_process(std::string_view name) {
  const std::uint64_t name_space = own_namespace();
  return name_space != 0 && name.find(prefix_of(name_space, getpid())) != name.npos;
}

std::string to_text(const RemovedFiles& removed) {
  return fmt::format("removed {} file{} of processes that have ended from /dev/shm ({:.1f} MiB)",
                     removed.count, removed.count == 1 ? "" : "s",
                     static_cast<double>(removed.bytes) / (1 << 20));
}

RemovedFiles remove_abandoned_memory(const std::string& folder) noexcept {
  RemovedFiles removed;
  try {
    const std::uint64_t name_space = own_namespace();
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string& path = entry.path().native();
      struct stat status {};
      if (!is_abandoned(entry.path().filename().native(), name_space) ||
          lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
          status.st_uid != geteuid() || unlink(path.c_str()) != 0) {
        continue;
      }
      ++removed.count;
      removed.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // No such folder, or it changes too fast: the next one to start removes the rest.
  }
  return removed;
}

}  // namespace rdmabench::inline v1
