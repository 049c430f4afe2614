#include "rdmabench/report/writers.h"

#include <array>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "row.h"

namespace rdmabench::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "rdmabench/1";

Json to_value(const auto& variant) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Intervals>) {
          Json list = Json::array();
          for (const Interval& interval : value) {
            list.push_back({{"begin_ns", interval.begin_ns},
                            {"elapsed_ns", interval.elapsed_ns},
                            {"bits_per_s", interval.bits_per_s},
                            {"messages_per_s", interval.messages_per_s}});
          }
          return list;
        } else {
          return value;
        }
      },
      variant);
}

Json to_object(const Facts& facts) {
  Json object = Json::object();
  for (const Fact& fact : facts) object[fact.name] = to_value(fact.value);
  return object;
}

Json to_list(const Facts& facts) {
  Json list = Json::array();
  for (const Fact& fact : facts) {
    list.push_back({{"name", fact.name}, {"value", to_value(fact.value)}});
  }
  return list;
}

Json to_object(const Resolved& resolved) {
  return {{"backend", resolved.backend}, {"provider", resolved.provider},
          {"device", resolved.device},   {"transport", resolved.transport},
          {"reason", resolved.reason},   {"details", to_object(resolved.details)}};
}

Json to_object(const Clock& clock) {
  return {{"source", clock.source},
          {"reason", clock.reason},
          {"ns_per_tick", clock.ns_per_tick},
          {"relative_error", clock.relative_error},
          {"stamp_overhead_ns", clock.stamp_overhead_ns},
          {"resolution_ns", clock.resolution_ns}};
}

Json to_object(const Environment& sides) {
  return {{"client", to_list(sides.client)}, {"server", to_list(sides.server)}};
}

Json to_list(const std::vector<Counter>& counters) {
  Json list = Json::array();
  for (const Counter& counter : counters) {
    list.push_back({{"device", counter.device},
                    {"name", counter.name},
                    {"class", counter.kind},
                    {"source", counter.source},
                    {"change", counter.change ? Json(*counter.change) : Json(nullptr)},
                    {"at_least", counter.at_least}});
  }
  return list;
}

Json to_list(const std::vector<Suspicion>& suspicions) {
  Json list = Json::array();
  for (const Suspicion& suspicion : suspicions) {
    list.push_back({{"code", suspicion.code}, {"text", suspicion.text}});
  }
  return list;
}

Json to_results(const Report& report) {
  Json list = Json::array();
  const auto append = [&](const auto& results) {
    for (const auto& result : results) {
      Json object = Json::object();
      for (const Field& field : to_row(result, report.resolved)) {
        object[std::string(field.key)] = to_value(field.cell);
      }
      list.push_back(std::move(object));
    }
  };
  std::visit(append, report.results);
  return list;
}

Json to_document(const Report& report) {
  constexpr std::array kTests{"latency", "bandwidth", "load"};  // in the variant's order
  Json document;
  document["schema"] = kSchema;
  document["test"] = kTests[report.results.index()];
  document["error"] = report.error ? Json(*report.error) : Json(nullptr);
  document["suspect"] = !report.suspicions.empty();
  document["suspicions"] = to_list(report.suspicions);
  document["environment"] = to_object(report.environment);
  document["config"] = to_object(report.config);
  document["resolved"] = to_object(report.resolved);
  document["clock"] = report.clock ? to_object(*report.clock) : Json(nullptr);
  document["conditions"] = to_object(report.conditions);
  document["counters"] = {{"client", to_list(report.counters.client)},
                          {"server", to_list(report.counters.server)}};
  document["results"] = to_results(report);
  document["notes"] = report.notes;
  return document;
}

/// Facts come from the peer as well, so what is not UTF-8 is replaced: dump() would throw. For a
/// number that is not finite it writes null.
std::string to_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const Report& report) {
  return to_text(to_document(report));
}

std::string to_json(std::span<const Report> reports) {
  Json documents = Json::array();
  for (const Report& report : reports) documents.push_back(to_document(report));
  return to_text({{"schema", kSchema}, {"documents", std::move(documents)}});
}

}  // namespace rdmabench::report
