#include "rdmabench/report/writers.h"

#include <array>

#include "rdmabench/report/documents.h"
#include "row.h"

namespace rdmabench::report {
namespace {

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

}  // namespace

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
