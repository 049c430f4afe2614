// What runs, collectives and plugins measured, as tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "row.h"
#include "sections.h"

namespace rdmabench::report {
namespace {

/// In brackets, where a repetition may give quite another.
ColumnOf measured_column(std::string heading, std::string key, const Scale& scale = kTimeScale,
                         int dispensable = 0) {
  const auto cell = [key = std::move(key), scale](const Json& row) {
    Cell one(number_of(row, key), scale);
    const Json& unsupported = list_of(row, "unsupported_percentiles");
    if (one.text == "-" ||
        std::find(unsupported.begin(), unsupported.end(), key) == unsupported.end()) {
      return one;
    }
    one.value = NAN;
    one.text = fmt::format("({})", one.text);
    one.hint = "fewer than 10 samples lie beyond this percentile";
    return one;
  };
  return {std::move(heading), true, cell, scale, dispensable};
}

/// The median, which a few samples tell too.
Cell median_cell(const Json& row) {
  Cell one = measured_column("", "p50_ns").cell(row);
  one.value = number_of(row, "p50_ns");
  return one;
}

Cell knee_cell(const Json& row) {
  const bool doubtful = row.contains("knee_reliable") && !flag_of(row, "knee_reliable");
  if (!flag_of(row, "knee")) return doubtful ? "not reliable" : "";
  return doubtful ? "knee, not reliable" : "knee";
}

template <class Result>
Columns columns_of(int decimals) {
  Columns columns;
  for (const Field& field : fields_of(Result(), Resolved())) {
    auto [heading, scale, dispensable] = field.shown;
    if (heading.empty()) continue;
    if (scale.decimals == Scale::kOfClock) scale.decimals = decimals;
    const std::string key(field.name());
    if (scale.text != nullptr) {
      columns.push_back(measured_column(heading, key, scale, dispensable));
      continue;
    }
    const auto cell = [key](const Json& row) {
      return key == "knee" ? knee_cell(row) : Cell(replaced(text_of(row, key), {{'_', " "}}));
    };
    columns.push_back({heading, false, cell, {}, dispensable});
  }
  return columns;
}

Columns registration_columns() {
  const Scale times{time_text, "us", 1e3, 2};
  const Scale rate{bytes_per_second, "MiB/s", 0x1p20};
  return {words_column("memory", "memory"),
          number_column("size", "size_bytes", size_text),
          number_column("calls", "iterations", whole_text, kMiddleOut),
          number_column("min", "register_min_ns", times, kEarlyOut),
          number_column("p50", "register_p50_ns", times),
          number_column("p99", "register_p99_ns", times),
          number_column("max", "register_max_ns", times, kLateOut),
          number_column("rate", "register_bytes_per_s", rate, kLastOut),
          number_column("dereg p50", "deregister_p50_ns", times),
          number_column("dereg p99", "deregister_p99_ns", times, kFirstOut),
          words_column("route", "route", kLastOut),
          words_column("mapping", "mapping", kLastOut)};
}

void add_counters(Section& section, const std::string& who, const Json& counters) {
  for (const Json& one : counters) {
    if (number_of(one, "change") == 0) continue;
    const std::string change = any_text_of(one, "change");
    section.rows.push_back(
        {{who, text_of(one, "device"), text_of(one, "name"), text_of(one, "class"),
          change.empty() ? "went backwards"
                         : (flag_of(one, "at_least") ? "at least " : "") + change}});
  }
}

/// Of both sides, or of all ranks.
Section counters(const Json& body) {
  Section section{"Counters of the hardware that changed meanwhile",
                  false,
                  {},
                  {{"of"}, {"device"}, {"counter"}, {"class"}, {"change", true}}};
  for (const char* const side : {"client", "server"}) {
    add_counters(section, side, list_of(object_of(body, "counters"), side));
  }
  for (const Json& rank : list_of(body, "ranks")) {
    add_counters(section, "rank " + any_text_of(rank, "rank"), list_of(rank, "counters"));
  }
  return section;
}

/// Of a run, and of each of its rows.
Section every_note(const Json& body) {
  Section section = notes_of(body);
  std::set<std::string> said;
  for (const Cell& one : section.words) said.insert(one.text);
  for (const Json& row : list_of(body, "results")) {
    for (const Json& note : list_of(row, "notes")) {
      const std::string text = any_text(note);
      if (said.insert(text).second) section.words.emplace_back(text);
    }
  }
  return section;
}

Section machines(const Json& body) {
  Section section{"Machines", false, {}, {{"fact"}, {"client"}, {"server"}, {"alike?"}}};
  const Json& environment = object_of(body, "environment");
  const Json& client = list_of(environment, "client");
  const Json& server = list_of(environment, "server");
  std::set<std::string> known;
  for (const Json* const side : {&client, &server}) {
    for (const Json& fact : *side) {
      const std::string name = text_of(fact, "name");
      if (!known.insert(name).second) continue;
      const std::string a = fact_of(client, name);
      const std::string b = fact_of(server, name);
      const bool differs = !client.empty() && !server.empty() && a != b && !is_own_fact(name);
      section.open |= differs;
      section.rows.push_back({{name, a, b, differs ? "differs" : ""}, differs});
    }
  }
  std::stable_partition(section.rows.begin(), section.rows.end(),
                        [](const TableRow& row) { return row.differs; });
  return section;
}

// Collectives.

/// The median; of what another tool measured often only a mean is known.
Cell typical_cell(const Json& row) {
  const double mean = number_of(row, "mean_ns");
  const bool only_mean = !std::isfinite(number_of(row, "p50_ns")) && std::isfinite(mean);
  return only_mean ? Cell("mean " + time_text(mean)) : median_cell(row);
}

constexpr Scale kBytesScale{bytes_per_second, "GB/s", 1e9, kSignificantDigits};

Cell bus_cell(const Json& row) {
  Cell cell(number_of(row, "bus_bytes_per_s"), kBytesScale);
  if (cell.text == "-" && text_of(row, "skipped").empty()) {
    cell.text = "n/a";
    cell.hint = text_of(row, "bus_reason");
  }
  return cell;
}

Cell wrong_cell(const Json& row) {
  const std::string wrong = any_text_of(object_of(row, "wrong"), "wrong_elements");
  return !wrong.empty() ? wrong : text_of(row, "skipped").empty() ? "n/a" : "";
}

Cell late_cell(const Json& row) {
  const Json& late = object_of(row, "late");
  if (late.empty()) return "-";
  return fmt::format("{} +{}", any_text_of(late, "rank"), time_text(number_of(late, "by_ns")));
}

double fact_number(const Json& row, std::string_view name) {
  for (const Json& fact : list_of(row, "facts")) {
    if (text_of(fact, "name") == name) return number_of(fact, "value");
  }
  return NAN;
}

std::string fact(const Json& row, std::string_view name) {
  return fact_of(list_of(row, "facts"), name);
}

/// NCCL's choice: "RING SIMPLE x8".
Cell algorithm_cell(const Json& row) {
  const std::string algorithm = fact(row, "algorithm");
  if (algorithm.empty()) return "";
  const std::string channels = fact(row, "channels");
  const std::string most = fact(row, "channels_at_most");
  return fmt::format("{} {}{}", algorithm, fact(row, "protocol"),
                     !channels.empty() ? " x" + channels
                     : !most.empty()   ? " x<=" + most
                                       : "");
}

/// A cache may hold what is used again.
Cell memory_cell(const Json& row) {
  const std::string memory = fact(row, "memory");
  if (memory == "own") return "each operation has its own, written before";
  if (memory != "reused") return "";
  return fmt::format("reused, {} places taken in turn", fact(row, "memory_places"));
}

/// What its judgement says, and what else is to be known of it.
Cell judged_cell(const Json& row, const Json& body) {
  const Judgement one = judge_row(row, body);
  Cell cell(one.outcome);
  const bool checked = !any_text_of(object_of(row, "wrong"), "checked_results").empty();
  if (one.outcome == Status::pass && !checked) cell = Cell("not checked");
  if (!one.text.empty()) cell.items.push_back(one.text);
  for (const auto& [key, value] : one.details) {
    if (key.ends_with("action")) cell.items.push_back("action: " + value);
  }
  if (const std::string other = fact(row, "algorithm_differs"); !other.empty()) {
    cell.items.push_back(
        fmt::format("ranks differ: {}; not so {}", algorithm_cell(row).text, other));
  }
  if (row.contains("stable") && !flag_of(row, "stable") && text_of(row, "skipped").empty()) {
    cell.items.emplace_back("the time ran out before the median was known");
  }
  return cell;
}

Cell facts_cell(const Json& row) {
  std::string text;
  for (const Json& fact : list_of(row, "facts")) {
    const std::string name = text_of(fact, "name");
    if (name.starts_with("wire_")) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name, any_text_of(fact, "value"));
  }
  return text;
}

bool is_wire(const Json& note) {
  return any_text(note).starts_with("Wire, ");
}

/// What share of the wire is reached. Without one a pair of it failed.
void add_wire(Section& about, const Json& body) {
  const Json& rows = list_of(body, "results");
  const Json* best = nullptr;
  double most = 0;
  double wire = 0;
  for (const Json& row : rows) {
    const double share = fact_number(row, "wire_share");
    if (wire == 0 && fact_number(row, "wire_bits_per_s") > 0) {
      wire = fact_number(row, "wire_bits_per_s");
    }
    if (!(share > most)) continue;
    most = share;
    best = &row;
  }
  const Json& notes = list_of(body, "notes");
  if (best == nullptr) {
    if (wire > 0 || std::any_of(notes.begin(), notes.end(), is_wire)) {
      about.words.emplace_back(Status::warn,
                               "A pair of the wire failed, so there is no share of it.");
    }
    return;
  }
  constexpr double kBitsPerByte = 8;
  about.words.emplace_back(fmt::format(
      "Of the wire, the slowest pair of neighbours with {}, bus bandwidth reaches {} at most: {}, "
      "{}.{}",
      bytes_per_second(wire / kBitsPerByte), percent_text(most), text_of(*best, "operation"),
      size_text(number_of(*best, "size_bytes")),
      most > 1 ? " More than 100 %: the ranks have a faster way than this wire (NVLink, shared "
                 "memory), or the algorithm sends less than a ring does."
               : ""));
}

Section about_ranks(const Json& body) {
  const Json& ranks = list_of(body, "ranks");
  std::set<std::string> hosts;
  for (const Json& rank : ranks) hosts.insert(text_of(rank, "host"));
  Section about;
  about.words.emplace_back(fmt::format(
      "{}, by {}. Times are of one operation: the longest that any rank took. GB/s are 10^9 bytes, "
      "as in nccl-tests; links elsewhere are in Gb/s, 10^9 bits.",
      ranks.empty() ? "An unknown number of ranks"
                    : fmt::format("{} ranks on {} host{}", ranks.size(), hosts.size(),
                                  hosts.size() == 1 ? "" : "s"),
      text_of(body, "backend")));
  const Json& bisected = object_of(body, "bisected");
  if (!bisected.empty()) {
    Cell& words = about.words.emplace_back("BISECTED: " + text_of(bisected, "text"));
    const std::string action = text_of(bisected, "action");
    if (!action.empty()) words.items.push_back("action: " + action);
  }
  if (const std::string error = text_of(body, "error"); !error.empty()) {
    about.words.emplace_back("ENDED EARLY: " + error);
  }
  add_wire(about, body);
  return about;
}

ColumnOf interface_column() {
  return {"api", false,
          [](const Json& row) { return Cell("v" + any_text_of(row, "api_version")); }};
}

/// With why a case did not pass, and on which side.
Cell case_cell(const Json& row) {
  Cell cell(status_of(text_of(row, "status")));
  const std::string side = text_of(row, "side");
  const std::string reason = text_of(row, "reason");
  const bool of_one = *cell.status != Status::skip && !side.empty() && side != "both";
  if (!reason.empty()) {
    cell.items.push_back(of_one ? fmt::format("{} ({})", reason, side) : reason);
  }
  return cell;
}

Section plugin_rows(const Json& body, std::string_view metric, std::string title, Columns columns) {
  Json rows = Json::array();
  for (const Json& row : list_of(body, "results")) {
    if (text_of(row, "metric") == metric) rows.push_back(row);
  }
  columns.insert(columns.begin(),
                 {interface_column(), number_column("size", "size_bytes", size_text),
                  number_column("epochs", "epochs", whole_text),
                  number_column("iterations", "iterations", whole_text)});
  columns.push_back(words_column("error", "error"));
  return table_of(std::move(title), columns, rows);
}

}  // namespace

