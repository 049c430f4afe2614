#include "launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/fields.h"
#include "base/refuse.h"
#include "limits_rows.h"
#include "measure/distributions.h"
#include "rdmabench/base/error.h"
#include "rdmabench/measure/statistics.h"
#include "results/row.h"
#include "results/text_table.h"
#include "sections.h"

namespace rdmabench::inline v1::report {
namespace {

using Rows = std::vector<const Json*>;

constexpr const char* kOverLaunches = "over_launches";

/// Two rows of different launches are the same where these are. The loads of two curves differ by
/// their capacities, and their shares of these by rounding alone; of a rate that was asked for
/// each has another share.
std::string row_identity(const Json& row, bool by_rate) {
  std::string text;
  for (const char* key : {"operation", "kind", "direction", "type", "reduction", "root", "in_place",
                          "group", "memory", "route", "mapping", "size_bytes"}) {
    text += any_text_of(row, key) + '\n';
  }
  const double load = number_of(row, "load");
  return std::isfinite(load) && !by_rate ? text + percent_text(load) : text;
}

std::vector<double> numbers_of(const Rows& rows, std::string_view key) {
  std::vector<double> values;
  for (const Json* const row : rows) {
    if (const double value = number_of(*row, key); std::isfinite(value)) values.push_back(value);
  }
  return values;
}

std::vector<double> logs_of(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) {
    if (value > 0) logs.push_back(std::log(value));
  }
  return logs;
}

void add_to(Json& list, const Json& more) {
  for (const Json& one : more) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
}

Json together(const Rows& rows, const std::string& key, Json first) {
  for (const Json* const row : rows) {
    if (first.is_null()) first = row->value(key, Json());
  }
  if (key == "late" || key == "first") return first;  // of the first launch that has one
  if (first.is_object()) {
    Rows objects;
    for (const Json* const row : rows) {
      if (const Json& one = object_of(*row, key); !one.empty()) objects.push_back(&one);
    }
    for (auto& [name, value] : first.items()) value = together(objects, name, value);
    return first;
  }
  if (first.is_boolean()) {
    return std::ranges::all_of(rows, [&](const Json* row) { return flag_of(*row, key); });
  }
  if (first.is_array()) {
    Json list = Json::array();
    for (const Json* const row : rows) add_to(list, list_of(*row, key));
    return list;
  }
  const std::vector<double> values = numbers_of(rows, key);
  if (values.empty() || first.is_string()) return first;
  if (key.ends_with("iterations") || key == "lost" || key == "succeeded" ||
      key.starts_with("wrong_") || key == "checked_results") {
    std::uint64_t sum = 0;
    for (const double value : values) sum += static_cast<std::uint64_t>(value);
    return sum;
  }
  if (!key.ends_with("_ns") && !key.ends_with("_per_s")) {
    return first.is_number_integer() ? first : Json(std::ranges::max(values));
  }
  const std::vector<double> logs = logs_of(values);
  return logs.size() == values.size() ? std::exp(measure::mean(logs)) : measure::mean(values);
}

/// In place of the interval within a run. An end that the samples of a launch do not bound stays
/// so.
void set_interval(Json& row, const Rows& rows, const std::string& key, const std::string& low,
                  const std::string& high) {
  if (!row.contains(low) || !row.contains(high)) return;
  const std::vector<double> logs = logs_of(numbers_of(rows, key));
  const bool bounded = numbers_of(rows, high).size() == rows.size() || !key.starts_with("p");
  row[low] = row[high] = nullptr;
  if (logs.size() < 2) return;
  const double half = half_width(logs);
  row[low] = std::exp(measure::mean(logs) - half);
  if (bounded) row[high] = std::exp(measure::mean(logs) + half);
}

Json row_over(const Rows& rows) {
  Json row = *rows.front();
  for (auto& [key, value] : row.items()) value = together(rows, key, value);
  row["launches"] = rows.size();
  for (const char* const key : {"intervals", "ranks"}) {  // of each launch its own
    if (row.contains(key)) row[key] = Json::array();
  }
  if (row.contains("median_level")) row["median_level"] = 0.95;
  set_interval(row, rows, "bits_per_s", "bits_per_s_low", "bits_per_s_high");
  for (const std::string call : {"", "register_", "deregister_"}) {
    for (const Percentile& one : kPercentiles) {
      set_interval(row, rows, call + std::string(one.key), call + std::string(one.low_key),
                   call + std::string(one.high_key));
    }
  }
  return row;
}

using Setup = std::map<std::string, std::string>;

/// What the launches of one run have in common, by the names of facts. Not how long they wait, nor
/// which devices they were told to use: these have other names on another node, and `resolved` says
/// what came of it.
Setup setup_of(const Document& one) {
  struct Part {
    const char* name;
    std::set<std::string_view> left_out;
  };
  static const std::array<Part, 2> kParts{
      {{"config", {"backend", "provider", "fabric", "device", "source_ip", "timeout_s"}},
       {"plan", {"rails", "seed", "timeout_s"}}}};  // of a fabric
  Setup setup;
  for (const Part& part : kParts) {
    const auto add = [&](const std::string& name, const Json& value) {
      if (!part.left_out.contains(name)) setup[fmt::format("{}.{}", part.name, name)] = dump(value);
    };
    for (const auto& [name, value] : object_of(json_of(one), part.name).items()) add(name, value);
    for (const Json& fact : list_of(json_of(one), part.name)) {
      add(text_of(fact, "name"), fact.value("value", Json()));
    }
  }
  const bool coll = one.schema == kCollSchema;
  const Json& resolved = coll ? json_of(one) : object_of(json_of(one), "resolved");
  for (const char* const key : {"backend", "provider"}) setup[key] = text_of(resolved, key);
  std::string device = text_of(resolved, "device");
  std::erase_if(device, [](char c) { return c >= '0' && c <= '9'; });
  setup["device, without its numbers,"] = device;
  if (coll) setup["ranks"] = std::to_string(list_of(json_of(one), "ranks").size());
  return setup;
}

/// The first fact in which they differ.
std::string differing(const Setup& a, const Setup& b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  if (in_a == a.end()) return in_b == b.end() ? "" : in_b->first;
  return in_b == b.end() ? in_a->first : std::min(in_a->first, in_b->first);
}

/// Throws Error(usage) where they are not launches of one run, or one is there twice.
void check_launches(std::span<const Document> launches) {
  const auto kind = [](const Document& one) {
    const std::string test = text_of(json_of(one), "test");
    return test.empty() ? one.schema : fmt::format("{} of {}", one.schema, test);
  };
  const auto refuse = [&](const Document& one, const Document& other, const char* verb,
                          const std::string& of_one, const std::string& of_other) {
    throw Error(
        Fault::usage,
        fmt::format("{} {} {}, {} {} {}", one.source, verb, of_one, other.source, verb, of_other),
        "Give the launches of one run together, and each run by itself.");
  };
  const Document* first = nullptr;  // that measured: another one may have resolved nothing
  Setup of_first;
  std::map<std::string, const Document*> known;
  for (const Document& one : launches) {
    if (kind(one) != kind(launches.front())) {
      refuse(launches.front(), one, "is", kind(launches.front()), kind(one));
    }
    Json body = json_of(one);
    body.erase("expectations");  // what was judged since makes no other launch of it
    const auto [other, is_new] = known.emplace(dump(body), &one);
    if (!is_new && other->second->pairs == one.pairs) {
      throw Error(Fault::usage,
                  fmt::format("{} and {} are the same launch", other->second->source, one.source),
                  "A copy adds no evidence: give every launch once.");
    }
    if (one.pairs.empty() && list_of(json_of(one), "results").empty()) continue;
    Setup setup = setup_of(one);
    if (first == nullptr) {
      first = &one;
      of_first = std::move(setup);
    } else if (const std::string name = differing(of_first, setup); !name.empty()) {
      const auto shown = [&](const Setup& of) {
        const auto found = of.find(name);
        return fmt::format("{} {}", name,
                           found == of.end() ? "(none)" : ascii_only(found->second, 60));
      };
      refuse(*first, one, "has", shown(of_first), shown(setup));
    }
  }
}

/// The suspicions of one code once.
std::string suspicions_text(const Json& body) {
  std::string text;
  std::set<std::string> told;
  for (const Json& one : list_of(body, "suspicions")) {
    const std::string summary = text_of(one, "summary");
    const std::string what = summary.empty() ? text_of(one, "text") : summary;
    if (!told.insert(text_of(one, "code")).second) continue;
    text += fmt::format("suspect: {}\n", terminal_safe(what));
  }
  return text;
}

}  // namespace

