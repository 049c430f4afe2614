// The tables of means that OSU's micro-benchmarks and fabtests print.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "mean_tables.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::import {
namespace {

constexpr double kBitsPerMegabyte = 1e6 * kBitsPerByte;  // both tools' MB has 10^6 bytes

// fabtests' sizes are powers of 1024, its counts of 1000. What its option -M writes is YAML.
constexpr std::array kMeanColumns{Column{"# Size", "", "size_bytes", 1, 1000},
                                  Column{"Size", "", "size_bytes", 1, 1000},  // in Markdown's
                                  Column{"Latency (us)", "", "mean_ns", kNsPerUs},
                                  Column{"Avg Latency(us)", "", "mean_ns", kNsPerUs},
                                  Column{"Pure Comm.(us)", "", "mean_ns", kNsPerUs},
                                  Column{"Min Latency(us)", "", "min_ns", kNsPerUs},
                                  Column{"Max Latency(us)", "", "max_ns", kNsPerUs},
                                  Column{"P50 Tail Lat(us)", "", "p50_ns", kNsPerUs},
                                  Column{"P90 Tail Lat(us)", "", "p90_ns", kNsPerUs},
                                  Column{"P99 Tail Lat(us)", "", "p99_ns", kNsPerUs},
                                  Column{"Bandwidth (MB/s)", "", "bits_per_s", kBitsPerMegabyte},
                                  Column{"MB/s", "", "bits_per_s", kBitsPerMegabyte},
                                  Column{"Messages/s", "", "messages_per_s"},
                                  Column{"Iterations", "", "iterations"},
                                  Column{"name", "", ""},
                                  Column{"bytes", "xfer_size:", "size_bytes", 1, 1024},
                                  Column{"iters", "iterations:", "iterations", 1, 1000},
                                  Column{"#sent", "", "iterations", 1, 1000},
                                  Column{"#ack", "", ""},
                                  Column{"total", "", ""},
                                  Column{"time", "", ""},
                                  Column{"MB/sec", "MB/sec:", "bits_per_s", kBitsPerMegabyte},
                                  Column{"usec/xfer", "usec/xfer:", "mean_ns", kNsPerUs},
                                  Column{"Mxfers/sec", "Mxfers/sec:", "messages_per_s", 1e6}};

/// Both of fabtests' columns are printed with two decimals, and one is 1 divided by the other: the
/// larger one has more digits. A rate of 6574 a second is "0.01".
void mend_rate(Row& row) {
  const auto rate = row.find("messages_per_s");
  const auto mean = row.find("mean_ns");
  if (rate == row.end() || mean == row.end()) return;
  if (mean->second > kNsPerUs) rate->second = kNsPerSecond / mean->second;
}

bool is_fabtests_heading(std::string_view line) noexcept {
  return has(line, "bytes") &&
         (has(line, "usec/xfer") || (has(line, "#sent") && has(line, "#ack")));
}

bool is_mean_heading(std::string_view line) noexcept {
  return is_osu_heading(line) || is_fabtests_heading(line);
}

/// "MPI Bandwidth" of "# OSU MPI Bandwidth Test v5.9", whatever a page has made of its mark; "" of
/// other lines: a page may have the title "# OSU Benchmarks".
std::string_view title_in(std::string_view line) noexcept {
  line.remove_prefix(std::min(line.find_first_not_of("#*/ "), line.size()));
  const std::size_t end = line.find(" Test");
  if (!line.starts_with("OSU ") || end == std::string_view::npos) return "";
  const std::string_view version = line.substr(end + 5);  // which old releases do not tell
  if (!version.empty() && !version.starts_with(" v") && !version.starts_with(" (V")) return "";
  return trimmed(line.substr(4, end - std::min<std::size_t>(end, 4)));
}

/// Where a command puts the buffers of both sides: "H D" of "osu_bw -m 8 H D".
std::string buffers_in(const Words& words) {
  if (words.size() < 2) return "";
  const std::string both = fmt::format("{} {}", words[words.size() - 2], words.back());
  return both == "D D" || both == "H D" || both == "D H" || both == "H H" ? both : "";
}

/// Nothing is read of what a program printed behind this.
bool is_prompt(std::string_view line) noexcept {
  return line.starts_with("$ ") || has_any(line, {"]$ ", "]# ", "~$ ", "~# "});
}

/// What stands behind the letter of an option: "8" of "-S 8" and of "-S8".
std::string_view option_in(const Words& words, std::string_view letter) {
  std::string_view told;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == letter && i + 1 < words.size()) told = words[i + 1];
    if (words[i].starts_with(letter) && words[i].size() > letter.size()) {
      told = words[i].substr(letter.size());
    }
  }
  return told;
}

