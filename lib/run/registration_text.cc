#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/units.h"
#include "report/sections.h"
#include "results/csv.h"
#include "results/row.h"
#include "run/registration_cost.h"

namespace rdmabench::inline v1::run {
namespace {

using report::Json;
using report::list_of_each;
using Summary = measure::LatencySummary;

/// Each route by which GPU memory does not register, once for each kind of memory and reason.
std::string refusals_text(const std::vector<RefusedRoute>& routes) {
  std::string text;
  std::vector<std::string> said;
  for (const RefusedRoute& refused : routes) {
    const std::string line =
        fmt::format("{}: not {}: {}\n", refused.memory, route_text(refused.route, refused.mapping),
                    refused.reason);
    if (std::find(said.begin(), said.end(), line) != said.end()) continue;
    text += (said.empty() ? "\n" : "") + line;
    said.push_back(line);
  }
  return text;
}

/// Why this route and no other, where the memory is and what a reader must know of it: once for
/// each run of results that agree in it, by the words of its first.
std::string explanations(const std::vector<RegistrationCost>& results) {
  std::string text;
  const RegistrationCost* last = nullptr;
  for (const RegistrationCost& result : results) {
    if (last != nullptr && last->memory == result.memory && last->route == result.route &&
        last->mapping == result.mapping) {
      continue;
    }
    last = &result;
    text += fmt::format("\n{}: {}\n", result.memory, route_text(result.route, result.mapping));
    for (const verbs::RegistrationAttempt& attempt : result.others) {
      text += fmt::format("  not {}: {}\n", name(attempt.route), attempt.reason);
    }
    if (result.nodes.empty()) {
      text += fmt::format("  on {}\n", result.placement);
    } else {
      text += fmt::format("  placement {}; at {}: {} of {}\n", result.placement,
                          format_size(result.size_bytes), memory::to_text(result.nodes),
                          format_size(result.page_bytes));
    }
    if (result.route == verbs::Route::staged) {
      text += "  note: this registers pinned host memory, not GPU memory\n";
    }
    for (const std::string& note : result.notes) text += fmt::format("  note: {}\n", note);
  }
  return text;
}

void add_times(Json& object, const std::string& call, const Summary& summary) {
  object[call + "_min_ns"] = summary.min_ns;
  object[call + "_p50_ns"] = summary.p50_ns;
  object[call + "_median_low_ns"] = report::finite(summary.median_low_ns);
  object[call + "_median_high_ns"] = report::finite(summary.median_high_ns);
  const bool has_p99 = summary.supports(99);
  object[call + "_p99_ns"] = has_p99 ? Json(summary.p99_ns) : Json(nullptr);
  object[call + "_p99_low_ns"] = has_p99 ? report::finite(summary.p99_low_ns) : Json(nullptr);
  object[call + "_p99_high_ns"] = has_p99 ? report::finite(summary.p99_high_ns) : Json(nullptr);
  object[call + "_max_ns"] = summary.max_ns;
  object[call + "_mean_ns"] = summary.mean_ns;
  object[call + "_stddev_ns"] = summary.stddev_ns;
}

/// What JSON and CSV have in common.
Json to_object(const RegistrationCost& one) {
  Json object;
  object["memory"] = one.memory;
  object["size_bytes"] = one.size_bytes;
  object["iterations"] = one.registering.count;
  object["route"] = name(one.route);
  object["mapping"] = one.mapping;
  object["launches"] = 1;
  add_times(object, "register", one.registering);
  object["register_bytes_per_s"] = one.bytes_per_s();
  add_times(object, "deregister", one.deregistering);
  object["placement"] = one.placement;
  object["page_bytes"] = one.page_bytes;
  return object;
}

}  // namespace

std::string to_table(const RegistrationReport& measured, std::size_t width) {
  report::Section table =
      report::run_rows("registration", list_of_each(measured.results, to_object));
  table.title.clear();
  return fmt::format("Registration of memory on {}; the rate is at the median\n\n{}{}",
                     measured.device, report::to_text({table}, width),
                     explanations(measured.results) + refusals_text(measured.refused_routes));
}

Json to_document(const RegistrationReport& measured) {
  Json results = Json::array();
  for (const RegistrationCost& one : measured.results) {
    Json object = to_object(one);
    object["nodes"] = list_of_each(one.nodes, [](const memory::NodePages& place) {
      return Json{{"node", place.node}, {"pages", place.pages}};
    });
    object["other_routes"] =
        list_of_each(one.others, [](const verbs::RegistrationAttempt& attempt) {
          return Json{{"route", name(attempt.route)}, {"reason", attempt.reason}};
        });
    object["notes"] = one.notes;
    results.push_back(std::move(object));
  }
  const Json refused = list_of_each(measured.refused_routes, [](const RefusedRoute& one) {
    return Json{{"memory", one.memory},
                {"size_bytes", one.size_bytes},
                {"route", name(one.route)},
                {"mapping", one.mapping},
                {"reason", one.reason}};
  });
  return {{"schema", "rdmabench/1"},
          {"test", "registration"},
          {"errors", measured.refusals},
          {"environment", {{"client", report::to_list(report::collect_environment())}}},
          {"device", measured.device},
          {"results", std::move(results)},
          {"refused", refused}};
}

std::string to_json(const RegistrationReport& measured) {
  return report::document_text(to_document(measured));
}

std::string to_csv(const RegistrationReport& measured) {
  report::Csv csv(report::keys_of(to_object({})));
  for (const RegistrationCost& one : measured.results) csv.add(to_object(one));
  return csv.text();
}

}  // namespace rdmabench::inline v1::run
