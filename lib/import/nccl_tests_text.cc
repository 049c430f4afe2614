// Texts of nccl-tests of all its generations. Columns are counted from the right, where they have
// stayed the same: type, reduction and root have come and gone on the left.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/import/nccl_tests.h"
#include "tool.h"
#include "tool_text.h"

namespace rdmabench::import {
namespace {

using Words = std::vector<std::string_view>;

[[noreturn]] void refuse_line(const std::string& source, std::size_t line, const std::string& why) {
  throw Error(Fault::usage, fmt::format("'{}', line {}: {}", source, line, why),
              "Give what an nccl-tests program printed, or its -J file.");
}

/// What stands after `mark`, up to a blank, as a number.
std::uint64_t after(std::string_view line, std::string_view mark) {
  const std::size_t found = line.find(mark);
  if (found == std::string_view::npos) return 0;
  std::uint64_t value = 0;
  line.remove_prefix(found + mark.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::from_chars(line.data(), line.data() + line.size(), value);
  return value;
}

/// What a rank prints that gives up.
constexpr std::array<std::string_view, 6> kFailures{
    "Test NCCL failure", "Test CUDA failure", "Test HIP failure",
    "Test timeout",      "NCCL failure ",     "Cuda failure "};  // the last two until 2019

/// "node1: Test NCCL failure common.cu:303 'unhandled system error'" of a line with such words at
/// `at`. Behind the beginning of a row, to which it is glued, its host is left out.
std::string failure_in(std::string_view line, std::size_t at, bool in_row) {
  constexpr std::size_t kColon = 2;  // ": " ends the host
  std::size_t begin = at;
  if (!in_row && at > kColon) begin = line.find_last_of(" >:", at - kColon - 1) + 1;
  return rest_after(line.substr(begin), "");
}

constexpr std::size_t kWrongColumn = 3;  ///< of a placement: behind its time and rates

constexpr std::string_view kWithinRow = "its table ends within a row";

/// NCCL writes its log to the same stream, also behind the beginning of a row.
bool is_log(std::string_view line) {
  return has(line, " NCCL INFO ") || has(line, " NCCL WARN ");
}

bool is_device(std::string_view line) {
  return has(line, "Rank ") && has(line, " device ");
}

bool names_columns(std::string_view line) {
  return has(line, "algbw") && has(line, "busbw");
}

/// What tells of a run without "#": some of it had none until 2019, and where a page took them for
/// its own marks all have lost them.
bool is_bare_comment(std::string_view line) {
  return line.starts_with("nThread ") || line.starts_with("Out of bounds values") ||
         line.starts_with("Avg bus bandwidth") || (line.starts_with("Rank ") && is_device(line)) ||
         (line.starts_with("size ") && names_columns(line));
}

/// "all_reduce_perf" of a line that ran it: "$ mpirun -np 8 build/all_reduce_perf -b 8 ..."; "" of
/// others.
std::string command_in(const Words& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    std::string name(words[i].substr(words[i].rfind('/') + 1));
    const bool options = words[i + 1].starts_with('-') || words[i + 1] == "\\";
    if (options && has(name, "_perf") && is_nccl_tests_program(name)) return name;
  }
  return "";
}

/// Reads one text, line by line.
class Reader {
 public:
  explicit Reader(const std::string& source) : source_(source) {}

  void take(std::string_view raw) {
    ++line_;
    const std::string_view line = without_tag(raw);
    const Words words = words_of(line);
    if (words.empty()) return;
    const std::size_t begin = line.find(words[0]);
    const bool in_row = in_table_ && parse_number<std::uint64_t>(words[0]).has_value();
    for (const std::string_view failure : kFailures) {
      const std::size_t at = raw.find(failure);
      if (begun_ && at != std::string_view::npos) return stop(failure_in(raw, at, in_row));
    }
    std::string command;
    if (has(line, "_perf")) command = command_in(words);
    if (!command.empty()) {
      command_ = std::move(command);
    } else if (has(raw, "rccl-tests: Version ")) {
      if (ended()) end_run();
      table_.tool = "RCCL's tests";
      table_.backend = "rccl";
      table_.version = rest_after(raw, "Version ");
    } else if (line[begin] == '#' || is_bare_comment(line.substr(begin))) {
      comment(line.substr(begin));
    } else if (in_row && is_log(line)) {
      if (!broken_) table_.notes.emplace_back("A row that NCCL's log broke was left out.");
      broken_ = true;
    } else if (in_row) {
      row(line);
    }
  }

  /// `whole`: the last line was ended.
  std::vector<NcclTestsTable> finish(bool whole) && {
    if (!whole && row_line_ == line_ && !table_.rows.empty()) {
      table_.rows.pop_back();
      stop(std::string(kWithinRow));
    }
    // It may end before it has printed more than who it is.
    if (tables_.empty() && !(table_.version.empty() && table_.program.empty())) begun_ = true;
    end_run();
    if (tables_.empty()) refuse_line(source_, 1, "no table of nccl-tests is in it");
    return std::move(tables_);
  }