/// Behind the name of a program: "write", "write-imm" or "read" of its option -o, where it has none
/// what the programs of remote memory take then; "" where it names no operation of these.
std::string_view operation_in(std::string_view name, std::string_view options) {
  std::string_view told = option_in(words_of(options), "-o");
  if (told.empty() && has(name, "rma")) told = "write";
  if (told == "writedata") return "write-imm";
  return told == "write" || told == "read" ? told : "";
}

/// A program of fabtests, and what stands behind its name.
struct Fabtest {
  std::string_view name;
  std::string_view options;
};

/// "fi_rdm_pingpong" of "$ taskset -c 32 ./fi_rdm_pingpong -p tcp", and of "bin/fi_rdm_pingpong -M
/// :" of -M; none of other lines.
Fabtest fabtests_in(std::string_view line) {
  if (line.ends_with(':')) {
    line.remove_suffix(1);
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view name = base_name(line.substr(0, end));
    if (name.starts_with("fi_") && !has_any(name, {":", "("})) {
      return {name, line.substr(end)};
    }
  }
  const std::size_t at = line.find("fi_");
  if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ' && line[at - 1] != '/')) {
    return {};
  }
  line.remove_prefix(at);
  const std::string_view name = line.substr(0, line.find(' '));
  const std::string_view rest = line.substr(name.size());
  const bool is = rest.starts_with(" -") && (name.ends_with("pingpong") || name.ends_with("_bw"));
  return is ? Fabtest{name, rest} : Fabtest{};
}

bool is_failure_of_fabtests(std::string_view line) {
  return has_any(line, {"fi_cq_readerr", "fi_eq_readerr", "Event queue read -"}) ||
         (has(line, "[error] ") && has(line, "fabtests:")) ||
         (has(line, "(): ") && has(line, ", ret="));
}

class MeanReader {
 public:
  explicit MeanReader(const Source& source) : source_(source) {}

  void take(const Line& one) {
    line_ = one.number;
    const std::string_view line = one.text;
    if (const std::string_view title = title_in(line); !title.empty()) {
      end_table();
      begin(one);
      table_.test = table_.title = title;
      // A build for GPUs has it behind its first word, wherever its buffers are: "MPI-CUDA".
      const std::size_t word = std::min(title.find(' '), title.size());
      const std::size_t dash = std::min(title.find('-'), word);
      table_.title.erase(dash, word - dash);
      table_.memory = lower(std::string(title.substr(dash, word - dash)));
      if (!table_.memory.empty()) table_.memory.erase(0, 1);
      add_buffers(std::exchange(buffers_, ""));
    } else if (line.starts_with("# Datatype:")) {
      table_.type = rest_after(line, ":");
      if (table_.type.ends_with('.')) table_.type.pop_back();
    } else if (has(line, "window size:")) {
      table_.window = number_after(line, "window size:");
      if (const auto pairs = word_after(line, "pairs:"); !pairs.empty()) {
        table_.details.emplace_back("pairs", pairs);
      }
    } else if (line.starts_with("# Send Buffer on ")) {
      table_.details.emplace_back("buffers", line.substr(2));
      add_buffers(fmt::format("{} {}", word_after(line, "(").substr(0, 1),
                              rest_after(rest_after(line, "("), "(").substr(0, 1)));
    } else if (has(line, "xfer_size:")) {
      record(line);
    } else if (is_mean_heading(line)) {
      if (!table_.rows.empty()) end_table();
      begin(one);
      columns_.read(line, kMeanColumns);
      table_.heading = line;
      sizeless_.clear();
    } else if (const Fabtest test = fabtests_in(line); !test.name.empty()) {
      if (!table_.rows.empty()) end_table();
      begin(one);
      table_.program = test.name;
      table_.operation = operation_in(test.name, test.options);
      const Words options = words_of(test.options);
      table_.size = number_of_word(option_in(options, "-S"), 0).value_or(0);
      table_.memory = option_in(options, "-D");
    } else {
      if (has(line, "osu_")) buffers_ = buffers_in(words_of(line));
      over_ = over_ || is_prompt(line);
      if (!over_ && one.block == block_) of_table(one);
    }
  }

