// Texts and JSON of perftest (ib_write_bw, ib_send_lat, ...) of all its releases as documents of
// our own. What they do not say is null.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/nesting.h"
#include "base/number.h"
#include "base/text.h"
#include "digest.h"
#include "imported_run.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/perftest.h"
#include "tool_text.h"

namespace rdmabench::report {
namespace {

constexpr double kMebi = 1024.0 * 1024.0;

[[noreturn]] void refuse_text(const std::string& source, std::size_t line, const std::string& why) {
  throw Error(Fault::usage, fmt::format("'{}', line {}: {}", source, line, why),
              "Give what a program of perftest printed, or its JSON.");
}

/// What a table and a result in JSON have, by perftest's own words. A heading that begins another
/// one comes after it.
struct Column {
  std::string_view heading;
  std::string_view json;
  std::string_view key;  ///< ours; "": it is not taken
  double factor;         ///< from perftest's unit to ours; 0: by the unit of the run's rates
};
constexpr std::array kColumns{Column{"#bytes", "MsgSize", "size_bytes", 1},
                              Column{"#iterations", "n_iterations", "iterations", 1},
                              Column{"#sl", "", "", 0},
                              Column{"BW peak[", "BW_peak", "peak_bits_per_s", 0},
                              Column{"BW average[", "BW_average", "bits_per_s", 0},
                              Column{"MsgRate[", "MsgRate", "messages_per_s", 1e6},
                              Column{"BW Port1[", "", "", 0},
                              Column{"MsgRate Port1[", "", "", 0},
                              Column{"BW Port2[", "", "", 0},
                              Column{"MsgRate Port2[", "", "", 0},
                              Column{"t_min[", "t_min", "min_ns", kNsPerUs},
                              Column{"t_max[", "t_max", "max_ns", kNsPerUs},
                              Column{"t_typical[", "t_typical", "p50_ns", kNsPerUs},
                              Column{"t_avg[", "t_avg", "mean_ns", kNsPerUs},
                              Column{"t_stdev[", "t_stdev", "stddev_ns", kNsPerUs},
                              Column{"99% percentile[", "percentile_99", "p99_ns", kNsPerUs},
                              Column{"99.9% percentile[", "percentile_99.9", "p999_ns", kNsPerUs},
                              Column{"tps average", "", "", 0},
                              Column{"CPU_Util[", "", "", 0}};

struct Run {
  std::string title;                                ///< "RDMA_Write Bidirectional BW"
  std::map<std::string, std::string> facts;         ///< "Connection type": "RC"
  std::string unit;                                 ///< of its rates: "MB/sec", "MiB/sec", "Gb/sec"
  std::vector<std::map<std::string, double>> rows;  ///< by our keys, in perftest's units
  std::string error;
  bool any_heading = false;
  bool of_server = false;

