#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "mean_read.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "tool.h"
#include "tool_text.h"

namespace rdmabench::import {
namespace {

std::string left_out(std::uint64_t rows, std::string_view what) {
  return rows == 1 ? fmt::format("1 row {} was left out.", what)
                   : fmt::format("{} rows {} were left out.", rows, what);
}

using Name = std::pair<std::string_view, std::string_view>;

/// Programs by whose names a table without a title is known.
constexpr std::array kPrograms{Name{"osu_latency", "MPI Latency"},
                               Name{"osu_bw", "MPI Bandwidth"},
                               Name{"osu_bibw", "MPI Bi-Directional Bandwidth"},
                               Name{"osu_mbw_mr", "MPI Multiple Bandwidth / Message Rate"},
                               Name{"osu_allreduce", "MPI Allreduce Latency"},
                               Name{"osu_bcast", "MPI Broadcast Latency"},
                               Name{"osu_reduce", "MPI Reduce Latency"}};

std::string osu_title(std::string_view program, const std::string& source) {
  for (std::string_view name : {program, std::string_view(source).substr(source.rfind('/') + 1)}) {
    name = name.substr(0, name.find('.'));
    for (const Name& one : kPrograms) {
      if (name == one.first) return std::string(one.second);
    }
  }
  return "";
}

/// Collectives whose size is that of ours: one rank's whole buffer.
constexpr std::array kSameSize{Name{"MPI Allreduce", "all-reduce"},
                               Name{"MPI Broadcast", "broadcast"}, Name{"MPI Reduce ", "reduce"}};
constexpr std::array kTypes{Name{"MPI_CHAR", "int8"}, Name{"MPI_INT", "int32"},
                            Name{"MPI_FLOAT", "float32"}, Name{"MPI_DOUBLE", "float64"}};

/// What MPI's title without "MPI " begins with where it is between two sides.
constexpr std::array<std::string_view, 4> kBetweenTwo{"latency", "bandwidth", "bi-directional",
                                                      "multi"};

bool is_between_two(std::string_view lower_title) {
  if (!lower_title.starts_with("mpi ")) return false;
  return std::any_of(kBetweenTwo.begin(), kBetweenTwo.end(), [&](std::string_view words) {
    return lower_title.substr(4).starts_with(words);
  });
}

bool is_collective(const std::string& title) {
  const std::string words = lower(title);
  return has(words, "latency") && !words.starts_with("mpi_") && !is_between_two(words);
}

/// Its other tests are of OpenSHMEM and UPC.
std::string backend_of_title(const std::string& title) {
  const std::string word = lower(title.substr(0, title.find_first_of(" _")));
  return word == "mpi" || word == "nccl" || word == "rccl" ? word : "unknown";
}

/// OSU's own words where it is none of ours.
std::string operation_of_title(const std::string& title) {
  const std::string words = lower(title);
  if (is_between_two(words)) return "send";
  if (words.starts_with("mpi_put ")) return "write";
  if (words.starts_with("mpi_get ")) return "read";
  return title.empty() ? "unknown" : title;
}

NcclTestsTable collective_of(const MeanTable& table) {
  NcclTestsTable out{.tool = "OSU's micro-benchmarks",
                     .backend = backend_of_title(table.title),
                     .program = table.title};
  out.operation = table.title;
  for (const Name& name : kSameSize) {
    if ((table.title + ' ').starts_with(name.first)) out.operation = name.second;
  }
  if (out.operation == table.title) {
    out.notes.emplace_back(
        "Its sizes are those of one rank's message, so that it is not compared with results of ours.");
  }
  if (table.overlaps) {
    out.notes.emplace_back(
        "Its times are those of the communication alone; the overall ones, with a computation in "
        "the meantime, were left out.");
  }
  if (table.empty > 0) out.notes.push_back(left_out(table.empty, "of 0 bytes"));
  std::string type = "unknown";
  for (const Name& name : kTypes) {
    if (table.type == name.first) type = name.second;
  }
  std::uint64_t timeless = 0;
  for (const auto& row : table.rows) {
    const auto us = [&](const char* key) {
      const auto found = row.find(key);
      return found == row.end() ? std::optional<double>() : found->second / kNsPerUs;
    };
    if (!us("mean_ns")) {
      ++timeless;
      continue;
    }
    NcclTestsRow one{.size_bytes = static_cast<std::uint64_t>(row.at("size_bytes")), .type = type};
    one.out_of_place = NcclTestsCell{.time_us = *us("mean_ns"),
                                     .spread = NcclTestsCell::Spread{.min_us = us("min_ns"),
                                                                     .max_us = us("max_ns"),
                                                                     .p99_us = us("p99_ns"),
                                                                     .p50_us = us("p50_ns")}};
    out.rows.push_back(std::move(one));
  }
  if (timeless > 0) out.notes.push_back(left_out(timeless, "without a time"));
  out.error = table.error;
  return out;
}

Run osu_run(const MeanTable& table) {
  if (is_collective(table.title)) return collective_of(table);
  PairRun run{.tool = "OSU's micro-benchmarks",
              .test = table.title,
              .operation = operation_of_title(table.title),
              .backend = backend_of_title(table.title),
              .latency = table.has_times || has(lower(table.title), "latency"),
              .both_ways = has(lower(table.title), "bi-directional"),
              .depth = table.window,
              .details = table.details,
              .rows = table.rows,
              .error = table.error};
  if (table.empty > 0) run.notes.push_back(left_out(table.empty, "of 0 bytes"));
  return run;
}

/// Its tables do not tell a latency from a bandwidth, nor the operation: the program's name does,
/// or that of the rows.
Run fabtests_run(const MeanTable& table, const std::string& source, const std::string& program) {
  std::string name = source.substr(source.rfind('/') + 1);
  if (program.starts_with("fi_")) name = program;
  if (table.name.starts_with("fi_")) name = table.name;
  if (!table.program.empty()) name = table.program;
  name.resize(std::min(name.find('.'), name.size()));
  if (table.answers && !name.starts_with("fi_")) name = "fi_pingpong";
  const bool named = !table.name.empty() && !table.name.starts_with("fi_");
  const bool latency = named ? table.name.ends_with("lat") : has(name, "pingpong");
  const bool bandwidth = named ? table.name.ends_with("bw") : has(name, "_bw");
  if ((!named && !name.starts_with("fi_")) || (!latency && !bandwidth)) {
    throw Error(Fault::usage,
                fmt::format("'{}' does not say which program of fabtests printed it", source),
                "Name it: --as fi_rdm_pingpong, or let the file's name begin with it.");
  }
  if (named) name = table.name;
  PairRun run{.tool = "fabtests",
              .test = name,
              // it has -o, and does not say
              .operation = named || has(name, "rma") ? name : "send",
              .backend = "ofi",
              .latency = latency,
              .rows = table.rows,
              .error = table.error};
  return run;
}

}  // namespace

bool is_mean_table(std::string_view text) noexcept {
  text = beginning_of(text);
  return has(text, "# OSU ") || has(text, "# Size  ") ||
         (has(text, "usec/xfer") && has(text, "Mxfers/sec"));
}

std::vector<Run> mean_table_runs(std::string_view text, const std::string& source,
                                 const std::string& program) {
  std::vector<Run> runs;
  for (MeanTable& table : read_mean_tables(text, source)) {
    if (table.of_osu && table.title.empty()) table.title = osu_title(program, source);
    runs.push_back(table.of_osu || !table.title.empty() ? osu_run(table)
                                                        : fabtests_run(table, source, program));
  }
  return runs;
}

}  // namespace rdmabench::import