double half_width(std::span<const double> logs) {
  const auto count = static_cast<double>(logs.size());
  return measure::t_quantile(0.975, count - 1) * measure::stddev(logs) / std::sqrt(count);
}

std::size_t launches_of(const Json& body) {
  double count = number_of(body, kOverLaunches);
  for (const Json& row : list_of(body, "results")) {  // of documents from before that key
    count = std::fmax(count, number_of(row, "launches"));
  }
  return count > 1 ? static_cast<std::size_t>(count) : 1;
}

bool ended_early(const Document& launch) {
  const Json& body = json_of(launch);
  if (launch.schema == kFabricSchema) {
    return !list_of(body, "lost").empty() || object_of(body, "verdict").empty();
  }
  return !text_of(body, "error").empty() || !list_of(body, "errors").empty();
}

Document over_launches(std::span<const Document> launches) {
  refuse_if(launches.empty(), "there is no launch", "Give the document of each launch.");
  check_launches(launches);
  return join_launches(launches);
}

Document join_launches(std::span<const Document> launches) {
  Document over = launches.front();
  over.source = fmt::format("{} launches", launches.size());
  Json& body = json_of(over);
  body[kOverLaunches] = launches.size();
  if (over.schema == kFabricSchema) {
    join_fabrics(over, launches);
    return over;
  }
  const bool by_rate = !rate_asked_for(over).empty();
  std::vector<std::string> order;
  std::map<std::string, Rows> rows;
  for (const Document& one : launches) {
    for (const Json& row : list_of(json_of(one), "results")) {
      const std::string identity = row_identity(row, by_rate);
      Rows& same = rows[identity];
      if (same.empty()) order.push_back(identity);
      same.push_back(&row);
    }
    for (const char* const key : {"suspicions", "notes", "errors", "unmet", "expectations"}) {
      if (body.contains(key)) add_to(body[key], list_of(json_of(one), key));
    }
    for (const char* const key : {"error", "failure", "blame"}) {
      if (body.contains(key) && body[key].is_null()) body[key] = json_of(one).value(key, Json());
    }
    const Json& bisected = object_of(json_of(one), "bisected");
    if (!bisected.empty() && list_of(object_of(body, "bisected"), "suspects").empty()) {
      body["bisected"] = bisected;
    }
    if (body.contains("suspect"))
      body["suspect"] = flag_of(body, "suspect") || flag_of(json_of(one), "suspect");
  }
  body["results"] = Json::array();
  for (const std::string& identity : order) {
    Rows& same = rows[identity];
    const auto was_cut = [](const Json* row) {
      return row->contains("complete") && !flag_of(*row, "complete");
    };
    if (!std::ranges::all_of(same, was_cut)) std::erase_if(same, was_cut);
    body["results"].push_back(row_over(same));
  }
  if (text_of(body, "test") == "load") body["knees"] = knees_of(launches);
  Json none = Json::array();
  for (Json& rank : body.contains("ranks") ? body["ranks"] : none) {
    if (rank.contains("counters")) rank["counters"] = Json::array();
  }
  for (const char* const key : {"counters", "conditions"}) {  // of each launch its own
    if (body.contains(key)) body[key] = {{"client", Json::array()}, {"server", Json::array()}};
  }
  return over;
}

