#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rdmabench/base/units.h"
#include "rdmabench/collective/run.h"
#include "rdmabench/report/text_table.h"
#include "report/facts.h"
#include "report/number_column.h"

namespace rdmabench::collective {
namespace {

using report::TextTable;

std::string microseconds(double ns) {
  return fmt::format("{:.2f}", ns / 1e3);
}

std::string words(const report::Facts& facts) {
  std::vector<std::string> parts;
  for (const report::Fact& fact : facts) {
    parts.push_back(fact.name + " " + report::text_of(fact));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string subject(const Row& row) {
  return fmt::format("{} of {}{}{}{}", name(row.call.operation), format_size(row.size_bytes),
                     row.call.in_place ? " in place" : "", row.group.empty() ? "" : ", ",
                     row.group);
}

/// NCCL's choice: "RING SIMPLE x8"; "" if unknown.
std::string choice(const Row& row) {
  const std::string algorithm = report::text_of(row.facts, "algorithm");
  if (algorithm.empty()) return "";
  const std::string channels = report::text_of(row.facts, "channels");
  const std::string bound = report::text_of(row.facts, "channels_at_most");
  return fmt::format("{} {}{}", algorithm, report::text_of(row.facts, "protocol"),
                     !channels.empty() ? " x" + channels
                     : !bound.empty()  ? " x<=" + bound
                                       : "");
}

/// Of all rows, so that their decimals stand in line.
struct Rates {
  report::NumberColumn algorithm{"algbw[GB/s]", report::kSignificantDigits};
  report::NumberColumn bus{"busbw[GB/s]", report::kSignificantDigits};
};

Rates rates_of(const Run& run) {
  constexpr double kBytesPerGigabyte = 1e9;
  Rates rates;
  for (const Row& row : run.rows) {
    rates.algorithm.add(row.algorithm_bytes_per_s / kBytesPerGigabyte);
    rates.bus.add(row.bus_bytes_per_s.value_or(0) / kBytesPerGigabyte);
  }
  return rates;
}

std::vector<std::string> cells(const Run& run, std::size_t index, const Rates& rates) {
  const Row& row = run.rows[index];
  const Call& call = row.call;
  std::vector<std::string> all = {std::string(name(call.operation)),
                                  format_size(row.size_bytes),
                                  fmt::format("{}", call.count),
                                  std::string(name(call.type)),
                                  reduces(call.operation) ? std::string(name(call.reduction)) : "-",
                                  has_root(call.operation) ? fmt::format("{}", call.root) : "-",
                                  call.in_place ? "in" : "out",
                                  row.group.empty() ? "all" : row.group};
  if (!row.skipped.empty()) return all;
  const measure::LatencySummary& time = row.numbers.time;
  const auto& late = row.numbers.arrivals.late;
  const std::vector<std::string> measured = {
      fmt::format("{}", row.iterations),
      microseconds(time.p50_ns),
      time.supports(99) ? microseconds(time.p99_ns) : "-",
      rates.algorithm.text(index),
      row.bus_bytes_per_s ? rates.bus.text(index) : "n/a",
      row.checked ? fmt::format("{}", row.results.wrong_elements) : "n/a",
      late ? fmt::format("{} +{}", late->rank, microseconds(late->by_ns)) : "-",
      choice(row).empty() ? "-" : choice(row)};
  all.insert(all.end(), measured.begin(), measured.end());
  return all;
}

/// The lines below the table.
std::string remarks(const Run& run) {
  std::string text;
  std::string bus_reason;
  for (const Row& row : run.rows) {
    if (!row.skipped.empty()) {
      text +=
          fmt::format("{}, {}: not measured: {}\n", subject(row), name(row.call.type), row.skipped);
    }
    if (row.first_wrong) {
      const Wrong& wrong = row.first_wrong->wrong;
      text += fmt::format(
          "WRONG: {}, {}: rank {}, {}, at byte {} for {} bytes: {} (expected {}, got {}); "
          "{} elements in {} of {} results\n    action: {}\n",
          subject(row), name(row.call.type), row.first_wrong->rank, name_of_operation(row),
          wrong.offset_bytes, wrong.run_bytes, wrong.pattern, wrong.expected, wrong.actual,
          row.results.wrong_elements, row.results.wrong_operations, row.results.operations,
          kActionOfRank);
    }
    if (const std::string other = report::text_of(row.facts, "algorithm_differs"); !other.empty()) {
      text += fmt::format("{}: ranks differ: {}; not so {}\n", subject(row), choice(row),
                          report::terminal_safe(other));
    }
    if (!row.converged) {
      text += fmt::format("{}: the time ran out before the median was known\n", subject(row));
    }
    bus_reason = row.bus_reason.empty() ? bus_reason : row.bus_reason;
  }
  if (!bus_reason.empty()) text += fmt::format("busbw n/a: {}\n", bus_reason);
  return text;
}

std::string late_ranks(const Run& run) {
  std::string text;
  for (const Row& row : run.rows) {
    const auto& late = row.numbers.arrivals.late;
    if (!late || late->by_ns < 0.1 * row.numbers.time.p50_ns) continue;
    const std::string host =
        late->rank < run.ranks.size() ? run.ranks[late->rank].identity.host : std::string("?");
    text += fmt::format(
        "LATE: {}: rank {} ({}) came last in {:.0f} % of the samples, by {} us (clocks +-{} us)\n    action: {}\n",
        subject(row), late->rank, host, 100 * late->share, microseconds(late->by_ns),
        microseconds(late->error_bound_ns), kActionOfRank);
  }
  return text;
}

std::string counters(const Run& run) {
  std::string text;
  for (const RankReport& rank : run.ranks) {
    for (const report::Counter& counter : rank.counters) {
      if (!counter.change || *counter.change == 0) continue;
      text += fmt::format("rank {}: {} {} +{}\n", rank.identity.rank, counter.device, counter.name,
                          *counter.change);
    }
  }
  return text;
}

std::string memory_of(const Row& row) {
  const std::string text = report::text_of(row.facts, "memory");
  if (text != "reused") return text == "own" ? "each operation has its own, written before" : "";
  const auto places = report::value_of<std::uint64_t>(row.facts, "memory_places").value_or(0);
  return fmt::format("reused, {} place{} taken in turn", places, places == 1 ? "" : "s");
}

/// A cache may hold what is used again.
std::string memory(const Run& run) {
  std::string text;
  for (const Row& row : run.rows) {
    const std::string one = memory_of(row);
    if (one.empty() || one == text) continue;
    text = text.empty() ? one : "not alike in all rows: see the fact `memory` of each";
    if (text != one) break;
  }
  return text.empty() ? "" : fmt::format("memory: {}\n", text);
}

}  // namespace

std::string to_table(const Run& run, std::size_t width) {
  using Align = TextTable::Align;
  // What a row is told apart by stays; where all rows have it alike, it stands above them.
  enum : int { kMode = 1, kTimes, kHow, kCounts };
  std::vector<TextTable::Column> columns{{"operation", Align::left},
                                         {"size"},
                                         {"count", Align::right, kCounts},
                                         {"type", Align::left, kMode},
                                         {"op", Align::left, kMode},
                                         {"root", Align::right, kHow},
                                         {"place", Align::left, kMode},
                                         {"group", Align::left, kMode},
                                         {"n", Align::right, kCounts},
                                         {"p50[us]"},
                                         {"p99[us]", Align::right, kTimes},
                                         {"algbw[GB/s]", Align::right, kTimes},
                                         {"busbw[GB/s]"},
                                         {"wrong"},
                                         {"late[us]"}};
  const bool told = std::any_of(run.rows.begin(), run.rows.end(),
                                [](const Row& row) { return !choice(row).empty(); });
  if (told) columns.push_back({"algorithm", Align::left, kHow});
  TextTable table(std::move(columns));
  const Rates rates = rates_of(run);
  for (std::size_t i = 0; i < run.rows.size(); ++i) table.add_row(cells(run, i, rates));
  std::string text = fmt::format("{} ranks over {}: {}\n", run.ranks.size(), run.backend,
                                 report::terminal_safe(words(run.library)));
  text += table.text(width) +
          "GB/s are 10^9 bytes, as in nccl-tests; links elsewhere are in Gb/s, 10^9 bits.\n" +
          memory(run) + remarks(run) + late_ranks(run) + counters(run);
  if (run.bisected && !run.bisected->suspects.empty()) {
    text += fmt::format("BISECTED: {}\n    action: {}\n", report::terminal_safe(run.bisected->text),
                        action_of(*run.bisected));
  } else if (run.bisected) {
    text += fmt::format("BISECTED: {}\n", report::terminal_safe(run.bisected->text));
  }
  for (const std::string& note : run.notes) text += note + "\n";
  if (!run.error.empty())
    text += fmt::format("ENDED EARLY: {}\n", report::terminal_safe(run.error));
  return text;
}

}  // namespace rdmabench::collective
