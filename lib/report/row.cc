#include "row.h"

#include <array>
#include <cmath>

#include "rdmabench/report/documents.h"
#include "rdmabench/report/writers.h"

namespace rdmabench::report {
namespace {

void add_percentiles(Json& row, const measure::LatencySummary& latency, double most_percent) {
  row["min_ns"] = finite(latency.min_ns);
  for (const Percentile& one : kPercentiles) {
    if (one.percent <= most_percent) row[std::string(one.key)] = finite(latency.*one.value);
  }
  row["max_ns"] = finite(latency.max_ns);
  row["mean_ns"] = finite(latency.mean_ns);
  row["stddev_ns"] = finite(latency.stddev_ns);
}

/// An end that the samples do not bound is null.
void add_intervals(Json& row, const measure::LatencySummary& latency, double most_percent) {
  for (const Percentile& one : kPercentiles) {
    if (one.percent > most_percent) continue;
    row[std::string(one.low_key)] = finite(latency.*one.low);
    row[std::string(one.high_key)] = finite(latency.*one.high);
  }
}

/// What the rows of every test begin with.
Json identity(const std::string& operation, const Resolved& resolved) {
  return {{"operation", operation},
          {"backend", resolved.backend},
          {"provider", resolved.provider},
          {"device", resolved.device}};
}

/// What the rows of every test end with.
template <class Result>
void add_quality(Json& row, const Result& result) {
  row["validated"] = result.validated;
  row["stable"] = result.stable;
  row["complete"] = result.complete;
  row["spread"] = finite(result.spread);
  row["notes"] = result.notes;
}

Json interval_object(const Interval& interval) {
  return {{"begin_ns", interval.begin_ns},
          {"elapsed_ns", interval.elapsed_ns},
          {"bits_per_s", interval.bits_per_s},
          {"messages_per_s", interval.messages_per_s}};
}

std::string_view name(Fault fault) {
  return fault == Fault::usage ? "usage" : fault == Fault::unavailable ? "unavailable" : "failed";
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

Json to_object(const Suspicion& suspicion) {
  return {{"code", suspicion.code},
          {"text", suspicion.text},
          {"side", suspicion.side},
          {"summary", suspicion.summary},
          {"remedy", suspicion.remedy}};
}

Json to_results(const Report& report) {
  const auto rows = [&](const auto& results) {
    return list_of_each(results, [&](const auto& one) { return to_row(one, report.resolved); });
  };
  return std::visit(rows, report.results);
}

}  // namespace

Json positive(double value) {
  return value > 0 ? finite(value) : Json(nullptr);
}

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

void add_latency(Json& row, const measure::LatencySummary& latency) {
  add_percentiles(row, latency, 99.9);
  add_intervals(row, latency, 99.9);
}

Json unsupported_percentiles(const measure::LatencySummary& latency, double most_percent) {
  Json keys = Json::array();
  for (const Percentile& one : kPercentiles) {
    if (one.percent <= most_percent && !latency.supports(one.percent)) keys.push_back(one.key);
  }
  return keys;
}

Json to_json(const Fact& fact) {
  return std::visit([](const auto& value) { return Json(value); }, fact.value);
}

Json to_object(const Facts& facts) {
  Json object = Json::object();
  for (const Fact& fact : facts) object[fact.name] = to_json(fact);
  return object;
}

Json to_object(const Resolved& resolved) {
  return {{"backend", resolved.backend}, {"provider", resolved.provider},
          {"device", resolved.device},   {"transport", resolved.transport},
          {"reason", resolved.reason},   {"details", to_object(resolved.details)}};
}

Json to_list(const Facts& facts) {
  return list_of_each(facts, [](const Fact& fact) {
    return Json{{"name", fact.name}, {"value", to_json(fact)}};
  });
}

Json to_list(const std::vector<Counter>& counters) {
  return list_of_each(counters, [](const Counter& counter) {
    return Json{{"device", counter.device},
                {"name", counter.name},
                {"class", counter.kind},
                {"source", counter.source},
                {"change", or_null(counter.change)},
                {"at_least", counter.at_least}};
  });
}

Json to_row(const LatencyResult& result, const Resolved& resolved) {
  const measure::LatencySummary& latency = result.latency;
  Json row = identity(result.operation, resolved);
  row["kind"] = result.kind;
  row["signal"] = result.signal;
  row["completion"] = result.completion;
  row["size_bytes"] = result.size_bytes;
  row["iterations"] = result.iterations;
  row["warmup_iterations"] = result.warmup_iterations;
  add_percentiles(row, latency, 100);
  row["mad_ns"] = finite(latency.mad_ns);
  add_intervals(row, latency, 100);
  row["percentile_error"] = finite(latency.percentile_error);
  row["unsupported_percentiles"] = unsupported_percentiles(latency, 100);
  row["succeeded"] = or_null(result.succeeded);
  add_quality(row, result);
  return row;
}

Json to_row(const BandwidthResult& result, const Resolved& resolved) {
  const bool interval = result.bits_per_s_low != 0 || result.bits_per_s_high != 0;
  Json row = identity(result.operation, resolved);
  row["direction"] = result.direction;
  row["completion"] = result.completion;
  row["size_bytes"] = result.size_bytes;
  row["iterations"] = result.iterations;
  row["warmup_iterations"] = result.warmup_iterations;
  row["depth"] = result.depth;
  row["bits_per_s"] = finite(result.bits_per_s);
  row["bits_per_s_low"] = interval ? finite(result.bits_per_s_low) : Json(nullptr);
  row["bits_per_s_high"] = interval ? finite(result.bits_per_s_high) : Json(nullptr);
  row["messages_per_s"] = finite(result.messages_per_s);
  row["elapsed_ns"] = finite(result.elapsed_ns);
  row["peak_bits_per_s"] = positive(result.peak_bits_per_s);
  row["offered_messages_per_s"] = positive(result.offered_messages_per_s);
  row["lost"] = or_null(result.lost);
  row["succeeded"] = or_null(result.succeeded);
  row["intervals"] = list_of_each(result.intervals, interval_object);
  add_quality(row, result);
  return row;
}

Json to_row(const LoadResult& result, const Resolved& resolved) {
  Json row{{"load", finite(result.load)},
           {"offered_messages_per_s", finite(result.offered_messages_per_s)},
           {"achieved_messages_per_s", finite(result.achieved_messages_per_s)},
           {"max_lag_ns", finite(result.max_lag_ns)},
           {"taken_off", result.saturated},
           {"knee", result.knee},
           {"knee_reliable", result.knee_reliable}};
  row.update(to_row(result.latency, resolved));
  return row;
}

Json to_document(const Report& report) {
  constexpr std::array kTests{"latency", "bandwidth", "load"};  // in the variant's order
  Json document;
  document["schema"] = kRunSchema;
  document["test"] = kTests[report.results.index()];
  document["error"] = report.error ? Json(*report.error) : Json(nullptr);
  document["failure"] = report.failure ? to_json(*report.failure) : Json(nullptr);
  document["suspect"] = !report.suspicions.empty();
  document["suspicions"] =
      list_of_each(report.suspicions, [](const Suspicion& one) { return to_object(one); });
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

std::string document_text(const Json& document) {
  // As ASCII: a terminal that shows it takes no C1 control nor turns the direction of its text.
  return document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

Json to_json(const Failure& failure) {
  return {{"fault", name(failure.fault)},
          {"code", failure.code},
          {"outcome", text_or_null(failure.outcome)},
          {"library", text_or_null(failure.library)},
          {"call", text_or_null(failure.call)},
          {"status", text_or_null(failure.status)},
          {"operation", text_or_null(failure.operation)},
          {"peer", text_or_null(failure.peer)},
          {"remedy", text_or_null(failure.remedy)}};
}

std::string to_json(const Report& report) {
  return document_text(to_document(report));
}

std::string to_json(std::span<const Report> reports) {
  return document_text({{"schema", kRunSchema}, {"documents", list_of_each(reports, to_document)}});
}

}  // namespace rdmabench::report
