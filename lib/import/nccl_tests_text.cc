// Texts of nccl-tests of all its generations. Columns are counted from the right, where they have
// stayed the same: type, reduction and root have come and gone on the left.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/number.h"
#include "nccl_cells.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::import {
namespace {

constexpr std::string_view kNoHeading = "a row, but the heading of its columns is missing";

/// What a rank prints that gives up.
constexpr std::array<std::string_view, 6> kFailures{
    "Test NCCL failure", "Test CUDA failure", "Test HIP failure",
    "Test timeout",      "NCCL failure ",     "Cuda failure "};  // the last two until 2019

/// "node1: Test NCCL failure common.cu:303 'unhandled system error'" of a line with such words at
/// `at`. Behind the beginning of a row, to which it is glued, its host is left out.
std::string_view failure_in(std::string_view line, std::size_t at, bool in_row) {
  constexpr std::size_t kColon = 2;  // ": " ends the host
  std::size_t begin = at;
  if (!in_row && at > kColon) begin = line.find_last_of(" >:", at - kColon - 1) + 1;
  return trimmed(line.substr(begin));
}

bool is_device(std::string_view line) {
  return has(line, "Rank ") && has(line, " device ");
}

bool names_columns(std::string_view line) {
  return has(line, "algbw") && has(line, "busbw");
}

/// Of what tells of a run some had no "#" until 2019, and where a page took them for its own marks
/// all have lost them.
bool is_comment(std::string_view line) {
  for (const std::string_view mark :
       {"#", "nThread", "Out of bounds values", "Avg bus bandwidth"}) {
    if (line.starts_with(mark)) return true;
  }
  return (line.starts_with("Rank ") && is_device(line)) ||
         (line.starts_with("size ") && names_columns(line));
}

/// "all_reduce_perf" of a line that ran it: "$ mpirun -np 8 build/all_reduce_perf -b 8 ..."; "" of
/// others.
std::string_view command_in(const Words& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view name = base_name(words[i]);
    const bool options = words[i + 1].starts_with('-') || words[i + 1] == "\\";
    if (options && has(name, "_perf") && is_nccl_tests_program(name)) return name;
  }
  return "";
}

/// Of a placement that was timed, or of none.
bool is_value(std::string_view word) {
  if (word == "N/A" || parse_number<double>(word)) return true;
  if (word.starts_with('-')) word.remove_prefix(1);
  return word == "nan" || word == "inf";
}

bool is_wrong(std::string_view word, std::string_view time) {
  return word == "N/A" || (time != "N/A" && parse_number<double>(word).value_or(-1) >= 0);
}

/// "float", "sum", "f8e4m3".
bool is_name(std::string_view word) {
  const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  return is_letter(word[0]) && std::all_of(word.begin(), word.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
         });
}

/// The first word of a row, behind its size and count, that can be in no column; "" of a good
/// row.
std::string_view misfit(const Words& words, std::size_t left, std::size_t wide) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    bool fits = false;
    if (i < left) {
      fits = is_name(words[i]) || (i > 2 && parse_number<std::int64_t>(words[i]));
    } else if ((i - left) % wide == kWrongColumn) {
      fits = is_wrong(words[i], words[i - kWrongColumn]);
    } else {
      fits = is_value(words[i]);
    }
    if (!fits) return words[i];
  }
  return "";
}

constexpr std::size_t kWide = 4;  // columns of a place without those of -I

/// Whether it is one of two places under the columns that are printed since 2022, with or without
/// a heading. Of older ones no number is known to be a count of wrong elements.
bool is_row(const Words& words) {
  if (words.size() < 2 * kWide + 3 || words.size() > 2 * kWide + 5) return false;
  const auto is_count = [](std::string_view word) {
    return parse_number<std::uint64_t>(word).has_value();
  };
  const std::size_t left = words.size() - 2 * kWide;
  for (const std::size_t wrong : {left + kWrongColumn, left + kWide + kWrongColumn}) {
    if (words[wrong] != "N/A" && !is_count(words[wrong])) return false;
  }
  return is_count(words[0]) && is_count(words[1]) && is_name(words[2]) &&
         misfit(words, left, kWide).empty();
}

