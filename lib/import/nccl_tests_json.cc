// The JSON of nccl-tests' -J, whose numbers and truths are partly texts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_values.h"
#include "base/nesting.h"
#include "base/number.h"
#include "base/text.h"
#include "rdmabench/base/error.h"
#include "rdmabench/import/nccl_tests.h"
#include "tool_text.h"

namespace rdmabench::import {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostRanks = 1U << 20U;
constexpr const char* kRemedy = "Give what an nccl-tests program printed, or its -J file.";

[[noreturn]] void refuse(const std::string& source, const std::string& why) {
  throw Error(Fault::usage, fmt::format("'{}': {}", source, why), kRemedy);
}

void check_size(std::string_view text, const std::string& source) {
  const std::string excess = json_excess(text, {.keys = kMostKeys});
  if (!excess.empty()) refuse(source, excess);
}

/// A number, or a text that is one: "    -1", "nan" is none.
std::optional<double> loose_number(const Json& object, std::string_view key) {
  const double value = number_of(object, key);
  if (std::isfinite(value)) return value;
  return parse_number<double>(trimmed(text_of(object, key)));
}

std::uint64_t whole(const Json& object, std::string_view key) {
  constexpr double kMost = 9e15;
  const double value = loose_number(object, key).value_or(0);
  return value >= 0 && value < kMost ? static_cast<std::uint64_t>(value) : 0;
}

/// Null where it did not check. Refuses what is no number: it may be one of wrong elements.
std::optional<double> wrong_elements(const Json& object, std::string_view key,
                                     const std::string& source) {
  const auto wrong = loose_number(object, key);
  const auto found = object.find(key);
  const bool none =
      found == object.end() || found->is_null() || trimmed(text_of(object, key)) == "N/A";
  if (!wrong && !none) {
    refuse(source, fmt::format("'{}' is no number of wrong elements", found->dump()));
  }
  return wrong;
}

std::optional<NcclTestsCell> cell(const Json& result, std::string_view placement,
                                  const std::string& source) {
  const Json& body = object_of(result, placement);
  auto time = loose_number(body, "time");
  if (!time) time = loose_number(body, "cpu_time");
  const auto algorithm = loose_number(body, "alg_bw");
  if (!time || !algorithm) return std::nullopt;
  NcclTestsCell out{.time_us = *time, .algorithm_gb_per_s = *algorithm};
  out.bus_gb_per_s = loose_number(body, "bus_bw");
  out.wrong = wrong_elements(body, "nwrong", source);
  const Json& spread = object_of(result, fmt::format("{}_per_iter", placement));
  if (const auto min = loose_number(spread, "min_us")) {
    out.spread = NcclTestsCell::Spread{.min_us = min,
                                       .max_us = loose_number(spread, "max_us"),
                                       .p99_us = loose_number(spread, "p99_us"),
                                       .cv_percent = loose_number(spread, "cv_pct"),
                                       .p50_us = loose_number(spread, "p50_us"),
                                       .stddev_us = loose_number(spread, "stdev_us")};
  }
  return out;
}

NcclTestsRow row(const Json& result, const std::string& source) {
  NcclTestsRow out;
  out.size_bytes = whole(result, "size");
  out.count = whole(result, "count");
  out.type = text_of(result, "type");
  out.reduction = text_of(result, "redop");
  if (const auto root = loose_number(result, "root")) {
    out.root = static_cast<std::int64_t>(std::clamp(*root, -1.0, 1e9));
  }
  out.out_of_place = cell(result, "out_of_place", source);
  out.in_place = cell(result, "in_place", source);
  return out;
}

void read_config(const Json& config, NcclTestsTable& table) {
  table.threads = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, whole(config, "nthreads")));
  table.gpus = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, whole(config, "ngpus")));
  table.min_bytes = whole(config, "minimum_bytes");
  table.max_bytes = whole(config, "maximum_bytes");
  table.step_is_factor = config.contains("step_factor");
  table.step = whole(config, table.step_is_factor ? "step_factor" : "step_bytes");
  table.warmup = whole(config, "warmup_iters");
  table.iterations = whole(config, "iterations");
  table.aggregated = std::max<std::uint64_t>(1, whole(config, "aggregated_iterations"));
  table.validation = whole(config, "validation");
  table.graph = whole(config, "graph");
  for (const Json& device : list_of(config, "devices")) {
    if (!device.is_object()) continue;
    table.ranks.push_back({static_cast<std::uint32_t>(whole(device, "rank")), whole(device, "pid"),
                           text_of(device, "hostname"),
                           static_cast<std::uint32_t>(whole(device, "device")),
                           text_of(device, "device_hex"), text_of(device, "device_info")});
  }
  // One device a process is told, whatever number it has.
  table.size = static_cast<std::uint32_t>(
      std::min(std::uint64_t{table.threads} * table.gpus * table.ranks.size(), kMostRanks));
}

