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
  /// busbw of algbw, of n ranks: 0 all, 1 (n-1)/n, 2 that twice. Of those with 1 a row's count is
  /// of one rank's part, of others of the whole size.
  int parts;
  bool has_in_place = true;  ///< and is checked there
};
constexpr std::array kNcclPrograms{
    Program{"all_reduce_perf", "all-reduce", Is::yes, Is::no, 2},
    Program{"all_gather_perf", "all-gather", Is::no, Is::no, 1},
    Program{"reduce_scatter_perf", "reduce-scatter", Is::yes, Is::no, 1},
    Program{"broadcast_perf", "broadcast", Is::no, Is::either, 0},
    Program{"reduce_perf", "reduce", Is::yes, Is::yes, 0},
    Program{"alltoall_perf", "all-to-all", Is::no, Is::no, 1, false},
    Program{"alltoallv_perf", "all-to-all-v", Is::no, Is::no, 1, false},
    Program{"scatter_perf", "scatter", Is::no, Is::either, 1},
    Program{"gather_perf", "gather", Is::no, Is::either, 1},
    Program{"sendrecv_perf", "send-receive", Is::either, Is::no, 0, false},
    Program{"hypercube_perf", "", Is::either, Is::no, 1}};

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

/// Of an element; 0 for a type that is not known.
std::uint64_t type_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> kBytes{
      {{" char int8 uint8 f8e4m3 f8e5m2 fp8_e4m3 fp8_e5m2 ", 1},
       {" half bfloat16 ", 2},
       {" int int32 uint32 float ", 4},
       {" int64 uint64 double ", 8}}};
  const std::string word = fmt::format(" {} ", type);
  for (const auto& [names, bytes] : kBytes) {
    if (has(names, word)) return bytes;
  }
  return 0;
}

/// Into how many parts, of which the row's count is one, its size is divided; 0 where it cannot be
/// told.
std::uint64_t parts_in(const NcclTestsRow& row) {
  const std::uint64_t bytes = row.count * type_bytes(row.type);
  return bytes > 0 && row.size_bytes % bytes == 0 ? row.size_bytes / bytes : 0;
}

/// How many ranks had a part; 0 where no row tells.
std::uint32_t ranks_in(const NcclTestsTable& table) {
  constexpr std::uint64_t kMost = 1U << 20U;
  for (const NcclTestsRow& row : table.rows) {
    if (const std::uint64_t parts = parts_in(row); parts > 1 && parts < kMost) {
      return static_cast<std::uint32_t>(parts);
    }
  }
  return 0;
}

/// Whether its type of reduction and its root are that program's.
bool fits_names(const NcclTestsRow& row, const Program& program) {
  const bool reduces_so = program.reduces == Is::either
                              ? program.operation.empty() || row.reduction != "none"
                              : reduces(row) == (program.reduces == Is::yes);
  return reduces_so && (program.rooted == Is::no    ? !is_rooted(row)
                        : program.rooted == Is::yes ? is_rooted(row) || !row.root
                                                    : true);
}

/// Whether its bandwidths, rounded to 0.01, are those of that program for any number of ranks.
bool fits_rates(const NcclTestsRow& row, const Program& program) {
  const auto& cell = row.out_of_place ? row.out_of_place : row.in_place;
  constexpr double kRounded = 0.0051;
  const double algorithm = cell ? cell->algorithm_gb_per_s.value_or(0) : 0;
  const double bus = cell ? cell->bus_gb_per_s.value_or(0) : 0;
  if (algorithm < kRounded || bus < kRounded) return true;
  const double least = (bus - kRounded) / (algorithm + kRounded);
  const double most = (bus + kRounded) / (algorithm - kRounded);
  if (program.parts == 0) return least <= 1 && most >= 1;
  return least <= program.parts && most >= program.parts / 2.0;  // 2 ranks
}

/// Whether wrong elements are counted in place as they are out of place; none where that is not
/// told.
std::optional<bool> checks_in_place(const NcclTestsTable& table) {
  std::optional<bool> checks;
  for (const NcclTestsRow& row : table.rows) {
    if (!row.out_of_place || !row.in_place || !row.out_of_place->wrong || is_rooted(row)) continue;
    checks = checks.value_or(false) || row.in_place->wrong.has_value();
  }
  return checks;
}

/// The programs whose table this may be, by all that its columns tell.
std::vector<const Program*> allowed(const NcclTestsTable& table) {
  std::vector<const Program*> found;
  const std::optional<bool> in_place = checks_in_place(table);
  for (const Program& program : kNcclPrograms) {
    const auto fits = [&](const NcclTestsRow& row) {
      const std::uint64_t parts = table.size == 1 ? 0 : parts_in(row);
      return fits_names(row, program) && fits_rates(row, program) &&
             (parts == 0 || (parts > 1) == (program.parts == 1));
    };
    const bool all = in_place.value_or(program.has_in_place) == program.has_in_place &&
                     std::all_of(table.rows.begin(), table.rows.end(), fits);
    if (all || program.operation.empty()) found.push_back(&program);
  }
  return found;
}

/// Which of them its columns alone can tell.
std::vector<std::string_view> told(const NcclTestsTable& table) {
  std::vector<std::string_view> names;
  for (const Program* one : allowed(table)) {
    const bool like_another = one->name == "alltoallv_perf" || one->operation.empty();
    if (!like_another && (one->rooted == Is::no || is_rooted(table.rows.back()))) {
      names.push_back(one->name);
    }
  }
  return names;
}

/// Whether its columns deny a name that somebody gave it. Where they fit none they tell nothing.
bool denied(const NcclTestsTable& table, const Program& program) {
  const std::vector<const Program*> all = allowed(table);
  return !told(table).empty() && std::find(all.begin(), all.end(), &program) == all.end();
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
  const Program* const said = program_in(base_name(table.program));
  if (said != nullptr && (table.rows.empty() || fits_names(table.rows.back(), *said))) {
    return std::string(said->name);
  }
  const Program* const named = program_in(base_name(source));
  if (named != nullptr && (table.rows.empty() || !denied(table, *named))) {
    return std::string(named->name);
  }
  if (table.rows.empty()) return "";
  const std::vector<std::string_view> found = told(table);
  if (found.size() == 1) return std::string(found[0]);
  throw Error(Fault::usage,
              found.empty()
                  ? fmt::format("'{}' does not say which program printed it, and its columns are "
                                "those of none",
                                source)
                  : fmt::format("'{}' does not say which program printed it: it may be {}", source,
                                fmt::join(found, " or ")),
              fmt::format("Name it: --as {}, or let the file's name begin with it.",
                          found.empty() ? kNcclPrograms[0].name : found[0]));
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
    const Program* const given = program_in(source.program);
    if (given != nullptr && !is_nccl_tests_program(base_name(table.program))) {
      if (!table.rows.empty() && denied(table, *given)) {
        source.refuse(0, fmt::format("its columns are not those of {}, but of {}", given->name,
                                     fmt::join(told(table), " or ")));
      }
      table.program = source.program;
    }
    table.program = nccl_tests_program(table, source.name);
    table.operation = operation_of(table, source.name);
    const Program* const program = program_in(table.program);
    if (table.size == 0 && program != nullptr && program->parts == 1) table.size = ranks_in(table);
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
