#include "row.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "rdmabench/base/units.h"
#include "results/not_rdma.h"
#include "results/number_column.h"

namespace rdmabench::inline v1::report {
namespace {

void append(Fields& to, Fields from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

/// Words that the rows of one text table have in common.
Shown words(const char* heading) {
  return {heading, {}, kOnPages};
}

Shown column(const char* heading, const Scale& scale, int dispensable = 0) {
  return {heading, scale, dispensable};
}

/// What the rows of every test begin with.
Fields identity(const std::string& operation, const Resolved& resolved) {
  return {{"operation", operation, "operation", "", words("operation")},
          {"backend", resolved.backend, "backend"},
          {"provider", resolved.provider, "provider"},
          {"device", resolved.device, "device"}};
}

/// What the rows of every test end with.
template <class Result>
Fields quality(const Result& result) {
  return {
      {"validated", result.validated, "validated"},
      {"stable", result.stable, "stable"},
      {"complete", result.complete, "complete"},
      {"spread", finite(result.spread), "metric",
       "Spread of the epochs' medians, of bandwidth of their rates, about their median; a ratio."},
      {"launches", 1, "count",
       "Of more than one, the row is over launches: counts are sums, times and rates geometric "
       "means, and intervals Student's t over their logs; of 1 they are within this run."},
      {"notes", result.notes, "notes"}};
}

Json interval_object(const Interval& interval) {
  return {{"begin_ns", interval.begin_ns},
          {"elapsed_ns", interval.elapsed_ns},
          {"bits_per_s", interval.bits_per_s},
          {"messages_per_s", interval.messages_per_s}};
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
    return list_of_each(results,
                        [&](const auto& one) { return to_row(fields_of(one, report.resolved)); });
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

Fields latency_fields(const measure::LatencySummary& latency, double most_percent) {
  const auto time = [](std::string_view name, int dispensable = 0) {
    Shown shown{std::string(name), kTimeScale, dispensable};
    shown.scale.decimals = Scale::kOfClock;
    return shown;
  };
  Fields fields{{"min_ns", finite(latency.min_ns), "metric", "", time("min")}};
  for (const Percentile& one : kPercentiles) {
    if (one.percent > most_percent) break;
    const int dispensable = one.percent > 99.9 ? kOnPages : one.percent == 90 ? kMiddleOut : 0;
    fields.push_back(
        {one.key, finite(latency.*one.value), "metric", one.about, time(one.name, dispensable)});
  }
  append(fields,
         {{"max_ns", finite(latency.max_ns), "metric", "", time("max")},
          {"mean_ns", finite(latency.mean_ns), "metric", "", time("mean", kLateOut)},
          {"stddev_ns", finite(latency.stddev_ns), "metric", "", time("stddev", kFirstOut)}});
  if (most_percent == 100) {
    fields.push_back({"mad_ns", finite(latency.mad_ns), "metric",
                      "Median absolute deviation from the median, not scaled."});
  }
  for (const Percentile& one : kPercentiles) {
    if (one.percent > most_percent) break;
    fields.push_back(
        {one.low_key, finite(latency.*one.low), "metric",
         one.percent == 50
             ? "Interval of that percentile within this run, at 95 % from order statistics, 0 "
               "where the samples do not bound it; from six epochs on by the epochs: see "
               "bits_per_s_low."
             : "Interval of that percentile within this run, at 95 % from order statistics as if "
               "samples did not depend on one another, 0 where they do not bound it."});
    fields.push_back({one.high_key, finite(latency.*one.high), "metric",
                      "null where the samples do not bound it."});
  }
  return fields;
}

void add_latency(Json& row, const measure::LatencySummary& latency) {
  row.update(to_row(latency_fields(latency)));
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

Json to_row(const Fields& fields) {
  Json row;
  for (const Field& field : fields) {
    if (!field.key.empty()) row[std::string(field.key)] = field.value;
  }
  return row;
}

Fields fields_of(const LatencyResult& result, const Resolved& resolved) {
  const measure::LatencySummary& latency = result.latency;
  Fields fields = identity(result.operation, resolved);
  append(fields, {{"kind", result.kind, "kind", "", words("kind")},
                  {"signal", result.signal, "signal"},
                  {"completion", result.completion, "completion", "", words("completion")},
                  {"size_bytes", result.size_bytes, "size", "", column("size", size_text)},
                  {"iterations", result.iterations, "count",
                   "Timed iterations; one sample each, none dropped.",
                   column("iterations", whole_text, kEarlyOut)},
                  {"warmup_iterations", result.warmup_iterations, "count",
                   "Untimed iterations before them."}});
  append(fields, latency_fields(latency, 100));
  append(fields, {{"percentile_error", finite(latency.percentile_error), "metric",
                   "Bound of the relative error of the percentiles; 0 where they are exact."},
                  {"unsupported_percentiles", unsupported_percentiles(latency, 100),
                   "unsupported_percentiles"},
                  {"succeeded", or_null(result.succeeded), "succeeded"}});
  append(fields, quality(result));
  return fields;
}

Fields fields_of(const BandwidthResult& result, const Resolved& resolved) {
  const bool interval = result.bits_per_s_low != 0 || result.bits_per_s_high != 0;
  const double half = std::max(result.bits_per_s_high - result.bits_per_s,
                               result.bits_per_s - result.bits_per_s_low);
  const Json rate = finite(result.bits_per_s);
  Fields fields = identity(result.operation, resolved);
  append(
      fields,
      {{"direction", result.direction, "direction", "", words("direction")},
       {"completion", result.completion, "completion", "The level at which the clock stopped.",
        words("completion")},
       {"size_bytes", result.size_bytes, "size", "", column("size", size_text)},
       {"iterations", result.iterations, "count", "Timed messages.",
        column("iterations", whole_text, kEarlyOut)},
       {"warmup_iterations", result.warmup_iterations, "count", "Untimed messages before them."},
       {"depth", result.depth, "count", "Messages that could be outstanding.",
        column("depth", whole_text, kOnPages)},
       {"bits_per_s", rate, "metric", "Payload over elapsed_ns.", column("bw", kRateScale)},
       {"", interval ? finite(half / result.bits_per_s * 100) : Json(nullptr), "", "",
        column("+/- in run", {percent_text, "%", 1, 1})},
       {"", rate, "", "", column("bw", {rate_text, "MiB/s", kBitsPerMebibyte, 2})},
       {"bits_per_s_low", interval ? finite(result.bits_per_s_low) : Json(nullptr), "metric",
        "Interval of the mean within this run, by Student's t over the epochs at 99 %, wider where "
        "they depend on one another (docs/statistics.md); of fewer than six, which a note then says, "
        "their spread: at 95 % over their logs; null with one epoch.",
        column("low in run", kRateScale, kOnPages)},
       {"bits_per_s_high", interval ? finite(result.bits_per_s_high) : Json(nullptr), "metric", "",
        column("high in run", kRateScale, kOnPages)},
       {"messages_per_s", finite(result.messages_per_s), "metric", "",
        column("rate", kMessageScale)},
       {"elapsed_ns", finite(result.elapsed_ns), "metric",
        "From the first post to the completion named by `completion`.",
        column("elapsed", {time_text, "s", kNsPerSecond, 3})},
       {"duty", finite(result.duty), "metric",
        "Share of the time from the first post to the last completion in which messages were under "
        "way. A rate leaves out what rests between epochs, as they are with a number of iterations, "
        "and counts what rests within a stream."},
       {"peak_bits_per_s", positive(result.peak_bits_per_s), "metric",
        "Of the fastest epoch that is not just a probe; of a stream that is one epoch by the "
        "sender's completions, of a fifth of a second and 64 messages at least, without the first."},
       {"offered_messages_per_s", positive(result.offered_messages_per_s), "metric",
        "The rate that was asked for; null where there was none."},
       {"lost", or_null(result.lost), "lost", "", column("lost", whole_text, kOnPages)},
       {"succeeded", or_null(result.succeeded), "succeeded"},
       {"intervals", list_of_each(result.intervals, interval_object), "intervals"}});
  append(fields, quality(result));
  return fields;
}

Fields fields_of(const LoadResult& result, const Resolved& resolved) {
  Fields fields{
      {"load", finite(result.load), "metric",
       "Offered rate over the capacity measured before; a ratio.",
       column("load", {percent_text, "%", 0.01, 1})},
      {"capacity_ratio", finite(result.capacity_ratio), "metric",
       "The capacity measured after the curve over that before; a ratio."},
      {"offered_messages_per_s", finite(result.offered_messages_per_s), "metric", "",
       column("offered", kMessageScale, kEarlyOut)},
      {"achieved_messages_per_s", finite(result.achieved_messages_per_s), "metric", "",
       column("done", kMessageScale)},
      {"max_lag_ns", finite(result.max_lag_ns), "metric",
       "By which the latest post missed its time."},
      {"saturated", result.saturated, "flag",
       "The median or the 99th percentile is far above the least of the curve, or the rate "
       "was not kept."},
      {"knee", result.knee, "flag", "The highest load before latency rises steeply.",
       words("knee")},
      {"knee_reliable", result.knee_reliable, "flag",
       "Of the knee, or of the lowest load where latency already rises steeply there: "
       "false where latency was normal again at a higher load, as after a disturbance."}};
  append(fields, fields_of(result.latency, resolved));
  for (Field& field : fields) {  // the curve of these is what matters
    if (field.key == "max_ns") field.shown.dispensable = kMiddleOut;
    if (field.key == "p999_ns") field.shown.dispensable = kLateOut;
    for (const char* key : {"size_bytes", "min_ns", "p90_ns", "mean_ns", "stddev_ns"}) {
      if (field.key == key) field.shown.dispensable = kOnPages;
    }
  }
  return fields;
}

Json document_body(const Report& report) {
  Json document;
  document["schema"] = kRunSchema;
  document["test"] = kTests[report.results.index()];
  document["error"] = report.error ? Json(*report.error) : Json(nullptr);
  if (std::string without = not_rdma(report); !without.empty()) {
    document["not_rdma"] = std::move(without);
  }
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

std::string line_of(const Json& record) {
  return record.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
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
  return document_text(document_body(report));
}

std::string to_json(std::span<const Report> reports) {
  return document_text(
      {{"schema", kRunSchema}, {"documents", list_of_each(reports, document_body)}});
}

}  // namespace rdmabench::inline v1::report
