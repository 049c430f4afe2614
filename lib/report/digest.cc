#include "digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "kinds.h"
#include "rdmabench/base/units.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::report {
namespace {

/// How many ranks there were; 0 where neither a list nor a number tells.
std::size_t ranks_of(const Json& body) {
  std::size_t ranks = list_of(body, "ranks").size();
  for (const Json& fact : list_of(body, "config")) {
    const double told = text_of(fact, "name") == "ranks" ? number_of(fact, "value") : 0;
    if (told > 0 && told < 1e9) ranks = std::max(ranks, static_cast<std::size_t>(told));
  }
  return ranks;
}

const Json* node_of(const Document& fabric, std::uint64_t rank) {
  const Json& nodes = list_of(fabric.body, "nodes");
  const auto is = [&](const Json& node) { return number_of(node, "rank") == double(rank); };
  if (rank < nodes.size() && is(nodes[rank])) return &nodes[rank];  // in order, as they come
  for (const Json& node : nodes) {
    if (is(node)) return &node;
  }
  return nullptr;
}

struct Values {
  std::vector<double> as_sender;
  std::vector<double> as_receiver;
};
using Series = std::tuple<bool, std::uint64_t, std::uint32_t>;  // latency, size, rail

}  // namespace

void measure_run(const Document& document, const VisitMeasured& visit) {
  const Json& body = document.body;
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

void measure_fabric(const Document& document, const VisitMeasured& visit) {
  const auto identity = [](const PairMeasurement& pair) {
    return std::tuple(pair.sender, pair.receiver, pair.rail, pair.size_bytes, pair.latency());
  };
  std::set<decltype(identity(document.pairs.front()))> confirmed;
  for (const PairMeasurement& pair : document.pairs) {
    if (pair.confirming && pair.error.empty()) confirmed.insert(identity(pair));
  }
  for (const PairMeasurement& pair : document.pairs) {
    Measured measured;
    measured.kind = "pair";
    measured.replaced = !pair.confirming && confirmed.contains(identity(pair));
    measured.labels = {{"metric", pair.latency() ? "latency" : "bandwidth"},
                       {"sender", fmt::format("{}", pair.sender)},
                       {"receiver", fmt::format("{}", pair.receiver)},
                       {"sender_host", host_of(document, pair.sender)},
                       {"receiver_host", host_of(document, pair.receiver)},
                       {"rail", fmt::format("{}", pair.rail)},
                       {"round", fmt::format("{}", pair.round)},
                       {"pattern", pair.pattern},
                       {"size_bytes", fmt::format("{}", pair.size_bytes)}};
    if (pair.error.empty()) {
      measured.values.emplace_back(pair.latency() ? "p50_ns" : "bits_per_s", pair.value);
      if (pair.high > 0) {
        measured.values.emplace_back(pair.latency() ? "median_low_ns" : "bits_per_s_low", pair.low);
        measured.values.emplace_back(pair.latency() ? "median_high_ns" : "bits_per_s_high",
                                     pair.high);
      }
      if (pair.line_bits_per_s > 0) {
        measured.values.emplace_back("line_bits_per_s", pair.line_bits_per_s);
      }
      measured.line_origin = pair.line_origin;
      for (const Value& one : {Value{"p99_ns", pair.p99_ns}, Value{"p99_low_ns", pair.p99_low_ns},
                               Value{"p99_high_ns", pair.p99_high_ns}}) {
        if (one.second > 0) measured.values.push_back(one);
      }
    }
    measured.error = pair.error;
    visit(measured);
  }
}

void measure_comparison(const Document& document, const VisitMeasured& visit) {
  for (const Json& family : list_of(document.body, "families")) {
    for (const Json& cell : list_of(family, "cells")) {
      Measured measured;
      measured.kind = "comparison";
      add_labels(measured, family, text_of, {"test", "operation", "metric"});
      add_labels(measured, cell, any_text_of, {"size_bytes", "load", "unit", "verdict"});
      add_label(measured, "direction", direction_of(family, cell));
      add_label(measured, "a_name", side_name(document.body, "a"));
      add_label(measured, "b_name", side_name(document.body, "b"));
      add_values(measured, cell, {"a", "b", "a_units", "b_units"});
      add_values(measured, object_of(cell, "estimate"), {"ratio", "ratio_low", "ratio_high"});
      visit(measured);
    }
  }
}

void measure_projection(const Document& document, const VisitMeasured& visit) {
  for (const Json& row : list_of(document.body, "rows")) {
    for (const std::string_view side : {"a", "b"}) {
      const Json& step = object_of(row, side);
      if (step.empty()) continue;
      Measured measured;
      measured.kind = "projection";
      add_label(measured, "axis", text_of(document.body, "axis"));
      add_label(measured, "at", any_text_of(row, "value"));
      add_label(measured, "side", std::string(side));
      add_label(measured, "name", side_name(document.body, side));
      add_values(measured, step,
                 {"step_s", "step_low_s", "step_high_s", "compute_s", "communication_s",
                  "nothing_hidden_s", "all_hidden_s", "cost_per_step"});
      measured.error = text_of(row, "refusal");
      visit(measured);
    }
  }
}

void measure_coll(const Document& document, const VisitMeasured& visit) {
  const std::string backend = text_of(document.body, "backend");
  const std::size_t ranks = ranks_of(document.body);
  for (const Json& row : list_of(document.body, "results")) {
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

void add_label(Measured& measured, std::string_view key, std::string value) {
  if (!value.empty()) measured.labels.emplace_back(key, std::move(value));
}

void add_labels(Measured& measured, const Json& object,
                std::string (*read)(const Json&, std::string_view), Keys keys) {
  for (const std::string_view key : keys) add_label(measured, key, read(object, key));
}

void add_values(Measured& measured, const Json& object, Keys keys) {
  for (const std::string_view key : keys) {
    const double value = number_of(object, key);
    if (std::isfinite(value)) measured.values.emplace_back(key, value);
  }
}

void add_row(Measured& measured, const Json& row, Keys labels) {
  add_labels(measured, row, any_text_of, labels);
  for (const auto& [key, value] : row.items()) {
    if (std::find(labels.begin(), labels.end(), key) != labels.end()) continue;
    if (value.is_number()) measured.values.emplace_back(key, value.get<double>());
    if (value.is_boolean()) measured.values.emplace_back(key, value.get<bool>() ? 1 : 0);
  }
}

std::ptrdiff_t place_of(Status status) noexcept {
  return std::find(kWorstFirst.begin(), kWorstFirst.end(), status) - kWorstFirst.begin();
}

std::string word(Status status) {
  std::string text(name(status));
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void Judgement::add_details(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (std::string one = any_text_of(object, key); !one.empty()) details.emplace_back(key, one);
  }
}

void for_each_measured(const Document& document,
                       const std::function<void(const Measured&)>& visit) {
  if (const DocumentKind* const kind = find_kind(document.schema)) kind->measure(document, visit);
}

std::string side_name(const Json& body, std::string_view side) {
  const std::string name = text_of(object_of(body, side), "name");
  return !name.empty() ? name : side == "a" ? "A" : "B";
}

std::string verdict_text(std::string_view verdict, std::string_view direction) {
  std::string text(verdict == "DIFFERENT" && !direction.empty() ? direction : verdict);
  for (char& c : text) {
    c = c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string direction_of(const Json& family, const Json& cell) {
  if (text_of(cell, "verdict") != "DIFFERENT") return "";
  if (std::string known = text_of(cell, "direction"); !known.empty()) return known;
  const double ratio = number_of(object_of(cell, "estimate"), "ratio");
  if (!std::isfinite(ratio)) return "";
  return (ratio > 1) == (text_of(family, "metric") == "bandwidth") ? "better" : "worse";
}

std::string fact_of(const Json& facts, std::string_view name) {
  for (const Json& fact : facts) {
    if (text_of(fact, "name") == name) return any_text_of(fact, "value");
  }
  return "";
}

std::string host_of(const Document& fabric, std::uint64_t rank) {
  const Json* const node = node_of(fabric, rank);
  const std::string host = node == nullptr ? "" : text_of(*node, "host");
  return host.empty() ? fmt::format("node {}", rank) : host;
}

FabricNames::FabricNames(const Document& fabric) : fabric_(fabric) {
  std::set<std::string> known;
  for (const Json& node : list_of(fabric.body, "nodes")) {
    const std::string host = text_of(node, "host");
    if (!known.insert(host).second) shared_.insert(host);
  }
}

std::string FabricNames::host(std::uint64_t rank) const {
  const std::string name = host_of(fabric_, rank);
  return shared_.contains(name) ? fmt::format("{} ({})", name, rank) : name;
}

bool is_own_fact(std::string_view name) noexcept {
  return name == "hostname" || name == "collected_utc";
}

std::string rail_of(const Document& fabric, std::uint64_t rank, std::uint64_t rail) {
  const Json* const node = node_of(fabric, rank);
  if (node != nullptr) {
    const Json& rails = list_of(*node, "rails");
    if (rail < rails.size() && rails[rail].is_string()) return rails[rail].get<std::string>();
  }
  return fmt::format("rail {}", rail);
}

Judgement cell_of(const Document& fabric, const PairMeasurement& pair) {
  Judgement cell{
      "fabric.pair",
      fmt::format("{} to {}, {}", host_of(fabric, pair.sender), host_of(fabric, pair.receiver),
                  rail_of(fabric, pair.sender, pair.rail)),
      fmt::format("{} {} round {}", pair.latency() ? "latency" : "bandwidth",
                  size_text(double(pair.size_bytes)), pair.round)};
  cell.measured = true;
  cell.finding = false;
  return cell;
}

std::string replaced(std::string_view text,
                     std::initializer_list<std::pair<char, std::string_view>> words) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    const auto* const found =
        std::find_if(words.begin(), words.end(), [c](const auto& one) { return one.first == c; });
    if (found == words.end()) {
      out += c;
    } else {
      out += found->second;
    }
  }
  return out;
}

std::vector<NodeMedian> node_medians(const Document& fabric) {
  std::map<Series, std::map<std::uint32_t, Values>> nodes;
  std::map<Series, std::vector<double>> all;
  for (const PairMeasurement& pair : fabric.pairs) {
    if (!pair.error.empty() || pair.confirming) continue;
    const Series series{pair.latency(), pair.size_bytes, pair.rail};
    nodes[series][pair.sender].as_sender.push_back(pair.value);
    nodes[series][pair.receiver].as_receiver.push_back(pair.value);
    all[series].push_back(pair.value);
  }
  std::vector<NodeMedian> medians;
  for (auto& [series, by_rank] : nodes) {
    const double typical = measure::median(all[series]);
    for (auto& [rank, values] : by_rank) {
      medians.push_back({rank, std::get<2>(series), std::get<0>(series), std::get<1>(series),
                         measure::median(values.as_sender), measure::median(values.as_receiver),
                         typical});
    }
  }
  return medians;
}

double relative(bool latency, double value, double typical) {
  if (value <= 0 || typical <= 0) return 0;
  return latency ? typical / value : value / typical;
}

}  // namespace rdmabench::report