/// How the run ended. Also after an abort it closes its brackets, but has no last keys; its errors
/// are NCCL's last warning, which a run that ended well may have too.
void read_end(const Json& body, NcclTestsTable& table) {
  const bool ended = body.contains("out_of_bounds");
  for (const Json& error : list_of(body, "errors")) {
    if (!error.is_string() || error.get<std::string>().empty()) continue;
    if (ended) {
      table.notes.push_back("NCCL's last warning: " + error.get<std::string>());
    } else if (table.error.empty()) {
      table.error = error.get<std::string>();
    }
  }
  if (!ended && table.error.empty()) {
    table.error = "it has no \"out_of_bounds\", with which it ends: the run was aborted";
  }
}

}  // namespace

bool is_nccl_tests_json(std::string_view text) noexcept {
  text = beginning_of(text);  // the environment comes before the rest
  return has(text, "\"nccl_version\"") && has(text, "\"args\"") && !has(text, "\"schema\"");
}

NcclTestsTable parse_nccl_tests_json(std::string_view text, const std::string& source) {
  check_size(text, source);
  Json body = Json::parse(text, nullptr, false);
  NcclTestsTable table;
  if (body.is_discarded()) {
    body = Json::parse(closed_json(text), nullptr, false);
    table.error = "the file was not written to its end: the run was aborted";
  }
  if (body.is_discarded()) refuse(source, "not JSON");
  table.library = any_text_of(body, "nccl_version");
  if (const Json& args = list_of(body, "args"); !args.empty() && args[0].is_string()) {
    const std::string path = args[0].get<std::string>();
    table.program = path.substr(path.rfind('/') + 1);
  }
  read_config(object_of(body, "config"), table);
  for (const Json& result : list_of(body, "results")) {
    if (!result.is_object()) refuse(source, "a result is not an object");
    table.rows.push_back(row(result, source));
    if (!table.rows.back().out_of_place && !table.rows.back().in_place) {
      table.rows.pop_back();
      table.notes.emplace_back("A result without a time was left out.");
    }
  }
  if (table.rows.empty() && table.error.empty() && table.library.empty()) {
    refuse(source, "it has no results");
  }
  read_end(body, table);
  if (table.error.empty() && table.rows.empty()) {
    table.error = "it has no results: the run failed before its first one";
  }
  if (const Json& bounds = object_of(body, "out_of_bounds"); bounds.contains("count")) {
    table.out_of_bounds = whole(bounds, "count");
  }
  const Json& average = object_of(body, "average_bus_bandwidth");
  table.average_bus_gb_per_s = loose_number(average, "bandwidth");
  table.below_minimum = any_text_of(average, "okay") == "false";
  return table;
}

bool is_rccl_json(std::string_view text) noexcept {
  constexpr std::size_t kFar = 4096;
  text = text.substr(0, kFar);
  return has(text, "\"algBw\"") && has(text, "\"busBw\"") && has(text, "\"inPlace\"");
}

std::vector<NcclTestsTable> parse_rccl_json(std::string_view text, const std::string& source) {
  std::vector<Json> items;
  check_size(text, source);
  if (const Json whole = Json::parse(text, nullptr, false); whole.is_array()) {
    items.assign(whole.begin(), whole.end());
  } else {
    for (std::string_view line : lines_of(text)) {
      // Of a list that was cut off each line is an item, too.
      line = line.substr(0, line.find_last_not_of(" ,\r]") + 1);
      line.remove_prefix(std::min(line.find_first_not_of(" ["), line.size()));
      if (!line.empty()) items.push_back(Json::parse(line, nullptr, false));
    }
  }
  std::vector<NcclTestsTable> tables;
  for (const Json& item : items) {
    if (!item.is_object()) {
      if (!tables.empty())
        tables.back().notes.emplace_back("A line that is not JSON was left out.");
      continue;
    }
    std::string program;  // "AllReduce" is "all_reduce_perf"
    for (const char c : text_of(item, "name")) {
      const char low = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (low != c && !program.empty()) program += '_';
      program += low;
    }
    if (program.starts_with("all_to_all")) program.replace(0, 10, "alltoall");
    if (program.starts_with("allto_all")) program.replace(0, 9, "alltoall");
    if (program == "alltoall_v") program = "alltoallv";
    if (program == "send_recv") program = "sendrecv";
    if (tables.empty() || tables.back().program != program + "_perf") {
      tables.push_back({.tool = "RCCL's tests", .backend = "rccl", .program = program + "_perf"});
      tables.back().size = static_cast<std::uint32_t>(std::min(whole(item, "ranks"), kMostRanks));
    }
    const auto time = loose_number(item, "time");
    if (!time) continue;
    NcclTestsCell cell{.time_us = *time,
                       .algorithm_gb_per_s = loose_number(item, "algBw"),
                       .bus_gb_per_s = loose_number(item, "busBw"),
                       .wrong = wrong_elements(item, "wrong", source)};
    NcclTestsRow row{.size_bytes = whole(item, "size"),
                     .count = whole(item, "count"),
                     .type = text_of(item, "type"),
                     .reduction = text_of(item, "redop")};
    (whole(item, "inPlace") == 1 ? row.in_place : row.out_of_place) = cell;
    tables.back().rows.push_back(std::move(row));
  }
  std::erase_if(tables, [](const NcclTestsTable& table) { return table.rows.empty(); });
  if (tables.empty()) refuse(source, "it has no results");
  return tables;
}

}  // namespace rdmabench::import
