// Texts and JSON of perftest (ib_write_bw, ib_send_lat, ...) of all its releases as documents of
// our own. What they do not say is null.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "perftest_run.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "tool_text.h"

namespace rdmabench::import {
namespace {

constexpr std::string_view kCutRow = "its table ends within a row";
constexpr double kFirstOfAll = 2;  ///< bytes: where -a begins
constexpr std::string_view kAborted = "its table stops without its last line: the run was aborted";

/// perftest's own words where it gives up.
bool is_failure(std::string_view text) noexcept {
  for (const std::string_view words :
       {"Failed ", "Failed:", "Couldn't", "Error", "Problems with warm up", "poll CQ failed",
        "Poll ", "VALIDATION: FAILED", "VALIDATION: ERROR", "Did not get Message"}) {
    if (text.starts_with(words)) return true;
  }
  return has(text, "Failed status") || has(text, "Completion with error") ||
         has(text, "A completion with ") || has(text, "Unable to");
}

constexpr std::string_view kWaits = "Waiting for client to connect";

bool is_title(std::string_view text) noexcept {
  text = trimmed(text);
  const bool known =
      text.starts_with("RDMA_") || text.starts_with("Send ") || text.starts_with("Atomic");
  return known && text.ends_with(" Test") && (has(text, " BW ") || has(text, " Latency "));
}

/// Within a table: "12, 1.70" of -U and -H, and what mlx5 dumps of a completion, four words of
/// eight hexadecimal digits.
bool is_no_row(const std::vector<std::string_view>& words) {
  if (words[0].ends_with(',')) return true;
  return words.size() == 4 && std::all_of(words.begin(), words.end(), [](std::string_view word) {
           return word.size() == 8 &&
                  word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
         });
}

/// Reads one text, line by line.
class TableReader {
 public:
  /// `named`: the title of tables that have none.
  TableReader(const std::string& source, std::string named)
      : source_(source), named_(std::move(named)) {}

  void take(std::string_view raw) {
    ++line_;
    const std::string_view line = without_tag(raw);
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return;
    const std::string_view text = line.substr(begin);
    if (has(text, "#bytes") && has(text, "#iterations")) {
      heading(text);
    } else if (text.starts_with("---")) {
      columns_.clear();
      run_.ended = run_.any_heading;
      if (!run_.rows.empty()) closed_ = true;
    } else if (has(text, kWaits)) {
      waits_ = true;  // a server says so before its title
    } else if (is_title(text)) {
      begin_run(text);
      run_.of_server = std::exchange(waits_, false);
    } else if (text.starts_with("Local results") || text.starts_with("Remote results")) {
      skips_ = true;  // parts of the table before
    } else if (!columns_.empty() && text[0] >= '0' && text[0] <= '9') {
      row(text);
    } else if (is_failure(text) || (begun() && !closed_ && !endless_ && is_kill(raw))) {
      // Of the next client of a loop, which printed no more.
      if (closed_ && (text.starts_with("Couldn't connect") || has(text, "Unable to"))) end_run();
      fail(text);
    } else if (columns_.empty() && has(text, ":")) {
      facts(text);
    }
  }

  /// `whole`: the last line was ended.
  std::vector<Run> finish(bool whole) && {
    if (!whole && row_line_ == line_ && !run_.rows.empty()) {
      run_.rows.pop_back();
      // With --run_infinitely perftest ends a line when it begins the next one.
      if (run_.error.empty() && !endless_) run_.error = kCutRow;
    }
    if (waits_ && runs_.empty() && !begun() && run_.error.empty()) {
      run_.error = "a server to which no client came";
    }
    end_run();
    std::set<std::pair<std::string, std::string>> clients;  // title, and address of the server
    std::set<std::string> titles;                           // of clients
    for (const PerftestRun& run : runs_) {
      if (run.of_server || run.rows.empty()) continue;
      clients.emplace(run.title, run.fact("remote address"));
      titles.insert(run.title);
    }
    // The server of a test in one direction prints what its client does, or no row at all.
    const bool any = std::any_of(runs_.begin(), runs_.end(),
                                 [](const PerftestRun& run) { return !run.rows.empty(); });
    std::vector<Run> runs;
    for (PerftestRun& run : runs_) {
      // Of the last one that did not end, its client may hang.
      const bool over = run.ended || &run != &runs_.back();
      if (run.rows.empty() && any && run.any_heading && over && run.error.empty()) continue;
      // Both printed at once: the rest of the server's lines is within its client's.
      if (run.of_server && !run.any_heading && run.error.empty() && titles.contains(run.title)) {
        continue;
      }
      if (run.of_server && (run.error.empty() || run.error == kAborted) &&
          clients.contains({run.title, run.fact("local address")})) {
        continue;
      }
      if (run.rows.empty() && run.error.empty()) {
        run.error = "its table has no row: this is a server's, or the run failed";
      }
      if (run.title.empty() && run.of_times == has(named_, "Latency")) run.title = named_;
      runs.push_back(run_of(run));
    }
    if (runs.empty()) refuse_text(source_, 1, "no table of perftest is in it");
    return runs;
  }

