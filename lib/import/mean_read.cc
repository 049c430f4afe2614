#include "mean_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/number.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "tool.h"
#include "tool_text.h"

namespace rdmabench::import {
namespace {

constexpr std::size_t kMostTables = 10'000;
constexpr double kBitsPerMegabyte = 1e6 * kBitsPerByte;  // both tools' MB has 10^6 bytes

struct MeanColumn {
  std::string_view heading;
  std::string_view key;  ///< of our results; "": it is not taken
  double factor;
};
constexpr std::array kMeanColumns{MeanColumn{"# Size", "size_bytes", 1},
                                  MeanColumn{"Latency (us)", "mean_ns", kNsPerUs},
                                  MeanColumn{"Avg Latency(us)", "mean_ns", kNsPerUs},
                                  MeanColumn{"Pure Comm.(us)", "mean_ns", kNsPerUs},
                                  MeanColumn{"Min Latency(us)", "min_ns", kNsPerUs},
                                  MeanColumn{"Max Latency(us)", "max_ns", kNsPerUs},
                                  MeanColumn{"P50 Tail Lat(us)", "p50_ns", kNsPerUs},
                                  MeanColumn{"P90 Tail Lat(us)", "p90_ns", kNsPerUs},
                                  MeanColumn{"P99 Tail Lat(us)", "p99_ns", kNsPerUs},
                                  MeanColumn{"Bandwidth (MB/s)", "bits_per_s", kBitsPerMegabyte},
                                  MeanColumn{"MB/s", "bits_per_s", kBitsPerMegabyte},
                                  MeanColumn{"Messages/s", "messages_per_s", 1},
                                  MeanColumn{"Iterations", "iterations", 1},
                                  MeanColumn{"bytes", "size_bytes", 1},
                                  MeanColumn{"iters", "iterations", 1},
                                  MeanColumn{"#sent", "iterations", 1},
                                  MeanColumn{"MB/sec", "bits_per_s", kBitsPerMegabyte},
                                  MeanColumn{"usec/xfer", "mean_ns", kNsPerUs},
                                  MeanColumn{"Mxfers/sec", "messages_per_s", 1e6}};

/// Parts between two blanks or more.
std::vector<std::string_view> parts_of(std::string_view line) {
  std::vector<std::string_view> parts;
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find("  "), line.size());
    if (end > 0) parts.push_back(line.substr(0, line.substr(0, end).find_last_not_of(" \r") + 1));
    line.remove_prefix(end);
  }
  return parts;
}

/// "64", "10k", "1.2m": fabtests' sizes are powers of 1024, its counts of 1000.
std::optional<double> number_of_word(std::string_view word, double kilo) {
  double factor = 1;
  if (const std::size_t unit = std::string_view("kmg").find(word.empty() ? ' ' : word.back());
      unit != std::string_view::npos) {
    for (std::size_t i = 0; i <= unit; ++i) factor *= kilo;
    word.remove_suffix(1);
  }
  const auto value = parse_number<double>(word);
  constexpr double kMost = 1e18;
  return value && *value >= 0 && *value * factor < kMost ? std::optional(*value * factor)
                                                         : std::nullopt;
}

/// The first word of a line, without its folder.
std::string program_of(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  return std::string(word.substr(word.rfind('/') + 1));
}

bool is_program(std::string_view word) {
  return word.starts_with("fi_") && !has(word, ":") && !has(word, "(");
}

/// "fi_rdm_pingpong" of "$ taskset -c 32 ./fi_rdm_pingpong -p tcp"; "" of other lines.
std::string command_in(std::string_view line) {
  const std::size_t at = line.find("fi_");
  if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ' && line[at - 1] != '/')) {
    return "";
  }
  line.remove_prefix(at);
  const std::string_view name = line.substr(0, line.find(' '));
  const bool options = line.substr(name.size()).starts_with(" -");
  return options && (name.ends_with("pingpong") || name.ends_with("_bw")) ? std::string(name) : "";
}

class MeanReader {
 public:
  explicit MeanReader(const std::string& source) : source_(source) {}

