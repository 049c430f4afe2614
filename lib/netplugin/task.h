// One thing to do in a child: a case, a size of a measurement, or to look at the plugin.
#pragma once

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

inline constexpr std::string_view kLook = "look";  // what the plugin is; no other end
inline constexpr std::string_view kLatency = "latency";
inline constexpr std::string_view kBandwidth = "bandwidth";
inline constexpr std::uint64_t kEpochs = 10;  // of a bandwidth

struct Task {
  std::string id{};  ///< a case's, or one of the words above
  int version = 0;
  int device = 0;
  std::uint64_t bytes = 0;
  std::uint64_t iterations = 0;
  std::chrono::milliseconds timeout{};

  bool is_case() const { return id != kLook && id != kLatency && id != kBandwidth; }
};

enum class Role : std::uint8_t { both, sender, receiver };

/// What a child, or the other end's child, has to say.
struct Outcome {
  Status status = Status::pass;
  bool peer_ended = false;  ///< it stopped because the other end had
  std::string reason{};
  std::string side{};
  nlohmann::json result{};  ///< of a measurement, and of a look
};

std::string to_text(const Task& task);
/// Throws Error(failed) for what is no task, names a case that is not there, or is out of bounds.
Task parse_task(std::string_view text);

std::string to_text(const Outcome& outcome);
/// From a child, or from the other host: lengths are bounded, and words are made printable.
Outcome parse_outcome(std::string_view text);

/// In a child. Never throws.
std::string perform(const std::string& file, const Task& task, Role role, Pipe& parent,
                    Steps& steps);

/// The FAIL of two that says most: not of who only waited for the other.
const Outcome& worse(const Outcome& a, const Outcome& b);

/// In the parent: the whole of a task with both ends in one child.
Outcome run_here(const std::string& file, const Task& task);

/// In the parent: this host's child, whose words go to the other host's child and back. Throws
/// Error when the other host is lost.
struct BothOutcomes {
  Outcome own;
  Outcome peer;
};
BothOutcomes run_with(const std::string& file, const Task& task, Role role,
                      control::Channel& channel);

PluginFacts look(const std::string& file, int version, std::chrono::milliseconds timeout);

/// All that is to be done, in order; `run` gives both ends' outcome of each task.
void run_all(Check& check, const OnProgress& on_progress,
             const std::function<Outcome(const Task&)>& run);

/// Throws Error(usage).
void check_options(const Options& options);
std::vector<int> versions_of(const Options& options, const std::vector<int>& there);

}  // namespace rdmabench::netplugin
