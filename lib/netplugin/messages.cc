#include "messages.h"

#include <cmath>
#include <limits>
#include <optional>

#include "base/walk.h"
#include "rdmabench/base/error.h"
#include "report/facts_fields.h"
#include "report/row.h"

namespace rdmabench::netplugin {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxText = 8000;
constexpr std::string_view kWhat = "rdmabench netplugin";

}  // namespace

std::string to_text(const PluginHello& hello) {
  return dump({{"what", kWhat},
               {"cases", hello.cases},
               {"name", hello.name},
               {"versions", hello.versions},
               {"environment", report::to_list(hello.environment)}});
}

PluginHello parse_hello(std::string_view text, std::size_t cases) {
  const Json json = parse_object(text, "greeting");
  if (get_string(json, "what", 64) != kWhat || get_uint(json, "cases", 0, 1000) != cases) {
    throw Error(Fault::failed, "the other end is not the same release of 'rdmabench netplugin'",
                "Run the same release of rdmabench on both sides.");
  }
  PluginHello hello{.cases = cases, .name = ascii_only(get_string(json, "name", 4096), 100)};
  for (const std::uint64_t one :
       get_uint_list(json, "versions", 16, kOldestVersion, kNewestVersion)) {
    hello.versions.push_back(static_cast<int>(one));
  }
  hello.environment = report::facts_from(json, "environment", 256, 128, 4096);
  return hello;
}

void walk(MessageFields& fields, Task& task) {
  fields.text("id", task.id, 64);
  fields.number("version", kOldestVersion, kNewestVersion, task.version);
  fields.number("device", 0, 4095, task.device);
  fields.number("bytes", 0, kMaxBytes, task.bytes);
  fields.number("iterations", 0, kMaxIterations, task.iterations);
  fields.milliseconds("timeout_ms", kMinTimeout, kMaxTimeout, task.timeout);
}

std::string to_text(const Task& task) {
  return dump(write_fields(task));
}

Task read_task(std::string_view text) {
  return read_fields<Task>(parse_object(text, "task"));
}

std::string to_text(const TaskResult& result) {
  return dump({{"status", static_cast<int>(result.status)},
               {"peer_ended", result.peer_ended},
               {"reason", result.reason.substr(0, kMaxText)},
               {"side", result.side},
               {"result", result.values.is_null() ? Json::object() : result.values}});
}

TaskResult parse_task_result(std::string_view text) {
  const Json json = parse_object(text, "task result");
  return {.status = static_cast<Status>(get_uint(json, "status", 0, kStatusNames.size() - 1)),
          .peer_ended = get_bool(json, "peer_ended"),
          .reason = ascii_only(get_string(json, "reason", 4 * kMaxText), kMaxText),
          .side = ascii_only(get_string(json, "side", 16)),
          .values = get_object(json, "result")};
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

Json to_json(const Properties& properties) {
  return write_fields(properties);
}

Properties parse_properties(const Json& json) {
  return read_fields<Properties>(json);
}

}  // namespace rdmabench::netplugin
