#include "json_fields.h"

#include <fmt/format.h>

#include "base/fields.h"
#include "fabric/plan.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/run/shared_options.h"
#include "run/facts_fields.h"

namespace rdmabench::fabric {
namespace {

// Far above any device's value: bounds on what a peer may claim.
constexpr double kMaxValue = 1e18;
constexpr double kMaxBytes = 1.9e19;  // all that a counter of 64 bits holds

bool is_null(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_null();
}

Metric metric_from(const nlohmann::json& object) {
  const std::string text = get_string(object, "metric", kMaxWord);
  for (const Metric metric : {Metric::bandwidth, Metric::latency}) {
    if (text == name(metric)) return metric;
  }
  throw Error(Fault::failed, fmt::format("the metric '{}'", control::printable(text, 40)),
              "There are bandwidth and latency.");
}

}  // namespace

Json to_json(const FabricPlan& plan) {
  return {{"pattern", plan.pattern},
          {"rounds", plan.rounds},
          {"seed", plan.seed},
          {"bandwidth_sizes_bytes", plan.bandwidth_sizes},
          {"latency_sizes_bytes", plan.latency_sizes},
          {"operation", plan.operation},
          {"backend", plan.backend},
          {"transport", plan.transport},
          {"provider", plan.provider},
          {"rails", plan.rails},
          {"duration_s", plan.duration_s},
          {"iterations", plan.iterations},
          {"timeout_s", plan.timeout_s}};
}

Json to_json(const Node& node) {
  return {{"rank", node.rank},
          {"host", node.host},
          {"rails", node.rails},
          {"interfaces", node.interfaces},
          {"environment", report::to_list(node.environment)}};
}

Json cell_json(const Measurement& measurement) {
  return {{"receiver", measurement.receiver},
          {"rail", measurement.rail},
          {"metric", name(measurement.metric)},
          {"size_bytes", measurement.size_bytes},
          {"value", measurement.value},
          {"low", report::positive(measurement.low)},
          {"high", report::positive(measurement.high)},
          {"p99_ns", report::positive(measurement.p99_ns)},
          {"p99_low_ns", report::positive(measurement.p99_low_ns)},
          {"p99_high_ns", report::positive(measurement.p99_high_ns)},
          {"error", report::text_or_null(measurement.error)},
          {"over", report::text_or_null(measurement.over)},
          {"line_bits_per_s", report::positive(measurement.line_bits_per_s)},
          {"line_origin", report::text_or_null(measurement.line_origin)},
          {"notes", measurement.notes}};
}

Json to_json(const std::vector<DeviceBytes>& devices) {
  return report::list_of_each(devices, [](const DeviceBytes& one) {
    return Json{{"device", one.device},
                {"planned_bytes", one.planned},
                {"measurements", one.measurements},
                {"counted_bytes", report::or_null(one.counted)},
                {"at_least", one.at_least}};
  });
}

std::vector<std::string> words_from(const nlohmann::json& object, const char* key,
                                    std::size_t max_count, std::size_t max_bytes) {
  std::vector<std::string> words;
  for (const nlohmann::json& item : get_list(object, key, max_count)) {
    if (!item.is_string() || item.get_ref<const std::string&>().size() > max_bytes) {
      throw Error(Fault::failed, fmt::format("the field '{}' has an item that is not a text of at "
                                             "most {} bytes",
                                             key, max_bytes));
    }
    words.push_back(printable(item.get_ref<const std::string&>()));
  }
  return words;
}

report::Facts facts_from(const nlohmann::json& object, const char* key) {
  return run::facts_from(object, key, kMaxFacts, kMaxWord, kMaxText);
}

FabricPlan plan_from(const nlohmann::json& object) {
  FabricPlan plan;
  plan.pattern = get_string(object, "pattern", kMaxWord);
  plan.rounds = get_uint<std::uint32_t>(object, "rounds");
  plan.seed = get_uint<std::uint64_t>(object, "seed");
  plan.bandwidth_sizes =
      get_uint_list(object, "bandwidth_sizes_bytes", kMaxSizes, 1, run::kMaxSize);
  plan.latency_sizes = get_uint_list(object, "latency_sizes_bytes", kMaxSizes, 1, run::kMaxSize);
  plan.operation = get_string(object, "operation", kMaxWord);
  plan.backend = get_string(object, "backend", kMaxWord);
  plan.transport = get_string(object, "transport", kMaxWord);
  plan.provider = get_string(object, "provider", kMaxWord);
  plan.rails = words_from(object, "rails", kMaxRails, kMaxWord);
  plan.duration_s = get_double(object, "duration_s", 0, kMaxValue);
  plan.iterations = get_uint<std::uint64_t>(object, "iterations");
  plan.timeout_s = get_double(object, "timeout_s", 0, kMaxValue);
  check(plan);
  return plan;
}

Node node_from(const nlohmann::json& object) {
  return {.rank = get_uint<std::uint32_t>(object, "rank", 0, kMaxNodes - 1),
          .host = get_string(object, "host", kMaxWord),
          .rails = words_from(object, "rails", kMaxRails, kMaxWord),
          .interfaces = object.contains("interfaces")  // earlier files have it not
                            ? words_from(object, "interfaces", kMaxRails, kMaxWord)
                            : std::vector<std::string>{},
          .environment = facts_from(object, "environment")};
}

Measurement cell_from(const nlohmann::json& object) {
  Measurement cell;
  cell.receiver = get_uint<std::uint32_t>(object, "receiver", 0, kMaxNodes - 1);
  cell.rail = get_uint<std::uint32_t>(object, "rail", 0, kMaxRails - 1);
  cell.metric = metric_from(object);
  cell.size_bytes = get_uint(object, "size_bytes", 1, run::kMaxSize);
  cell.value = get_double(object, "value", 0, kMaxValue);
  const auto positive = [&object](const char* key) {  // earlier files have only p99_ns
    return !object.contains(key) || is_null(object, key) ? 0
                                                         : get_double(object, key, 0, kMaxValue);
  };
  cell.low = positive("low");
  cell.high = positive("high");
  cell.p99_ns = positive("p99_ns");
  cell.p99_low_ns = positive("p99_low_ns");
  cell.p99_high_ns = positive("p99_high_ns");
  cell.line_bits_per_s = positive("line_bits_per_s");
  if (object.contains("line_origin") && !is_null(object, "line_origin")) {
    cell.line_origin = control::printable(get_string(object, "line_origin", kMaxText), kMaxText);
  }
  if (!is_null(object, "error")) cell.error = get_string(object, "error", kMaxText);
  if (object.contains("over") && !is_null(object, "over")) {  // earlier files have it not
    cell.over = get_string(object, "over", kMaxText);
  }
  cell.notes = words_from(object, "notes", kMaxNotes, kMaxText);
  if (cell.error.empty() && !(cell.value > 0)) {
    throw Error(Fault::failed, fmt::format("a value of {} without an error", cell.value),
                "A measurement has the one or the other.");
  }
  if (!cell.error.empty()) {
    cell.value = cell.low = cell.high = cell.p99_ns = cell.p99_low_ns = cell.p99_high_ns = 0;
  }
  return cell;
}

DeviceBytes device_bytes_from(const nlohmann::json& object) {
  DeviceBytes one{.device = get_string(object, "device", kMaxWord),
                  .planned = get_double(object, "planned_bytes", 0, kMaxBytes),
                  .measurements = get_uint<std::uint32_t>(object, "measurements"),
                  .counted = {},
                  .at_least = get_bool(object, "at_least")};
  if (!is_null(object, "counted_bytes")) {
    one.counted = get_double(object, "counted_bytes", 0, kMaxBytes);
  }
  return one;
}

}  // namespace rdmabench::fabric
