#include "rdmabench/report/documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "rdmabench/base/units.h"
#include "results/not_rdma.h"
#include "results/row.h"
#include "results/text_table.h"
#include "run_text.h"
#include "sections.h"

namespace rdmabench::inline v1::report {
namespace {

const LatencyResult& common(const LoadResult& result) {
  return result.latency;
}
template <class Result>
const Result& common(const Result& result) {
  return result;
}

/// How many decimals of a microsecond the clock can fill, at most three.
int latency_decimals(const Report& report, std::string_view kind) {
  constexpr int kMost = 3;
  if (!report.clock || !(report.clock->resolution_ns > 0)) return kMost;
  const double halves = kind == "half_round_trip" ? 2 : 1;
  const double step_us = report.clock->resolution_ns / halves / kNsPerUs;
  return static_cast<int>(std::clamp(-std::floor(std::log10(step_us)), 0.0, double{kMost}));
}

/// What the fields of each result show.
template <class Result>
Section section_of(const Report& report, std::span<const Result> results) {
  constexpr std::array kTestNames{"latency", "bandwidth", "load"};  // in the variant's order
  const Json rows = list_of_each(results, [&](const Result& result) {
    Json row;
    for (const Field& field : fields_of(result, report.resolved)) {
      row[std::string(field.name())] = field.value;
    }
    return row;
  });
  return run_rows(kTestNames[report.results.index()], rows,
                  latency_decimals(report, text_of(rows.front(), "kind")));
}

/// A line for each interval, for who looks for a link that flaps.
std::string intervals_text(const BandwidthResult& result) {
  if (result.intervals.empty()) return "";
  std::string text = fmt::format("{} bytes, by interval:\n", format_size(result.size_bytes));
  for (const Interval& interval : result.intervals) {
    text += fmt::format("  {:8.3f} s to {:8.3f} s  {:>8} Gb/s  {:>8} Mmsg/s\n",
                        interval.begin_ns / kNsPerSecond,
                        (interval.begin_ns + interval.elapsed_ns) / kNsPerSecond,
                        column_text(interval.bits_per_s / kBitsPerGigabit),
                        column_text(interval.messages_per_s / kMessagesPerMillion));
  }
  return text;
}

/// One curve's knee, or why it has none that counts.
std::string knee_text(std::span<const LoadResult> curve) {
  const auto knee =
      std::find_if(curve.begin(), curve.end(), [](const auto& row) { return row.knee; });
  const auto fine = std::find_if(curve.rbegin(), curve.rend(),
                                 [](const LoadResult& row) { return !row.saturated; });
  if (knee == curve.end()) {
    if (curve.size() < 2) return "";  // one load is not a curve
    if (!curve.front().saturated) {
      return "knee: none, latency does not rise steeply up to the highest load\n";
    }
    if (fine == curve.rend())
      return "knee: none, latency rises steeply already at the lowest load\n";
    return fmt::format(
        "knee: not reliable: latency rises steeply at the lowest load, but is normal again at {:.0f} %, so "
        "something else on the machine may have caused it. Measure longer, or several launches.\n",
        fine->load * 100);
  }
  const std::string where = fmt::format(
      "latency rises steeply above {} Mmsg/s, {:.0f} % of capacity",
      digits_text(knee->offered_messages_per_s / kMessagesPerMillion), knee->load * 100);
  if (knee->knee_reliable) return fmt::format("knee: {}\n", where);
  return fmt::format(
      "knee: not reliable: {}, but at {:.0f} % it was normal again, so something else on the "
      "machine may have caused it. Measure longer, or several launches.\n",
      where, fine->load * 100);
}

std::string after(std::span<const LatencyResult> /*results*/) {
  return "";
}
std::string after(std::span<const BandwidthResult> results) {
  std::string text;
  for (const BandwidthResult& result : results) text += intervals_text(result);
  return text;
}
std::string after(std::span<const LoadResult> results) {
  return knee_text(results);
}

/// "half_round_trip" as words.
std::string spaced(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

/// "word value" of those that have a value, separated by commas.
std::string joined(std::initializer_list<std::pair<std::string_view, std::string_view>> parts) {
  std::vector<std::string> texts;
  for (const auto& [word, value] : parts) {
    if (!value.empty()) texts.push_back(fmt::format("{} {}", word, terminal_safe(value)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// How it was seen that messages had come.
template <class Result>
std::string seen(const Result& result, std::string_view signal) {
  return joined({{"completion:", spaced(result.completion)}, {"arrival seen by:", signal}}) +
         (result.validated ? ", data validated\n" : "\n");
}

std::string kind_text(const LatencyResult& result) {
  return result.kind == "completion" ? "until completion" : spaced(result.kind);
}

/// What every row of one table has in common.
std::string heading(const LatencyResult& result) {
  return fmt::format("{} latency, {} (service time of a closed loop)\n{}",
                     terminal_safe(result.operation), kind_text(result),
                     seen(result, result.signal));
}

std::string heading(const BandwidthResult& result) {
  const std::string rate =
      result.offered_messages_per_s > 0
          ? fmt::format(", limited to {:.6g} messages/s", result.offered_messages_per_s)
          : "";
  return fmt::format("{} bandwidth, {}, depth {}{}\n{}", terminal_safe(result.operation),
                     spaced(result.direction), result.depth, rate, seen(result, ""));
}

std::string heading(const LoadResult& result) {
  const LatencyResult& latency = result.latency;
  return fmt::format("{} latency under load, {}, {}, from the intended start\n{}",
                     terminal_safe(latency.operation), format_size(latency.size_bytes),
                     kind_text(latency), seen(latency, latency.signal));
}

/// Each note once, with the sizes it was made for unless it was made for all.
template <class Result>
std::string row_notes(const std::vector<Result>& results) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  std::vector<std::string> unstable;
  for (const Result& outer : results) {
    const auto& result = common(outer);
    const std::string size = format_size(result.size_bytes);
    if (!result.stable) {
      unstable.push_back(std::isfinite(result.spread)
                             ? fmt::format("{} ({})", size, percent_text(result.spread))
                             : size);
    }
    for (const std::string& note : result.notes) {
      auto known = std::find_if(notes.begin(), notes.end(),
                                [&](const auto& entry) { return entry.first == note; });
      if (known == notes.end()) known = notes.insert(known, {note, {}});
      if (known->second.empty() || known->second.back() != size) known->second.push_back(size);
    }
  }
  std::string text;
  if (!unstable.empty()) {
    text +=
        fmt::format("warning: not stable, spread of the epochs: {}\n", fmt::join(unstable, ", "));
  }
  for (const auto& [note, sizes] : notes) {
    text += sizes.size() == results.size()
                ? fmt::format("note: {}\n", terminal_safe(note))
                : fmt::format("note: size {}: {}\n", fmt::join(sizes, ", "), terminal_safe(note));
  }
  return text;
}

/// What was measured over.
std::string resolved_text(const Resolved& resolved) {
  std::string text = joined({{"back end", resolved.backend},
                             {"provider", resolved.provider},
                             {"device", resolved.device},
                             {"transport", resolved.transport}});
  if (!text.empty()) text += '\n';
  if (!resolved.reason.empty()) text += fmt::format("chosen: {}\n", terminal_safe(resolved.reason));
  return text;
}

/// The suspicions of one code, of both sides and of all reports.
struct SuspicionGroup {
  const Suspicion* first;
  std::vector<std::string> sides;
  std::size_t count = 0;
};

/// One line for each code: the whole text where it was found once, else the summary.
std::string suspicions_text(std::span<const Report> reports, bool verbose) {
  std::vector<SuspicionGroup> groups;
  std::string all;
  for (const Report& report : reports) {
    for (const Suspicion& one : report.suspicions) {
      all += fmt::format("suspect: {}\n", terminal_safe(one.text));
      auto known = std::find_if(groups.begin(), groups.end(), [&](const SuspicionGroup& group) {
        return one.summary.empty() ? group.first->text == one.text : group.first->code == one.code;
      });
      if (known == groups.end()) known = groups.insert(known, {&one, {}});
      ++known->count;
      std::vector<std::string>& sides = known->sides;
      for (const char* const side : {"client", "server"}) {
        const bool is_new = std::find(sides.begin(), sides.end(), side) == sides.end();
        if (is_new && one.side.find(side) != std::string::npos) sides.emplace_back(side);
      }
    }
  }
  if (verbose) return all;
  std::string text;
  bool shortened = false;
  for (const SuspicionGroup& group : groups) {
    const Suspicion& first = *group.first;
    if (group.count == 1 || first.summary.empty()) {
      text += fmt::format("suspect: {}\n", terminal_safe(first.text));
      continue;
    }
    shortened = true;
    text += fmt::format("suspect: {} ({}; {} findings); {}.\n", terminal_safe(first.summary),
                        terminal_safe(fmt::format("{}", fmt::join(group.sides, ", "))), group.count,
                        terminal_safe(first.remedy));
  }
  return shortened ? text + "--verbose and the JSON have every finding with its numbers.\n" : text;
}

}  // namespace

RunTable::RunTable(bool verbose, std::size_t width, std::span<const std::uint64_t> sizes)
    : verbose_(verbose), width_(width) {
  for (const std::uint64_t size : sizes) {
    widest_size_ = std::max(widest_size_, format_size(size).size());
  }
}

RunTable::~RunTable() = default;

template <class Result>
std::string RunTable::add(const Report& report, const std::vector<Result>& results, bool last) {
  std::string text;
  const auto finish = [&] {
    text += after(std::span(results).subspan(first_, told_ - first_));
    table_.reset();
  };
  const auto close = [&] {  // it was not known that no other row comes
    text += table_->more({}, true);
    finish();
  };
  while (told_ < results.size()) {
    const std::string common = heading(results[told_]);
    if (table_ && common != heading_) close();
    if (!table_) {
      text += '\n' + common;
      heading_ = common;
      table_ = std::make_unique<TableText>(width_);
      first_ = told_;
    }
    const auto begin = results.begin() + static_cast<std::ptrdiff_t>(told_);
    const auto end = std::find_if(begin, results.end(),
                                  [&](const Result& result) { return heading(result) != common; });
    const bool whole = last || end != results.end();
    Section section = section_of(report, std::span<const Result>(begin, end));
    for (Column& column : section.columns) {
      if (column.scale.text == size_text) column.widest = widest_size_;
      if (column.heading == "knee") column.dispensable = kOnPages;  // a line below names it
    }
    text += table_->more(std::move(section), whole);
    told_ = static_cast<std::size_t>(end - results.begin());
    if (whole) finish();
  }
  if (!last) return text;
  if (table_) close();
  told_ = 0;
  return text + row_notes(results);
}

std::string RunTable::rows(const Report& report, bool last) {
  std::string text;
  std::string over = resolved_text(report.resolved);
  if (const std::string without = not_rdma(report); !without.empty()) {
    over = terminal_safe(without) + '\n' + over;
  }
  if (over != over_) text = (over_.empty() ? "" : "\n") + over;
  over_ = std::move(over);
  return text +
         std::visit([&](const auto& rows) { return add(report, rows, last); }, report.results);
}

std::string RunTable::end(std::span<const Report> reports) const {
  std::vector<std::string> notes;
  for (const Report& report : reports) {
    for (const std::string& note : report.notes) {
      const std::string line = fmt::format("note: {}\n", terminal_safe(note));
      if (std::find(notes.begin(), notes.end(), line) == notes.end()) notes.push_back(line);
    }
  }
  return fmt::format("{}{}", fmt::join(notes, ""), suspicions_text(reports, verbose_));
}

std::string to_table(std::span<const Report> reports, bool verbose, std::size_t width) {
  RunTable table(verbose, width);
  std::string text;
  std::string errors;
  for (const Report& report : reports) {
    text += table.rows(report, true);
    if (report.error) errors += fmt::format("error: {}\n", terminal_safe(*report.error));
  }
  return text + table.end(reports) + errors;
}

}  // namespace rdmabench::inline v1::report
