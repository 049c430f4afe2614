// What other tools printed, as documents of our own. What they do not say is null.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "import/run.h"
#include "kinds.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/documents.h"
#include "results/row.h"

namespace rdmabench::inline v1::report {
namespace {

using import::NcclTestsCell;
using import::NcclTestsRank;
using import::NcclTestsRow;
using import::NcclTestsTable;
using import::PairRun;

constexpr double kGiga = 1e9;

/// Each key with its number, or null.
void add_numbers(Json& json, const import::Row& row, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = row.find(key);
    json[key] = found == row.end() ? Json() : Json(found->second);
  }
}

Json count(const import::Row& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() ? Json() : Json(static_cast<std::uint64_t>(found->second));
}

Json result_of(const PairRun& run, const import::Row& row) {
  const std::string& operation = run.operation;
  const bool answered = run.one_sided || operation == "read" || operation == "compare-swap" ||
                        operation == "fetch-add";
  const bool known = operation != "unknown";
  const auto if_known = [&](const char* text) { return known ? text : "unknown"; };
  Json json{{"operation", operation},
            {"backend", run.backend},
            {"provider", ""},
            {"device", run.device},
            {"size_bytes", count(row, "size_bytes")},
            {"iterations", count(row, "iterations")},
            {"warmup_iterations", nullptr},
            {"completion", if_known(answered ? "delivery" : "transmit")}};
  if (run.latency) {
    json["kind"] = if_known(answered ? "completion" : "half_round_trip");
    json["signal"] = if_known(answered                        ? "completion"
                              : operation.starts_with("send") ? "receive"
                                                              : "memory-poll");
    add_numbers(json, row,
                {"min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns", "mean_ns",
                 "stddev_ns", "median_low_ns", "median_high_ns"});
    json["unsupported_percentiles"] = Json::array();
    if (const auto samples = row.find("iterations"); samples != row.end()) {
      const double beyond = samples->second / 1000;  // samples above the 99.9th percentile
      if (beyond < 10) json["unsupported_percentiles"].push_back("p999_ns");
      if (beyond < 1) json["unsupported_percentiles"].push_back("p99_ns");
    }
  } else {
    json["direction"] = if_known(run.both_ways ? "both_ways" : "one_way");
    json["depth"] = run.depth > 0 ? Json(run.depth) : Json(nullptr);
    add_numbers(
        json, row,
        {"bits_per_s", "bits_per_s_low", "bits_per_s_high", "messages_per_s", "peak_bits_per_s"});
  }
  if (!run.memory.empty()) json["memory"] = run.memory;
  json["complete"] = true;
  json["notes"] = Json::array();
  return json;
}

Json document_of(const PairRun& run) {
  const Json nobody{{"client", Json::array()}, {"server", Json::array()}};
  Json details = Json::object();
  for (const auto& [key, value] : run.details) details[key] = value;
  Json notes{
      fmt::format("Read from {}'s output: who measured, when, and with which kernel it does "
                  "not say.",
                  run.tool)};
  for (const std::string& note : run.notes) notes.push_back(note);
  return {{"schema", kRunSchema},
          {"test", run.latency ? "latency" : "bandwidth"},
          {"error", run.error.empty() ? Json() : Json(run.error)},
          {"failure", nullptr},
          {"suspect", !run.doubts.empty()},
          {"suspicions", list_of_each(run.doubts,
                                      [](const import::Doubt& one) {
                                        return Json{{"code", one.code},
                                                    {"text", one.text + "."},
                                                    {"side", ""},
                                                    {"summary", one.text + "."},
                                                    {"remedy", ""}};
                                      })},
          {"environment", nobody},
          {"config", {{"tool", run.tool}, {"test", run.test}}},
          {"resolved",
           {{"backend", run.backend},
            {"provider", ""},
            {"device", run.device},
            {"transport", run.transport},
            {"reason", fmt::format("as {} says", run.tool)},
            {"details", std::move(details)}}},
          {"clock", nullptr},
          {"conditions", nobody},
          {"counters", nobody},
          {"results", list_of_each(run.rows, [&](const auto& row) { return result_of(run, row); })},
          {"notes", std::move(notes)}};
}

std::string type_of(const std::string& type) {
  if (type == "float") return "float32";
  if (type == "double") return "float64";
  return type;
}

bool reduces(std::string_view operation) {
  return operation == "all-reduce" || operation == "reduce" || operation == "reduce-scatter";
}

Json fact(std::string_view name, Json value) {
  return {{"name", name}, {"value", std::move(value)}};
}

Json rank_of(const NcclTestsRank& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"process", rank.pid},
          {"clock", {{"offset_ns", nullptr}, {"error_bound_ns", nullptr}}},
          {"facts", Json::array({fact("gpu_ordinal", rank.device), fact("gpu_pci", rank.pci),
                                 fact("gpu_name", rank.gpu)})},
          {"counters", Json::array()},
          {"notes", Json::array()}};
}

