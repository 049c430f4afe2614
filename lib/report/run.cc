// The documents of runs: latency, bandwidth, load and registration.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "kinds.h"
#include "launches.h"
#include "results/row.h"

namespace rdmabench::inline v1::report {

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
  Section section{"Counters of the hardware that changed meanwhile", false};
  section.columns = {{"of"}, {"device"}, {"counter"}, {"class"}, {"change", true}};
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

namespace {

std::vector<Judgement> judge_run(const Document& document) {
  const Json& body = json_of(document);
  std::vector<Judgement> list;
  const std::string test = text_of(body, "test");
  const Json& environment = object_of(body, "environment");
  const std::string server = fact_of(list_of(environment, "server"), "hostname");
  const std::string client = fact_of(list_of(environment, "client"), "hostname");
  const std::string subject = server.empty() ? client : fmt::format("{} to {}", client, server);
  if (const std::string without = text_of(body, "not_rdma"); !without.empty()) {
    const std::string provider = text_of(object_of(body, "resolved"), "provider");
    list.push_back(
        {"run." + test, subject, "RDMA", Status::warn, without,
         fmt::format("Run 'rdmabench doctor' on both nodes. Where TCP is meant: --provider {}.",
                     provider.substr(0, provider.find(';')))});
    list.back().headline = true;
    list.back().alike = without;
  }
  for_each_measured(document, [&](const Measured& measured) {
    Judgement one;
    one.group = "run." + test;
    one.subject = subject;
    for (const Label& label : measured.labels) {
      if (label.first == "operation" || label.first == "memory" || label.first == "load") {
        one.id += (one.id.empty() ? "" : " ") + label.second;
      }
      if (label.first == "size_bytes") {
        one.id += fmt::format("{}{} B", one.id.empty() ? "" : " ", label.second);
      }
    }
    for (const Value& value : measured.values) {
      one.details.emplace_back(value.first, fmt::format("{}", value.second));
      if (value.first == "stable" && value.second == 0) {
        one.outcome = Status::warn;
        one.text = one.alike = "The epochs still differed when the run ended.";
      }
    }
    one.measured = one.outcome == Status::pass;
    list.push_back(std::move(one));
  });
  for (const Json& suspicion : list_of(body, "suspicions")) {
    Judgement& one = list.emplace_back(
        Judgement{"run." + test, subject, "suspect: " + text_of(suspicion, "code"), Status::warn,
                  text_of(suspicion, "text"), text_of(suspicion, "remedy")});
    one.alike = text_of(suspicion, "summary");
    const std::string repeated = fmt::format("; {}.", one.remedy);
    if (!one.remedy.empty() && one.text.ends_with(repeated)) {
      one.text.resize(one.text.size() - repeated.size());
    }
  }
  const auto failed = [&](const std::string& why) {
    list.push_back({"run." + test, subject, "the run", Status::fail, why});
  };
  const std::string error = text_of(body, "error");
  const Json& errors = list_of(body, "errors");
  if (!error.empty()) failed(error);
  for (const Json& one : errors) failed(any_text(one));
  if (list_of(body, "results").empty() && error.empty() && errors.empty()) {
    list.push_back({"run." + test, subject, "the run", Status::error,
                    "The document has no result and no error that says why.", "Measure again."});
  }
  for (Judgement& one : list) one.finding = false;
  return list;
}

void measure_run(const Document& document, const VisitMeasured& visit) {
  const Json& body = json_of(document);
  const std::string test = text_of(body, "test");
  const Json& environment = object_of(body, "environment");
  for (const Json& row : list_of(body, "results")) {
    Measured measured;
    measured.kind = "latency";
    for (const std::string_view kind : {"bandwidth", "load", "registration"}) {
      if (test == kind) measured.kind = kind;
    }
    add_label(measured, "client", fact_of(list_of(environment, "client"), "hostname"));
    add_label(measured, "server", fact_of(list_of(environment, "server"), "hostname"));
    add_label(measured, "transport", text_of(object_of(body, "resolved"), "transport"));
    add_row(measured, row,
            {"operation", "backend", "provider", "device", "direction", "kind", "signal",
             "completion", "memory", "route", "mapping", "size_bytes", "load"});
    if (body.contains("suspect")) {
      measured.values.emplace_back("suspect", flag_of(body, "suspect") ? 1 : 0);
    }
    visit(measured);
  }
}

std::vector<Section> run_sections(const Document& document) {
  const Json& body = json_of(document);
  const Json& resolved = object_of(body, "resolved");
  std::string over = text_of(body, "test");
  std::string before;
  for (const char* const key : {"backend", "provider", "device"}) {
    const std::string word = text_of(resolved, key);
    if (!word.empty() && word != before) over += (before.empty() ? " over " : ", ") + word;
    before = word;
  }
  std::vector<Section> sections{{.words = {over}}};
  sections.push_back(launches_of(body) > 1
                         ? launches_table(body)
                         : run_rows(text_of(body, "test"), list_of(body, "results")));
  sections.push_back(counters_table(body));
  sections.push_back(every_note(body));
  return sections;
}

std::vector<Section> run_details(const Document& document) {
  const Json& body = json_of(document);
  Json asked = object_of(body, "config");
  const Json& resolved = object_of(body, "resolved");
  for (auto& [name, value] : asked.items()) {
    if (value != "auto") continue;
    const std::string key = name == "service" ? "transport" : name;
    std::string known = text_of(resolved, key);
    if (known.empty()) known = any_text_of(object_of(resolved, "details"), key);
    if (!known.empty()) value = fmt::format("auto: {}", known);
  }
  for (const char* const key : {"resolved", "clock"}) {
    for (const auto& [name, value] : object_of(body, key).items()) {
      if (name != "details") asked[fmt::format("{} {}", key, name)] = value;
    }
  }
  asked.update(object_of(object_of(body, "resolved"), "details"));
  return {machines(body), facts_table("What was asked for and what it came to", asked)};
}

}  // namespace

const DocumentKind kRunKind{kRunSchema, "Other runs", "results",    "lat, bw, load, reg, demo",
                            judge_run,  measure_run,  run_sections, run_details};

}  // namespace rdmabench::inline v1::report
