// perftest's JSON of all its releases, and what its runs are in our words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json_values.h"
#include "base/number.h"
#include "perftest.h"

namespace rdmabench::inline v1::import {
namespace {

constexpr std::array kVerbs{std::pair{"Send_imm", "send-imm"},
                            std::pair{"Send", "send"},
                            std::pair{"RDMA_Write_imm", "write-imm"},
                            std::pair{"RDMA_Write", "write"},
                            std::pair{"RDMA_Read", "read"},
                            std::pair{"Atomic CMP_AND_SWAP", "compare-swap"},
                            std::pair{"Atomic FETCH_AND_ADD", "fetch-add"}};

/// Its own words where it is none of ours, so that nothing else is compared with it.
std::string operation_of_title(const std::string& title) {
  for (const auto& [verb, operation] : kVerbs) {
    if (title.starts_with(verb)) return operation;
  }
  return title.empty() ? "unknown" : title;
}

/// perftest itself has IB, IW and Unknown, all over verbs; `--format perftest` names another back
/// end.
std::string perftest_backend(const std::string& transport_type) {
  constexpr std::array kOurs{"ofi", "ucx", "loop"};
  return std::ranges::find(kOurs, transport_type) != kOurs.end() ? transport_type : "verbs";
}

/// "RDMA_Write Bidirectional BW" of "RDMA_Write_Bidirectional_BW_Test".
std::string title_of(std::string test) {
  std::size_t own = 0;  // what keeps its underscores
  for (const auto& [verb, operation] : kVerbs) {
    const std::string_view words = verb;
    std::string joint(words);
    std::replace(joint.begin(), joint.end(), ' ', '_');
    if (own > 0 || !test.starts_with(joint)) continue;
    own = words.size();
    test.replace(0, own, words);
  }
  std::replace(test.begin() + static_cast<std::ptrdiff_t>(own), test.end(), '_', ' ');
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
  return agrees(kBitsPerGigabit / kBitsPerByte) ? "Gb/s" : "";
}

PerftestRun read_run(const Json& body) {
  PerftestRun run;
  const Json& info = object_of(body, "test_info");
  run.title = title_of(text_of(info, "test"));
  for (const auto& [key, value] : info.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    run.facts.try_emplace(name, any_text(value));
  }
  const Json& list = list_of(body, "results");
  for (const Json& result : list.empty() ? Json::array({object_of(body, "results")}) : list) {
    if (!(number_of(result, "MsgSize") >= 1 && number_of(result, "n_iterations") >= 0)) continue;
    if (!run.latency()) run.unit = unit_of(result);
    Row row;
    for (const Column& column : kPerftestColumns) {
      const double value = number_of(result, column.json);
      const double factor = column.factor == 0 ? run.rate() : column.factor;
      if (value >= 0 && value <= 1e18 && factor > 0 && !column.key.empty()) {
        row[column.key] = in_unit(value, factor);
      }
    }
    run.rows.push_back(std::move(row));
  }
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
  const std::string_view comma = value.ends_with(',') ? "," : "";
  value.remove_suffix(comma.size());
  const std::string_view digits = value.substr(value.starts_with('-') ? 1 : 0);
  if (in_quotes && digits != "inf" && digits != "nan") return std::string(line);
  const bool word = !value.empty() && value != "{" && value != "[" && value.front() != '"' &&
                    !parse_number<double>(value);
  const std::string_view quote = word ? "\"" : "";
  return fmt::format(R"("{}": {}{}{}{})", key, quote, value, quote, comma);
}

/// What perftest writes is not always JSON: a comma before a brace, and keys without quotes.
std::string mended(std::string_view whole) {
  std::string text;
  for (const std::string_view line : lines_of(whole)) text += quoted(line) + '\n';
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t next = text[i] == ',' ? text.find_first_not_of(kBlanks, i + 1) : text.size();
    if (next < text.size() && (text[next] == '}' || text[next] == ']')) continue;
    out += text[i];
  }
  return out;
}

}  // namespace

std::vector<Run> perftest_json_runs(const std::string& text, const Source& source) {
  std::vector<Run> runs;
  for (const JsonObject& one : json_objects(mended(text), source)) {
    PerftestRun run = read_run(one.body);
    if (!one.whole) run.error = "the file was not written to its end: the run was aborted";
    runs.push_back(run_of(run));
  }
  return runs;
}

Run run_of(const PerftestRun& run) {
  PairRun out{.tool = "perftest",
              .test = run.title,
              .operation = operation_of_title(run.title),
              .backend = perftest_backend(run.fact("Transport type")),
              .device = run.fact("Device"),
              .transport = lower(run.fact("Connection type")),
              .memory = run.memory,
              .latency = run.latency(),
              .both_ways = has(run.title, "Bidirectional"),
              .depth = parse_number<std::uint64_t>(run.fact("TX depth")).value_or(0),
              .rows = run.rows,
              .error = run.error,
              .notes = run.notes,
              .doubts = run.doubts};
  std::size_t uneven = 0;
  double first_uneven = 0;  // its bytes
  for (Row& row : out.rows) {
    const double peak = row["peak_bits_per_s"];
    const auto average = row.find("bits_per_s");
    if (peak == 0) row.erase("peak_bits_per_s");  // 0.00 where it was not taken
    if (average == row.end() || average->second > peak / 2) continue;
    if (uneven++ == 0) first_uneven = row["size_bytes"];
  }
  if (uneven > 0) {
    out.doubts.push_back(
        {"uneven", fmt::format("The average is half of the peak or less at {} size{}, {} bytes "
                               "first: the rate was not steady",
                               uneven, uneven == 1 ? "" : "s", first_uneven)});
  }
  for (const auto& [name, key] :
       {std::pair{"Link type", "link_layer"}, std::pair{"Mtu", "mtu"},
        std::pair{"GID index", "gid_index"}, std::pair{"Number of qps", "queue_pairs"},
        std::pair{"Max inline data", "inline"}}) {
    const std::string value = run.fact(name);
    if (!value.empty()) out.details.emplace_back(key, value.substr(0, value.find('[')));
  }
  if (run.unit.empty() && !run.latency() && !run.rows.empty()) {
    out.notes.emplace_back("The unit of its rates is not told, so that they were left out.");
  }
  return out;
}

}  // namespace rdmabench::inline v1::import