/// Null for a table that does not say how often it timed.
Json known(const NcclTestsTable& table, std::uint64_t count) {
  return table.iterations > 0 ? Json(count) : Json(nullptr);
}

/// It checks so many operations of each row on every rank, none of those that it times.
Json wrong_of(const NcclTestsTable& table, const NcclTestsCell& cell) {
  if (!cell.wrong || *cell.wrong < 0) return nullptr;
  const auto wrong = static_cast<std::uint64_t>(*cell.wrong);
  return {
      {"checked_results",
       table.size > 0 ? Json(std::max<std::uint64_t>(1, table.validation) * table.size) : Json()},
      {"wrong_results", wrong > 0 ? 1U : 0U},
      {"wrong_elements", wrong},
      {"first", nullptr}};
}

Json scaled(const std::optional<double>& value, double factor) {
  return value ? Json(*value * factor) : Json(nullptr);
}

/// Of microseconds, to a picosecond: the product of two floating-point numbers has more digits.
Json ns_of(const std::optional<double>& us) {
  return us ? Json(std::round(*us * kNsPerUs * 1e3) / 1e3) : Json(nullptr);
}

constexpr double kThreeDigits = 1;  // GB/s, from which on two decimals have them

/// Bus over algorithm bandwidth, as the fastest row tells it; 0 where none has the digits for it.
double bus_factor(const NcclTestsTable& table) {
  double most = kThreeDigits;
  double factor = 0;
  for (const NcclTestsRow& row : table.rows) {
    for (const auto* const cell : {&row.out_of_place, &row.in_place}) {
      if (!*cell || (*cell)->bus_gb_per_s.value_or(0) <= most) continue;
      const double algorithm = (*cell)->algorithm_gb_per_s.value_or(0);
      if (algorithm < kThreeDigits) continue;
      most = *(*cell)->bus_gb_per_s;
      factor = most / algorithm;
    }
  }
  return factor;
}

/// Two decimals have no digit of a small message: 8 bytes in 10 us are "0.00" GB/s. Its size and
/// its time have them, where they agree with what was printed.
void mend_rates(NcclTestsCell& cell, std::uint64_t size_bytes, double factor) {
  constexpr double kRounding = 0.0051;
  const auto mend = [](std::optional<double>& printed, double exact) {
    const bool few = printed && *printed < kThreeDigits;
    if (few && std::abs(exact - *printed) < kRounding) printed = exact;
  };
  if (cell.time_us <= 0) return;
  const double exact = static_cast<double>(size_bytes) / (cell.time_us * 1e3);
  mend(cell.algorithm_gb_per_s, exact);
  if (factor > 0) mend(cell.bus_gb_per_s, exact * factor);
}

Json result_of(const NcclTestsTable& table, const NcclTestsRow& row, NcclTestsCell cell,
               bool in_place, double factor) {
  mend_rates(cell, row.size_bytes, factor);
  const bool alone = table.size == 1;
  const bool has_bus = cell.bus_gb_per_s && !alone;
  const NcclTestsCell::Spread spread = cell.spread.value_or(NcclTestsCell::Spread{});
  const Json iterations =
      row.iterations > 0 ? Json(row.iterations) : known(table, table.iterations);
  return {{"operation", table.operation},
          {"type", type_of(row.type)},
          {"reduction", reduces(table.operation) ? Json(row.reduction) : Json(nullptr)},
          {"root", row.root && *row.root >= 0 ? Json(*row.root) : Json(nullptr)},
          {"size_bytes", row.size_bytes},
          {"count", row.count},
          {"in_place", in_place},
          {"skipped", nullptr},
          {"iterations", iterations},
          {"warmup_iterations", known(table, table.warmup)},
          {"batch", 1U},
          {"min_ns", ns_of(spread.min_us)},
          {"p50_ns", ns_of(spread.p50_us)},
          {"p90_ns", nullptr},
          {"p99_ns", ns_of(spread.p99_us)},
          {"p999_ns", nullptr},
          {"max_ns", ns_of(spread.max_us)},
          {"mean_ns", ns_of(cell.time_us)},
          {"stddev_ns", ns_of(spread.stddev_us)},
          {"median_low_ns", nullptr},
          {"median_high_ns", nullptr},
          {"median_level", nullptr},
          {"unsupported_percentiles", Json::array()},
          {"stable", true},
          {"algorithm_bytes_per_s", scaled(cell.algorithm_gb_per_s, kGiga)},
          {"bus_bytes_per_s", has_bus ? scaled(cell.bus_gb_per_s, kGiga) : Json(nullptr)},
          {"bus_reason", has_bus ? Json(nullptr)
                         : alone ? Json("One rank: nothing crosses a bus.")
                                 : Json("None was printed.")},
          {"wrong", wrong_of(table, cell)},
          {"arrivals", nullptr},
          {"late", nullptr},
          {"late_reason", "The output does not say when each rank arrived."},
          {"ranks", Json::array()},
          {"facts", Json::array()}};
}

