// Which program printed a table of nccl-tests, and what it measured.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "rdmabench/base/error.h"
#include "tool.h"
#include "tool_text.h"

namespace rdmabench::import {
namespace {

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

/// What it is of: both where the text says neither.
void identify(NcclTestsTable& table, const std::string& source) {
  table.program = nccl_tests_program(table, source);
  if (!table.rows.empty()) table.operation = operation_of(table.program, source);
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

std::vector<Run> nccl_tests_runs(std::string_view text, const std::string& source,
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
  std::vector<Run> runs;
  for (NcclTestsTable& table : tables) {
    if (!is_nccl_tests_program(base_name(table.program)) && is_nccl_tests_program(program)) {
      table.program = program;
    }
    identify(table, source);
    runs.emplace_back(std::move(table));
  }
  return runs;
}

}  // namespace rdmabench::import