class Reader {
 public:
  explicit Reader(const Source& source) : source_(source) {}

  void take(const Line& line) {
    line_ = line.number;
    const std::string_view text = line.text;
    const Words words = words_of(text);
    const bool in_row = in_table_ && parse_number<std::uint64_t>(words[0]).has_value();
    for (const std::string_view failure : kFailures) {
      const std::size_t at = line.raw.find(failure);
      if (at == std::string_view::npos || (!begun_ && command_.empty())) continue;
      begin();
      return stop(failure_in(line.raw, at, in_row));
    }
    if (const std::string_view command = command_in(words); !command.empty()) {
      command_ = command;
    } else if (has(line.raw, "rccl-tests: Version ")) {
      if (ended()) end_run();
      is_rccl();
      table_.version = rest_after(line.raw, "Version ");
    } else if (is_comment(text)) {
      comment(text);
    } else if (in_row && has_any(text, {" NCCL INFO ", " NCCL WARN "})) {
      // NCCL writes its log to the same stream, also behind the beginning of a row.
      if (!broken_) table_.notes.emplace_back("A row that NCCL's log broke was left out.");
      broken_ = true;
    } else if (in_row) {
      row(words, line.whole);
    } else if (!in_table_ && !ended() && error_.empty() && open_runs_ == 0 && is_row(words)) {
      without_heading();
      row(words, line.whole);
    } else if (words.size() >= 10 && parse_number<std::uint64_t>(words[0]) &&
               parse_number<std::uint64_t>(words[1])) {
      if (ended()) ++stray_rows_;
      if (!ended() && lost_row_ == 0) lost_row_ = line_;
    }
  }

  std::vector<NcclTestsTable> finish() && {
    // It may end before it has printed more than who it is.
    if (tables_.empty() && !(table_.version.empty() && table_.program.empty())) begun_ = true;
    end_run();
    if (tables_.empty() && lost_row_ > 0) source_.refuse(lost_row_, std::string(kNoHeading));
    if (tables_.empty()) source_.refuse(1, "no table of nccl-tests is in it");
    return std::move(tables_);
  }

 private:
  void stop(std::string_view why, bool of_cut_row = false) {
    error_.set(why, of_cut_row);
    in_table_ = false;
  }

  void is_rccl() {
    table_.tool = "RCCL's tests";
    table_.backend = "rccl";
  }

  bool ended() const { return table_.out_of_bounds || table_.average_bus_gb_per_s; }

  static auto key_of(const NcclTestsRow& row) {
    return std::tie(row.size_bytes, row.type, row.reduction, row.root);
  }

  bool repeats_a_row() const {
    std::set<decltype(key_of(table_.rows[0]))> seen;
    return std::any_of(table_.rows.begin(), table_.rows.end(),
                       [&](const NcclTestsRow& row) { return !seen.insert(key_of(row)).second; });
  }

  /// Whether its rows are the first ones over and over, as -N writes them.
  bool repeats_in_cycles() const {
    const auto& rows = table_.rows;
    const auto same = [&](std::size_t a, std::size_t b) {
      return key_of(rows[a]) == key_of(rows[b]);
    };
    std::size_t cycle = 1;
    while (cycle < rows.size() && !same(cycle, 0)) ++cycle;
    // Two processes in step write a row twice at once.
    if (cycle == 1 || cycle == rows.size()) return false;
    for (std::size_t i = cycle; i < rows.size(); ++i) {
      if (!same(i, i - cycle)) return false;
    }
    return true;
  }