 private:
  /// The first reason is kept, but for the words of a rank behind a row that was cut.
  void stop(std::string why) {
    if (table_.error.empty() || table_.error == kWithinRow) table_.error = std::move(why);
    in_table_ = false;
  }

  bool ended() const { return table_.out_of_bounds || table_.average_bus_gb_per_s; }

  void end_run() {
    if (begun_) {
      if (table_.error.empty() && table_.rows.empty()) {
        stop("its table has no row: the run failed before its first result");
      } else if (table_.error.empty() && !ended()) {
        stop("its table stops without its last lines: the run was aborted");
      }
      if (table_.size == 0) table_.size = highest_rank_ + (any_rank_ ? 1 : 0);
      tables_.push_back(std::move(table_));
    }
    table_ = {};
    begun_ = in_table_ = any_rank_ = broken_ = in_place_only_ = has_head_ = false;
    highest_rank_ = 0;
  }

  void comment(std::string_view line) {
    if (has(line, "nThread ")) return config(line);
    if (has(line, "nccl-tests version") || has(line, "in the format of nccl-tests")) {
      end_run();
      table_.version = rest_after(line, "version ");
      table_.version.resize(std::min(table_.version.find(' '), table_.version.size()));
      table_.library = rest_after(line, "nccl-library=");
      return;
    }
    if (has(line, "Collective test starting:")) {
      if (begun_) end_run();
      table_.program = rest_after(line, "starting:");
      return;
    }
    // The next one may lack its first line.
    if (ended() && (is_device(line) || names_columns(line))) end_run();
    if (is_device(line)) return device(line);
    if (names_columns(line)) return heading(line);
    if (has(line, "in-place")) in_place_only_ = !has(line, "out-of-place");
    if (has(line, "Out of bounds values")) table_.out_of_bounds = after(line, ":");
    if (has(line, "Avg bus bandwidth")) {
      const std::string text = rest_after(line, ":");
      table_.average_bus_gb_per_s = parse_number<double>(text.substr(0, text.find(' ')));
      table_.below_minimum = text.ends_with("FAILED");
      in_table_ = false;
    }
    // NCCL's last warning, which is the reason where the last lines did not come.
    if (line.starts_with("# error: ")) {
      const std::string warning = rest_after(line, "# error: ");
      if (table_.out_of_bounds || table_.average_bus_gb_per_s) {
        table_.notes.push_back("NCCL's last warning: " + warning);
      } else {
        stop(warning);
      }
    }
  }

  void config(std::string_view line) {
    // Ranks without MPI print a head each, one behind the other.
    if (in_table_ || !table_.rows.empty() || !table_.error.empty()) end_run();
    begin();
    has_head_ = true;
    table_.threads = static_cast<std::uint32_t>(after(line, "nThread "));
    table_.gpus = static_cast<std::uint32_t>(after(line, "nGpus "));
    table_.min_bytes = after(line, "minBytes ");
    table_.max_bytes = after(line, "maxBytes ");
    table_.step = after(line, "step: ");
    table_.step_is_factor = has(line, "(factor)");
    table_.warmup = after(line, "warmup iters: ");
    table_.iterations = after(line, " iters: ");
    if (const std::size_t own = line.find("warmup iters: "); own != std::string_view::npos) {
      table_.iterations = after(line.substr(own + 14), " iters: ");
    }
    table_.aggregated = std::max<std::uint64_t>(1, after(line, "agg iters: "));
    table_.validation = after(line, "validation: ");
    table_.graph = after(line, "graph: ");
    table_.misaligned = after(line, "unalign: ");
  }

  void device(std::string_view line) {
    NcclTestsRank rank;
    rank.rank = static_cast<std::uint32_t>(after(line, "Rank "));
    rank.pid = after(line, " Pid ");
    rank.device = static_cast<std::uint32_t>(after(line, " device "));
    const std::string host = rest_after(line, " on ");
    rank.host = host.substr(0, host.find(' '));
    const std::size_t open = line.find('[');
    const std::size_t close = line.find(']');
    if (open != std::string_view::npos && close != std::string_view::npos && open < close) {
      rank.pci = line.substr(open + 1, close - open - 1);
      rank.gpu = rest_after(line.substr(close), "]");
    }
    any_rank_ = true;
    highest_rank_ = std::max(highest_rank_, rank.rank);
    table_.ranks.push_back(std::move(rank));
  }

  void begin() {
    begun_ = true;
    if (table_.program.empty()) table_.program = std::exchange(command_, "");
  }

  void heading(std::string_view line) {
    if (!table_.rows.empty()) end_run();
    begin();
    in_table_ = true;
    counts_wrong_ = has(line, "#wrong");
    with_spread_ = has(line, "i_min");
    us_ = has(line, " res") ? kNsPerMs / kNsPerUs : 1;
    if (!counts_wrong_ && (has(line, "error") || has(line, " res"))) {
      table_.notes.emplace_back(
          "Its column of errors is the largest difference, not a number of elements: it was left "
          "out.");
    }
  }

