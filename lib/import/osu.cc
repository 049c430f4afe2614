// What a table of OSU's micro-benchmarks says of a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "mean_tables.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::import {
namespace {

std::string left_out(std::uint64_t rows, std::string_view what) {
  return rows == 1 ? fmt::format("1 row {} was left out.", what)
                   : fmt::format("{} rows {} were left out.", rows, what);
}
using Name = std::pair<std::string_view, std::string_view>;

/// Programs by whose names a table without a title is known.
constexpr std::array kOsuPrograms{Name{"osu_latency", "MPI Latency"},
                                  Name{"osu_bw", "MPI Bandwidth"},
                                  Name{"osu_bibw", "MPI Bi-Directional Bandwidth"},
                                  Name{"osu_mbw_mr", "MPI Multiple Bandwidth / Message Rate"},
                                  Name{"osu_allreduce", "MPI Allreduce Latency"},
                                  Name{"osu_bcast", "MPI Broadcast Latency"},
                                  Name{"osu_reduce", "MPI Reduce Latency"}};
/// Collectives whose size is that of ours: one rank's whole buffer.
constexpr std::array kSameSize{Name{" Allreduce ", "all-reduce"}, Name{" Broadcast ", "broadcast"},
                               Name{" Reduce ", "reduce"}};
constexpr std::array kTypes{Name{"MPI_CHAR", "int8"}, Name{"MPI_INT", "int32"},
                            Name{"MPI_FLOAT", "float32"}, Name{"MPI_DOUBLE", "float64"}};

/// Its other tests are of OpenSHMEM and UPC.
std::string backend_of(const std::string& lower_title) {
  const std::string word = lower_title.substr(0, lower_title.find_first_of(" _"));
  return word == "mpi" || word == "nccl" || word == "rccl" ? word : "unknown";
}

bool is_between_two(const std::string& lower_title) {
  if (backend_of(lower_title) == "unknown") return false;
  const std::string words =
      lower_title.substr(std::min(lower_title.find_first_of(" _"), lower_title.size()));
  for (const std::string_view test : {" latency", " bandwidth", " bi-directional", " multi"}) {
    if (words.starts_with(test)) return true;
  }
  return false;
}

/// OSU's own words where it is none of ours.
std::string operation_of_osu(const std::string& title) {
  const std::string words = lower(title);
  if (is_between_two(words)) return "send";
  if (words.starts_with("mpi_put ")) return "write";
  if (words.starts_with("mpi_get ")) return "read";
  return title.empty() ? "unknown" : title;
}

NcclTestsTable collective_of(const MeanTable& table) {
  NcclTestsTable out{.tool = "OSU's micro-benchmarks",
                     .backend = backend_of(lower(table.title)),
                     .operation = table.title,
                     .program = table.test,
                     .notes = table.notes};
  for (const Name& name : kSameSize) {
    const std::string words =
        table.title.substr(std::min(table.title.find(' '), table.title.size()));
    if (words.starts_with(name.first)) out.operation = name.second;
  }
  if (!table.memory.empty()) out.notes.push_back("Its buffers: " + table.memory + '.');
  if (out.operation == table.title) {
    out.notes.emplace_back(
        "Its sizes are those of one rank's message, so that it is not compared with results of ours.");
  }
  if (has(table.heading, "Pure Comm.(us)")) {
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
  bool validated = true;
  for (const Row& row : table.rows) {
    const auto us = [&](const char* key) {
      const auto found = row.find(key);
      return found == row.end() ? std::optional<double>() : found->second / kNsPerUs;
    };
    if (!us("mean_ns")) {
      ++timeless;
      continue;
    }
    NcclTestsRow one{.size_bytes = static_cast<std::uint64_t>(row.at("size_bytes")), .type = type};
    if (const auto n = row.find("iterations"); n != row.end()) {
      one.iterations = static_cast<std::uint64_t>(n->second);
    }
    one.out_of_place = NcclTestsCell{.time_us = *us("mean_ns"),
                                     .spread = NcclTestsCell::Spread{.min_us = us("min_ns"),
                                                                     .max_us = us("max_ns"),
                                                                     .p99_us = us("p99_ns"),
                                                                     .p50_us = us("p50_ns")}};
    if (row.contains("validated")) one.out_of_place->wrong = 0;
    validated = validated && row.contains("validated");
    out.rows.push_back(std::move(one));
  }
  if (timeless > 0) out.notes.push_back(left_out(timeless, "without a time"));
  out.about = fmt::format(
      "times are means over the ranks, min and max those of the fastest and the slowest rank; {}",
      validated ? "what it validated was right" : "the operations that it timed were not checked");
  out.error = table.error;
  return out;
}

}  // namespace

std::string osu_title(const Source& source) {
  for (std::string_view name : {std::string_view(source.program), base_name(source.name)}) {
    name = name.substr(0, name.find('.'));
    for (const Name& one : kOsuPrograms) {
      if (name == one.first) return std::string(one.second);
    }
  }
  return "";
}

Run osu_run(const MeanTable& table) {
  const std::string words = lower(table.title);
  const bool latency = has(words, "latency");
  const bool between_two = is_between_two(words);
  if (latency && !words.starts_with("mpi_") && !between_two) return collective_of(table);
  PairRun run{.tool = "OSU's micro-benchmarks",
              .test = table.test,
              .operation = operation_of_osu(table.title),
              .backend = backend_of(words),
              .memory = table.memory,
              .one_sided = !between_two && !words.empty(),
              .latency = latency || has(table.heading, "(us)"),
              .both_ways = has(words, "bi-directional"),
              .depth = table.window,
              .details = table.details,
              .rows = table.rows,
              .error = table.error,
              .notes = table.notes};
  if (table.empty > 0) run.notes.push_back(left_out(table.empty, "of 0 bytes"));
  return run;
}
}  // namespace rdmabench::inline v1::import
