// Texts of perftest (ib_write_bw, ib_send_lat, ...) of all its releases.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "perftest.h"

namespace rdmabench::inline v1::import {
namespace {

constexpr std::string_view kAborted = "its table stops without its last line: the run was aborted";
constexpr std::string_view kWaits = "Waiting for client to connect";

/// perftest's own words where it gives up.
bool is_failure(std::string_view text) noexcept {
  for (const std::string_view words :
       {"Failed ", "Failed:", "Couldn't", "Error", "Problems with warm up", "poll CQ failed",
        "Poll ", "VALIDATION: FAILED", "VALIDATION: ERROR", "Did not get Message"}) {
    if (text.starts_with(words)) return true;
  }
  return has_any(text,
                 {"Failed status", "Completion with error", "A completion with ", "Unable to"});
}

bool is_title(std::string_view text) noexcept {
  const bool known = text.starts_with("RDMA_") || text.starts_with("RDMA ") ||  // until 2009
                     text.starts_with("Send ") || text.starts_with("Atomic");
  return known && text.ends_with(" Test") && has_any(text, {" BW ", " Latency "});
}

/// That of a bracket which none of perftest's headings has; "" where there is none.
std::string_view foreign_unit(std::string_view heading) noexcept {
  constexpr std::array<std::string_view, 6> kUnits{"Gb/sec", "MB/sec", "MiB/sec",
                                                   "Mpps",   "usec",   "%"};
  for (heading = rest_after(heading, "["); !heading.empty(); heading = rest_after(heading, "[")) {
    const std::string_view unit = heading.substr(0, heading.find(']'));
    if (std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end()) return unit;
  }
  return "";
}

/// A page may take the mark before "iterations" for its own.
bool is_perftest_heading(std::string_view text) noexcept {
  return has(text, "#bytes") && has(text, "iterations") && has_any(text, {" BW ", "BW_", "t_"});
}

/// Where perftest's second column of facts begins in the line; npos where none does.
std::size_t second_label(std::string_view text) noexcept {
  std::size_t first = std::string_view::npos;
  for (const std::string_view label : {" Device", " Transport type", " Lock-free", " Using "}) {
    const std::size_t at = text.find(label);
    if (text.find(':', at) != std::string_view::npos) first = std::min(first, at);
  }
  return first;
}

/// Within a table: "12, 1.70" of -U and -H, and what mlx5 dumps of a completion, four words of
/// eight hexadecimal digits.
bool is_no_row(const Words& words) {
  if (words[0].ends_with(',')) return true;
  return words.size() == 4 && std::all_of(words.begin(), words.end(), [](std::string_view word) {
           return word.size() == 8 &&
                  word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
         });
}

/// "RDMA_Write BW" of "ib_write_bw"; "" where the name does not tell the operation.
std::string title_of_program(std::string_view name) {
  for (const auto& [verb, title] : {std::pair{"send", "Send"}, std::pair{"write", "RDMA_Write"},
                                    std::pair{"read", "RDMA_Read"}}) {
    if (name.starts_with(fmt::format("ib_{}_bw", verb))) return fmt::format("{} BW", title);
    if (name.starts_with(fmt::format("ib_{}_lat", verb))) return fmt::format("{} Latency", title);
  }
  return "";
}

/// A line that ran one of its programs.
struct Command {
  bool any = false;
  std::string title{};  ///< "RDMA_Write BW"; "" where the name does not tell the operation
};

/// Of "$ ib_write_bw -d mlx5_0 node2".
Command command_in(std::string_view line) {
  const Words words = words_of(line);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t prompt = words[i].find_last_of("#$") + 1;  // "[root@node1 ~]#ib_read_bw"
    const std::string_view name = base_name(words[i].substr(prompt));
    if (!name.starts_with("ib_") || !(name.ends_with("_bw") || name.ends_with("_lat"))) continue;
    std::string title = title_of_program(name);
    const bool is_run =
        i == 0 || prompt > 0 || words[i - 1] == "sudo" ||
        std::string_view("$#%>").find(words[i - 1].back()) != std::string_view::npos ||
        (i + 1 < words.size() && words[i + 1].starts_with('-'));
    if (!is_run) continue;
    const bool both_ways = std::find(words.begin(), words.end(), "-b") != words.end();
    if (const std::size_t kind = title.find(" BW"); both_ways && kind != std::string::npos) {
      title.insert(kind, " Bidirectional");
    }
    return {true, title};
  }
  return {};
}

/// "cuda" of its option, or of what it says when it takes a GPU's memory; "" of other lines.
std::string_view memory_in(std::string_view line) noexcept {
  if (has_any(line, {"--use_cuda", "initializing CUDA", "cuMemAlloc() of a "})) return "cuda";
  return has_any(line, {"--use_rocm", "Using ROCm Device"}) ? "rocm" : "";
}

/// Of one run both sides print a table, and not always the same.
void add_other_side(PerftestRun& run, const PerftestRun& other) {
  constexpr double kAlike = 0.03;
  std::string note = "Both sides of it are in the text: one of the two was left out.";
  if (other.rows.empty()) return;
  for (std::size_t i = 0; i < std::min(run.rows.size(), other.rows.size()); ++i) {
    for (const auto& [key, factor, unit] : {std::tuple{"bits_per_s", kBitsPerGigabit, "Gb/s"},
                                            std::tuple{"mean_ns", kNsPerUs, "us"}}) {
      const auto here = run.rows[i].find(key);
      const auto there = other.rows[i].find(key);
      if (here == run.rows[i].end() || there == other.rows[i].end() ||
          std::abs(there->second - here->second) <= kAlike * here->second) {
        continue;
      }
      run.notes.push_back(fmt::format("{} At {} bytes it says {:.4g} {}, and this one {:.4g}.",
                                      note, run.rows[i].at("size_bytes"), there->second / factor,
                                      unit, here->second / factor));
      return;
    }
  }
  run.notes.push_back(std::move(note));
}

class PerftestReader {
 public:
  explicit PerftestReader(const Source& source) : source_(source) {}

