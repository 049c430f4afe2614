#include "launches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/descriptor.h"
#include "base/json_values.h"
#include "base/new_file.h"
#include "base/refuse.h"
#include "ending.h"
#include "fabric/stream.h"
#include "rdmabench/base/error.h"
#include "rdmabench/fabric/run.h"
#include "report/body.h"
#include "report/launches.h"
#include "results/row.h"
#include "results/text_table.h"
#include "terminal.h"
#include "writing.h"

namespace rdmabench::inline v1::tools {
namespace {

constexpr const char* kVariable = "RDMABENCH_LAUNCH";
constexpr const char* kChecked = "checked";

struct Launched {
  std::vector<std::string> unread{};  ///< documents
  std::vector<report::Document> documents;
  std::vector<std::string> texts;
  int code = 0;
  std::string ended{};  ///< by which signal
  bool last = false;    ///< no other may follow
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

std::string content_of(const Descriptor& file) {
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
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw Error(Fault::failed, "wait for a launch", {}, errno);
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  ended = fmt::format("a launch was ended by signal {}", WTERMSIG(status));
  tell(ended);
  return static_cast<int>(Fault::failed);
}

/// A fabric's may take a minute, for which the other ranks would wait between two launches.
void read_launches(Launched& of) {
  constexpr std::size_t kAny = std::string::npos;  // of what this program wrote itself
  for (const std::string& text : std::exchange(of.unread, {})) {
    auto documents =
        report::parse_documents(text, fmt::format("launch {}", of.documents.size() + 1), {},
                                {.file_bytes = kAny, .document_bytes = kAny, .pairs = kAny});
    std::move(documents.begin(), documents.end(), std::back_inserter(of.documents));
  }
}

/// Adds what one launch wrote.
void add_launch(Launched& to, std::uint32_t index, std::uint32_t count) {
  const OneLaunch one = launch(own_words(), index, count);
  if (to.code == 0) to.code = one.code;
  to.ended = one.ended;
  to.last = one.code != 0 || one.document == kLastLaunch;
  if (one.document.empty() || one.document == kLastLaunch) return;
  to.unread.push_back(one.document);
  to.texts.push_back(one.text);
  to.last = !one.ended.empty();
  if (one.code == 0 || to.last) return;
  read_launches(to);  // one that found a fault, or wrong data, has come to its end
  to.last = std::ranges::any_of(to.documents, report::ended_early);
}

/// Other kinds of documents have it in their text.
std::string error_line(const report::Document& document) {
  if (document.schema != report::kRunSchema) return "";
  const std::string error = text_of(json_of(document), "error");
  return error.empty() ? "" : fmt::format("error: {}\n", report::terminal_safe(error));
}

std::string to_text(const Launched& launched, const report::Document& over, const Output& output) {
  if (output.format == "table" && launched.documents.size() > 1) {
    const std::string text = report::launches_text(over, table_width(output.wide));
    return for_reading(text + error_line(over), output.output);
  }
  std::string text;
  if (output.format == "jsonl" && launched.documents.size() > 1) {
    for (const auto& row : list_of(json_of(over), "results")) text += report::line_of(row);
    return text;
  }
  const char* const between = output.format == "json" ? "" : "\n";
  for (const std::string& one : launched.texts) text += (text.empty() ? "" : between) + one;
  return output.format == "table" ? text + error_line(over) : text;
}

/// Says in the document over launches, or in the last one, that there are fewer than were asked
/// for.
void tell_missing(report::Document& document, const Launched& launched, std::uint32_t count) {
  if (launched.documents.size() == count) return;
  nlohmann::ordered_json& body = json_of(document);
  const bool several = body.contains("errors");
  const std::string error = text_of(body, "error");
  const std::string why = !several && !error.empty() ? error
                          : !interrupted().empty()   ? interrupted()
                          : !launched.ended.empty()  ? launched.ended
                                                     : "a launch failed";
  const std::string text =
      fmt::format("{} of {} launches: {}", launched.documents.size(), count, why);
  if (several) {
    body["errors"].push_back(text);
  } else if (document.schema == report::kFabricSchema) {
    tell(text);
    if (body["verdict"].is_object()) {
      body["verdict"]["summary"] = text + "; " + text_of(body["verdict"], "summary");
    }
  } else {
    body["error"] = text;
  }
}

int run_launches(std::uint32_t count, const Output& output, const Limits& expect,
                 const std::string& stream) {
  Launched launched;
  if (shows_progress()) tell(fmt::format("{} launches: the results of all come at the end", count));
  for (std::uint32_t i = 0; i < count && !launched.last && interrupted().empty(); ++i) {
    add_launch(launched, i, count);
  }
  read_launches(launched);
  if (launched.documents.empty()) return launched.code;
  const bool several = launched.documents.size() > 1;
  const bool lines = launched.documents.front().schema == report::kFabricSchema;  // JSON Lines
  std::vector<report::Document> all;
  if (several) all.push_back(report::join_launches(launched.documents));
  if (!several || !lines) {  // a fabric's own stand in its stream
    all.insert(all.end(), launched.documents.begin(), launched.documents.end());
  }
  tell_missing(all.front(), launched, count);
  const bool is_json = output.format == "json";
  // A launch's own CSV has no place for what was judged, nor for a fabric's verdict.
  const bool is_csv = output.format == "csv" && (several || lines);
  report::Document over = is_csv ? all.front() : report::Document();
  std::string text = (is_json && !lines) || is_csv ? "" : to_text(launched, all.front(), output);
  std::string record = lines && several ? fabric::to_json_lines(all.front()) : "";
  const Judged judged = judge(std::move(all), expect, {}, launched.documents);
  record += lines ? judged.record : "";
  if (is_json) text += record;
  if (is_csv) {
    if (!judged.expectations.is_null()) json_of(over)["expectations"] = judged.expectations;
    text = report::to_csv({&over, 1});
  }
  write_judged(text.empty() ? judged.json : text, judged, output);
  if (!stream.empty()) {
    // Cuts the half line of a launch that was killed.
    fabric::StreamFile(stream, fabric::StreamFile::Mode::append);  // NOLINT(bugprone-unused-raii)
    append(record, stream);
  }
  if (launched.code != 0) return launched.code;
  return judged.failed ? static_cast<int>(Fault::failed) : 0;
}

}  // namespace

int check_launch(const std::vector<std::string>& words) {
  const OneLaunch one = launch(words, 0, 0);
  refuse_if(one.code == 0 && one.document != kChecked,
            fmt::format("'{}' measures nothing", fmt::join(words, " ")),
            "Give a command line that measures.");
  return one.code;
}

OneLaunch launch(std::vector<std::string> words, std::uint32_t index, std::uint32_t count) {
  const Descriptor document = in_memory();
  const Descriptor text = in_memory();
  const std::string part = fmt::format("{}/{}/{}", index, count, document.get());
  setenv(kVariable, part.c_str(), 1);
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
  std::signal(SIGCHLD, SIG_DFL);  // who ignores it is not told how a process ended
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
  OneLaunch one;
  one.code = exit_code(process, one.ended);
  one.document = content_of(document);
  one.text = content_of(text);
  return one;
}

LaunchPart launch_part() {
  const char* const part = std::getenv(kVariable);
  LaunchPart found;
  if (part == nullptr ||
      std::sscanf(part, "%u/%u/%d", &found.index, &found.count, &found.document) != 3) {
    return {};
  }
  return found;
}

std::optional<int> begin_launches(std::uint32_t count, Output& output, Limits& expect,
                                  const LaunchOptions& options) {
  const LaunchPart part = launch_part();
  if (part.is_check()) {
    const std::string given = count > 1                ? "--launches"
                              : !output.output.empty() ? "--output"
                              : !output.json.empty()   ? "--json"
                              : !expect.empty()        ? "--expect or --profile"
                                                       : "";
    refuse_if(!given.empty(), given + " in a command line that 'compare --launches' measures",
              "Leave it out: it is compared, and --keep writes what each launch gave.");
    hand_over(kChecked);
    return 0;
  }
  if (part.is_launch()) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    output.output.clear();
    output.json.clear();
    expect.clear();
    return std::nullopt;
  }
  if (options.leads) {
    check_writable(output.output);
    check_writable(output.json);
    read_baselines(expect);
  }
  if (count == 1) return std::nullopt;
  return run_launches(count, output, expect, options.stream);
}

void hand_over(const std::string& document) {
  if (const int code = write_all(launch_part().document, document); code != 0) {
    throw Error(Fault::failed, "write a launch's result", {}, code);
  }
}

}  // namespace rdmabench::inline v1::tools
