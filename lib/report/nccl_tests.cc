#include "report/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>

namespace rdmabench::inline v1::report {
namespace {

/// As many decimals, two at most, as leave the number within its column.
std::string fitted(double value, std::size_t width) {
  for (const int decimals : {2, 1, 0}) {
    std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
    if (text.size() <= width) return text;
  }
  return fmt::format("{:{}.{}e}", value, width, width >= 7 ? 1 : 0);
}

std::string fitted(const std::optional<double>& value, std::size_t width) {
  return value ? fitted(*value, width) : fmt::format("{:>{}}", "N/A", width);
}

/// One character narrower than a number there: so nccl-tests prints it.
constexpr const char* kNoWrong = "    N/A";

std::string cell_text(const std::optional<NcclTestsCell>& cell, bool with_spread) {
  std::string text;
  if (!cell) {
    text = fmt::format("  {:>7}  {:>6}  {:>6}{}", "N/A", "N/A", "N/A", kNoWrong);
    if (with_spread) text += fmt::format("  {0:>7}  {0:>7}  {0:>7}  {0:>7}", "N/A");
    return text;
  }
  text = fmt::format("  {}  {}  {}{}", fitted(cell->time_us, 7),
                     fitted(cell->algorithm_gb_per_s, 6), fitted(cell->bus_gb_per_s, 6),
                     cell->wrong ? fmt::format("  {:6g}", *cell->wrong) : kNoWrong);
  if (cell->spread) {
    text += fmt::format("  {}  {}  {}  {}", fitted(cell->spread->min_us, 7),
                        fitted(cell->spread->max_us, 7), fitted(cell->spread->p99_us, 7),
                        fitted(cell->spread->cv_percent, 7));
  }
  return text;
}

bool has_spread(const NcclTestsRow& row) {
  return (row.out_of_place && row.out_of_place->spread) || (row.in_place && row.in_place->spread);
}

std::string columns(bool with_spread) {
  const auto line = [](std::string_view a, std::string_view b, std::string_view c,
                       std::string_view d, std::string_view e, const std::string& rest) {
    return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{} \n", a, b, c, d, e, rest);
  };
  const auto twice = [](const std::string& text) { return text + text; };
  std::string names =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "time", "algbw", "busbw", "#wrong");
  std::string units = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  if (with_spread) {
    names += fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "i_min", "i_max", "i_p99", "i_cv%");
    units += fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "(us)", "(us)", "(us)", "(%)");
  }
  const std::string blank =
      fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "", "", "", "", "");
  const std::string above =
      with_spread
          ? fmt::format("{:14}out-of-place (+ per-iteration){:32}in-place (+ per-iteration)\n", "",
                        "")
          : fmt::format("{:11}out-of-place{:23}in-place{:10}\n", "", "", "");
  return "#\n" + blank + above + line("size", "count", "type", "redop", "root", twice(names)) +
         line("(B)", "(elements)", "", "", "", twice(units));
}

std::string heading(const NcclTestsTable& table, bool with_spread) {
  std::string text = fmt::format(
      "# rdmabench {}, in the format of nccl-tests 2.19.6, nccl-library={}\n"
      "# Collective test starting: {}\n"
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} "
      "agg iters: {} validation: {} graph: {} unalign: {}\n",
      table.version, table.library.empty() ? "none" : table.library, table.program, table.threads,
      table.gpus, table.min_bytes, table.max_bytes, table.step,
      table.step_is_factor ? "factor" : "bytes", table.warmup, table.iterations, table.aggregated,
      table.validation, table.graph, table.misaligned);
  text += "#\n# Using devices\n";
  for (const NcclTestsRank& rank : table.ranks) {
    text += fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}\n",
                        rank.rank, 0, rank.pid, rank.host, rank.device, rank.pci, rank.gpu);
  }
  return text + columns(with_spread);
}

std::string row_text(const NcclTestsRow& row, bool with_spread) {
  return fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:6}{}{}\n", row.size_bytes, row.count, row.type,
                     row.reduction, row.root.value_or(-1), cell_text(row.out_of_place, with_spread),
                     cell_text(row.in_place, with_spread));
}

std::string footer(const NcclTestsTable& table) {
  const std::uint64_t wrong = table.out_of_bounds.value_or(0);
  const std::string average =
      table.average_bus_gb_per_s ? fmt::format("{:g}", *table.average_bus_gb_per_s) : "N/A";
  return fmt::format("# {:<20} : {} {}\n# {:<20} : {} \n#\n# Collective test concluded: {}\n#\n\n",
                     "Out of bounds values", wrong, wrong == 0 ? "OK" : "FAILED",
                     "Avg bus bandwidth", average, table.program);
}

}  // namespace

std::string NcclTestsText::more(const NcclTestsTable& table, bool last) {
  std::string text = begun_ ? "" : heading(table, with_spread_);
  begun_ = true;
  for (; told_ < table.rows.size(); ++told_) {
    const NcclTestsRow& row = table.rows[told_];
    if (!last && told_ + 1 == table.rows.size() && !row.in_place) break;
    text += row_text(row, with_spread_);
  }
  return last ? text + footer(table) : text;
}

std::string to_nccl_tests(const NcclTestsTable& table) {
  return NcclTestsText(std::ranges::any_of(table.rows, has_spread)).more(table, true);
}

}  // namespace rdmabench::inline v1::report
