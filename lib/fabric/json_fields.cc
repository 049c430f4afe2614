#include "json_fields.h"

#include "fabric/plan.h"
#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/config.h"
#include "results/facts_fields.h"

namespace rdmabench::inline v1::fabric {
namespace {

// Far above any device's value: bounds on what a peer may claim.
constexpr double kMaxValue = 1e18;
constexpr double kMaxBytes = 1.9e19;  // all that a counter of 64 bits holds

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
  report::walk_facts(fields, "environment", kMaxFacts, kMaxWord, kMaxText, environment);
}

}  // namespace rdmabench::inline v1::fabric