  bool latency() const { return has(title, "Latency"); }
  std::string fact(const std::string& name) const {
    const auto found = facts.find(name);
    return found == facts.end() ? "" : found->second;
  }
};

struct Verb {
  std::string_view title;
  std::string_view operation;
};
constexpr std::array kVerbs{Verb{"Send_imm", "send-imm"},
                            Verb{"Send", "send"},
                            Verb{"RDMA_Write_imm", "write-imm"},
                            Verb{"RDMA_Write", "write"},
                            Verb{"RDMA_Read", "read"},
                            Verb{"Atomic CMP_AND_SWAP", "compare-swap"},
                            Verb{"Atomic FETCH_AND_ADD", "fetch-add"}};

/// Its own words where it is none of ours, so that nothing else is compared with it.
std::string operation_of(const Run& run) {
  for (const Verb& verb : kVerbs) {
    if (run.title.starts_with(verb.title)) return std::string(verb.operation);
  }
  return run.title.empty() ? "unknown" : run.title;
}

/// Bits per second of a rate of 1. perftest calls MiB "MB" in all of its releases but the newest.
double rate_factor(const Run& run) {
  return run.unit.starts_with("Gb") ? kBitsPerGigabit : kMebi * kBitsPerByte;
}

/// A row in our units.
std::map<std::string, double> row_of(const Run& run, std::map<std::string, double> row) {
  for (const Column& column : kColumns) {
    const auto found = row.find(std::string(column.key));
    if (found == row.end()) continue;
    found->second *= column.factor == 0 ? rate_factor(run) : column.factor;
    if (column.factor == 0 && run.unit.empty()) row.erase(found);
  }
  if (row["peak_bits_per_s"] == 0) row.erase("peak_bits_per_s");  // 0.00 where it was not taken
  return row;
}

Json document_of(const Run& run) {
  ImportedRun out{.tool = "perftest",
                  .test = run.title,
                  .operation = operation_of(run),
                  .backend = "verbs",
                  .device = run.fact("Device"),
                  .transport = lower(run.fact("Connection type")),
                  .latency = run.latency(),
                  .both_ways = has(run.title, "Bidirectional"),
                  .depth = parse_number<std::uint64_t>(run.fact("TX depth")).value_or(0),
                  .error = run.error};
  for (const auto& row : run.rows) out.rows.push_back(row_of(run, row));
  for (const auto& [name, key] :
       {std::pair{"Link type", "link_layer"}, std::pair{"Mtu", "mtu"},
        std::pair{"GID index", "gid_index"}, std::pair{"Number of qps", "queue_pairs"},
        std::pair{"Max inline data", "inline"}}) {
    const std::string value = run.fact(name);
    if (!value.empty()) out.details[key] = value.substr(0, value.find('['));
  }
  if (run.unit.empty() && !run.latency() && !run.rows.empty()) {
    out.notes.emplace_back("The unit of its rates is not told, so that they were left out.");
  }
  return document_of(out);
}

constexpr std::string_view kCutRow = "its table ends within a row";
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
  return text.ends_with(" Test") && (has(text, " BW ") || has(text, " Latency "));
}

/// A number that its rate is not, where it divided by nothing: "inf", "-nan".
bool is_no_number(std::string_view word) noexcept {
  if (word.starts_with('-')) word.remove_prefix(1);
  return word == "inf" || word == "nan";
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
  explicit TableReader(const std::string& source) : source_(source) {}

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
      if (run_.error.empty() || run_.error == kCutRow) run_.error = printable_line(text);
    } else if (columns_.empty() && has(text, ":")) {
      facts(text);
    }
  }

  /// `whole`: the last line was ended.
  std::vector<Json> finish(bool whole) && {
    if (!whole && row_line_ == line_ && !run_.rows.empty()) {
      run_.rows.pop_back();
      // With --run_infinitely perftest ends a line when it begins the next one.
      if (run_.error.empty() && !endless_) run_.error = kCutRow;
    }
    if (waits_ && runs_.empty() && !begun()) run_.error = "a server to which no client came";
    end_run();
    std::set<std::pair<std::string, std::string>> clients;  // title, and address of the server
    for (const Run& run : runs_) {
      if (!run.of_server && !run.rows.empty()) {
        clients.emplace(run.title, run.fact("remote address"));
      }
    }
    // The server of a test in one direction prints what its client does, or no row at all.
    const bool any =
        std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return !run.rows.empty(); });
    std::vector<Json> documents;
    for (Run& run : runs_) {
      if (run.rows.empty() && any && run.any_heading && run.error.empty()) continue;
      if (run.of_server && (run.error.empty() || run.error == kAborted) &&
          clients.contains({run.title, run.fact("local address")})) {
        continue;
      }
      if (run.rows.empty() && run.error.empty()) {
        run.error = "its table has no row: this is a server's, or the run failed";
      }
      documents.push_back(document_of(run));
    }
    if (documents.empty()) refuse_text(source_, 1, "no table of perftest is in it");
    return documents;
  }

 private:
  static std::string printable_line(std::string_view text) {
    return std::string(text.substr(0, text.find('\r')));
  }

  bool begun() const { return run_.any_heading || !run_.title.empty(); }

  void end_run() {
    // A table that was pasted without its head may lack its end too.
    if (run_.error.empty() && !run_.rows.empty() && !run_.title.empty() && !closed_ && !endless_) {
      run_.error = kAborted;
    }
    if (begun() || !run_.error.empty()) runs_.push_back(std::move(run_));
    run_ = {};
    columns_.clear();
    skips_ = closed_ = endless_ = false;
  }

  void begin_run(std::string_view title) {
    end_run();
    run_.title = title.substr(0, title.rfind(" Test"));
  }

  /// " Number of qps   : 4\t\tTransport type : IB".
  void facts(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find("\t\t"), text.size());
      const std::string_view one = text.substr(0, end);
      text.remove_prefix(std::min(end + 2, text.size()));
      const std::size_t colon = one.find(':');
      if (colon == std::string_view::npos) continue;
      const std::string name = rest_after(one.substr(0, colon), "");
      run_.facts.try_emplace(name.substr(0, name.find_last_not_of('\t') + 1), rest_after(one, ":"));
    }
  }

  void heading(std::string_view text) {
    std::map<std::size_t, std::string_view> found;  // by place
    for (const Column& column : kColumns) {
      if (const std::size_t at = text.find(column.heading); at != std::string_view::npos) {
        found[at] = column.key;
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
    std::map<std::string, double> row;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].empty() || is_no_number(words[i])) continue;
      const auto value = parse_number<double>(words[i]);
      if (!value || *value < 0 || *value > 1e18) {
        refuse_text(source_, line_, fmt::format("'{}' is not a number of a table", words[i]));
      }
      row[std::string(columns_[i])] = *value;
    }
    if (!(row["size_bytes"] >= 1)) refuse_text(source_, line_, "a message of no bytes");
    if (skips_) return;
    endless_ = endless_ ||
               (!run_.rows.empty() && run_.rows.back().at("size_bytes") == row.at("size_bytes"));
    run_.rows.push_back(std::move(row));
    row_line_ = line_;
  }

  const std::string& source_;
  bool waits_ = false;
  bool closed_ = false;  ///< by the dashes behind its rows, with which each table ends
  /// By --run_infinitely: a row of the same size is printed again and again, and no last line.
  bool endless_ = false;
  std::size_t line_ = 0;
  std::size_t row_line_ = 0;               ///< of the last row
  std::vector<std::string_view> columns_;  ///< keys, from left to right; empty outside of a table
  bool skips_ = false;
  Run run_;
  std::vector<Run> runs_;
};

