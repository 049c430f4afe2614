// perftest's JSON of all its releases.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json_values.h"
#include "base/nesting.h"
#include "base/number.h"
#include "base/text.h"
#include "perftest_run.h"
#include "rdmabench/base/units.h"
#include "tool_text.h"

namespace rdmabench::import {
namespace {

using Json = nlohmann::ordered_json;

/// "write", of "RDMA_Write_Bidirectional_BW_Test", and so on.
std::string title_of(std::string test) {
  for (std::string_view one :
       {"RDMA_Write_imm", "RDMA_Write", "RDMA_Read", "Send_imm", "Send", "Atomic"}) {
    if (!test.starts_with(one)) continue;
    std::string rest = test.substr(one.size());
    std::replace(rest.begin(), rest.end(), '_', ' ');
    test = std::string(one) + rest;
    break;
  }
  for (const auto& [from, to] :
       {std::pair{"CMP AND SWAP", "CMP_AND_SWAP"}, std::pair{"FETCH AND ADD", "FETCH_AND_ADD"}}) {
    if (const std::size_t at = test.find(from); at != std::string::npos) {
      test.replace(at, std::string_view(from).size(), to);
    }
  }
  return test.ends_with(" Test") ? test.substr(0, test.size() - 5) : test;
}

/// Its JSON does not tell the unit of rates: that which agrees with the message rate is it.
std::string unit_of(const Json& result) {
  std::string told = text_of(result, "BW_unit");
  if (!told.empty()) return told;
  const double bytes = number_of(result, "MsgSize") * number_of(result, "MsgRate") * 1e6;
  const double average = number_of(result, "BW_average");
  const auto agrees = [&](double factor) {
    return std::abs(average * factor / bytes - 1) < 0.02;  // perftest rounds to hundredths
  };
  if (agrees(kMebi)) return "MiB/s";
  if (agrees(kBitsPerGigabit / kBitsPerByte)) return "Gb/s";
  return "";
}

PerftestRun perftest_run(const Json& info, const std::vector<Json>& results) {
  PerftestRun run;
  run.title = title_of(text_of(info, "test"));
  for (const auto& [key, value] : info.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    run.facts.try_emplace(name, any_text(value));
  }
  for (const Json& result : results) {
    Row row;
    for (const PerftestColumn& column : kPerftestColumns) {
      if (column.key.empty()) continue;
      const double value = number_of(result, column.json);
      if (std::isfinite(value) && value >= 0 && value <= 1e18) row[column.key] = value;
    }
    if (row["size_bytes"] < 1 || !row.contains("iterations")) continue;
    if (!run.latency()) run.unit = unit_of(result);
    run.rows.push_back(std::move(row));
  }
  if (run.rows.empty())
    run.error = "its \"results\" have no message size with a number of iterations";
  return run;
}

/// One line of 4.5, which quotes neither keys nor words: `Link_type: Ethernet,`; of all releases
/// `"BW_peak": inf,`. As it is, where it is another one.
std::string quoted(std::string_view line) {
  constexpr std::string_view kKey =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
  line = trimmed(line);
  const std::size_t colon = line.find(':');
  std::string_view key = trimmed(line.substr(0, colon));
  const bool in_quotes = key.size() > 2 && key.starts_with('"') && key.ends_with('"');
  if (in_quotes) key = key.substr(1, key.size() - 2);
  if (colon == std::string_view::npos || key.empty() ||
      key.find_first_not_of(kKey) != std::string_view::npos) {
    return std::string(line);
  }
  std::string_view value = trimmed(line.substr(colon + 1));
  const bool comma = value.ends_with(',');
  if (comma) value.remove_suffix(1);
  if (in_quotes && !is_no_number(value)) return std::string(line);
  const bool word = !value.empty() && value != "{" && value != "[" && value.front() != '"' &&
                    !parse_number<double>(value);
  return fmt::format(R"("{}": {}{})", key,
                     word ? fmt::format(R"("{}")", value) : std::string(value), comma ? "," : "");
}

/// What perftest writes is not always JSON: a comma before a brace, and keys without quotes.
std::string mended(std::string_view whole) {
  std::string text;
  for (const std::string_view line : lines_of(whole)) text += quoted(line) + '\n';
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
      if (next != std::string_view::npos && (text[next] == '}' || text[next] == ']')) continue;
    }
    out += text[i];
  }
  return out;
}

Run run_of(const Json& json, bool whole) {
  std::vector<Json> results;
  if (json.contains("results")) {
    const Json& all = json["results"];
    if (all.is_array()) {
      results.assign(all.begin(), all.end());
    } else {
      results.push_back(all);
    }
  }
  PerftestRun run = perftest_run(object_of(json, "test_info"), results);
  if (!whole) run.error = "the file was not written to its end: the run was aborted";
  return run_of(run);
}

}  // namespace

std::vector<Run> perftest_json_runs(std::string_view text, const std::string& source) {
  constexpr int kDeepest = 8;
  const std::string valid = mended(text);  // its quotes are what the parser sees
  const std::string excess = json_excess(valid, {.depth = kDeepest, .keys = kMostKeys});
  if (!excess.empty()) refuse_text(source, 1, excess);
  std::vector<Run> runs;
  for (const std::string_view one : json_objects(valid)) {
    const Json json = Json::parse(one, nullptr, false);
    const Json cut = json.is_discarded() ? Json::parse(closed_json(one), nullptr, false) : Json();
    const Json& read = json.is_discarded() ? cut : json;
    if (!read.is_object()) refuse_text(source, 1, "test_info stands in what is not JSON");
    runs.push_back(run_of(read, !json.is_discarded()));
  }
  return runs;
}

}  // namespace rdmabench::import