Section run_rows(const std::string& test, const Json& rows, int decimals) {
  return table_of("Every row",
                  test == "registration" ? registration_columns()
                  : test == "bandwidth"  ? columns_of<BandwidthResult>(decimals)
                  : test == "load"       ? columns_of<LoadResult>(decimals)
                                         : columns_of<LatencyResult>(decimals),
                  rows);
}

std::vector<Section> run_sections(const Json& body) {
  const Json& resolved = object_of(body, "resolved");
  std::string over = text_of(body, "test");
  for (const char* const key : {"backend", "provider", "device"}) {
    const std::string word = text_of(resolved, key);
    if (!word.empty()) over += (over.find(" over ") == std::string::npos ? " over " : ", ") + word;
  }
  return {{.words = {over}},
          run_rows(text_of(body, "test"), list_of(body, "results")),
          counters(body),
          every_note(body)};
}

std::vector<Section> run_details(const Json& body) {
  Json asked = object_of(body, "config");
  for (const char* const key : {"resolved", "clock"}) {
    for (const auto& [name, value] : object_of(body, key).items()) {
      if (name != "details") asked[fmt::format("{} {}", key, name)] = value;
    }
  }
  asked.update(object_of(object_of(body, "resolved"), "details"));
  return {machines(body), facts_table("What was asked for and what it came to", asked)};
}

