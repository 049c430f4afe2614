// The JSON of nccl-tests' -J and of RCCL's tests, whose numbers and truths are partly texts.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/json_values.h"
#include "base/number.h"
#include "nccl_cells.h"

namespace rdmabench::inline v1::import {
namespace {

constexpr std::uint64_t kMostRanks = 1U << 20U;

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

/// Those of the keys from the place `from` on. Refuses wrong elements that are no number: it may be
/// one of them.
void add_numbers(NcclTestsNumbers& numbers, const Json& object, std::size_t from,
                 std::initializer_list<const char*> keys, const Source& source) {
  for (const char* key : keys) {
    numbers.at(from) = loose_number(object, key);
    const auto found = object.find(key);
    if (from == kWrongColumn && !numbers[from] && found != object.end() && !found->is_null() &&
        trimmed(text_of(object, key)) != "N/A") {
      source.refuse(0, fmt::format("'{}' is no number of wrong elements", found->dump()));
    }
    ++from;
  }
}

std::optional<NcclTestsCell> cell(const Json& result, const std::string& placement,
                                  const Source& source) {
  NcclTestsNumbers numbers;
  const Json& body = object_of(result, placement);
  add_numbers(numbers, body, 0, {"time", "alg_bw", "bus_bw", "nwrong"}, source);
  if (!numbers[0]) numbers[0] = loose_number(body, "cpu_time");
  add_numbers(numbers, object_of(result, placement + "_per_iter"), kWrongColumn + 1,
              {"min_us", "max_us", "p99_us", "cv_pct", "p50_us", "stdev_us"}, source);
  return nccl_tests_cell(numbers, numbers[kWrongColumn + 1].has_value());
}

NcclTestsRow row_of(const Json& result) {
  NcclTestsRow out{.size_bytes = whole(result, "size"),
                   .count = whole(result, "count"),
                   .type = text_of(result, "type"),
                   .reduction = text_of(result, "redop")};
  if (const auto root = loose_number(result, "root")) {
    out.root = static_cast<std::int64_t>(std::clamp(*root, -1.0, 1e9));
  }
  return out;
}

void read_config(const Json& config, NcclTestsTable& table) {
  for (const NcclTestsSetting& one : kNcclTestsSettings) {
    if (!one.json.empty()) table.*one.member = std::max(whole(config, one.json), one.least);
  }
  table.step_is_factor = config.contains("step_factor");
  table.step = whole(config, table.step_is_factor ? "step_factor" : "step_bytes");
  for (const Json& device : list_of(config, "devices")) {
    if (!device.is_object()) continue;
    table.ranks.push_back({static_cast<std::uint32_t>(whole(device, "rank")), whole(device, "pid"),
                           text_of(device, "hostname"),
                           static_cast<std::uint32_t>(whole(device, "device")),
                           text_of(device, "device_hex"), text_of(device, "device_info")});
  }
  // One device a process is told, whatever number it has.
  const std::uint64_t each = std::min(table.threads, kMostRanks) * std::min(table.gpus, kMostRanks);
  table.size = static_cast<std::uint32_t>(
      std::min(std::min(each, kMostRanks) * table.ranks.size(), kMostRanks));
}

/// How the run ended. Also after an abort it closes its brackets, but has no last keys; its errors
/// are NCCL's last warning, which a run that ended well may have too.
void read_end(const Json& body, NcclTestsTable& table) {
  const bool ended = body.contains("out_of_bounds");
  for (const Json& error : list_of(body, "errors")) {
    const std::string text = any_text(error);
    if (text.empty()) continue;
    if (ended) {
      table.notes.push_back("NCCL's last warning: " + text);
    } else if (table.error.empty()) {
      table.error = text;
    }
  }
  if (!ended && table.error.empty()) {
    table.error = "it has no \"out_of_bounds\", with which it ends: the run was aborted";
  }
  if (const Json& bounds = object_of(body, "out_of_bounds"); bounds.contains("count")) {
    table.out_of_bounds = whole(bounds, "count");
  }
  const Json& average = object_of(body, "average_bus_bandwidth");
  table.average_bus_gb_per_s = loose_number(average, "bandwidth");
  table.below_minimum = any_text_of(average, "okay") == "false";
}

NcclTestsTable table_of(const JsonObject& json, const Source& source) {
  const Json& body = json.body;
  NcclTestsTable table;
  if (!json.whole) table.error = "the file was not written to its end: the run was aborted";
  table.library = any_text_of(body, "nccl_version");
  if (const Json& args = list_of(body, "args"); !args.empty() && args[0].is_string()) {
    table.program = base_name(args[0].get<std::string>());
  }
  read_config(object_of(body, "config"), table);
  for (const Json& result : list_of(body, "results")) {
    if (!result.is_object()) source.refuse(0, "a result is not an object");
    NcclTestsRow row = row_of(result);
    row.out_of_place = cell(result, "out_of_place", source);
    row.in_place = cell(result, "in_place", source);
    if (row.out_of_place || row.in_place) {
      table.rows.push_back(std::move(row));
    } else {
      table.notes.emplace_back("A result without a time was left out.");
    }
  }
  if (table.rows.empty() && table.error.empty() && table.library.empty()) {
    source.refuse(0, "it has no results");
  }
  read_end(body, table);
  return table;
}

/// "all_reduce_perf" of "AllReduce".
std::string program_of(const std::string& name) {
  std::string program;
  for (const char c : name) {
    const char low = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (low != c && !program.empty()) program += '_';
    program += low;
  }
  for (const std::string_view all : {"all_to_all", "allto_all"}) {
    if (program.starts_with(all)) program.replace(0, all.size(), "alltoall");
  }
  if (program == "alltoall_v") return "alltoallv_perf";
  return program == "send_recv" ? "sendrecv_perf" : program + "_perf";
}

}  // namespace

std::optional<NcclTestsCell> nccl_tests_cell(const NcclTestsNumbers& numbers, bool with_spread) {
  const auto& [time, algorithm, bus, wrong, min, max, p99, cv, p50, stddev] = numbers;
  if (!time || !algorithm || *time < 0) return std::nullopt;
  NcclTestsCell out{
      .time_us = *time, .algorithm_gb_per_s = algorithm, .bus_gb_per_s = bus, .wrong = wrong};
  if (with_spread) out.spread = NcclTestsCell::Spread{min, max, p99, cv, p50, stddev};
  return out;
}

bool is_nccl_tests_json(std::string_view text) noexcept {
  text = beginning_of(text);  // the environment comes before the rest
  return has(text, "\"nccl_version\"") && has(text, "\"args\"") && !has(text, "\"schema\"");
}

std::vector<NcclTestsTable> nccl_tests_json_tables(std::string_view text, const Source& source) {
  std::vector<NcclTestsTable> tables;
  for (const JsonObject& one : json_objects(text, source)) tables.push_back(table_of(one, source));
  return tables;
}

bool is_rccl_json(std::string_view text) noexcept {
  constexpr std::size_t kFar = 4096;
  text = text.substr(0, kFar);
  return has(text, "\"algBw\"") && has(text, "\"busBw\"") && has(text, "\"inPlace\"");
}

std::vector<NcclTestsTable> rccl_json_tables(std::string_view text, const Source& source) {
  check_json(text, source);
  Json items = Json::parse(text, nullptr, false);
  if (!items.is_array()) {
    items = Json::array();
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
    const std::string program = program_of(text_of(item, "name"));
    if (tables.empty() || tables.back().program != program) {
      tables.push_back({.tool = "RCCL's tests", .backend = "rccl", .program = program});
      tables.back().size = static_cast<std::uint32_t>(std::min(whole(item, "ranks"), kMostRanks));
    }
    NcclTestsNumbers numbers;
    add_numbers(numbers, item, 0, {"time", "algBw", "busBw", "wrong"}, source);
    if (!numbers[0]) continue;
    NcclTestsRow row = row_of(item);
    (whole(item, "inPlace") == 1 ? row.in_place : row.out_of_place) =
        nccl_tests_cell(numbers, false);
    tables.back().rows.push_back(std::move(row));
  }
  std::erase_if(tables, [](const NcclTestsTable& table) { return table.rows.empty(); });
  if (tables.empty()) source.refuse(0, "it has no results");
  return tables;
}

}  // namespace rdmabench::inline v1::import
