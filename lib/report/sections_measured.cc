// What runs measured, as tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "launches.h"
#include "row.h"
#include "sections.h"

namespace rdmabench::report {

ColumnOf measured_column(std::string heading, std::string key, const Scale& scale,
                         int dispensable) {
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

Cell median_cell(const Json& row) {
  Cell one = measured_column("", "p50_ns").cell(row);
  one.value = number_of(row, "p50_ns");
  return one;
}

namespace {

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

}  // namespace

Section counters_table(const Json& body) {
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
  std::vector<Section> sections{{.words = {over}}};
  sections.push_back(launches_of(body) > 1
                         ? launches_table(body)
                         : run_rows(text_of(body, "test"), list_of(body, "results")));
  sections.push_back(counters_table(body));
  sections.push_back(every_note(body));
  return sections;
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

}  // namespace rdmabench::report