  /// Of processes that ran without MPI at once, in one log. Each alone may have another cause: a
  /// run that did not end may stand before one that did, and -N repeats the rows of a table.
  bool is_mixed() const {
    if (most_told_ > 1) return true;
    if (broken_rows_ > 0 && several()) return true;
    if (stray_rows_ > 0) return open_runs_ > 0 || heads_ > 1 || several();
    if (!repeats_a_row()) return false;
    return heads_ > 1 || several() || (open_runs_ > 0 && !repeats_in_cycles());
  }
  bool several() const { return headings_ > 1 || most_told_ > 1; }

  /// One table, with an error, of what these processes printed.
  void merge_mixed() {
    processes_ = std::max({processes_ + 1, heads_, headings_, most_told_});
    std::string program = std::move(table_.program);
    for (; open_runs_ > 0; --open_runs_) {
      if (program.empty()) program = tables_.back().program;
      tables_.pop_back();
    }
    table_ = {};
    table_.program = std::move(program);
    error_ = {};
    error_.set(fmt::format(
        "{} processes ran alone at once, and the lines of their tables are mixed: was nccl-tests "
        "built with MPI=1?",
        processes_));
    open_runs_ = 1;
  }

  void end_run() {
    if (begun_) {
      if (is_mixed()) {
        merge_mixed();
      } else {
        const bool open = !ended() && error_.empty();
        open_runs_ = open ? open_runs_ + 1 : 0;
        processes_ = open ? processes_ + 1 : 0;
        if (error_.empty() && table_.rows.empty() && lost_row_ > 0) {
          error_.set(fmt::format("line {}: {}", lost_row_, kNoHeading));
        } else if (error_.empty() && table_.rows.empty()) {
          error_.set("its table has no row: the run failed before its first result");
        } else if (open) {
          error_.set("its table stops without its last lines: the run was aborted");
        }
        if (stray_rows_ > 0) {
          table_.notes.emplace_back(
              "Rows behind its last lines were left out: no heading is theirs.");
        }
      }
      for (const NcclTestsRank& one : table_.ranks)
        table_.size = std::max(table_.size, one.rank + 1);
      table_.error = error_.text();
      tables_.push_back(std::move(table_));
      lost_row_ = 0;
    }
    table_ = {};
    error_ = {};
    told_.clear();
    most_told_ = heads_ = headings_ = stray_rows_ = broken_rows_ = 0;
    begun_ = in_table_ = broken_ = in_place_only_ = out_of_place_only_ = false;
  }

  void comment(std::string_view line) {
    if (has(line, "nThread")) return config(line);
    if (has_any(line, {"ccl-tests version", "in the format of nccl-tests"})) {
      end_run();
      if (has(line, "rccl-tests version")) is_rccl();
      table_.version = word_after(line, "version ");
      table_.library = rest_after(line, "ccl-library=");
      return;
    }
    if (has(line, "Collective test starting:")) {
      if (begun_) end_run();
      table_.program = rest_after(line, "starting:");
      return;
    }
    // The next one may lack its first line.
    if (ended() && (is_device(line) || names_columns(line))) end_run();
    if (is_device(line)) {
      if (!table_.rows.empty() || (!error_.empty() && table_.ranks.empty())) end_run();
      return device(line);
    }
    if (names_columns(line)) return heading(line);
    if (has(line, "in-place")) in_place_only_ = !has(line, "out-of-place");
    if (has(line, "Collective test concluded:") && table_.program.empty()) {
      table_.program = rest_after(line, "concluded:");
    }
    if (has(line, "Out of bounds values")) table_.out_of_bounds = number_after(line, ":");
    if (has(line, "Avg bus bandwidth")) {
      table_.average_bus_gb_per_s = parse_number<double>(word_after(line, ":"));
      table_.below_minimum = line.ends_with("FAILED");
      in_table_ = false;
    }
    // NCCL's last warning, which is the reason where the last lines did not come.
    if (line.starts_with("# error: ")) {
      const std::string warning(rest_after(line, "# error: "));
      if (!ended()) return stop(warning);
      table_.notes.push_back("NCCL's last warning: " + warning);
    }
  }

