#include "json_fields.h"

#include <fmt/format.h>

#include "base/walk.h"
#include "fabric/plan.h"
#include "messages.h"
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
  throw Error(Fault::failed, fmt::format("the metric '{}'", ascii_only(text, 40)),
              "There are bandwidth and latency.");
}

}  // namespace

void walk(MessageFields& fields, FabricPlan& plan) {
  fields.text("pattern", plan.pattern);
  fields.number("rounds", plan.rounds);
  fields.number("seed", plan.seed);
  fields.numbers("bandwidth_sizes_bytes", kMaxSizes, 1, run::kMaxSize, plan.bandwidth_sizes);
  fields.numbers("latency_sizes_bytes", kMaxSizes, 1, run::kMaxSize, plan.latency_sizes);
  fields.text("operation", plan.operation);
  fields.text("backend", plan.backend);
  fields.text("transport", plan.transport);
  fields.text("provider", plan.provider);
  walk_words(fields, "rails", plan.rails);
  fields.real("duration_s", 0, kMaxValue, plan.duration_s);
  fields.number("iterations", plan.iterations);
  fields.real("timeout_s", 0, kMaxValue, plan.timeout_s);
  if (fields.from() != nullptr) check(plan);
}

void walk(MessageFields& fields, Node& node) {
  fields.number("rank", 0, kMaxNodes - 1, node.rank);
  fields.text("host", node.host);
  walk_words(fields, "rails", node.rails);
  if (fields.from() == nullptr || fields.from()->contains("interfaces")) {  // not in earlier files
    walk_words(fields, "interfaces", node.interfaces);
  }
  walk_environment(fields, node.environment);
}

void walk(MessageFields& fields, LostNode& lost) {
  fields.number("rank", 0, kMaxNodes - 1, lost.rank);
  fields.number("round", lost.round);
  fields.text("reason", lost.reason, kMaxText);
}

void walk(MessageFields& fields, DeviceBytes& one) {
  fields.text("device", one.device);
  fields.real("planned_bytes", 0, kMaxBytes, one.planned);
  fields.number("measurements", one.measurements);
  fields.optional("counted_bytes", one.counted,
                  [&](double& counted) { fields.real("counted_bytes", 0, kMaxBytes, counted); });
  fields.flag("at_least", one.at_least);
}

void walk(MessageFields& fields, std::vector<DeviceBytes>& devices) {
  fields.list("devices", kMaxDevices, devices);
}

void walk_words(MessageFields& fields, const char* key, std::vector<std::string>& words) {
  fields.texts(key, kMaxRails, kMaxWord, words);
  for (std::string& word : words) word = ascii_only(word);
}

void walk_environment(MessageFields& fields, report::Facts& environment) {
  run::walk_facts(fields, "environment", kMaxFacts, kMaxWord, kMaxText, environment);
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
    cell.line_origin = ascii_only(get_string(object, "line_origin", kMaxText), kMaxText);
  }
  if (!is_null(object, "error")) cell.error = get_string(object, "error", kMaxText);
  if (object.contains("over") && !is_null(object, "over")) {  // earlier files have it not
    cell.over = get_string(object, "over", kMaxText);
  }
  for (const std::string& note : get_string_list(object, "notes", kMaxNotes, kMaxText)) {
    cell.notes.push_back(ascii_only(note));
  }
  if (cell.error.empty() && !(cell.value > 0)) {
    throw Error(Fault::failed, fmt::format("a value of {} without an error", cell.value),
                "A measurement has the one or the other.");
  }
  if (!cell.error.empty()) {
    cell.value = cell.low = cell.high = cell.p99_ns = cell.p99_low_ns = cell.p99_high_ns = 0;
  }
  return cell;
}

}  // namespace rdmabench::fabric