  void take(std::string_view raw) {
    ++line_;
    const std::string_view line = trimmed(without_tag(raw));
    if (line.starts_with("# OSU ") || (line.starts_with("OSU ") && has(line, " Test v"))) {
      end_table();
      table_.title = rest_after(line, "OSU ");
      table_.title.resize(std::min(table_.title.find(" Test"), table_.title.size()));
      // A build for GPUs has it behind its first word, wherever its buffers are: "MPI-CUDA".
      const std::size_t word = std::min(table_.title.find(' '), table_.title.size());
      const std::size_t dash = std::min(table_.title.find('-'), word);
      table_.title.erase(dash, word - dash);
    } else if (line.starts_with("# Datatype:")) {
      table_.type = rest_after(line, ":");
      if (table_.type.ends_with('.')) table_.type.pop_back();
    } else if (has(line, "window size:")) {
      const std::string size = rest_after(line, "window size:");
      table_.window = parse_number<std::uint64_t>(size.substr(0, size.find(' '))).value_or(0);
      const std::string pairs = rest_after(line, "pairs:");
      if (!pairs.empty()) table_.details.emplace_back("pairs", pairs.substr(0, pairs.find(' ')));
    } else if (line.starts_with("# Send Buffer on ")) {
      table_.details.emplace_back("buffers", line.substr(2));
    } else if (has(line, "xfer_size:")) {
      record(line);
    } else if (line.starts_with("# Size") || has(line, "usec/xfer")) {
      if (!table_.rows.empty()) end_table();
      auto parts = has(line, "usec/xfer") ? words_of(line) : parts_of(line);
      constexpr std::size_t kSize = 6;  // "# Size", where a page took several blanks for one
      if (parts.size() == 1 && line.size() > kSize) {
        parts = {line.substr(0, kSize), line.substr(kSize + 1)};
      }
      headings_.assign(parts.begin(), parts.end());
      table_.of_osu = line.starts_with("# Size");
      table_.answers = has(line, "#ack");
      table_.has_times = has(line, "(us)");
      table_.overlaps = has(line, "Pure Comm.(us)");
      unread_ = false;
    } else if (line.ends_with(':') && is_program(program_of(line))) {
      if (!table_.rows.empty()) end_table();
      table_.program = program_of(line);
    } else if (std::string command = command_in(line); !command.empty()) {
      if (!table_.rows.empty()) end_table();
      table_.program = std::move(command);
    } else if (is_kill(raw) || is_failure_of_fabtests(raw)) {
      fail(trimmed(raw));
    } else if (!line.empty() && is_row(line)) {
      headings_.empty() ? unread() : row(line);
    }
  }

