#include "limits_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>

#include "base/fields.h"
#include "fabric_document.h"
#include "launches.h"
#include "results/row.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr double kManySamples = 100;  // from which a mean is as good as normal

/// "6 %", of the share of the capacity.
std::string load_text(const Measured& row) {
  const std::string load = label_of(row, "load");
  if (load.empty()) return "";
  return fmt::format("{:.0f} %", 100 * std::strtod(load.c_str(), nullptr));
}

}  // namespace

double value_of(const Measured& row, std::string_view key) {
  for (const Value& value : row.values) {
    if (value.first == key) return value.second;
  }
  return key == "messages_per_s" ? value_of(row, "achieved_messages_per_s") : kNone;
}

std::string label_of(const Measured& row, std::string_view key) {
  for (const Label& label : row.labels) {
    if (label.first == key) return label.second;
  }
  return "";
}

RowValue row_value(const Measured& row, std::string_view key) {
  RowValue found{.value = value_of(row, key)};
  const auto beside = [&](std::string_view ending, std::string_view other) {
    return value_of(row, fmt::format("{}{}", key.substr(0, key.size() - ending.size()), other));
  };
  // Of too few samples there is a low end alone. Documents from before these keys have neither.
  const auto take = [](double low, double high) {
    const bool unbounded = std::isfinite(low) && std::isnan(high);
    return std::pair(low, unbounded ? std::numeric_limits<double>::infinity() : high);
  };
  if (key == "bits_per_s" || key == "messages_per_s") {
    const double scale = found.value / value_of(row, "bits_per_s");
    found.low = scale * value_of(row, "bits_per_s_low");
    found.high = scale * value_of(row, "bits_per_s_high");
  } else if (key.ends_with("bytes_per_s")) {
    const std::string call = key.starts_with("register_") ? "register_" : "";
    const double scale = found.value * value_of(row, call + "p50_ns");
    const auto [low, high] =
        take(value_of(row, call + "median_low_ns"), value_of(row, call + "median_high_ns"));
    found.low = scale / high;
    found.high = scale / low;
  } else if (key.ends_with("mean_ns") && value_of(row, "iterations") >= kManySamples) {
    const double half =
        kNormal95 * beside("mean_ns", "stddev_ns") / std::sqrt(value_of(row, "iterations"));
    found.low = found.value - half;
    found.high = found.value + half;
  } else {
    const auto percentile =
        std::find_if(kPercentiles.begin(), kPercentiles.end(),
                     [key](const Percentile& one) { return key.ends_with(one.key); });
    if (percentile == kPercentiles.end()) return found;
    std::tie(found.low, found.high) = take(beside(percentile->key, percentile->low_key),
                                           beside(percentile->key, percentile->high_key));
  }
  if (!std::isfinite(found.low) || std::isnan(found.high)) found.low = found.high = kNone;
  return found;
}

std::string row_text(const Measured& row, const FabricNames* names) {
  std::string text;
  const auto add = [&text](const std::string& word) {
    if (!word.empty()) text += (text.empty() ? "" : " ") + word;
  };
  if (names != nullptr) {
    const auto node = [&](const char* key) {
      return names->node(std::strtoull(label_of(row, key).c_str(), nullptr, 10));
    };
    add(fmt::format("{} to {}, rail {}, round {},", node("sender"), node("receiver"),
                    label_of(row, "rail"), label_of(row, "round")));
  }
  for (const char* key : {"group", "operation", "memory", "type", "reduction"}) {
    add(label_of(row, key));
  }
  if (const std::string load = load_text(row); !load.empty()) add("load " + load);
  if (const std::string size = label_of(row, "size_bytes"); !size.empty()) {
    add("of " + size_text(std::strtod(size.c_str(), nullptr)));
  }
  return text;
}

std::string asked_for(const Document& document, const char* name) {
  const auto config = json_of(document).find("config");
  return config == json_of(document).end() ? "" : fact_of(*config, name);
}

std::string rate_asked_for(const Document& document) {
  return asked_for(document, "rate_messages_per_s") + asked_for(document, "rate_bits_per_s");
}

std::string identity_of(const Judged& of, bool of_one_job) {
  const auto& [document, row] = of;
  std::string text(row.kind);
  if (of_one_job) text += label_of(row, "sender") + '\n' + label_of(row, "receiver");
  for (const char* key : {"sender_host", "receiver_host", "rail", "operation", "direction", "kind",
                          "type", "reduction", "in_place", "memory", "route", "mapping",
                          "size_bytes", "metric", "group", "ranks", "root"}) {
    text += '\n' + label_of(row, key);
  }
  for (const char* key : {"memory", "peer_memory"}) text += '\n' + asked_for(document, key);
  const std::string rate = rate_asked_for(document);
  return text + '\n' + (rate.empty() ? load_text(row) : rate);
}

bool counts(const Judged& of, std::string_view key) {
  if (value_of(of.row, "complete") == 0) return false;
  const bool latency = of.row.kind == "load" && key.ends_with("_ns");
  return !latency || value_of(of.row, "saturated") != 1 || !rate_asked_for(of.document).empty();
}

bool has_size(const Limit& limit, const Measured& row) {
  const std::string text = label_of(row, "size_bytes");
  if (text.empty()) return limit.least_size == 0;
  const double size = std::strtod(text.c_str(), nullptr);
  const double count = value_of(row, "count");
  const double next = row.kind == "collective" && count >= 1 ? size + size / count : size + 1;
  return next > double(limit.least_size) && size <= double(limit.most_size);
}

LaunchValues launch_values(std::span<const Document> launches, std::string_view key,
                           bool of_baseline) {
  LaunchValues all;
  std::set<std::string> known;
  for (const Document& document : launches) {
    if (launches_of(json_of(document)) > 1) continue;  // those follow
    // A copy says nothing of how launches differ.
    if (of_baseline && !known.insert(dump(json_of(document))).second) continue;
    LaunchValues rows;
    for_each_measured(document, [&](const Measured& row) {
      const RowValue one = row_value(row, key);
      if (row.replaced || !std::isfinite(one.value) || !counts({document, row}, key)) return;
      if (of_baseline && (std::isinf(one.high) || one.value <= 0)) return;
      rows[identity_of({document, row}, !of_baseline)].push_back(one);
    });
    for (auto& [identity, list] : rows) {
      std::ranges::sort(list, {}, &RowValue::value);
      all[identity].push_back(list[list.size() / 2]);
    }
  }
  return all;
}

}  // namespace rdmabench::inline v1::report