  void config(std::string_view line) {
    if (in_table_ || !table_.ranks.empty() || !table_.rows.empty() || !error_.empty()) end_run();
    begin();
    ++heads_;
    table_.step_is_factor = has(line, "(factor)");
    for (const NcclTestsSetting& one : kNcclTestsSettings) {
      const std::size_t at = line.find(one.mark);
      if (at == std::string_view::npos) continue;
      table_.*one.member = std::max(number_after(line, one.mark), one.least);
      line.remove_prefix(at + one.mark.size());  // " iters: " is not that of "warmup iters: "
    }
  }

  void device(std::string_view line) {
    NcclTestsRank rank;
    rank.rank = static_cast<std::uint32_t>(number_after(line, "Rank "));
    rank.pid = number_after(line, " Pid ");
    rank.device = static_cast<std::uint32_t>(number_after(line, " device "));
    rank.host = word_after(line, " on ");
    const std::size_t open = line.find('[');
    const std::size_t close = line.find(']', std::min(open, line.size()));
    if (close != std::string_view::npos) {
      rank.pci = line.substr(open + 1, close - open - 1);
      rank.gpu = trimmed(line.substr(close + 1));
    }
    if (rank.gpu.starts_with("AMD ")) is_rccl();
    most_told_ = std::max(most_told_, ++told_[rank.rank]);
    table_.ranks.push_back(std::move(rank));
  }

  void begin() {
    begun_ = true;
    if (table_.program.empty()) table_.program = std::exchange(command_, "");
  }

  void heading(std::string_view line) {
    if (!table_.rows.empty()) end_run();
    begin();
    ++headings_;
    in_table_ = true;
    counts_wrong_ = has(line, "#wrong");
    with_spread_ = has(line, "i_min");
    one_place_ = line.find("algbw") == line.rfind("algbw");
    us_ = has(line, " res") ? kNsPerMs / kNsPerUs : 1;
    if (!counts_wrong_ && has_any(line, {"error", " res"})) {
      table_.notes.emplace_back(
          "Its column of errors is the largest difference, not a number of elements: it was left "
          "out.");
    }
  }

  /// What every release since 2022 prints, in its order.
  void without_heading() {
    begin();
    in_table_ = counts_wrong_ = true;
    in_place_only_ = with_spread_ = one_place_ = false;
    us_ = 1;
    table_.notes.emplace_back(fmt::format(
        "The heading of its columns is missing, from line {} on: they were taken in the order of "
        "time, algbw, busbw and #wrong, out of place and then in place.",
        line_));
  }

  std::optional<NcclTestsCell> cell(const Words& words, std::size_t at) const {
    NcclTestsNumbers numbers;
    for (std::size_t i = 0; i < (with_spread_ ? 8U : 4U); ++i) {
      numbers.at(i) = parse_number<double>(words[at + i]);
    }
    if (numbers[0]) *numbers[0] *= us_;
    if (!counts_wrong_) numbers[kWrongColumn].reset();
    return nccl_tests_cell(numbers, with_spread_);
  }

