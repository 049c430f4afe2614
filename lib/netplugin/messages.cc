#include "messages.h"

#include <limits>
#include <optional>

#include "base/fields.h"
#include "rdmabench/base/error.h"
#include "report/row.h"
#include "run/facts_fields.h"

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
  PluginHello hello{.cases = cases,
                    .name = control::printable(get_string(json, "name", 4096), 100)};
  for (const std::uint64_t one :
       get_uint_list(json, "versions", 16, kOldestVersion, kNewestVersion)) {
    hello.versions.push_back(static_cast<int>(one));
  }
  hello.environment = run::facts_from(json, "environment", 256, 128, 4096);
  return hello;
}

std::string to_text(const Task& task) {
  return dump({{"id", task.id},
               {"version", task.version},
               {"device", task.device},
               {"bytes", task.bytes},
               {"iterations", task.iterations},
               {"timeout_ms", task.timeout.count()}});
}

Task read_task(std::string_view text) {
  const Json json = parse_object(text, "task");
  return {.id = get_string(json, "id", 64),
          .version = static_cast<int>(get_uint(json, "version", kOldestVersion, kNewestVersion)),
          .device = static_cast<int>(get_uint(json, "device", 0, 4095)),
          .bytes = get_uint(json, "bytes", 0, kMaxBytes),
          .iterations = get_uint(json, "iterations", 0, kMaxIterations),
          .timeout = std::chrono::milliseconds(get_uint(json, "timeout_ms",
                                                        std::uint64_t(kMinTimeout.count()),
                                                        std::uint64_t(kMaxTimeout.count())))};
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
  return {.status = static_cast<Status>(get_uint(json, "status", 0, 3)),
          .peer_ended = get_bool(json, "peer_ended"),
          .reason = control::printable(get_string(json, "reason", 4 * kMaxText), kMaxText),
          .side = control::printable(get_string(json, "side", 16)),
          .values = get_object(json, "result")};
}

Json to_json(const Properties& properties) {
  return {{"name", report::or_null(properties.name)},
          {"pci_path", report::or_null(properties.pci_path)},
          {"guid", properties.guid},
          {"pointer_kinds", properties.pointer_kinds},
          {"speed_mbps", properties.speed_mbps},
          {"port", properties.port},
          {"latency_us", properties.latency_us},
          {"max_comms", properties.max_comms},
          {"max_receives", properties.max_receives},
          {"rail_id", report::or_null(properties.rail_id)},
          {"plane_id", report::or_null(properties.plane_id)}};
}

Properties parse_properties(const Json& json) {
  const auto has = [&](const char* key) { return json.contains(key) && !json[key].is_null(); };
  const auto text = [&](const char* key) -> std::optional<std::string> {
    if (!has(key)) return std::nullopt;
    return get_string(json, key, 4096);
  };
  const auto number = [&](const char* key) {
    using Limits = std::numeric_limits<int>;
    return static_cast<int>(get_int(json, key, Limits::min(), Limits::max()));
  };
  const auto maybe = [&](const char* key) {
    return has(key) ? std::optional(number(key)) : std::nullopt;
  };
  constexpr double kMost = std::numeric_limits<float>::max();
  return {.name = text("name"),
          .pci_path = text("pci_path"),
          .guid = get_uint<std::uint64_t>(json, "guid"),
          .pointer_kinds = number("pointer_kinds"),
          .speed_mbps = number("speed_mbps"),
          .port = number("port"),
          // A plugin's NaN or infinity is null in JSON.
          .latency_us = has("latency_us") ? get_double(json, "latency_us", -kMost, kMost) : 0,
          .max_comms = number("max_comms"),
          .max_receives = number("max_receives"),
          .rail_id = maybe("rail_id"),
          .plane_id = maybe("plane_id")};
}

}  // namespace rdmabench::netplugin
