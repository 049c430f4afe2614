// The documents of collectives.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "kinds.h"
#include "launches.h"
#include "results/row.h"
#include "run_text.h"

namespace rdmabench::inline v1::report {
namespace {

/// The median; of what another tool measured often only a mean is known.
Cell typical_cell(const Json& row) {
  const double mean = number_of(row, "mean_ns");
  const bool only_mean = !std::isfinite(number_of(row, "p50_ns")) && std::isfinite(mean);
  return only_mean ? Cell("mean " + time_text(mean)) : median_cell(row);
}

Cell bus_cell(const Json& row) {
  Cell cell(number_of(row, "bus_bytes_per_s"), kGigabytesScale);
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

std::string row_fact(const Json& row, std::string_view name) {
  return fact_of(list_of(row, "facts"), name);
}

/// NCCL's choice: "RING SIMPLE x8".
Cell algorithm_cell(const Json& row) {
  const std::string algorithm = row_fact(row, "algorithm");
  if (algorithm.empty()) return "";
  const std::string channels = row_fact(row, "channels");
  const std::string most = row_fact(row, "channels_at_most");
  return fmt::format("{} {}{}", algorithm, row_fact(row, "protocol"),
                     !channels.empty() ? " x" + channels
                     : !most.empty()   ? " x<=" + most
                                       : "");
}

/// A cache may hold what is used again.
Cell memory_cell(const Json& row) {
  const std::string memory = row_fact(row, "memory");
  if (memory == "own") return "each operation has its own, written before";
  if (memory != "reused") return "";
  return fmt::format("reused, {} places taken in turn", row_fact(row, "memory_places"));
}

/// Wrong, late, left out or fine.
Judgement judge_row(const Json& row, const Json& body) {
  Judgement one;
  one.group = "coll." + text_of(row, "operation");
  one.subject = text_of(body, "backend");
  one.id = fmt::format("{} {} {}{}", text_of(row, "type"), any_text_of(row, "reduction"),
                       size_text(number_of(row, "size_bytes")),
                       flag_of(row, "in_place") ? " in place" : "");
  if (const std::string group = text_of(row, "group"); !group.empty()) one.id += ", " + group;
  const Json& wrong = object_of(row, "wrong");
  const Json& first = object_of(wrong, "first");
  const Json& late = object_of(row, "late");
  if (const std::string why = text_of(row, "skipped"); !why.empty()) {
    one.outcome = Status::skip;
    one.text = one.alike = why;
  } else if (number_of(wrong, "wrong_elements") > 0 || !first.empty()) {
    one.outcome = Status::fail;
    one.text = fmt::format("{} wrong elements", any_text_of(wrong, "wrong_elements"));
    if (const std::string all = any_text_of(wrong, "checked_results"); !all.empty()) {
      one.text += fmt::format(" in {} of {} results", any_text_of(wrong, "wrong_results"), all);
    }
    if (!first.empty()) {  // other tools do not tell where
      one.text += fmt::format("; rank {}, iteration {}, byte {} for {} bytes: {}, {} for {}",
                              any_text_of(first, "rank"), any_text_of(first, "iteration"),
                              any_text_of(first, "offset_bytes"), any_text_of(first, "run_bytes"),
                              text_of(first, "pattern"), any_text_of(first, "actual"),
                              any_text_of(first, "expected"));
    }
    one.add_details(first, {"action"});
  }
  if (!late.empty()) {
    std::string who = "rank " + any_text_of(late, "rank");
    for (const Json& rank : list_of(body, "ranks")) {
      if (number_of(rank, "rank") == number_of(late, "rank")) {
        who += fmt::format(" ({})", text_of(rank, "host"));
      }
    }
    who += " is late";
    if (one.outcome == Status::pass) {
      one.outcome = Status::warn;
      one.alike = who;
    }
    one.text += fmt::format("{}{} by {} (clocks to {}), last in {}", one.text.empty() ? "" : "; ",
                            who, time_text(number_of(late, "by_ns")),
                            time_text(number_of(late, "error_bound_ns")),
                            percent_text(number_of(late, "share")));
  }
  for (const char* key : {"rank", "by_ns", "share", "action"}) {
    if (late.contains(key)) {
      one.details.emplace_back(fmt::format("late_{}", key), any_text_of(late, key));
    }
  }
  return one;
}

/// What its judgement says, and what else is to be known of it.
Cell judged_cell(const Json& row, const Json& body) {
  const Judgement one = judge_row(row, body);
  Cell cell(one.outcome);
  const bool checked = !object_of(row, "wrong").empty();
  if (one.outcome == Status::pass && !checked) cell = Cell("not checked");
  if (!one.text.empty()) cell.items.push_back(one.text);
  for (const auto& [key, value] : one.details) {
    if (key.ends_with("action")) cell.items.push_back("action: " + value);
  }
  if (const std::string other = row_fact(row, "algorithm_differs"); !other.empty()) {
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

bool is_of_other_tool(const Json& body) {
  const Json& config = list_of(body, "config");
  return std::any_of(config.begin(), config.end(),
                     [](const Json& one) { return text_of(one, "name") == "imported_from"; });
}

/// How many ranks there were; 0 where neither a list nor a number tells.
std::size_t ranks_of(const Json& body) {
  std::size_t ranks = list_of(body, "ranks").size();
  for (const Json& fact : list_of(body, "config")) {
    const double told = text_of(fact, "name") == "ranks" ? number_of(fact, "value") : 0;
    if (told > 0 && told < 1e9) ranks = std::max(ranks, static_cast<std::size_t>(told));
  }
  return ranks;
}

Cell about_ranks(const Json& body) {
  std::set<std::string> hosts;
  for (const Json& rank : list_of(body, "ranks")) hosts.insert(text_of(rank, "host"));
  const std::size_t count = ranks_of(body);
  return fmt::format(
      "{}, by {}. {}GB/s are 10^9 bytes, as in nccl-tests; links elsewhere are in Gb/s, 10^9 bits.",
      count == 0      ? "An unknown number of ranks"
      : hosts.empty() ? fmt::format("{} rank{} on unknown hosts", count, count == 1 ? "" : "s")
                      : fmt::format("{} rank{} on {} host{}", count, count == 1 ? "" : "s",
                                    hosts.size(), hosts.size() == 1 ? "" : "s"),
      text_of(body, "backend"),
      // A note says what another tool's times are.
      is_of_other_tool(body) ? "" : "Times are of one operation: the longest that any rank took. ");
}

/// What came of the run.
Section outcome(const Json& body) {
  Section about;
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

void measure_coll(const Document& document, const VisitMeasured& visit) {
  const std::string backend = text_of(json_of(document), "backend");
  const std::size_t ranks = ranks_of(json_of(document));
  for (const Json& row : list_of(json_of(document), "results")) {
    Measured measured;
    measured.kind = "collective";
    add_label(measured, "backend", backend);
    if (ranks > 0) measured.labels.emplace_back("ranks", fmt::format("{}", ranks));
    add_row(measured, row,
            {"group", "operation", "type", "reduction", "root", "size_bytes", "in_place"});
    add_values(measured, object_of(row, "wrong"), {"wrong_elements"});
    measured.error = text_of(row, "skipped");
    visit(measured);
  }
}

/// A row is right or wrong; a run that ended early is a separate error.
std::vector<Judgement> judge_coll(const Document& document) {
  std::vector<Judgement> list;
  const std::string backend = text_of(json_of(document), "backend");
  if (const std::string without = text_of(json_of(document), "not_rdma"); !without.empty()) {
    list.push_back({"coll", backend, "RDMA", Status::warn, without,
                    "Run 'rdmabench doctor' on each node. Where sockets are meant, say --network "
                    "Socket."});
    list.back().headline = true;
    list.back().alike = without;
  }
  if (const std::string error = text_of(json_of(document), "error"); !error.empty()) {
    Judgement& one = list.emplace_back(Judgement{"coll", backend, "run", Status::error, error});
    one.add_details(object_of(json_of(document), "blame"), {"action"});
  }
  if (const std::string blame = text_of(object_of(json_of(document), "blame"), "text");
      !blame.empty()) {
    list.push_back({"coll", backend, "blamed", Status::fail, blame});
  }
  if (list_of(json_of(document), "results").empty() &&
      text_of(json_of(document), "error").empty()) {
    list.push_back({"coll", backend, "run", Status::error, "The document has no result."});
  }
  const Json& judged = list_of(json_of(document), "expectations");
  if (std::none_of(judged.begin(), judged.end(), [](const Json& one) {
        return text_of(one, "expectation").starts_with("require ");
      })) {  // else they are among those
    for (const Json& unmet : list_of(json_of(document), "unmet")) {
      list.push_back({"coll", backend, "required", Status::fail, any_text(unmet)});
    }
  }
  const Json& bisected = object_of(json_of(document), "bisected");
  if (!list_of(bisected, "suspects").empty()) {
    Judgement& one = list.emplace_back(
        Judgement{"coll", backend, "bisected", Status::fail, text_of(bisected, "text")});
    one.add_details(bisected, {"action"});
  }
  for (const Json& row : list_of(json_of(document), "results")) {
    list.push_back(judge_row(row, json_of(document)));
  }
  return list;
}

constexpr const char* kOfTheWire = "of the wire";

Columns coll_columns(const Json& body) {
  // What a row is told apart by stays; where all rows have it alike, it stands above them.
  enum : int { kMode = 1, kTails, kHow, kCounted };
  const Scale times{time_text, "us", 1e3, 2};
  const auto wire_share = [](const Json& row) {
    return Cell(percent_text(fact_number(row, "wire_share")) +
                (row_fact(row, "wire_memory") == "staged" ? ", staged" : ""));
  };
  const auto place = [](const Json& row) { return flag_of(row, "in_place") ? "in" : "out"; };
  const auto checked = [](const Json& row) {
    const std::string number = any_text_of(object_of(row, "wrong"), "checked_results");
    return Cell(number.empty() ? "" : number + " results");
  };
  const auto judged = [&body](const Json& row) { return judged_cell(row, body); };
  return {words_column("operation", "operation"),
          words_column("type", "type", kMode),
          words_column("reduction", "reduction", kMode),
          words_column("group", "group", kMode),
          number_column("size", "size_bytes", size_text),
          {"place", false, place, {}, kMode},
          words_column("root", "root", kHow),
          number_column("count", "count", whole_text, kCounted),
          number_column("n", "iterations", whole_text, kCounted),
          {"p50", true, typical_cell, times},
          measured_column("p99", "p99_ns", times, kTails),
          measured_column("max", "max_ns", times, kOnPages),
          number_column("algbw", "algorithm_bytes_per_s", kGigabytesScale, kTails),
          {"busbw", true, bus_cell, kGigabytesScale},
          {kOfTheWire, true, wire_share, {}, kMode},
          {"wrong", true, wrong_cell},
          {"late", true, late_cell},
          {"algorithm", false, algorithm_cell, {}, kHow},
          {"memory", false, memory_cell, {}, kHow},
          {"judged", false, judged},
          {"checked", true, checked, {}, kOnPages},
          words_column("who is late is unknown", "late_reason", kOnPages),
          {"facts", false, facts_cell, {}, kOnPages}};
}

/// What a call alone decides.
bool is_of_call(std::string_view heading) {
  constexpr std::array<std::string_view, 7> kOfCall{"operation", "type", "reduction", "size",
                                                    "place",     "root", "count"};
  return std::ranges::find(kOfCall, heading) != kOfCall.end();
}

/// The columns of rows that are told as they come, by those that are expected: how wide they get,
/// and which will say the same in every row.
void foresee(Section& rows, const Section& expected, const Json& body) {
  const std::string last = std::to_string(list_of(body, "ranks").size());
  const std::size_t widest_late = last.size() + std::string_view(" +74.4 us").size();
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    Column& column = rows.columns[i];
    const std::string& heading = column.heading;
    if (heading == "late") column.widest = widest_late;
    column.alike = heading == kOfTheWire ||  // it is measured behind them
                   (heading == "algorithm" && text_of(body, "backend") == "mpi");
    if (expected.rows.empty() || (!is_of_call(heading) && heading != "group")) continue;
    const std::string& first = expected.rows.front().cells[i].text;
    column.alike = std::ranges::all_of(
        expected.rows, [&](const TableRow& row) { return row.cells[i].text == first; });
    for (const TableRow& row : expected.rows) {
      column.widest = std::max(column.widest, row.cells[i].text.size());
    }
  }
}

/// Of rows that were told before the wire was measured.
Section wire_shares(const Json& body) {
  Columns columns = coll_columns(body);
  std::erase_if(columns, [](const ColumnOf& one) {
    return !is_of_call(one.heading) && one.heading != "group" && one.heading != kOfTheWire;
  });
  const Json& rows = list_of(body, "results");
  const bool any = std::ranges::any_of(
      rows, [](const Json& row) { return std::isfinite(fact_number(row, "wire_share")); });
  return any ? table_of("Of the wire", columns, rows) : Section();
}

/// All but the rows, and what is said above them.
std::vector<Section> below_rows(const Json& body) {
  Section wire{"Pairs of the wire", false};
  Section notes{"Notes", false};
  for (const Json& note : list_of(body, "notes")) {
    (is_wire(note) ? wire : notes).words.emplace_back(any_text(note));
  }
  return {std::move(wire), counters_table(body),
          facts_table("The library", list_of(body, "library")), std::move(notes)};
}

constexpr const char* kEveryRow = "Every row";

std::vector<Section> coll_sections(const Document& document) {
  const Json& body = json_of(document);
  std::vector<Section> all{outcome(body)};
  all.front().words.insert(all.front().words.begin(), about_ranks(body));
  all.push_back(launches_of(body) > 1
                    ? launches_table(body)
                    : table_of(kEveryRow, coll_columns(body), list_of(body, "results")));
  std::ranges::move(below_rows(body), std::back_inserter(all));
  return all;
}

std::vector<Section> coll_details(const Document& document) {
  const Json& body = json_of(document);
  return {facts_table("What was asked for", list_of(body, "config")),
          facts_table("The machine of rank 0", list_of(body, "environment"))};
}

}  // namespace

std::string CollTable::not_rdma(const Json& body) {
  const std::string without = text_of(body, "not_rdma");
  if (without.empty() || std::exchange(said_not_rdma_, true)) return "";
  return terminal_safe(without) + '\n';
}

std::string CollTable::more(const Json& body, const Json& expected, bool last) {
  if (!table_ && last) return to_text({"", std::string(kCollSchema), body_of(body)}, width_);
  std::string text;
  const Json& rows = list_of(body, "results");
  const std::size_t known = last ? told_ : 0;
  Json more = Json::array();
  for (std::size_t i = known; i < rows.size(); ++i) more.push_back(rows[i]);
  told_ += more.size();
  Section section = table_of(kEveryRow, coll_columns(body), more);
  if (!table_) {
    text = not_rdma(body);
    text += to_text({Section{.words = {about_ranks(body)}}, Section{.title = kEveryRow}}, width_);
    foresee(section, table_of("", coll_columns(body), expected), body);
    table_.emplace(width_);
  }
  text += table_->more(std::move(section), last);
  if (!last) return text;
  text += not_rdma(body);
  std::vector<Section> below{outcome(body), wire_shares(body)};
  std::ranges::move(below_rows(body), std::back_inserter(below));
  return text + to_text(without_empty(std::move(below)), width_);
}

const DocumentKind kCollKind{kCollSchema, "Collectives", "results",     "coll",
                             judge_coll,  measure_coll,  coll_sections, coll_details};

}  // namespace rdmabench::inline v1::report