/// Its last lines may say that it failed where no row does.
std::string error_of(const NcclTestsTable& table) {
  if (!table.error.empty()) return table.error;
  const auto is_wrong = [](const std::optional<NcclTestsCell>& cell) {
    return cell && cell->wrong.value_or(0) > 0;
  };
  const bool any_wrong =
      std::any_of(table.rows.begin(), table.rows.end(), [&](const NcclTestsRow& row) {
        return is_wrong(row.out_of_place) || is_wrong(row.in_place);
      });
  if (table.out_of_bounds.value_or(0) > 0 && !any_wrong) {
    return fmt::format("Out of bounds values: {} FAILED, which no row has", *table.out_of_bounds);
  }
  if (!table.below_minimum) return "";
  return fmt::format("Avg bus bandwidth: {} FAILED, below NCCL_TESTS_MIN_BW",
                     table.average_bus_gb_per_s.value_or(0));
}

std::string version_text(const std::string& code) {
  if (code.size() != 5 || code.find_first_not_of("0123456789") != std::string_view::npos)
    return code;
  return fmt::format("{}.{}.{}", code[0], std::stoi(code.substr(1, 2)),
                     std::stoi(code.substr(3, 2)));
}

/// Every placement of a row is a result.
Json document_of(const NcclTestsTable& table) {
  const std::string& operation = table.operation;
  const std::string error = error_of(table);
  Json results = Json::array();
  Json notes = table.notes;
  const double factor = bus_factor(table);
  std::uint64_t empty = 0;
  std::uint64_t placeless = 0;
  for (const NcclTestsRow& row : table.rows) {
    if (row.size_bytes == 0) {
      ++empty;  // it rounds small parts down to nothing, and times that
      continue;
    }
    if (row.out_of_place) {
      results.push_back(result_of(table, row, *row.out_of_place, false, factor));
    }
    // There is no such operation in place: nccl-tests times something and checks nothing.
    const bool no_place =
        operation == "all-to-all" || operation == "all-to-all-v" || operation == "send-receive";
    if (row.in_place && no_place) ++placeless;
    if (row.in_place && !no_place) {
      results.push_back(result_of(table, row, *row.in_place, true, factor));
    }
  }
  if (placeless > 0) {
    notes.push_back(fmt::format("{} results in place were left out: there is no {} in place.",
                                placeless, operation));
  }
  if (empty > 0) notes.push_back(fmt::format("{} rows of 0 bytes were left out.", empty));
  notes.push_back(fmt::format("Of {}: {}.", table.tool, table.about));
  Json library = Json::array();
  if (!table.library.empty()) {
    library.push_back(fact(
        "library", (table.backend == "rccl" ? "RCCL " : "NCCL ") + version_text(table.library)));
  }
  return {
      {"schema", kCollSchema},
      {"backend", table.backend},
      {"error", error.empty() ? Json(nullptr) : Json(error)},
      {"blame", nullptr},
      {"environment", Json::array()},
      {"library", std::move(library)},
      {"config", Json::array({fact("imported_from", table.version.empty()
                                                        ? Json(table.tool)
                                                        : Json(table.tool + ' ' + table.version)),
                              fact("command", table.program),
                              fact("ranks", table.size > 0 ? Json(table.size) : Json(nullptr)),
                              fact("warmup_iterations", known(table, table.warmup)),
                              fact("iterations", known(table, table.iterations)),
                              fact("aggregated", table.aggregated), fact("graph", table.graph)})},
      {"ranks", list_of_each(table.ranks, rank_of)},
      {"results", std::move(results)},
      {"notes", std::move(notes)}};
}

}  // namespace

bool is_imported(std::string_view text) noexcept {
  return import::is_known(text);
}

std::vector<Json> imported_documents(std::string_view text, const std::string& source,
                                     const std::string& program) {
  std::vector<Json> documents;
  for (const import::Run& run : import::read(text, source, program)) {
    Json& body =
        documents.emplace_back(std::visit([](const auto& one) { return document_of(one); }, run));
    if (body["results"].empty() && body["error"].is_null()) {
      const auto* const pair = std::get_if<PairRun>(&run);
      const bool two_sides = pair != nullptr && pair->backend != "mpi";
      body["error"] = fmt::format("it has no row: the run failed{}",
                                  two_sides ? ", or this is a server's" : "");
    }
  }
  return documents;
}

}  // namespace rdmabench::inline v1::report