  void take(const Line& line) {
    const std::string_view text = line.text;
    if (is_perftest_heading(text) || is_title(text)) block_ = line.block;
    if (line.block != block_) columns_.clear();
    if (is_perftest_heading(text)) {
      heading(line);
    } else if (text.starts_with("---")) {
      columns_.clear();
      run_.ended = run_.any_heading;
      closed_ = closed_ || !run_.rows.empty();
    } else if (has(text, kWaits)) {
      waits_ = true;  // a server says so before its title
    } else if (is_title(text)) {
      begin_run(text);
    } else if (text.starts_with("Local results") || text.starts_with("Remote results")) {
      skips_ = true;  // parts of the table before
    } else if (!columns_.empty() && text[0] >= '0' && text[0] <= '9') {
      row(line);
    } else if (text.starts_with("Conflicting CPU frequency")) {
      const std::string_view words = text.substr(0, text.find(". "));
      if (run_.doubts.empty()) {
        run_.doubts.push_back(
            {"clock", fmt::format("Its times come from the CPU's cycles, and it said: {}", words)});
      }
    } else if (const Command command = command_in(text); command.any) {
      command_ = command.title;
      memory_ = memory_in(text);
    } else if (!memory_in(text).empty()) {
      memory_ = memory_in(text);
    } else if (begun() ? line.block != block_ : line.is_prose()) {
      return;  // of something else
    } else if (is_failure(text) || (begun() && !closed_ && !endless_ && is_kill(line.raw))) {
      // Of the next client of a loop, which printed no more.
      if (closed_ && (text.starts_with("Couldn't connect") || has(text, "Unable to"))) end_run();
      fail(text.substr(0, text.find('\r')));
    } else if (columns_.empty()) {
      facts(text);
    }
  }

