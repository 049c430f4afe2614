// A task for a child process: run a case, measure one size, or look at the plugin.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "isolate.h"
#include "netplugin/net.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/netplugin/check.h"

namespace rdmabench::netplugin {

// Of one end: what is read without init(), and what it takes init() to read.
inline constexpr std::string_view kLook = "look";
inline constexpr std::string_view kDevices = "devices";
inline constexpr std::string_view kLatency = "latency";
inline constexpr std::string_view kBandwidth = "bandwidth";
inline constexpr std::uint64_t kEpochs = 10;  // of a bandwidth measurement

/// What two hosts that check a plugin together send each other.
enum class CheckMessage : std::uint16_t {
  abort = control::kAbortCode,
  hello = control::first_code(control::Protocol::netplugin),
  task,
  ready,
  word,  ///< of one side's child to the other's
  result,
  bye,
};
constexpr std::string_view name_of(CheckMessage type) noexcept {
  return control::message_name(
      static_cast<std::uint16_t>(type), control::first_code(control::Protocol::netplugin),
      std::array<std::string_view, 6>{"hello", "task", "ready", "word", "result", "bye"});
}

struct Task {
  std::string id{};  ///< of a case, or one of the constants above
  int version = 0;
  int device = 0;
  std::uint64_t bytes = 0;
  std::uint64_t iterations = 0;
  std::chrono::milliseconds timeout{};

  bool is_case() const {
    return id != kLook && id != kDevices && id != kLatency && id != kBandwidth;
  }
};

enum class Role : std::uint8_t { both, sender, receiver };

/// What a child reports, on this host or on the other.
struct TaskResult {
  Status status = Status::pass;
  bool peer_ended = false;  ///< it stopped because the other end had stopped
  std::string reason{};
  std::string side{};
  nlohmann::json values{};  ///< of a measurement, kLook or kDevices
};

std::string to_text(const Task& task);
/// Throws Error(failed) for an invalid task, an unknown case, or a number out of bounds.
Task parse_task(std::string_view text);

std::string to_text(const TaskResult& result);
/// The text comes from a child or from the other host: lengths are bounded, unprintable characters
/// replaced. Throws Error(failed).
TaskResult parse_task_result(std::string_view text);

/// Runs a task in a child and gives the TaskResult as text. Never throws.
std::string perform(const std::string& file, const Task& task, Role role, Pipe& parent,
                    Steps& steps);

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

}  // namespace rdmabench::netplugin