Section launches_table(const Json& body) {
  const std::string test = text_of(body, "test");
  const bool collective = text_of(body, "schema") == kCollSchema;
  const Scale times{time_text, "us", 1e3, 3};
  Columns columns{words_column(test == "registration" ? "memory" : "operation",
                               test == "registration" ? "memory" : "operation"),
                  number_column("size", "size_bytes", size_text),
                  number_column("launches", "launches", whole_text)};
  const auto add = [&](const std::string& name, const std::string& key, const std::string& low,
                       const std::string& high, const Scale& scale, int dispensable = 0) {
    columns.push_back(key.ends_with("p50_ns")
                          ? number_column(name, key, scale)  // of few samples too
                          : measured_column(name, key, scale));
    columns.push_back(number_column(name + " low", low, scale, dispensable));
    columns.push_back(number_column(name + " high", high, scale, dispensable));
  };
  if (collective) {
    const auto place = [](const Json& row) { return flag_of(row, "in_place") ? "in" : "out"; };
    columns.insert(columns.begin() + 1, {"place", false, place, {}, kLastOut});
    for (const char* const key : {"root", "group", "reduction", "type"}) {
      columns.insert(columns.begin() + 1, words_column(key, key, kLastOut));
    }
  }
  if (test == "load") {
    columns.insert(columns.begin() + 2, number_column("load", "load", percent_text));
    columns.push_back(number_column("offered", "offered_messages_per_s", kMessageScale));
  }
  if (test == "bandwidth") {
    add("bw", "bits_per_s", "bits_per_s_low", "bits_per_s_high", kRateScale);
    columns.push_back(number_column("rate", "messages_per_s", kMessageScale));
  } else {
    const std::string call = test == "registration" ? "register_" : "";
    add("p50", call + "p50_ns", call + "median_low_ns", call + "median_high_ns", times);
    add("p99", call + "p99_ns", call + "p99_low_ns", call + "p99_high_ns", times, kEarlyOut);
    if (collective) {
      columns.push_back(number_column("busbw", "bus_bytes_per_s", kGigabytesScale));
      columns.push_back({"wrong", true, [](const Json& row) {
                           return Cell(any_text_of(object_of(row, "wrong"), "wrong_elements"));
                         }});
    }
    if (!call.empty()) columns.push_back(number_column("dereg p50", "deregister_p50_ns", times));
  }
  Section section = table_of("Over launches", columns, list_of(body, "results"));
  section.words.emplace_back(
      "Geometric means over launches, each a process of its own; low and high are the 95 % interval over them.");
  for (const Json& knee : list_of(body, "knees")) section.words.emplace_back(knee_text(knee));
  return section;
}

std::string launches_text(const Document& over, std::size_t width) {
  if (over.schema == kFabricSchema) return "Verdict: " + to_text(over, width);
  if (over.schema == kCollSchema) return to_text(over, width);
  const Json& resolved = object_of(json_of(over), "resolved");
  std::string text = terminal_safe(text_of(json_of(over), "not_rdma"));
  if (!text.empty()) text += '\n';
  text += text_of(json_of(over), "test");
  for (const char* const key : {"backend", "provider", "device"}) {
    if (const std::string word = text_of(resolved, key); !word.empty()) {
      text += (key == std::string_view("backend") ? " over " : ", ") + terminal_safe(word);
    }
  }
  Section table = launches_table(json_of(over));
  table.title.clear();
  text += "\n" + to_text({table}, width);
  std::set<std::string> notes;
  for (const Json& note : list_of(json_of(over), "notes")) notes.insert(any_text(note));
  for (const Json& row : list_of(json_of(over), "results")) {
    for (const Json& note : list_of(row, "notes")) notes.insert(any_text(note));
  }
  for (const std::string& note : notes) text += fmt::format("note: {}\n", terminal_safe(note));
  return text + suspicions_text(json_of(over));
}

}  // namespace rdmabench::inline v1::report
