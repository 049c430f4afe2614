#include "launches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/descriptor.h"
#include "base/new_file.h"
#include "ending.h"
#include "rdmabench/base/error.h"
#include "report/launches.h"
#include "terminal.h"
#include "writing.h"

namespace rdmabench::tools {
namespace {

constexpr const char* kVariable = "RDMABENCH_LAUNCH";

struct Launched {
  std::vector<report::Document> documents;
  std::vector<std::string> texts;
  int code = 0;
  std::string ended{};  ///< by which signal
};

Descriptor in_memory() {
  Descriptor file(memfd_create("launch", MFD_CLOEXEC));
  if (file.get() < 0) throw Error(Fault::failed, "memfd_create", {}, errno);
  return file;
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_of(const Descriptor& file) {
  return read_whole(fmt::format("/proc/self/fd/{}", file.get()));
}

/// As this process was started.
std::vector<std::string> own_words() {
  std::vector<std::string> words;
  const std::string line = read_whole("/proc/self/cmdline");
  for (std::size_t at = 0; at < line.size(); at = line.find('\0', at) + 1) {
    words.emplace_back(line.c_str() + at);
  }
  return words;
}

/// The exit code of a process that a signal to this one ends too; `ended` says if another one did.
int exit_code(pid_t process, std::string& ended) {
  const OnInterruption forward([process] { kill(process, interrupting_signal()); });
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  ended = fmt::format("a launch was ended by signal {}", WTERMSIG(status));
  tell(ended);
  return static_cast<int>(Fault::failed);
}

/// Adds what one launch wrote.
void launch(Launched& to, std::uint32_t index, std::uint32_t count) {
  const Descriptor document = in_memory();
  const Descriptor text = in_memory();
  const std::string part = fmt::format("{}/{}/{}", index, count, document.get());
  setenv(kVariable, part.c_str(), 1);
  std::vector<std::string> words = own_words();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, text.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, document.get(), document.get());  // it inherits
  // A group of its own: a terminal's signal would reach it beside ours, and the second one kills.
  // A terminal with 'stty tostop' stops such a group where it writes, unless it ignores that, as it
  // does from this process on.
  std::signal(SIGTTOU, SIG_IGN);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t process = -1;
  const int failed =
      posix_spawn(&process, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  unsetenv(kVariable);
  if (failed != 0)
    throw Error(Fault::failed, fmt::format("start launch {}", index + 1), {}, failed);
  to.code = exit_code(process, to.ended);
  const std::string json = text_of(document);
  if (json.empty()) return;
  auto documents = report::parse_documents(json, fmt::format("launch {}", index + 1));
  std::move(documents.begin(), documents.end(), std::back_inserter(to.documents));
  to.texts.push_back(text_of(text));
}

std::string to_text(const Launched& launched, const report::Document& over, const Output& output) {
  if (output.format == "table" && launched.documents.size() > 1) {
    return for_reading(report::launches_text(over, table_width(output.wide)), output.output);
  }
  std::string text;
  for (const std::string& one : launched.texts) text += (text.empty() ? "" : "\n") + one;
  return text;
}

/// Says in the document over launches, or in the last one, that there are fewer than were asked
/// for.
void tell_missing(report::Document& document, const Launched& launched, std::uint32_t count) {
  if (launched.documents.size() == count) return;
  nlohmann::ordered_json& body = document.body;
  const bool several = body.contains("errors");
  const std::string why = !several && !body["error"].is_null() ? std::string(body["error"])
                          : !interrupted().empty()             ? interrupted()
                          : !launched.ended.empty()            ? launched.ended
                                                               : "a launch failed";
  const std::string text =
      fmt::format("{} of {} launches: {}", launched.documents.size(), count, why);
  if (several) {
    body["errors"].push_back(text);
  } else {
    body["error"] = text;
  }
}

int run_launches(std::uint32_t count, const Output& output, const Expectations& expect) {
  Launched launched;
  for (std::uint32_t i = 0; i < count && launched.code == 0 && interrupted().empty(); ++i) {
    launch(launched, i, count);
  }
  if (launched.documents.empty()) return launched.code;
  std::vector<report::Document> all = launched.documents;
  if (all.size() > 1) all.insert(all.begin(), report::over_launches(launched.documents));
  tell_missing(all.front(), launched, count);
  const std::string text = output.format == "json" ? "" : to_text(launched, all.front(), output);
  const Judged judged = judge(std::move(all), expect, {}, launched.documents);
  write_judged(text.empty() ? judged.json : text, judged, output.format, output.output);
  if (launched.code != 0) return launched.code;
  return judged.failed ? static_cast<int>(Fault::failed) : 0;
}

}  // namespace

LaunchPart launch_part() {
  const char* const part = std::getenv(kVariable);
  LaunchPart found;
  if (part == nullptr ||
      std::sscanf(part, "%u/%u/%d", &found.index, &found.count, &found.document) != 3) {
    return {};
  }
  return found;
}

std::optional<int> begin_launches(std::uint32_t count, Output& output, Expectations& expect) {
  if (launch_part().is_launch()) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    output.output.clear();
    expect.clear();
    return std::nullopt;
  }
  check_writable(output.output);
  read_baselines(expect);
  if (count == 1) return std::nullopt;
  return run_launches(count, output, expect);
}

void hand_over(const std::string& document) {
  if (const int code = write_all(launch_part().document, document); code != 0) {
    throw Error(Fault::failed, "write a launch's result", {}, code);
  }
}

}  // namespace rdmabench::tools