 private:
  static std::string printable_line(std::string_view text) {
    return std::string(text.substr(0, text.find('\r')));
  }

  bool begun() const { return run_.any_heading || !run_.title.empty(); }

  /// The first reason is kept, with the status behind it.
  void fail(std::string_view text) {
    if (run_.error.starts_with("Completion with error") && !has(run_.error, "Failed status") &&
        text.starts_with("Failed status")) {
      run_.error += ": " + printable_line(text);
    } else if (run_.error.empty() || run_.error == kCutRow) {
      run_.error = printable_line(text);
    }
  }

  /// One size is a whole table, but for the first one of -a.
  bool may_lack_rows() const {
    return run_.rows.size() > 1 || run_.rows.at(0).at("size_bytes") == kFirstOfAll;
  }

  void end_run() {
    // A table that was pasted without its head may lack its end too.
    if (run_.error.empty() && !run_.rows.empty() && !run_.title.empty() && !closed_ && !endless_ &&
        may_lack_rows()) {
      run_.error = kAborted;
    }
    if (begun() || !run_.error.empty()) runs_.push_back(std::move(run_));
    run_ = {};
    columns_.clear();
    skips_ = closed_ = endless_ = false;
  }

  void begin_run(std::string_view title) {
    // Standard error, which is not buffered, may come before the title: a completion fails behind
    // it.
    std::string early;
    if (!begun() && (has(run_.error, "ompletion with") || has(run_.error, "Failed status"))) {
      early.swap(run_.error);
    }
    end_run();
    run_.title = title.substr(0, title.rfind(" Test"));
    run_.error = std::move(early);
  }

  /// " Number of qps   : 4\t\tTransport type : IB", with blanks for its tabs where it was copied
  /// from a terminal.
  void facts(std::string_view text) {
    for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
         colon = text.find(':')) {
      const std::string_view name = trimmed(text.substr(0, colon));
      text = trimmed(text.substr(colon + 1));
      std::size_t end = 0;  // one pass: a line may be long
      while (end < text.size() && text[end] != '\t' && text.substr(end, 2) != "  ") ++end;
      const std::string_view value = text.substr(0, end);
      run_.facts.try_emplace(std::string(name), value);
      text.remove_prefix(value.size());
    }
  }

  void heading(std::string_view text) {
    // Of another run, whose title is not in the text.
    if (!run_.rows.empty() && !skips_) end_run();
    std::map<std::size_t, std::string_view> found;  // by the place of its end
    for (std::size_t at = text.find('['); at < text.size(); at = text.find('[', at + 1)) {
      found[at + 1] = "";  // one that is not known
    }
    for (const PerftestColumn& column : kPerftestColumns) {
      if (const std::size_t at = text.find(column.heading); at != std::string_view::npos) {
        found[at + column.heading.size()] = column.key;
      }
    }
    columns_.clear();
    for (const auto& [at, key] : found) columns_.push_back(key);
    const std::string unit = rest_after(text, "BW average[");
    if (!skips_) {
      run_.unit = unit.substr(0, unit.find(']'));
      closed_ = false;
    }
    if (has(text, "[cycles]")) {
      refuse_text(source_, line_, "its times are in cycles, and their frequency is not told");
    }
    run_.any_heading = true;
    run_.of_times = has(text, "usec]");
  }

