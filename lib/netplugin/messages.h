// What two hosts that check a plugin together send each other, and a child its parent.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/walk.h"
#include "netplugin/check.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::netplugin {

// Of one end: what is read without init(), and what it takes init() to read.
inline constexpr std::string_view kLook = "look";
inline constexpr std::string_view kDevices = "devices";
inline constexpr std::string_view kLatency = "latency";
inline constexpr std::string_view kBandwidth = "bandwidth";
inline constexpr std::uint64_t kEpochs = 10;  // of a bandwidth measurement

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

/// What a child reports, on this host or on the other.
struct TaskResult {
  Status status = Status::pass;
  bool peer_ended = false;  ///< it stopped because the other end had stopped
  bool crashed = false;     ///< or hung: the reason is what its parent saw; not in a message
  std::string reason{};
  std::string side{};
  nlohmann::json values{};  ///< of a measurement, kLook or kDevices
};

/// What a side says of itself first.
struct PluginHello {
  std::size_t cases = 0;  ///< that it knows
  std::string name{};     ///< of its plugin
  std::vector<int> versions{};
  report::Facts environment{};
};

// What is read comes from a child or from the other host: lengths are bounded, and unprintable
// characters replaced.

/// What is read must have the same `cases`.
void walk(MessageFields& fields, PluginHello& hello, std::size_t cases = 0);
/// Any text is a case here.
void walk(MessageFields& fields, Task& task);
void walk(MessageFields& fields, TaskResult& result);
/// One of the list `devices` in the result of kDevices. Names are as the plugin has them.
void walk(MessageFields& fields, Properties& properties);
using rdmabench::to_text;

}  // namespace rdmabench::inline v1::netplugin
