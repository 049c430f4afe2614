#include "perftest_run.h"

#include <fmt/format.h>

#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "rdmabench/base/error.h"

namespace rdmabench::import {
namespace {

struct Verb {
  std::string_view title;
  std::string_view operation;
};
constexpr std::array kVerbs{Verb{"Send_imm", "send-imm"},
                            Verb{"Send", "send"},
                            Verb{"RDMA_Write_imm", "write-imm"},
                            Verb{"RDMA_Write", "write"},
                            Verb{"RDMA_Read", "read"},
                            Verb{"Atomic CMP_AND_SWAP", "compare-swap"},
                            Verb{"Atomic FETCH_AND_ADD", "fetch-add"}};

/// Its own words where it is none of ours, so that nothing else is compared with it.
std::string operation_of(const PerftestRun& run) {
  for (const Verb& verb : kVerbs) {
    if (run.title.starts_with(verb.title)) return std::string(verb.operation);
  }
  return run.title.empty() ? "unknown" : run.title;
}

/// Bits per second of a rate of 1. perftest calls MiB "MB" in all of its releases but the newest.
double rate_factor(const PerftestRun& run) {
  return run.unit.starts_with("Gb") ? kBitsPerGigabit : kMebi * kBitsPerByte;
}

/// A row in our units.
Row row_of(const PerftestRun& run, Row row) {
  for (const PerftestColumn& column : kPerftestColumns) {
    const auto found = row.find(column.key);
    if (found == row.end()) continue;
    found->second *= column.factor == 0 ? rate_factor(run) : column.factor;
    if (column.factor == 0 && run.unit.empty()) row.erase(found);
  }
  if (row["peak_bits_per_s"] == 0) row.erase("peak_bits_per_s");  // 0.00 where it was not taken
  return row;
}

}  // namespace

Run run_of(const PerftestRun& run) {
  PairRun out{.tool = "perftest",
              .test = run.title,
              .operation = operation_of(run),
              .backend = "verbs",
              .device = run.fact("Device"),
              .transport = lower(run.fact("Connection type")),
              .latency = run.latency(),
              .both_ways = has(run.title, "Bidirectional"),
              .depth = parse_number<std::uint64_t>(run.fact("TX depth")).value_or(0),
              .error = run.error};
  for (const auto& row : run.rows) out.rows.push_back(row_of(run, row));
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

void refuse_text(const std::string& source, std::size_t line, const std::string& why) {
  throw Error(Fault::usage, fmt::format("'{}', line {}: {}", source, line, why),
              "Give what a program of perftest printed, or its JSON.");
}

bool is_no_number(std::string_view word) noexcept {
  if (word.starts_with('-')) word.remove_prefix(1);
  return word == "inf" || word == "nan";
}

}  // namespace rdmabench::import