  std::vector<Run> finish() && {
    if (waits_ && runs_.empty() && !begun()) fail("a server to which no client came");
    end_run();
    std::string named = title_of_program(source_.program);
    if (named.empty()) named = title_of_program(base_name(source_.name));
    mark_servers();
    using Side = std::tuple<std::string, std::string, std::string>;  // title, own and other address
    std::map<Side, PerftestRun*> sides;                              // that have rows
    std::set<std::string> titles;                                    // of clients
    // The server of a test in one direction prints what its client does, or no row at all.
    bool any = false;
    for (PerftestRun& run : runs_) {
      if (run.rows.empty()) continue;
      any = true;
      sides.emplace(Side{run.title, run.fact("local address"), run.fact("remote address")}, &run);
      if (!run.of_server) titles.insert(run.title);
    }
    std::vector<PerftestRun*> kept;
    for (PerftestRun& run : runs_) {
      // Of the last one that did not end, its client may hang.
      const bool over = run.ended || &run != &runs_.back();
      const bool good = run.error.empty();
      if (run.rows.empty() && any && run.any_heading && over && good) continue;
      // Both printed at once: the rest of the server's lines is within its client's.
      if (run.of_server && !run.any_heading && good && titles.contains(run.title)) continue;
      const std::string local = run.fact("local address");
      const auto other = sides.find({run.title, run.fact("remote address"), local});
      const bool one_of_two = other != sides.end() && (good || run.aborted);
      const bool passive = run.rows.empty() && !local.empty();
      if (one_of_two && (passive || (run.of_server && !other->second->of_server))) {
        add_other_side(*other->second, run);
        continue;
      }
      for (const std::string& title : {run.command, named}) {
        if (run.title.empty() && run.of_times == has(title, "Latency")) run.title = title;
      }
      kept.push_back(&run);
    }
    std::vector<Run> runs;
    for (const PerftestRun* run : kept) runs.push_back(run_of(*run));
    return runs;
  }

 private:
  bool begun() const { return run_.any_heading || !run_.title.empty(); }

  /// Of two sides of one run, where neither has a server's first words: the client tells how many
  /// requests it posts ahead, and else stands first.
  void mark_servers() {
    std::map<std::tuple<std::string, std::string, std::string>, PerftestRun*> seen;
    for (PerftestRun& run : runs_) {
      const std::string local = run.fact("local address");
      const std::string remote = run.fact("remote address");
      if (run.of_server || run.rows.empty() || local.empty()) continue;
      const auto other = seen.find({run.title, remote, local});
      if (other == seen.end()) {
        seen.try_emplace({run.title, local, remote}, &run);
      } else if (!run.fact("TX depth").empty() && other->second->fact("TX depth").empty()) {
        other->second->of_server = true;
      } else {
        run.of_server = true;
      }
    }
  }

  /// The status stands behind the reason.
  void fail(std::string_view why) {
    const std::string& reason = error_.text();
    if (reason.starts_with("Completion with error") && !has(reason, "Failed status") &&
        why.starts_with("Failed status")) {
      error_.add(why);
    } else {
      error_.set(why);
    }
  }

  void end_run() {
    // One size is a whole table, but for the first one of -a. A table that was pasted without its
    // head may lack its end too.
    constexpr double kFirstOfAll = 2;  // bytes
    const bool may_lack_rows =
        run_.rows.size() > 1 ||
        (run_.rows.size() == 1 && run_.rows[0].at("size_bytes") == kFirstOfAll);
    if (may_lack_rows && error_.empty() && !run_.title.empty() && !closed_ && !endless_) {
      error_.set(kAborted);
      run_.aborted = true;
    }
    run_.error = error_.text();
    if (!begun() && !error_.empty()) run_.title = std::exchange(command_, "");
    if (begun() || !error_.empty()) runs_.push_back(std::move(run_));
    run_ = {};
    error_ = {};
    columns_.clear();
    skips_ = closed_ = endless_ = false;
  }

  void begin_run(std::string_view title) {
    // Standard error, which is not buffered, may come before the title: a completion fails behind
    // it.
    FirstError early;
    if (!begun() && has_any(error_.text(), {"ompletion with", "Failed status"})) {
      std::swap(early, error_);
    }
    end_run();
    error_ = early;
    run_.title = title.substr(0, title.rfind(" Test"));
    if (title.starts_with("RDMA ")) run_.title[4] = '_';
    run_.of_server = std::exchange(waits_, false);
    run_.memory = std::exchange(memory_, "");
  }

  /// " Number of qps   : 4\t\tTransport type : IB", with blanks for its tabs where it was copied
  /// from a terminal, and one blank where a page made one of several.
  void facts(std::string_view text) {
    for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
         colon = text.find(':')) {
      const std::string_view name = trimmed(text.substr(0, colon));
      text = trimmed(text.substr(colon + 1));
      const std::string_view value =
          trimmed(text.substr(0, std::min(part_size(text), second_label(text))));
      run_.facts.try_emplace(std::string(name), value);
      text.remove_prefix(value.size());
    }
  }

