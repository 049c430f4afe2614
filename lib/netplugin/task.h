// A task for a child process: run a case, measure one size, or look at the plugin.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "isolate.h"
#include "messages.h"
#include "netplugin/check.h"
#include "netplugin/net.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::netplugin {

enum class Role : std::uint8_t { both, sender, receiver };

/// Throws Error(failed), for an unknown case too.
Task parse_task(std::string_view text);

/// Runs a task in a child and gives the TaskResult as text. Never throws.
std::string perform(const std::string& file, const Task& task, Role role, Pipe& parent,
                    Steps& steps);

/// What a task that measures found. The other end may have sent `result`: without values that can
/// be it has an error.
Measurement measurement_of(const Task& task, const TaskResult& result);

/// Whether the case ended there: the other end need not go on.
inline bool ends(const TaskResult& result) {
  return result.status == Status::fail || result.status == Status::skip;
}

/// The result that says more about a failure: not that of an end that only waited for the other.
const TaskResult& worse(const TaskResult& a, const TaskResult& b);

/// " The plugin wrote, of 30 lines the last: WARN one | INFO two", or "".
std::string last_lines(std::string_view log);

/// Called in the parent: runs a task with both ends in one child.
TaskResult run_here(const std::string& file, const Task& task, const OnLog& on_log);

/// Called in the parent: runs one end in a child of this host, and forwards messages between it and
/// the child of the other host. Throws Error when the other host is lost.
struct TaskResults {
  TaskResult own;
  TaskResult peer;
};
TaskResults run_with(const std::string& file, const Task& task, Role role,
                     control::Channel& channel, const OnLog& on_log);

PluginFacts look(const std::string& file, std::chrono::milliseconds timeout, const OnLog& on_log);

/// Runs all tasks in order. `run` runs one task on both ends.
void run_all(Check& check, const OnProgress& on_progress,
             const std::function<TaskResult(const Task&)>& run);

/// Throws Error(usage).
void check_options(const Options& options);
std::vector<int> versions_of(const Options& options, const std::vector<int>& there);

}  // namespace rdmabench::inline v1::netplugin