std::vector<Section> coll_sections(const Json& body) {
  // What a row is told apart by stays; where all rows have it alike, it stands above them.
  enum : int { kMode = 1, kTails, kHow, kCounts };
  const Scale times{time_text, "us", 1e3, 2};
  const auto wire_share = [](const Json& row) {
    return Cell(percent_text(fact_number(row, "wire_share")) +
                (fact(row, "wire_memory") == "staged" ? ", staged" : ""));
  };
  const auto place = [](const Json& row) { return flag_of(row, "in_place") ? "in" : "out"; };
  const auto checked = [](const Json& row) {
    const std::string number = any_text_of(object_of(row, "wrong"), "checked_results");
    return Cell(number.empty() ? "" : number + " results");
  };
  const auto judged = [&body](const Json& row) { return judged_cell(row, body); };
  Section rows = table_of("Every row",
                          {words_column("operation", "operation"),
                           words_column("type", "type", kMode),
                           words_column("reduction", "reduction", kMode),
                           words_column("group", "group", kMode),
                           number_column("size", "size_bytes", size_text),
                           {"place", false, place, {}, kMode},
                           words_column("root", "root", kHow),
                           number_column("count", "count", whole_text, kCounts),
                           number_column("n", "iterations", whole_text, kCounts),
                           {"p50", true, typical_cell, times},
                           measured_column("p99", "p99_ns", times, kTails),
                           measured_column("max", "max_ns", times, kOnPages),
                           number_column("algbw", "algorithm_bytes_per_s", kBytesScale, kTails),
                           {"busbw", true, bus_cell, kBytesScale},
                           {"of the wire", true, wire_share, {}, kMode},
                           {"wrong", true, wrong_cell},
                           {"late", true, late_cell},
                           {"algorithm", false, algorithm_cell, {}, kHow},
                           {"memory", false, memory_cell, {}, kHow},
                           {"judged", false, judged},
                           {"checked", true, checked, {}, kOnPages},
                           words_column("who is late is unknown", "late_reason", kOnPages),
                           {"facts", false, facts_cell, {}, kOnPages}},
                          list_of(body, "results"));
  Section wire{"Pairs of the wire", false};
  Section notes{"Notes", false};
  for (const Json& note : list_of(body, "notes")) {
    (is_wire(note) ? wire : notes).words.emplace_back(any_text(note));
  }
  return {about_ranks(body),
          std::move(rows),
          std::move(wire),
          counters(body),
          facts_table("The library", list_of(body, "library")),
          std::move(notes)};
}