  void heading(const Line& line) {
    const std::string_view text = line.text.substr(line.text.find("#bytes"));
    // Of another run, whose title is not in the text.
    if (!run_.rows.empty() && !skips_) end_run();
    if (!skips_) run_.command = std::exchange(command_, "");
    if (run_.title.empty() && !skips_) run_.memory = std::exchange(memory_, "");
    columns_.read(text, kPerftestColumns);
    if (!skips_) {
      const std::string_view unit = rest_after(text, "BW average[");
      run_.unit = unit.substr(0, unit.find(']'));
      closed_ = false;
    }
    run_.any_heading = true;
    run_.of_times = has_any(text, {"usec]", "[cycles]"});
    if (const std::string_view unit = foreign_unit(text); !unit.empty()) {
      fail(
          fmt::format("line {}: its numbers are in '{}', and perftest's are in Gb/sec, MB/sec, "
                      "MiB/sec, Mpps or usec",
                      line.number, unit));
      columns_.clear();
    }
  }

  void row(const Line& line) {
    const Words words = words_of(line.text);
    if (is_no_row(words)) return;
    if (words.size() != columns_.size()) {
      const std::string why =
          fmt::format("a row of {} columns below a heading of {}", words.size(), columns_.size());
      // Nothing tells which of them are its columns.
      if (words.size() > columns_.size()) return fail(fmt::format("line {}: {}", line.number, why));
      if (run_.title.empty()) source_.refuse(line.number, why);
      error_.set(kCutRow, true);  // it was killed while it wrote
      return columns_.clear();
    }
    Row row = columns_.row(words, run_.rate(), source_, line.number);
    if (!(row["size_bytes"] >= 1)) source_.refuse(line.number, "a message of no bytes");
    if (skips_) return;
    endless_ =
        endless_ || (!run_.rows.empty() && run_.rows.back()["size_bytes"] == row["size_bytes"]);
    if (line.whole) {
      run_.rows.push_back(std::move(row));
    } else if (!endless_) {  // which ends a line when it begins the next one
      error_.set(kCutRow, true);
    }
  }

  const Source& source_;
  std::string command_;    ///< its title, of the next table
  std::string memory_;     ///< of the next run
  std::size_t block_ = 0;  ///< in which the run stands
  bool waits_ = false;
  bool closed_ = false;  ///< by the dashes behind its rows, with which each table ends
  /// By --run_infinitely: a row of the same size is printed again and again, and no last line.
  bool endless_ = false;
  bool skips_ = false;
  Columns columns_;  ///< none outside of a table
  FirstError error_;
  PerftestRun run_;
  std::vector<PerftestRun> runs_;
};

/// 4.5 writes `test_info: {`, later releases `"test_info": {`.
bool has_json(std::string_view text) noexcept {
  return has_any(text, {"\"test_info\"", "test_info: {"});
}

/// A run of which there may be no more than the command and why it failed.
bool is_command(const Line& line) noexcept {
  return command_in(line.text).any;
}

bool begins_perftest(const Line& line) noexcept {
  const std::string_view text = line.text;
  return is_command(line) || is_perftest_heading(text) || is_title(text) ||
         (text.starts_with('*') && has(text, kWaits)) || text.starts_with("Couldn't connect to ") ||
         text.starts_with("RDMA CM event error:") ||
         text.starts_with("Unable to find the Infiniband/RoCE device");
}

bool is_perftest(std::string_view text) noexcept {
  const std::string_view beginning = beginning_of(text);
  const auto prints = [](const Line& line) noexcept {
    return begins_perftest(line) && !is_command(line);
  };
  const auto fails = [](const Line& line) noexcept { return is_failure(line.text); };
  return (has_json(beginning) && !has(beginning, "\"schema\"")) || any_line(text, prints) ||
         (any_line(text, is_command) && any_line(text, fails));
}

std::vector<Run> perftest_runs(const Lines& lines, const Source& source) {
  if (const std::string text = joined(lines); has_json(text)) {
    return perftest_json_runs(text, source);
  }
  PerftestReader reader(source);
  for (const Line& line : lines) reader.take(line);
  return std::move(reader).finish();
}

constexpr std::array<std::string_view, 2> kPerftestPrograms{"ib_", "raw_ethernet_"};

}  // namespace

// MB and MiB are both 2^20 bytes, as in its sources; in JSON, which names no unit, the message rate
// tells it.
const Tool kPerftest{"perftest", kPerftestPrograms, begins_perftest, perftest_runs, is_perftest};

}  // namespace rdmabench::inline v1::import
