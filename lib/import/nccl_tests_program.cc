// Which program printed a table of nccl-tests, and what it measured.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "nccl_cells.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::import {
namespace {

enum class Is : std::uint8_t { no, yes, either };
struct Program {
  std::string_view name;
  std::string_view operation;  ///< "" where NCCL has no such collective
  Is reduces;                  ///< by the columns of its rows
  Is rooted;
};
constexpr std::array kNcclPrograms{
    Program{"all_reduce_perf", "all-reduce", Is::yes, Is::no},
    Program{"all_gather_perf", "all-gather", Is::no, Is::no},
    Program{"reduce_scatter_perf", "reduce-scatter", Is::yes, Is::no},
    Program{"broadcast_perf", "broadcast", Is::no, Is::either},
    Program{"reduce_perf", "reduce", Is::yes, Is::yes},
    Program{"alltoall_perf", "all-to-all", Is::no, Is::no},
    Program{"alltoallv_perf", "all-to-all-v", Is::no, Is::no},
    Program{"scatter_perf", "scatter", Is::no, Is::either},
    Program{"gather_perf", "gather", Is::no, Is::either},
    Program{"sendrecv_perf", "send-receive", Is::either, Is::no},
    Program{"hypercube_perf", "", Is::either, Is::no}};

/// "all_reduce" of each.
constexpr auto kStems = [] {
  std::array<std::string_view, kNcclPrograms.size()> stems;
  for (std::size_t i = 0; i < stems.size(); ++i) {
    stems[i] = kNcclPrograms[i].name.substr(0, kNcclPrograms[i].name.rfind('_'));
  }
  return stems;
}();

/// The one whose stem begins the text, the longest where several do; null for none.
const Program* program_in(std::string_view text) {
  const Program* found = nullptr;
  for (std::size_t i = 0; i < kStems.size(); ++i) {
    const Program& one = kNcclPrograms[i];
    const bool longer = found == nullptr || one.name.size() > found->name.size();
    if (longer && text.starts_with(kStems[i])) found = &one;
  }
  return found;
}

bool reduces(const NcclTestsRow& row) {
  return !row.reduction.empty() && row.reduction != "none";
}

bool is_rooted(const NcclTestsRow& row) {
  return row.root && *row.root >= 0;
}

/// What the columns of the largest row allow. There is one.
std::vector<std::string_view> allowed(const NcclTestsTable& table) {
  const NcclTestsRow& row = *std::max_element(
      table.rows.begin(), table.rows.end(),
      [](const NcclTestsRow& a, const NcclTestsRow& b) { return a.size_bytes < b.size_bytes; });
  const auto& cell = row.out_of_place ? row.out_of_place : row.in_place;
  const double factor = cell && cell->bus_gb_per_s && cell->algorithm_gb_per_s.value_or(0) > 0
                            ? *cell->bus_gb_per_s / *cell->algorithm_gb_per_s
                            : 0;
  constexpr double kNear = 0.02;
  if (reduces(row) && is_rooted(row)) return {"reduce_perf"};
  if (reduces(row)) {
    // 2(n-1)/n is above 1 from 3 ranks on, (n-1)/n always below.
    if (factor > 1 + kNear) return {"all_reduce_perf"};
    if (factor > 0 && factor < 1 - kNear) return {"reduce_scatter_perf"};
    return {"all_reduce_perf", "sendrecv_perf"};
  }
  if (!is_rooted(row)) return {"all_gather_perf", "alltoall_perf"};
  if (std::fabs(factor - 1) < kNear) return {"broadcast_perf"};
  return {"gather_perf", "scatter_perf"};
}

/// Whether the columns are that program's, of which a file may hold several.
bool may_be(const NcclTestsTable& table, const Program& program) {
  if (table.rows.empty()) return true;
  const NcclTestsRow& row = table.rows.back();
  const bool reduces_so =
      program.reduces == Is::either || reduces(row) == (program.reduces == Is::yes);
  return reduces_so && (program.rooted == Is::no    ? !is_rooted(row)
                        : program.rooted == Is::yes ? is_rooted(row) || !row.root
                                                    : true);
}

/// Of a table with rows what it measured.
std::string operation_of(const NcclTestsTable& table, const std::string& source) {
  if (table.rows.empty()) return "";
  const Program* const program = program_in(table.program);
  if (program != nullptr && !program->operation.empty()) return std::string(program->operation);
  throw Error(Fault::usage, fmt::format("{}: results of {} are not taken", source, table.program),
              "NCCL has no such collective: give results of all_gather_perf.");
}

}  // namespace

bool is_nccl_tests_program(std::string_view name) {
  return program_in(name) != nullptr;
}

std::string nccl_tests_program(const NcclTestsTable& table, const std::string& source) {
  for (const std::string& name : {table.program, source}) {
    const Program* const named = program_in(base_name(name));
    if (named != nullptr && may_be(table, *named)) return std::string(named->name);
  }
  if (table.rows.empty()) return "";
  const std::vector<std::string_view> found = allowed(table);
  if (found.size() == 1) return std::string(found[0]);
  throw Error(Fault::usage,
              fmt::format("'{}' does not say which program printed it: it may be {}", source,
                          fmt::join(found, " or ")),
              fmt::format("Name it: --as {}, or let the file's name begin with it.", found[0]));
}

namespace {

bool is_nccl_tests(std::string_view text) noexcept {
  if (is_rccl_json(text)) return true;
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(begin);
  if (text.starts_with('{')) return is_nccl_tests_json(text);
  if (text.starts_with('[')) {  // a launcher's tag or a prompt, "[root@node1 ~]# ", and no list
    const std::size_t next = text.find_first_not_of(kBlanks, 1);
    if (next == std::string_view::npos ||
        std::string_view("{[]\"").find(text[next]) != std::string_view::npos)
      return false;
  }
  return is_nccl_tests_text(text);
}

/// Its command stands before its table.
bool begins_nccl_tests(const Line& line) noexcept {
  return is_nccl_tests(line.raw) || has(line.raw, "_perf ");
}

std::vector<Run> nccl_tests_runs(const Lines& lines, const Source& source) {
  const std::string text = joined(lines);
  std::vector<NcclTestsTable> tables;
  if (is_rccl_json(text)) {
    tables = rccl_json_tables(text, source);
  } else if (trimmed(text).starts_with('{')) {
    tables = nccl_tests_json_tables(text, source);
  } else {
    tables = nccl_tests_text_tables(lines, source);
  }
  std::vector<Run> runs;
  for (NcclTestsTable& table : tables) {
    if (!is_nccl_tests_program(base_name(table.program)) && is_nccl_tests_program(source.program)) {
      table.program = source.program;
    }
    table.program = nccl_tests_program(table, source.name);
    table.operation = operation_of(table, source.name);
    if (table.size == 1 && !table.rows.empty()) {
      table.notes.emplace_back(
          "One rank measured alone, so that nothing crossed a link. If it was to be one of several, "
          "nccl-tests was built without MPI=1.");
    }
    runs.emplace_back(std::move(table));
  }
  return runs;
}

}  // namespace

const Tool kNcclTests{"nccl-tests and RCCL's tests", kStems, begins_nccl_tests, nccl_tests_runs,
                      is_nccl_tests};

}  // namespace rdmabench::inline v1::import
