// What a table of fabtests says of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mean_tables.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::import {

/// Its tables do not tell a latency from a bandwidth, nor the operation: the program's name does,
/// or that of the rows.
Run fabtests_run(const MeanTable& table, const Source& source) {
  std::string name(base_name(source.name));
  if (source.program.starts_with("fi_")) name = source.program;
  if (table.name.starts_with("fi_")) name = table.name;
  if (!table.program.empty()) name = table.program;
  name.resize(std::min(name.find('.'), name.size()));
  if (has(table.heading, "#ack") && !name.starts_with("fi_")) name = "fi_pingpong";
  const bool named = !table.name.empty() && !table.name.starts_with("fi_");
  const bool latency = named ? table.name.ends_with("lat") : has(name, "pingpong");
  const bool bandwidth = named ? table.name.ends_with("bw") : has(name, "_bw");
  const bool failed = table.rows.empty() && !table.error.empty();  // whichever it was
  if (!failed && ((!named && !name.starts_with("fi_")) || (!latency && !bandwidth))) {
    throw Error(Fault::usage,
                fmt::format("'{}' does not say which program of fabtests printed it", source.name),
                "Name it: --as fi_rdm_pingpong, or let the file's name begin with it.");
  }
  if (named) name = table.name;
  // Without its command, what the programs of remote memory did is not told.
  std::string operation = named || has(name, "rma") ? name : "send";
  if (!table.operation.empty()) operation = table.operation;
  PairRun run{.tool = "fabtests",
              .test = name,
              .operation = std::move(operation),
              .backend = "ofi",
              .memory = table.memory,
              .latency = latency,
              .rows = table.rows,
              .error = table.error,
              .notes = table.notes};
  if (bandwidth && has(name, "rma") && (run.operation == "write" || run.operation == "read")) {
    run.notes.emplace_back(
        "fabtests runs this both ways at once and prints the share of one; rdmabench's own program "
        "of this name runs one way.");
  }
  constexpr double kFew = 1000;
  if (name == "fi_pingpong" && !run.rows.empty()) {
    const auto count = run.rows[0].find("iterations");
    if (count != run.rows[0].end() && count->second < kFew) {
      run.notes.push_back(fmt::format(
          "fi_pingpong times its first message, with which the connection begins: it is one of the "
          "{} that the mean of the first row is of.",
          count->second));
    }
  }
  std::size_t computed = 0;
  for (Row& row : run.rows) {
    const auto rate = row.find("bits_per_s");
    if (!latency || row.contains("mean_ns") || rate == row.end() || !(rate->second > 0)) continue;
    row["mean_ns"] = std::round(row["size_bytes"] * kBitsPerByte * kNsPerSecond / rate->second);
    ++computed;
  }
  if (computed > 0) {
    run.notes.emplace_back("It has no column usec/xfer: the times were computed from MB/sec.");
  }
  return run;
}
}  // namespace rdmabench::inline v1::import