  void row(std::string_view text) {
    const std::vector<std::string_view> words = words_of(text);
    if (is_no_row(words)) return;
    if (words.size() < columns_.size()) {
      if (!run_.title.empty()) {  // it was killed while it wrote
        if (run_.error.empty()) run_.error = kCutRow;
        return columns_.clear();
      }
      refuse_text(
          source_, line_,
          fmt::format("a row of {} columns below a heading of {}", words.size(), columns_.size()));
    }
    if (words.size() > columns_.size()) {  // nothing tells which of them are its columns
      return fail(fmt::format("line {}: a row of {} columns below a heading of {}", line_,
                              words.size(), columns_.size()));
    }
    Row row;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].empty() || is_no_number(words[i])) continue;
      const auto value = parse_number<double>(words[i]);
      if (value && *value < 0) continue;  // some releases print that where their counts overflow
      if (!value || *value > 1e18) {
        refuse_text(source_, line_, fmt::format("'{}' is not a number of a table", words[i]));
      }
      row[columns_[i]] = *value;
    }
    if (!(row["size_bytes"] >= 1)) refuse_text(source_, line_, "a message of no bytes");
    if (skips_) return;
    endless_ = endless_ ||
               (!run_.rows.empty() && run_.rows.back().at("size_bytes") == row.at("size_bytes"));
    run_.rows.push_back(std::move(row));
    row_line_ = line_;
  }

  const std::string& source_;
  std::string named_;
  bool waits_ = false;
  bool closed_ = false;  ///< by the dashes behind its rows, with which each table ends
  /// By --run_infinitely: a row of the same size is printed again and again, and no last line.
  bool endless_ = false;
  std::size_t line_ = 0;
  std::size_t row_line_ = 0;               ///< of the last row
  std::vector<std::string_view> columns_;  ///< keys, from left to right; empty outside of a table
  bool skips_ = false;
  PerftestRun run_;
  std::vector<PerftestRun> runs_;
};

/// "RDMA_Write BW" of "ib_write_bw"; "" where the name does not tell the operation.
std::string title_of_program(std::string_view name) {
  for (const auto& [verb, title] : {std::pair{"send", "Send"}, std::pair{"write", "RDMA_Write"},
                                    std::pair{"read", "RDMA_Read"}}) {
    if (name.starts_with(fmt::format("ib_{}_bw", verb))) return fmt::format("{} BW", title);
    if (name.starts_with(fmt::format("ib_{}_lat", verb))) return fmt::format("{} Latency", title);
  }
  return "";
}

/// 4.5 writes `test_info: {`, later releases `"test_info": {`.
bool has_json(std::string_view text) noexcept {
  return has(text, "\"test_info\"") || has(text, "test_info: {");
}

/// What it prints before its table, and where it does not come so far.
bool is_beginning(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(without_tag(text.substr(0, end)));
    if (begins_perftest(text.substr(0, end)) || line.starts_with("Couldn't connect to ") ||
        line.starts_with("RDMA CM event error:") ||
        line.starts_with("Unable to find the Infiniband/RoCE device")) {
      return true;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace

bool begins_perftest(std::string_view line) noexcept {
  line = trimmed(without_tag(line));
  return (has(line, "#bytes") && has(line, "#iterations")) || is_title(line) ||
         (line.starts_with('*') && has(line, kWaits));
}

bool is_perftest(std::string_view text) noexcept {
  text = beginning_of(text);
  return (has(text, "#bytes") && has(text, "#iterations")) ||
         (has_json(text) && !has(text, "\"schema\"")) || is_beginning(text);
}

std::vector<Run> perftest_runs(std::string_view text, const std::string& source,
                               const std::string& program) {
  if (!has_json(text)) {
    std::string named = title_of_program(program);
    if (named.empty()) named = title_of_program(source.substr(source.rfind('/') + 1));
    TableReader reader(source, std::move(named));
    for (const std::string_view line : lines_of(text)) reader.take(line);
    return std::move(reader).finish(text.ends_with('\n'));
  }
  return perftest_json_runs(text, source);
}

}  // namespace rdmabench::import
