#include "messages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "rdmabench/base/error.h"
#include "results/facts_fields.h"
#include "results/row.h"

namespace rdmabench::inline v1::netplugin {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxText = 8000;
constexpr std::string_view kWhat = "rdmabench netplugin";

}  // namespace

void walk(MessageFields& fields, PluginHello& hello, std::size_t cases) {
  std::string what(kWhat);
  fields.text("what", what, 64);
  if (what == kWhat) fields.number("cases", 0, 1000, hello.cases);
  if (what != kWhat || (fields.from() != nullptr && hello.cases != cases)) {
    throw Error(Fault::failed, "the other end is not the same release of 'rdmabench netplugin'",
                "Run the same release of rdmabench on both sides.");
  }
  fields.text("name", hello.name, 4096);
  if (fields.from() != nullptr) hello.name = ascii_only(hello.name, 100);
  fields.numbers("versions", 16, kOldestVersion, kNewestVersion, hello.versions);
  report::walk_facts(fields, "environment", 256, 128, 4096, hello.environment);
}

void walk(MessageFields& fields, Task& task) {
  fields.text("id", task.id, 64);
  fields.number("version", kOldestVersion, kNewestVersion, task.version);
  fields.number("device", 0, 4095, task.device);
  fields.number("bytes", 0, kMaxBytes, task.bytes);
  fields.number("iterations", 0, kMaxIterations, task.iterations);
  fields.milliseconds("timeout_ms", kMinTimeout, kMaxTimeout, task.timeout);
}

void walk(MessageFields& fields, TaskResult& result) {
  fields.code("status", kStatusNames.size(), result.status);
  fields.flag("peer_ended", result.peer_ended);
  result.reason.resize(std::min(result.reason.size(), kMaxText));
  fields.text("reason", result.reason, 4 * kMaxText);
  fields.text("side", result.side, 16);
  if (fields.from() == nullptr) {
    return fields.put("result", result.values.is_null() ? Json::object() : result.values);
  }
  result.values = get_object(*fields.from(), "result");
  result.reason = ascii_only(result.reason, kMaxText);
  result.side = ascii_only(result.side);
}

void walk(MessageFields& fields, Properties& properties) {
  const auto text = [&](const char* key, std::optional<std::string>& value) {
    fields.optional(key, value, [&](std::string& held) { fields.text(key, held, 4096); });
  };
  const auto number = [&](const char* key, std::optional<int>& value) {
    fields.optional(key, value, [&](int& held) { fields.number(key, held); });
  };
  // A plugin's NaN or infinity is null in JSON.
  constexpr double kMost = std::numeric_limits<float>::max();
  std::optional<double> latency;
  if (std::isfinite(properties.latency_us)) latency = properties.latency_us;
  text("name", properties.name);
  text("pci_path", properties.pci_path);
  fields.number("guid", properties.guid);
  fields.number("pointer_kinds", properties.pointer_kinds);
  fields.number("speed_mbps", properties.speed_mbps);
  fields.number("port", properties.port);
  fields.optional("latency_us", latency,
                  [&](double& held) { fields.real("latency_us", -kMost, kMost, held); });
  fields.number("max_comms", properties.max_comms);
  fields.number("max_receives", properties.max_receives);
  number("rail_id", properties.rail_id);
  number("plane_id", properties.plane_id);
  properties.latency_us = latency.value_or(0);
}

}  // namespace rdmabench::inline v1::netplugin