/// "write", of "RDMA_Write_Bidirectional_BW_Test", and so on.
std::string title_of(std::string test) {
  for (std::string_view one :
       {"RDMA_Write_imm", "RDMA_Write", "RDMA_Read", "Send_imm", "Send", "Atomic"}) {
    if (!test.starts_with(one)) continue;
    std::string rest = test.substr(one.size());
    std::replace(rest.begin(), rest.end(), '_', ' ');
    test = std::string(one) + rest;
    break;
  }
  for (const auto& [from, to] :
       {std::pair{"CMP AND SWAP", "CMP_AND_SWAP"}, std::pair{"FETCH AND ADD", "FETCH_AND_ADD"}}) {
    if (const std::size_t at = test.find(from); at != std::string::npos) {
      test.replace(at, std::string_view(from).size(), to);
    }
  }
  return test.ends_with(" Test") ? test.substr(0, test.size() - 5) : test;
}

/// Its JSON does not tell the unit of rates: that which agrees with the message rate is it.
std::string unit_of(const Json& result) {
  std::string told = text_of(result, "BW_unit");
  if (!told.empty()) return told;
  const double bytes = number_of(result, "MsgSize") * number_of(result, "MsgRate") * 1e6;
  const double average = number_of(result, "BW_average");
  const auto agrees = [&](double factor) {
    return std::abs(average * factor / bytes - 1) < 0.02;  // perftest rounds to hundredths
  };
  if (agrees(kMebi)) return "MiB/s";
  if (agrees(kBitsPerGigabit / kBitsPerByte)) return "Gb/s";
  return "";
}

Run run_of(const Json& info, const std::vector<Json>& results) {
  Run run;
  run.title = title_of(text_of(info, "test"));
  for (const auto& [key, value] : info.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    run.facts.try_emplace(name, any_text(value));
  }
  for (const Json& result : results) {
    std::map<std::string, double> row;
    for (const Column& column : kColumns) {
      if (column.key.empty()) continue;
      const double value = number_of(result, column.json);
      if (std::isfinite(value) && value >= 0 && value <= 1e18) row[std::string(column.key)] = value;
    }
    if (row["size_bytes"] < 1 || !row.contains("iterations")) continue;
    if (!run.latency()) run.unit = unit_of(result);
    run.rows.push_back(std::move(row));
  }
  if (run.rows.empty())
    run.error = "its \"results\" have no message size with a number of iterations";
  return run;
}

