// Texts and CSV of UCX's ucx_perftest: the tables up to UCX 1.8, and those since, as of 1.22.
#include "ucx_perftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace rdmabench::inline v1::import {
namespace {

constexpr std::string_view kFinal = "Final:";
constexpr std::string_view kThread = "[thread ";
constexpr std::size_t kAllNumbers = 8;
constexpr std::size_t kNumbersOfThreads = 4;

/// Without the bars of its frame.
std::string without_frame(std::string_view text) {
  std::string cells(text);
  std::replace(cells.begin(), cells.end(), '|', ' ');
  return std::string(trimmed(cells));
}

bool is_ucx_heading(std::string_view text) noexcept {
  return has(text, "# iterations") && has(text, "average") && has(text, "overall");
}

bool is_ucx_csv_heading(std::string_view text) noexcept {
  return has(text, "iterations,") && has(text, "avg_lat,overall_lat,");
}

bool is_ucx_banner(std::string_view text) noexcept {
  return has(text, "API: ") && has_any(text, {"protocol layer", "transport layer"});
}

/// "UCX  ERROR" of its log; "" of other lines.
std::string_view words_of_ucx(std::string_view line) noexcept {
  for (const std::string_view level : {"UCX  ERROR ", "UCX  FATAL ", "UCX  WARN  "}) {
    if (has(line, level)) return rest_after(line, level);
  }
  return "";
}

bool is_ucx_error(std::string_view line) noexcept {
  return has_any(line, {"UCX  ERROR ", "UCX  FATAL "});
}

/// "1,000,000" of -N, too.
std::optional<double> number_of_ucx(std::string_view word) {
  std::string digits(word);
  std::erase(digits, ',');
  return number_of_word(digits, 0);
}

/// The numbers that stand one behind the other, from the `begin`-th word on.
std::vector<double> numbers_from(const Words& words, std::size_t begin) {
  std::vector<double> numbers;
  for (std::size_t i = begin; i < words.size() && numbers.size() < kAllNumbers; ++i) {
    const auto number = number_of_ucx(words[i]);
    if (!number) break;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<UcxRow> ucx_row_of(const std::vector<double>& numbers) {
  if (numbers.size() == kAllNumbers) {
    return UcxRow{.iterations = numbers[0],
                  .percentile_us = numbers[1],
                  .us = numbers[3],
                  .megabytes_per_s = numbers[5],
                  .messages_per_s = numbers[7]};
  }
  if (numbers.size() != kNumbersOfThreads) return std::nullopt;
  return UcxRow{.iterations = numbers[0],
                .us = numbers[1],
                .megabytes_per_s = numbers[2],
                .messages_per_s = numbers[3],
                .of_threads = true};
}

/// "+tag_lat_8-----+------": what stands between the tests of a batch.
std::string batch_name(std::string_view text) {
  if (!text.starts_with('+') || !has(text, "----+---")) return "";
  const std::string_view name = text.substr(1, text.find("--", 1) - 1);
  return std::string(trimmed(name.substr(0, name.find_last_not_of('-') + 1)));
}

/// "tag_bw" of "======= tag_bw =======", with which a script heads its parts.
std::string test_in(std::string_view line) {
  for (const std::string_view word : words_of(line)) {
    if (is_ucx_test(word)) return std::string(word);
  }
  return "";
}

class UcxReader {
 public:
  explicit UcxReader(const Source& source) : source_(source) {}

  void take(const Line& line) {
    line_ = line.number;
    const std::string text = without_frame(line.text);
    const std::string whole = std::exchange(begun_, "") + std::string(line.text);
    if (is_ucx_csv_heading(text)) {
      begin_table(line);
      csv_heading(text);
    } else if (is_ucx_heading(text)) {
      begin_table(line);
      heading(text);
    } else if (const UcxCommand command = ucx_command_in(whole); command.any && !line.is_prose()) {
      if (run_.is_final || run_.any_heading || !error_.empty()) end_run();
      // A server's line may stand behind its client's, which has more to say.
      if (command.of_client || !run_.command.of_client) run_.command = command;
      constexpr std::size_t kLongest = 4096;
      if (command.goes_on && whole.size() < kLongest) begun_ = whole.substr(0, whole.size() - 1);
    } else if (text.starts_with("==") && !test_in(text).empty()) {
      if (run_.any_heading) end_run();
      run_.title = test_in(text);
    } else if (has_any(text, {"latency (usec)", "overhead (usec)"})) {
      times_ = has(text, "overhead") ? "overhead" : "latency";
    } else if (is_ucx_banner(text)) {
      if (run_.is_final) end_run();
      in_banner_ = true;
      run_.banner.clear();
      fact(text);
    } else if (const std::string_view words = words_of_ucx(line.raw); !words.empty()) {
      said(words, is_ucx_error(line.raw));
    } else if (in_banner_ && has(text, ": ")) {
      fact(text);
    } else if (in_banner_ && text.starts_with('+')) {
      in_banner_ = false;
    } else if (run_.any_heading && line.block == block_) {
      of_table(line, text);
    }
  }

  std::vector<Run> finish() && {
    end_run();
    std::vector<PairRun> runs;
    const bool any =
        std::ranges::any_of(runs_, [](const UcxRun& run) { return run.row.has_value(); });
    for (const UcxRun& run : runs_) {
      // A server's, or a command whose output is elsewhere.
      if (!run.row && run.error.empty() && (any || !run.any_heading) && !is_only_one()) continue;
      add(runs, ucx_run(run, source_));
    }
    std::vector<Run> all;
    for (PairRun& run : runs) all.emplace_back(std::move(run));
    return all;
  }

 private:
  bool is_only_one() const { return runs_.size() == 1; }

  /// Runs of other sizes are rows of one, as a loop over sizes prints them.
  static void add(std::vector<PairRun>& runs, PairRun run) {
    const auto same_size = [&](const Row& row) {
      return row.at("size_bytes") == run.rows[0].at("size_bytes");
    };
    const auto joins = [&](const PairRun& one) {
      return !run.rows.empty() && !one.rows.empty() && one.error.empty() && run.error.empty() &&
             one.test == run.test && one.operation == run.operation && one.latency == run.latency &&
             one.memory == run.memory && one.depth == run.depth && one.device == run.device &&
             one.transport == run.transport && one.details == run.details &&
             std::ranges::none_of(one.rows, same_size);
    };
    if (runs.empty() || !joins(runs.back())) {
      runs.push_back(std::move(run));
      return;
    }
    runs.back().rows.push_back(std::move(run.rows[0]));
    for (std::string& note : run.notes) {
      if (std::ranges::find(runs.back().notes, note) == runs.back().notes.end()) {
        runs.back().notes.push_back(std::move(note));
      }
    }
  }

  void fact(std::string_view text) {
    const std::size_t colon = text.find(": ");
    run_.banner[std::string(trimmed(text.substr(0, colon)))] = trimmed(text.substr(colon + 1));
  }

  void said(std::string_view words, bool error) {
    constexpr std::size_t kMost = 3;
    if (error) error_.set(words);
    std::string note = fmt::format("UCX said: {}", words);
    if (run_.said.size() < kMost && std::ranges::find(run_.said, note) == run_.said.end()) {
      run_.said.push_back(std::move(note));
    }
  }

  void begin_table(const Line& line) {
    if (run_.any_heading) end_run();
    block_ = line.block;
    in_banner_ = false;
    run_.any_heading = true;
    run_.times = std::exchange(times_, "");
  }

  void heading(std::string_view text) {
    is_csv_ = false;
    batches_ = has(text, "Test ");
    run_.has_labels = batches_ || has(text, "Stage");
    if (const std::size_t mark = text.find("%ile"); mark != std::string_view::npos) {
      run_.typical = false;
      const Words words = words_of(text.substr(0, mark));
      if (!words.empty()) run_.percentile = number_of_word(words.back(), 0).value_or(50);
    }
  }

  void csv_heading(std::string_view text) {
    is_csv_ = true;
    const auto columns = split(text, ',');
    names_ = static_cast<std::size_t>(std::ranges::find(columns, "iterations") - columns.begin());
    run_.typical = has(text, "typical");
    const std::string_view rank = text.substr(0, std::min(text.find("_percentile"), text.size()));
    run_.percentile = number_of_word(rank.substr(rank.rfind(',') + 1), 0).value_or(50);
  }

  void of_table(const Line& line, std::string_view text) {
    if (const std::string name = batch_name(text); !name.empty()) {
      if (run_.row) next_run();
      run_.batch = name;
    } else if (is_csv_) {
      csv_row(line);
    } else if (is_kill(line.raw) && !run_.is_final) {
      error_.set(trimmed(line.raw));
    } else {
      row(line);
    }
  }

  void row(const Line& line) {
    const bool final = has(line.raw, kFinal);
    const std::size_t thread = line.raw.find(kThread);
    std::string_view text = line.text;
    if (final) text = rest_after(line.raw, kFinal);
    if (!final && thread != std::string_view::npos) {
      text = rest_after(line.raw.substr(thread + kThread.size()), "]");
    }
    const Words words = words_of(text);
    if (words.empty()) return;
    const bool named = batches_ && !number_of_ucx(words[0]);
    const auto found = ucx_row_of(numbers_from(words, named ? 1 : 0));
    if (final && (!found || !line.whole)) return error_.set(kCutRow, true);
    if (!found || !line.whole) return;
    const bool interim =
        !final && !batches_ && (run_.has_labels || thread != std::string_view::npos);
    if (interim && found->of_threads) return;
    add_row(*found, !interim, named ? std::string(words[0]) : "");
  }

  void csv_row(const Line& line) {
    const std::size_t thread = line.raw.find(kThread);
    const bool interim = thread != std::string_view::npos;
    // The label of UCX 1.9 to 1.11 stands within the row: "8,Final:    1000,".
    const std::size_t label = std::min(thread, line.raw.find(kFinal));
    std::string_view names = line.text;
    std::string_view text;
    if (label != std::string_view::npos) {
      names = line.raw.substr(0, label);
      text = rest_after(line.raw.substr(label), interim ? "]" : ":");
      names.remove_prefix(std::min(names.find_last_of(kBlanks) + 1, names.size()));
    }
    Words words;
    for (const std::string_view part : {names, text}) {
      for (const std::string_view word : split(part, ',')) {
        if (!trimmed(word).empty()) words.push_back(trimmed(word));
      }
    }
    const auto found = ucx_row_of(numbers_from(words, names_));
    if (!found || !line.whole) return;
    std::string name;
    for (std::size_t i = 0; i < names_; ++i) name += (i == 0 ? "" : "/") + std::string(words[i]);
    run_.has_labels = run_.has_labels || interim;
    add_row(*found, !interim, name);
  }

  void add_row(const UcxRow& row, bool final, const std::string& name) {
    // Of an old table each second has a row, and nothing marks the last one.
    const bool goes_on = run_.row && run_.row->iterations < row.iterations && run_.batch == name;
    if (run_.is_final && !(goes_on && !run_.has_labels)) next_run();
    if (!name.empty()) run_.batch = name;
    run_.row = row;
    run_.is_final = final;
  }

  /// Of the same table.
  void next_run() {
    UcxRun next;
    next.command = run_.command;
    next.times = run_.times;
    next.percentile = run_.percentile;
    next.has_labels = run_.has_labels;
    next.typical = run_.typical;
    next.any_heading = true;
    end_run();
    run_ = std::move(next);
  }

  /// Whether an old table, or a CSV, stops before the number of iterations that was asked for.
  bool is_short() const {
    if (run_.has_labels || run_.command.option('t').empty()) return false;
    const std::string count = run_.command.option('n');
    const auto asked = count.empty() ? 1e6 : number_of_word(count, 0).value_or(0);
    return run_.row->iterations < asked;
  }

  void end_run() {
    const bool done = run_.row && run_.is_final && !is_short();
    if (run_.row && !done && error_.empty()) {
      error_.set("its table stops without its final row: the run was aborted");
    }
    (done ? run_.doubt : run_.error) = error_.text();  // it went on all the same
    const bool any = run_.any_heading || !run_.banner.empty() || !run_.error.empty();
    constexpr std::size_t kMostRuns = 10'000;
    if (any && runs_.size() >= kMostRuns) source_.refuse(line_, "more than 10000 runs");
    if (any) runs_.push_back(std::move(run_));
    run_ = {};
    error_ = {};
    in_banner_ = false;
  }

  const Source& source_;
  std::size_t line_ = 0;
  std::string begun_;      ///< a command that goes on in the next line
  std::string times_;      ///< of the next heading
  std::size_t block_ = 0;  ///< in which the table stands
  std::size_t names_ = 0;  ///< columns before the numbers of a CSV
  bool is_csv_ = false;
  bool batches_ = false;  ///< by -f: a row may begin with its test's name
  bool in_banner_ = false;
  FirstError error_;
  UcxRun run_;
  std::vector<UcxRun> runs_;
};

bool prints_ucx_table(const Line& line) noexcept {
  return is_ucx_heading(line.text) || is_ucx_csv_heading(line.text) || is_ucx_banner(line.text) ||
         (is_ucx_error(line.raw) && has(line.raw, "perftest"));
}

bool is_ucx_perftest(std::string_view text) noexcept {
  return any_line(text, prints_ucx_table);
}

bool begins_ucx_perftest(const Line& line) noexcept {
  return prints_ucx_table(line) || has(line.text, "ucx_perftest ");
}

std::vector<Run> ucx_perftest_runs(const Lines& lines, const Source& source) {
  UcxReader reader(source);
  for (const Line& line : lines) reader.take(line);
  return std::move(reader).finish();
}

constexpr std::array<std::string_view, 8> kUcxPrograms{"ucx_perftest", "tag_", "ucp_", "stream_",
                                                       "am_",          "put_", "get",  "add_"};

}  // namespace

const Tool kUcxPerftest{"ucx_perftest", kUcxPrograms, begins_ucx_perftest, ucx_perftest_runs,
                        is_ucx_perftest};

}  // namespace rdmabench::inline v1::import