  std::vector<MeanTable> finish() && {
    end_table();
    if (!tables_.empty()) {
      tables_[0].notes.insert(tables_[0].notes.end(), left_out_.begin(), left_out_.end());
    }
    return std::move(tables_);
  }

 private:
  void begin(const Line& line) {
    block_ = line.block;
    over_ = false;
  }

  /// A line that no heading begins.
  void of_table(const Line& one) {
    const std::string_view line = one.text;
    const Words words = words_of(line);
    if (is_kill(one.raw) || is_failure_of_fabtests(one.raw)) {
      error_.set(trimmed(one.raw));
    } else if (!columns_.empty()) {
      if (is_row(words)) row(words);
    } else if (!table_.title.empty() && sizeless_.empty() && line[0] != '#' &&
               (is_row(words) || starts())) {
      sizeless_ = trimmed(one.raw);
    }
  }

  void add_buffers(const std::string& both) {
    if (both.empty() || (both == "H H" && table_.memory.empty())) return;
    table_.memory = table_.memory.substr(0, table_.memory.find(','));
    table_.memory += (table_.memory.empty() ? "" : ", ") + both;
  }

  /// Tests of how long the library takes to start.
  bool starts() const {
    return table_.title.ends_with(" Init") || table_.title.ends_with(" Hello World");
  }

  /// Titles and records, which have no heading, are tables too, and so is a command that failed.
  void end_table() {
    constexpr std::size_t kMostTables = 10'000;
    const bool failed = !error_.empty() && has_any(table_.program, {"pingpong", "_bw"});
    const bool any = !table_.title.empty() || !columns_.empty() || !table_.rows.empty() || failed;
    if (any && (!sizeless_.empty() || (starts() && error_.empty()))) {
      left_out_.push_back(
          fmt::format("OSU's test \"{}\" has no sizes, so that it is no row here{}{}.", table_.test,
                      sizeless_.empty() ? "" : "; it printed: ", sizeless_));
    } else if (any) {
      table_.error = error_.text();
      if (tables_.size() >= kMostTables) source_.refuse(line_, "more than 10000 tables");
      tables_.push_back(std::move(table_));
    }
    table_ = {};
    error_ = {};
    columns_.clear();
    sizeless_.clear();
  }

  bool has_names() const { return !columns_.empty() && columns_.find("name") == 0; }

  /// What a library says in between may begin with a digit: "4deb78a flags=0x0) failed".
  bool is_row(const Words& words) const {
    if (has_names()) return words.size() > 1 && number_of_word(words[1], 1024);
    constexpr std::string_view kBeginsValue = "0123456789-n=";
    return words[0].starts_with("nprocs:") ||
           (number_of_word(words[0], 1024) &&
            (words.size() == 1 || kBeginsValue.find(words[1][0]) != std::string_view::npos));
  }

  void row(const Words& words) {
    const std::size_t count = columns_.size();
    // Nothing tells which of them are its columns.
    if (words.size() > count) {
      return error_.set(fmt::format("line {}: a row of {} columns below a heading of {}", line_,
                                    words.size(), count));
    }
    if (words.size() < count) {
      return error_.set(fmt::format("it stops within line {}, which has {} of {} columns", line_,
                                    words.size(), count),
                        true);
    }
    if (has_names() && words[0] != table_.name) next_name(words[0]);
    Row row = columns_.row(words, 0, source_, line_);
    if (const std::size_t at = columns_.find("Validation"); at < count) {
      if (words[at] == "Pass") row["validated"] = 1;
      if (words[at] != "Pass") error_.set(fmt::format("wrong data at {} bytes", words[0]));
    }
    if (table_.size > 0 && is_fabtests_heading(table_.heading)) {
      row["size_bytes"] = table_.size;
    } else if (is_fabtests_heading(table_.heading)) {
      check_size(row, words[has_names() ? 1 : 0]);
    }
    add(std::move(row));
  }

