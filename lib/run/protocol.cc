#include "run/protocol.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <variant>

#include "rdmabench/base/error.h"
#include "results/facts_fields.h"
#include "run/options.h"
#include "run/pattern_table.h"

namespace rdmabench::inline v1::run {
namespace {

constexpr std::size_t kMaxOffer = 262144;  // bytes of an offer: a host may have many GIDs
constexpr std::size_t kMaxOffers = 16;     // back ends
constexpr std::size_t kMaxFacts = 1024;

}  // namespace

void walk(MessageFields& fields, Offer& offer) {
  fields.text("backend", offer.backend);
  fields.text("offer", offer.text, kMaxOffer);
  fields.text("error", offer.error, kMaxOffer);
}

void walk(MessageFields& fields, std::vector<Offer>& offers) {
  fields.list("offers", kMaxOffers, offers);
}

/// The options that both sides have, where the table of them looks.
Config as_config(const SessionSpec& spec) {
  return {.traffic = spec.traffic, .endpoint = spec.endpoint};
}

/// A newer client may have more options, and gives one only where its user did.
void refuse_unknown_options(const nlohmann::json& request) {
  const nlohmann::ordered_json others = write_fields(Request{});  // all options at their default
  for (const auto& [key, value] : request.items()) {
    const Option* const option = find_option(key);
    if (option != nullptr && option->of_both) continue;
    if (others.contains(key)) continue;
    throw Error(Fault::failed,
                fmt::format("the client asks for the option '{}', which is unknown here",
                            ascii_only(key, 60)),
                "Install the same rdmabench on both sides, or leave the option out.");
  }
}

/// The options are those that are not at their default.
void walk(MessageFields& fields, Request& request) {
  fields.milliseconds("timeout_ms", std::chrono::milliseconds(100), std::chrono::minutes(10),
                      request.spec.timeout);
  SessionSpec& spec = request.spec;
  Config config = as_config(spec);
  Config usual;
  for_each_option([&](const Option& option) {
    if (!option.of_both) return;
    std::visit(
        [&](auto* value) {
          const bool is_usual = *value == *std::get<decltype(value)>(option.in(usual));
          if (fields.from() == nullptr ? is_usual : fields.lacks(option.name)) return;
          walk_option(fields, option.name, *value);
        },
        option.in(config));
  });
  spec.traffic = config.traffic;
  spec.endpoint = config.endpoint;
  fields.number("max_size_bytes", 1, kMaxSize, spec.max_size);
  fields.text("memory", spec.peer_memory);
  fields.flag("gpu", spec.gpu);
  fields.flag("paced", spec.paced);
  fields.list("rails", kMaxWorkers, request.rails);
  if (fields.from() == nullptr) return;
  refuse_unknown_options(*fields.from());
  if (request.rails.empty()) throw Error(Fault::failed, "the client's request has no offers");
  check_bounds(config);
  check(spec);
}

void walk(MessageFields& fields, Selection& selection) {
  fields.text("backend", selection.backend);
  fields.texts("choices", kMaxWorkers, kMaxOffer, selection.choices);
}

constexpr std::array<std::string_view, 3> kMemoryPaths{"host", "direct", "staged"};

void walk(MessageFields& fields, Introduction& introduction) {
  fields.texts("addresses", kMaxWorkers, kMaxOffer, introduction.addresses);
  report::walk_facts(fields, "environment", kMaxFacts, kMaxName, kMaxOffer,
                     introduction.environment);
  fields.name("memory", kMemoryPaths, introduction.memory);
}

void walk(MessageFields& fields, Readiness& readiness) {
  fields.number("ordered_write_bytes", 0, kMaxSize, readiness.writes.bytes);
  fields.flag("ordered_writes_promised", readiness.writes.promised);
}

void walk(MessageFields& fields, EpochOrder& order, const SessionSpec* spec) {
  fields.number("size_bytes", spec == nullptr ? 1 : least_size(spec->traffic.pattern),
                spec == nullptr ? kMaxSize : spec->max_size, order.size);
  fields.number("iterations", 1, kMaxEpoch, order.iterations);
  fields.real("messages_per_s", 0, kMaxRate, order.rate);
  fields.flag("verify", order.verify);
  fields.flag("immediate", order.immediate);
  fields.flag("grows", order.grows);
  if (spec != nullptr && order.immediate && !is_ping_pong_of_writes(*spec)) {
    throw Error(
        Fault::failed,
        "the client's epoch has an immediate with each write, and is no latency test of write",
        "Install the same rdmabench on both sides.");
  }
  if (spec != nullptr && order.grows && !is_stream(*spec)) {
    throw Error(Fault::failed, "the client's epoch grows, and is no stream",
                "Install the same rdmabench on both sides.");
  }
}

void walk(MessageFields& fields, Extension& extension) {
  fields.number("iterations", 0, kMaxEpoch, extension.iterations);
}

void walk(MessageFields& fields, EpochReport& report) {
  constexpr std::uint64_t kMost = kMaxEpoch * kMaxWorkers;
  fields.number("arrived", 0, kMost, report.arrived);
  fields.number("succeeded", 0, kMost, report.succeeded);
  fields.code("outcome", std::size_t{1} + static_cast<unsigned>(workload::kLastOutcome),
              report.outcome);
}

void walk(MessageFields& fields, Farewell& farewell) {
  bool watched = farewell.conditions.has_value();
  fields.flag("watched", watched);
  if (!watched) return;
  walk(fields, farewell.conditions ? *farewell.conditions : farewell.conditions.emplace());
}

}  // namespace rdmabench::inline v1::run