  /// Of a placement that was timed, or of none.
  static bool is_value(std::string_view word) {
    if (word == "N/A" || parse_number<double>(word)) return true;
    if (word.starts_with('-')) word.remove_prefix(1);
    return word == "nan" || word == "inf";
  }
  static bool is_wrong(std::string_view word, std::string_view time) {
    return word == "N/A" || (time != "N/A" && parse_number<double>(word).value_or(-1) >= 0);
  }

  /// "float", "sum", "f8e4m3".
  static bool is_name(std::string_view word) {
    const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
    return is_letter(word[0]) && std::all_of(word.begin(), word.end(), [&](char c) {
             return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
           });
  }

  /// The first word of a row, behind its size and count, that can be in no column; "" of a good
  /// row.
  static std::string_view misfit(const Words& words, std::size_t left, std::size_t wide) {
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

  std::optional<NcclTestsCell> cell(const Words& words, std::size_t at) const {
    const auto time = parse_number<double>(words[at]);
    const auto algorithm = parse_number<double>(words[at + 1]);
    if (!time || !algorithm || *time < 0) return std::nullopt;
    NcclTestsCell out{.time_us = *time * us_, .algorithm_gb_per_s = *algorithm};
    out.bus_gb_per_s = parse_number<double>(words[at + 2]);
    if (counts_wrong_) out.wrong = parse_number<double>(words[at + kWrongColumn]);
    if (with_spread_) {
      out.spread = NcclTestsCell::Spread{.min_us = parse_number<double>(words[at + 4]),
                                         .max_us = parse_number<double>(words[at + 5]),
                                         .p99_us = parse_number<double>(words[at + 6]),
                                         .cv_percent = parse_number<double>(words[at + 7])};
    }
    return out;
  }

  void row(std::string_view line) {
    Words words = words_of(line);
    // A time of day at the end (-S): "2026-07-01 12:00:00".
    if (words.size() > 2 && has(words.back(), ":")) words.resize(words.size() - 2);
    const std::size_t wide = with_spread_ ? 8 : 4;
    const std::size_t cells = (in_place_only_ ? 1 : 2) * wide;
    const std::size_t left = words.size() - std::min(words.size(), cells);
    const auto size = parse_number<std::uint64_t>(words[0]);
    if (std::exchange(broken_, false) && left < 3) return;  // the rest of that row
    if (table_.rows.empty() ? has_head_ && left < 3 : words.size() != width_) {
      // It was killed while it wrote.
      return stop(std::string(kWithinRow));
    }
    if (left < 3 || left > 5 || !size) {
      refuse_line(source_, line_,
                  fmt::format("a row of {} columns, where {} to {} would make sense", words.size(),
                              cells + 3, cells + 5));
    }
    width_ = words.size();
    if (const std::string_view word = misfit(words, left, wide); !word.empty()) {
      // Its number of wrong elements may be among what was not read.
      if (table_.error.empty()) {
        table_.error = fmt::format("line {}: a row with '{}', which is in no column", line_, word);
      }
      return;
    }
    NcclTestsRow out;
    out.size_bytes = *size;
    const auto count = parse_number<std::uint64_t>(words[1]);
    if (!count)
      refuse_line(source_, line_, fmt::format("invalid count of elements '{}'", words[1]));
    out.count = *count;
    out.type = words[2];
    for (std::size_t i = 3; i < left; ++i) {
      if (const auto root = parse_number<std::int64_t>(words[i])) {
        out.root = root;
      } else {
        out.reduction = words[i];
      }
    }
    if (!in_place_only_) out.out_of_place = cell(words, left);
    out.in_place = cell(words, words.size() - wide);
    if (!out.out_of_place && !out.in_place) refuse_line(source_, line_, "a row without a time");
    table_.rows.push_back(std::move(out));
    row_line_ = line_;
  }

  const std::string& source_;
  std::size_t line_ = 0;
  std::size_t row_line_ = 0;  ///< of the last row
  NcclTestsTable table_;
  std::vector<NcclTestsTable> tables_;
  std::string command_;    ///< that began the next run
  bool begun_ = false;     ///< what a run has done, or its table's heading, was there
  bool has_head_ = false;  ///< the line "nThread ..."
  bool in_table_ = false;
  bool in_place_only_ = false;  ///< RCCL's, with -O 0
  bool broken_ = false;         ///< the last row, by NCCL's log
  bool counts_wrong_ = false;
  bool with_spread_ = false;
  double us_ = 1;  ///< of the unit of its times: until 2019, with a column "res", milliseconds
  std::size_t width_ = 0;  ///< words of the table's rows
  bool any_rank_ = false;
  std::uint32_t highest_rank_ = 0;
};

}  // namespace

bool is_nccl_tests_text(std::string_view text) noexcept {
  text = beginning_of(text);
  return (has(text, "nThread ") && has(text, "minBytes ")) || has(text, "nccl-tests version") ||
         has(text, "Collective test starting:") || (has(text, "algbw") && has(text, "busbw"));
}

std::vector<NcclTestsTable> parse_nccl_tests_text(std::string_view text,
                                                  const std::string& source) {
  Reader reader(source);
  for (const std::string_view line : lines_of(text)) reader.take(line);
  return std::move(reader).finish(text.ends_with('\n'));
}

}  // namespace rdmabench::import