  std::vector<MeanTable> finish() && {
    end_table();
    if (tables_.empty()) refuse("no row with a size is in it");
    return std::move(tables_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(Fault::usage, fmt::format("'{}', line {}: {}", source_, line_, why),
                "Give what a program of OSU's micro-benchmarks or of fabtests printed.");
  }

  static bool is_failure_of_fabtests(std::string_view line) {
    return has(line, "fi_cq_readerr") || has(line, "fi_eq_readerr") ||
           (has(line, "[error] ") && has(line, "fabtests:")) ||
           (has(line, "(): ") && has(line, ", ret="));
  }

  void fail(std::string_view why) {
    if (table_.error.empty() || cut_) table_.error = why;
    cut_ = false;
  }

  /// Of a table that has no sizes: a barrier's, or times of MPI_Init.
  void unread() {
    if (!table_.title.empty()) unread_ = true;
  }

  /// Titles and records, which have no heading, are tables too.
  void end_table() {
    const bool any = !table_.title.empty() || !headings_.empty() || !table_.rows.empty();
    if (any && !unread_) {
      if (table_.rows.empty() && table_.error.empty()) table_.error = "it stops without a row";
      if (tables_.size() >= kMostTables) refuse("more than 10000 tables");
      tables_.push_back(std::move(table_));
    }
    table_ = {};
    headings_.clear();
    unread_ = cut_ = false;
  }

  bool has_names() const { return !headings_.empty() && headings_.front() == "name"; }

  /// What a library says in between may begin with a digit: "4deb78a flags=0x0) failed".
  bool is_row(std::string_view line) const {
    const std::vector<std::string_view> words = words_of(line);
    if (has_names()) return words.size() > 1 && number_of_word(words[1], 1024);
    if (line.starts_with("nprocs:")) return true;
    constexpr std::string_view kBeginsValue = "0123456789-n=";
    return number_of_word(words[0], 1024) &&
           (words.size() == 1 || kBeginsValue.find(words[1][0]) != std::string_view::npos);
  }

  void row(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() > headings_.size()) {
      // Nothing tells which of them are its columns.
      if (table_.error.empty()) {
        table_.error = fmt::format("line {}: a row of {} columns below a heading of {}", line_,
                                   words.size(), headings_.size());
      }
      return;
    }
    if (words.size() < headings_.size()) {
      cut_ = table_.error.empty() || cut_;
      if (cut_)
        table_.error = fmt::format("it stops within line {}, which has {} of {} columns", line_,
                                   words.size(), headings_.size());
      return;
    }
    if (has_names() && words[0] != table_.name) next_name(words[0]);
    Row row;
    for (std::size_t i = 0; i < headings_.size(); ++i) {
      const std::string& heading = headings_[i];
      if (heading == "Validation" && words[i] != "Pass" && table_.error.empty()) {
        table_.error = fmt::format("wrong data at {} bytes", words[0]);
      }
      put(row, heading, words[i]);
    }
    add(std::move(row));
  }

  void add(Row row) {
    if (row["size_bytes"] >= 1) {
      table_.rows.push_back(std::move(row));
    } else {
      ++table_.empty;
    }
  }

  /// A table for each name.
  void next_name(std::string_view name) {
    if (!table_.rows.empty()) {
      const std::vector<std::string> headings = headings_;
      end_table();
      headings_ = headings;
    }
    table_.name = name;
  }

  /// fabtests' option -M: "- { xfer_size: 64, iterations: 100, ... }".
  void record(std::string_view line) {
    Row row;
    for (const auto& [from, heading] :
         {std::pair{"xfer_size:", "bytes"}, std::pair{"iterations:", "iters"},
          std::pair{"MB/sec:", "MB/sec"}, std::pair{"usec/xfer:", "usec/xfer"},
          std::pair{"Mxfers/sec:", "Mxfers/sec"}}) {
      const std::string text = rest_after(line, from);
      const std::string_view word = std::string_view(text).substr(0, text.find_first_of(", }"));
      put(row, heading, word);
    }
    add(std::move(row));
  }

  void put(Row& row, std::string_view heading, std::string_view word) {
    const auto* const column =
        std::find_if(kMeanColumns.begin(), kMeanColumns.end(),
                     [&](const auto& one) { return one.heading == heading; });
    if (column == kMeanColumns.end() || word == "nan" || word == "-nan" || word == "inf") return;
    const auto value = number_of_word(word, heading == "bytes" ? 1024 : 1000);
    if (!value) refuse(fmt::format("'{}' is not a number of a table", word));
    row[column->key] = *value * column->factor;
  }

  const std::string& source_;
  std::size_t line_ = 0;
  std::vector<std::string> headings_;
  bool unread_ = false;
  bool cut_ = false;  ///< its error is a row that was cut
  MeanTable table_;
  std::vector<MeanTable> tables_;
};

}  // namespace

bool begins_mean_table(std::string_view line) noexcept {
  line = trimmed(without_tag(line));
  return is_mean_table(line) || !command_in(line).empty() ||
         (line.ends_with(':') && is_program(program_of(line)));
}

std::vector<MeanTable> read_mean_tables(std::string_view text, const std::string& source) {
  MeanReader reader(source);
  for (const std::string_view line : lines_of(text)) reader.take(line);
  return std::move(reader).finish();
}

}  // namespace rdmabench::import