  /// fabtests rounds sizes down: "95m" of 100,000,000 bytes. Of few digits nothing can be told.
  void check_size(const Row& row, std::string_view word) {
    constexpr double kDigits = 10;  // of two decimals each, a thousandth
    const auto rate = row.find("bits_per_s");
    const auto mean = row.find("mean_ns");
    if (rate == row.end() || mean == row.end() || !table_.notes.empty()) return;
    if (rate->second < kDigits * kBitsPerMegabyte || mean->second < kDigits * kNsPerUs) return;
    const double bytes = rate->second * mean->second / kNsPerSecond / kBitsPerByte;
    if (bytes < row.at("size_bytes") * 1.002) return;
    table_.notes.push_back(fmt::format(
        "fabtests rounds sizes down: of \"{}\" its rate and time make about {:.4g} million bytes.",
        word, bytes / 1e6));
  }

  void add(Row row) {
    mend_rate(row);
    if (row["size_bytes"] >= 1) {
      table_.rows.push_back(std::move(row));
    } else {
      ++table_.empty;
    }
  }

  /// A table for each name.
  void next_name(std::string_view name) {
    if (!table_.rows.empty()) {
      const Columns columns = columns_;
      const std::string heading = table_.heading;
      end_table();
      columns_ = columns;
      table_.heading = heading;
    }
    table_.name = name;
  }

  /// fabtests' option -M: "- { xfer_size: 64, iterations: 100, ... }". A release of 2016 has no
  /// comma before "Mxfers".
  void record(std::string_view line) {
    Row row;
    for (const Column& column : kMeanColumns) {
      if (column.json.empty()) continue;
      const std::string_view rest = rest_after(line, column.json);
      add_number(row, column, rest.substr(0, rest.find_first_of(", }M")), 0, source_, line_);
    }
    add(std::move(row));
  }

  const Source& source_;
  std::size_t line_ = 0;
  Columns columns_;
  std::string buffers_;    ///< of the next table
  std::string sizeless_;   ///< what a test without sizes printed: a barrier, MPI_Init
  std::size_t block_ = 0;  ///< in which the table stands
  bool over_ = false;      ///< what comes is of another program
  std::vector<std::string> left_out_;
  FirstError error_;
  MeanTable table_;
  std::vector<MeanTable> tables_;
};

/// A command may stand in a text of which nothing else is of fabtests.
bool prints_mean_table(const Line& line) noexcept {
  return !title_in(line.text).empty() || is_mean_heading(line.text) ||
         (has(line.text, "xfer_size:") && has(line.text, "usec/xfer:"));
}

bool is_mean_table(std::string_view text) noexcept {
  return any_line(text, prints_mean_table);
}

bool begins_mean_table(const Line& line) noexcept {
  return prints_mean_table(line) || !fabtests_in(line.text).name.empty();
}

std::vector<Run> mean_table_runs(const Lines& lines, const Source& source) {
  MeanReader reader(source);
  for (const Line& line : lines) reader.take(line);
  std::vector<Run> runs;
  for (MeanTable& table : std::move(reader).finish()) {
    const bool of_osu = is_osu_heading(table.heading) || !table.title.empty();
    if (of_osu && table.title.empty()) table.test = table.title = osu_title(source);
    runs.push_back(of_osu ? osu_run(table) : fabtests_run(table, source));
  }
  return runs;
}

constexpr std::array<std::string_view, 2> kMeanPrograms{"osu_", "fi_"};

}  // namespace

const Tool kMeanTables{"OSU's micro-benchmarks and fabtests", kMeanPrograms, begins_mean_table,
                       mean_table_runs, is_mean_table};

}  // namespace rdmabench::inline v1::import