/// 4.5 writes `test_info: {`, later releases `"test_info": {`.
bool has_json(std::string_view text) noexcept {
  return has(text, "\"test_info\"") || has(text, "test_info: {");
}

/// One line of 4.5, which quotes neither keys nor words: `Link_type: Ethernet,`; of all releases
/// `"BW_peak": inf,`. As it is, where it is another one.
std::string quoted(std::string_view line) {
  constexpr std::string_view kKey =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
  line = trimmed(line);
  const std::size_t colon = line.find(':');
  std::string_view key = trimmed(line.substr(0, colon));
  const bool in_quotes = key.size() > 2 && key.starts_with('"') && key.ends_with('"');
  if (in_quotes) key = key.substr(1, key.size() - 2);
  if (colon == std::string_view::npos || key.empty() ||
      key.find_first_not_of(kKey) != std::string_view::npos) {
    return std::string(line);
  }
  std::string_view value = trimmed(line.substr(colon + 1));
  const bool comma = value.ends_with(',');
  if (comma) value.remove_suffix(1);
  if (in_quotes && !is_no_number(value)) return std::string(line);
  const bool word = !value.empty() && value != "{" && value != "[" && value.front() != '"' &&
                    !parse_number<double>(value);
  return fmt::format(R"("{}": {}{})", key,
                     word ? fmt::format(R"("{}")", value) : std::string(value), comma ? "," : "");
}

/// What perftest writes is not always JSON: a comma before a brace, and keys without quotes.
std::string mended(std::string_view whole) {
  std::string text;
  for (const std::string_view line : lines_of(whole)) text += quoted(line) + '\n';
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
      if (next != std::string_view::npos && (text[next] == '}' || text[next] == ']')) continue;
    }
    out += text[i];
  }
  return out;
}

Json document_of(const Json& json, bool whole) {
  std::vector<Json> results;
  if (json.contains("results")) {
    const Json& all = json["results"];
    if (all.is_array()) {
      results.assign(all.begin(), all.end());
    } else {
      results.push_back(all);
    }
  }
  Run run = run_of(object_of(json, "test_info"), results);
  if (!whole) run.error = "the file was not written to its end: the run was aborted";
  return document_of(run);
}

/// What it prints before its table, and where it does not come so far.
bool is_beginning(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = rdmabench::trimmed(without_tag(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (is_title(line) || line.starts_with("Couldn't connect to ") ||
        line.starts_with("Unable to find the Infiniband/RoCE device") ||
        (line.starts_with('*') && has(line, kWaits))) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_perftest(std::string_view text) noexcept {
  text = beginning_of(text);
  return (has(text, "#bytes") && has(text, "#iterations")) ||
         (has_json(text) && !has(text, "\"schema\"")) || is_beginning(text);
}

std::vector<Json> perftest_documents(std::string_view text, const std::string& source) {
  if (!has_json(text)) {
    TableReader reader(source);
    for (const std::string_view line : lines_of(text)) reader.take(line);
    return std::move(reader).finish(text.ends_with('\n'));
  }
  constexpr int kDeepest = 8;
  const std::string valid = mended(text);  // its quotes are what the parser sees
  if (json_exceeds(valid, kDeepest)) refuse_text(source, 1, "nested deeper than its JSON is");
  std::vector<Json> documents;
  for (const std::string_view one : json_objects(valid)) {
    const Json json = Json::parse(one, nullptr, false);
    const Json cut = json.is_discarded() ? Json::parse(closed_json(one), nullptr, false) : Json();
    const Json& read = json.is_discarded() ? cut : json;
    if (!read.is_object()) refuse_text(source, 1, "test_info stands in what is not JSON");
    documents.push_back(document_of(read, !json.is_discarded()));
  }
  return documents;
}

}  // namespace rdmabench::report
