// nccl-tests' tables as documents of our own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "imported_run.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/documents.h"
#include "rdmabench/report/nccl_tests.h"
#include "row.h"
#include "tool_text.h"

namespace rdmabench::report {
namespace {

constexpr double kGiga = 1e9;

using Name = std::pair<std::string_view, std::string_view>;
/// Programs with the operation that they measure; "" where NCCL has no such collective.
constexpr std::array<Name, 11> kOperations{{{"all_reduce_perf", "all-reduce"},
                                            {"all_gather_perf", "all-gather"},
                                            {"reduce_scatter_perf", "reduce-scatter"},
                                            {"broadcast_perf", "broadcast"},
                                            {"reduce_perf", "reduce"},
                                            {"alltoall_perf", "all-to-all"},
                                            {"alltoallv_perf", "all-to-all-v"},
                                            {"scatter_perf", "scatter"},
                                            {"gather_perf", "gather"},
                                            {"sendrecv_perf", "send-receive"},
                                            {"hypercube_perf", ""}}};

std::string_view operation_of(std::string_view program, const std::string& source) {
  const auto* const found = std::find_if(kOperations.begin(), kOperations.end(),
                                         [&](const Name& name) { return name.first == program; });
  if (found != kOperations.end() && !found->second.empty()) return found->second;
  throw Error(Fault::usage, fmt::format("{}: results of {} are not taken", source, program),
              "NCCL has no such collective: give results of all_gather_perf.");
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
  return {{"checked_results",
           std::max<std::uint64_t>(1, table.validation) * std::max<std::uint32_t>(1, table.size)},
          {"wrong_results", wrong > 0 ? 1U : 0U},
          {"wrong_elements", wrong},
          {"first", nullptr}};
}

Json result_of(const NcclTestsTable& table, std::string_view operation, const NcclTestsRow& row,
               const NcclTestsCell& cell, bool in_place) {
  const bool alone = table.size == 1;
  const auto of_spread = [&](std::optional<double> NcclTestsCell::Spread::*member) {
    const std::optional<double> us = cell.spread ? (*cell.spread).*member : std::nullopt;
    return us ? Json(*us * kNsPerUs) : Json(nullptr);
  };
  const bool has_bus = cell.bus_gb_per_s && !alone;
  return {{"operation", operation},
          {"type", type_of(row.type)},
          {"reduction", reduces(operation) ? Json(row.reduction) : Json(nullptr)},
          {"root", row.root && *row.root >= 0 ? Json(*row.root) : Json(nullptr)},
          {"size_bytes", row.size_bytes},
          {"count", row.count},
          {"in_place", in_place},
          {"skipped", nullptr},
          {"iterations", known(table, table.iterations)},
          {"warmup_iterations", known(table, table.warmup)},
          {"batch", 1U},
          {"min_ns", of_spread(&NcclTestsCell::Spread::min_us)},
          {"p50_ns", of_spread(&NcclTestsCell::Spread::p50_us)},
          {"p90_ns", nullptr},
          {"p99_ns", of_spread(&NcclTestsCell::Spread::p99_us)},
          {"p999_ns", nullptr},
          {"max_ns", of_spread(&NcclTestsCell::Spread::max_us)},
          {"mean_ns", cell.time_us * kNsPerUs},
          {"stddev_ns", of_spread(&NcclTestsCell::Spread::stddev_us)},
          {"median_low_ns", nullptr},
          {"median_high_ns", nullptr},
          {"median_level", nullptr},
          {"unsupported_percentiles", Json::array()},
          {"stable", true},
          {"algorithm_bytes_per_s",
           cell.algorithm_gb_per_s ? Json(*cell.algorithm_gb_per_s * kGiga) : Json(nullptr)},
          {"bus_bytes_per_s", has_bus ? Json(*cell.bus_gb_per_s * kGiga) : Json(nullptr)},
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

std::string version_text(const std::string& code) {
  if (code.size() != 5 || code.find_first_not_of("0123456789") != std::string_view::npos)
    return code;
  return fmt::format("{}.{}.{}", code[0], std::stoi(code.substr(1, 2)),
                     std::stoi(code.substr(3, 2)));
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// The program whose name begins the text, the longest where several do.
std::string program_in(const std::string& text) {
  std::string found;
  for (const auto& [program, operation] : kOperations) {
    const std::string_view stem = program.substr(0, program.rfind('_'));
    if (text.starts_with(stem) && program.size() > found.size()) found = program;
  }
  return found;
}

/// What the columns of the largest row allow. There is one.
std::vector<std::string_view> allowed(const NcclTestsTable& table) {
  const NcclTestsRow& row = *std::max_element(
      table.rows.begin(), table.rows.end(),
      [](const NcclTestsRow& a, const NcclTestsRow& b) { return a.size_bytes < b.size_bytes; });
  const bool reduces = !row.reduction.empty() && row.reduction != "none";
  const bool rooted = row.root && *row.root >= 0;
  const auto& cell = row.out_of_place ? row.out_of_place : row.in_place;
  const double factor = cell && cell->bus_gb_per_s && cell->algorithm_gb_per_s.value_or(0) > 0
                            ? *cell->bus_gb_per_s / *cell->algorithm_gb_per_s
                            : 0;
  constexpr double kNear = 0.02;
  const bool is_one = std::fabs(factor - 1) < kNear;
  if (reduces && rooted) return {"reduce_perf"};
  if (reduces) {
    // 2(n-1)/n is above 1 from 3 ranks on, (n-1)/n always below.
    if (factor > 1 + kNear) return {"all_reduce_perf"};
    if (factor > 0 && factor < 1 - kNear) return {"reduce_scatter_perf"};
    return {"all_reduce_perf", "sendrecv_perf"};
  }
  if (rooted) {
    if (is_one) return {"broadcast_perf"};
    return {"gather_perf", "scatter_perf"};
  }
  return {"all_gather_perf", "alltoall_perf"};
}

/// Whether the columns are that program's, of which a file may hold several.
bool may_be(const NcclTestsTable& table, std::string_view program) {
  if (table.rows.empty()) return true;
  const NcclTestsRow& row = table.rows.back();
  const bool reduces = !row.reduction.empty() && row.reduction != "none";
  const bool rooted = row.root && *row.root >= 0;
  if (program == "reduce_perf") return reduces && (rooted || !row.root);
  if (program == "all_reduce_perf" || program == "reduce_scatter_perf") return reduces && !rooted;
  if (program == "all_gather_perf" || program.starts_with("alltoall")) return !reduces && !rooted;
  if (program == "sendrecv_perf" || program == "hypercube_perf") return !rooted;
  return !reduces;
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

}  // namespace

bool is_nccl_tests_program(const std::string& name) {
  return !program_in(name).empty();
}

std::string nccl_tests_program(const NcclTestsTable& table, const std::string& source) {
  for (const std::string& name : {table.program, source}) {
    std::string named = program_in(base_name(name));
    if (!named.empty() && may_be(table, named)) return named;
  }
  if (table.rows.empty()) return "";
  const std::vector<std::string_view> found = allowed(table);
  if (found.size() == 1) return std::string(found[0]);
  throw Error(Fault::usage,
              fmt::format("'{}' does not say which program printed it: it may be {}", source,
                          fmt::join(found, " or ")),
              fmt::format("Name it: --as {}, or let the file's name begin with it.", found[0]));
}

Json nccl_tests_document(const NcclTestsTable& table, const std::string& source) {
  const std::string program =
      table.operation.empty() ? nccl_tests_program(table, source) : table.program;
  const std::string operation = table.operation.empty() && !table.rows.empty()
                                    ? std::string(operation_of(program, source))
                                    : table.operation;
  const std::string error = error_of(table);
  Json results = Json::array();
  Json notes = table.notes;
  std::uint64_t empty = 0;
  for (const NcclTestsRow& row : table.rows) {
    if (row.size_bytes == 0) {
      ++empty;  // it rounds small parts down to nothing, and times that
      continue;
    }
    if (row.out_of_place) {
      results.push_back(result_of(table, operation, row, *row.out_of_place, false));
    }
    // There is no such operation in place: nccl-tests times something and checks nothing.
    const bool no_place =
        operation == "all-to-all" || operation == "all-to-all-v" || operation == "send-receive";
    if (row.in_place && !no_place) {
      results.push_back(result_of(table, operation, row, *row.in_place, true));
    }
  }
  if (empty > 0) notes.push_back(fmt::format("{} rows of 0 bytes were left out.", empty));
  notes.push_back(fmt::format(
      "Of {}: times are means; the operations that it timed were not checked.", table.tool));
  Json library = Json::array();
  if (!table.library.empty()) {
    library.push_back(fact("library", "NCCL " + version_text(table.library)));
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
                              fact("command", program),
                              fact("ranks", table.size > 0 ? Json(table.size) : Json(nullptr)),
                              fact("warmup_iterations", known(table, table.warmup)),
                              fact("iterations", known(table, table.iterations)),
                              fact("aggregated", table.aggregated), fact("graph", table.graph)})},
      {"ranks", list_of_each(table.ranks, rank_of)},
      {"results", std::move(results)},
      {"notes", std::move(notes)}};
}

bool is_nccl_tests(std::string_view text) noexcept {
  if (is_rccl_json(text)) return true;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  if (text[begin] == '[') {  // a launcher's tag or a prompt, "[root@node1 ~]# ", and no list
    const std::size_t next = text.find_first_not_of(" \t\r\n", begin + 1);
    constexpr std::string_view kInList = "{[]\"";
    return next != std::string_view::npos && kInList.find(text[next]) == std::string_view::npos &&
           is_nccl_tests_text(text);
  }
  return text[begin] == '{' ? is_nccl_tests_json(text) : is_nccl_tests_text(text);
}

std::vector<Json> nccl_tests_documents(std::string_view text, const std::string& source,
                                       const std::string& program) {
  std::vector<NcclTestsTable> tables;
  if (is_rccl_json(text)) {
    tables = parse_rccl_json(text, source);
  } else if (const std::size_t begin = text.find_first_not_of(" \t\r\n");
             begin != std::string_view::npos && text[begin] == '{') {
    for (const std::string_view one : json_objects(text)) {
      tables.push_back(parse_nccl_tests_json(one, source));
    }
  } else {
    tables = parse_nccl_tests_text(text, source);
  }
  std::vector<Json> documents;
  for (NcclTestsTable& table : tables) {
    if (!is_nccl_tests_program(base_name(table.program)) && is_nccl_tests_program(program)) {
      table.program = program;
    }
    documents.push_back(nccl_tests_document(table, source));
  }
  return documents;
}

}  // namespace rdmabench::report