  void row(Words words, bool whole) {
    ++broken_rows_;  // unless its end is reached
    // A time of day at the end (-S): "2026-07-01 12:00:00".
    if (words.size() > 2 && has(words.back(), ":")) words.resize(words.size() - 2);
    const std::size_t wide = with_spread_ ? 2 * kWide : kWide;
    if (table_.rows.empty() && one_place_ && !in_place_only_ && words.size() < 2 * wide + 3 &&
        words.size() >= wide + 3) {
      out_of_place_only_ = true;
      table_.notes.emplace_back(
          "Its rows have one place, and nothing says which: it was taken to be out of place.");
    }
    const std::size_t cells = (in_place_only_ || out_of_place_only_ ? 1 : 2) * wide;
    const std::size_t left = words.size() - std::min(words.size(), cells);
    if (std::exchange(broken_, false) && left < 3) return;  // the rest of that row
    if (table_.rows.empty() ? heads_ > 0 && left < 3 : words.size() != width_) {
      return stop(kCutRow, true);  // it was killed while it wrote
    }
    if (left < 3 || left > 5) {
      if (several()) return;
      source_.refuse(line_, fmt::format("a row of {} columns, where {} to {} would make sense",
                                        words.size(), cells + 3, cells + 5));
    }
    width_ = words.size();
    if (const std::string_view word = misfit(words, left, wide); !word.empty()) {
      // Its number of wrong elements may be among what was not read.
      return error_.set(
          fmt::format("line {}: a row with '{}', which is in no column", line_, word));
    }
    const auto count = parse_number<std::uint64_t>(words[1]);
    if (!count && several()) return;
    if (!count) source_.refuse(line_, fmt::format("invalid count of elements '{}'", words[1]));
    NcclTestsRow out{.size_bytes = parse_number<std::uint64_t>(words[0]).value_or(0),
                     .count = *count,
                     .type = std::string(words[2])};
    for (std::size_t i = 3; i < left; ++i) {
      if (const auto root = parse_number<std::int64_t>(words[i])) {
        out.root = root;
      } else {
        out.reduction = words[i];
      }
    }
    if (!in_place_only_) out.out_of_place = cell(words, left);
    if (!out_of_place_only_) out.in_place = cell(words, words.size() - wide);
    if (!out.out_of_place && !out.in_place) source_.refuse(line_, "a row without a time");
    if (!whole) return stop(kCutRow, true);
    --broken_rows_;
    table_.rows.push_back(std::move(out));
  }

  const Source& source_;
  std::size_t line_ = 0;
  NcclTestsTable table_;
  FirstError error_;
  std::vector<NcclTestsTable> tables_;
  std::string command_;  ///< that began the next run
  bool begun_ = false;   ///< what a run has done, or its table's heading, was there
  bool in_table_ = false;
  bool in_place_only_ = false;  ///< RCCL's, with -O 0
  bool one_place_ = false;      ///< in the heading
  bool out_of_place_only_ = false;
  bool broken_ = false;  ///< the last row, by NCCL's log
  bool counts_wrong_ = false;
  bool with_spread_ = false;
  double us_ = 1;  ///< of the unit of its times: until 2019, with a column "res", milliseconds
  std::size_t width_ = 0;                      ///< words of the table's rows
  std::size_t heads_ = 0;                      ///< lines "nThread ..." of this run
  std::size_t headings_ = 0;                   ///< of this table
  std::map<std::uint32_t, std::size_t> told_;  ///< how often each rank is
  std::size_t most_told_ = 0;
  std::size_t broken_rows_ = 0;  ///< that make no sense
  std::size_t stray_rows_ = 0;   ///< behind its last lines
  std::size_t lost_row_ = 0;     ///< the first line of a row that was not read; 0: none
  std::size_t open_runs_ = 0;    ///< the last ones of `tables_`, which did not end
  std::size_t processes_ = 0;    ///< that printed these
};

}  // namespace

bool is_nccl_tests_text(std::string_view text) noexcept {
  text = beginning_of(text);
  return (has(text, "nThread") && has(text, "minBytes")) || names_columns(text) ||
         has_any(text, {"ccl-tests version", "Collective test starting:"}) ||
         any_line(text, [](const Line& line) noexcept {
           return !line.text.empty() && line.text[0] >= '0' && line.text[0] <= '9' &&
                  is_row(words_of(line.text));
         });
}

std::vector<NcclTestsTable> nccl_tests_text_tables(const Lines& lines, const Source& source) {
  Reader reader(source);
  for (const Line& line : lines) reader.take(line);
  return std::move(reader).finish();
}

}  // namespace rdmabench::inline v1::import