std::vector<Section> netplugin_sections(const Json& body) {
  const Json& plugin = object_of(body, "plugin");
  Section about;
  about.words.emplace_back(fmt::format(
      "The plugin '{}' of {}, interfaces {}, device {}, both ends in {}.", text_of(plugin, "name"),
      text_of(plugin, "file"), any_text_of(plugin, "api_versions"),
      any_text_of(object_of(body, "config"), "device"), any_text_of(body, "ends")));
  if (const std::string error = text_of(body, "error"); !error.empty()) {
    about.words.emplace_back("The run ended early: " + error);
  }
  const Scale times{time_text, "us", 1e3, 2};
  return {std::move(about),
          table_of("Devices",
                   {words_column("name", "name"), words_column("Mb/s", "speed_mbps"),
                    words_column("receives in a group", "max_receives"),
                    words_column("memory", "memory")},
                   list_of(plugin, "devices")),
          table_of("Cases",
                   {interface_column(),
                    words_column("case", "id"),
                    {"status", false, case_cell},
                    words_column("what", "title")},
                   list_of(body, "cases")),
          plugin_rows(body, "latency", "Latency, half a round trip of isend to irecv",
                      {measured_column("min", "min_ns", times),
                       {"p50", true, median_cell, times},
                       measured_column("p99", "p99_ns", times),
                       measured_column("max", "max_ns", times)}),
          plugin_rows(body, "bandwidth", "Bandwidth, one way, each epoch confirmed by the receiver",
                      {number_column("min", "min_bits_per_s", kRateScale),
                       number_column("p50", "bits_per_s", kRateScale),
                       number_column("max", "max_bits_per_s", kRateScale)})};
}

}  // namespace rdmabench::report
