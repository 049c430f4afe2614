#include "expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "digest.h"
#include "line_rate.h"
#include "quantity.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "row.h"

namespace rdmabench::report {
namespace {

using Of = Expectation::Of;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

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

struct Estimate {
  double value = kNone;
  double low = kNone;
  double high = kNone;
};

constexpr double kNormal95 = 1.96;    // standard errors of a mean on both sides of it
constexpr double kManySamples = 100;  // from which a mean is as good as normal

/// The interval of a mean bandwidth or rate, a mean latency and a percentile, and of the median,
/// which the rates of a collective and of `reg` are made from. Before each key may stand the call
/// that it is of.
Estimate interval_of(const Measured& row, std::string_view key) {
  Estimate found{.value = value_of(row, key)};
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

/// "6 %", of the share of the capacity.
std::string load_text(const Measured& row) {
  const std::string load = label_of(row, "load");
  if (load.empty()) return "";
  return fmt::format("{:.0f} %", 100 * std::strtod(load.c_str(), nullptr));
}

/// What tells a row from the others of its document.
std::string row_text(const Measured& row) {
  std::string text;
  const auto add = [&text](const std::string& word) {
    if (!word.empty()) text += (text.empty() ? "" : " ") + word;
  };
  const std::string sender = label_of(row, "sender_host");
  if (!sender.empty()) {
    add(fmt::format("{} to {}, rail {}, round {},", sender, label_of(row, "receiver_host"),
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

/// What a row of a baseline must agree in. A rate that was asked for tells its rows apart; its
/// share of the capacity, which each run measures anew, does not.
std::string identity_of(const Document& document, const Measured& row) {
  std::string text(row.kind);
  for (const char* key : {"sender_host", "receiver_host", "rail", "operation", "direction", "kind",
                          "type", "reduction", "in_place", "memory", "route", "mapping",
                          "size_bytes", "metric", "group", "ranks", "root"}) {
    text += '\n' + label_of(row, key);
  }
  const Json& config = list_of(document.body, "config");
  for (const char* key : {"memory", "peer_memory"}) text += '\n' + fact_of(config, key);
  std::string rate;
  for (const char* key : {"rate_messages_per_s", "rate_bits_per_s"}) rate += fact_of(config, key);
  return text + '\n' + (rate.empty() ? load_text(row) : rate);
}

struct Limit {
  double value = kNone;
  std::string origin;  ///< how it was computed, or why it could not be
};

/// A row with the document that it is of.
struct Judged {
  const Document& document;
  const Measured& row;
};

/// The rate is that of a thread's queue pairs, which the transport opens; where they use fewer
/// ports than a bond has, another thread's may use the same ones or others.
bool threads_share_a_bond(const Json& body) {
  const Json& resolved = object_of(body, "resolved");
  const std::string device = text_of(resolved, "device");
  const auto devices = 1 + std::count(device.begin(), device.end(), ',');
  const std::string threads = fact_of(list_of(body, "config"), "threads");
  return std::strtod(threads.c_str(), nullptr) > static_cast<double>(devices) &&
         text_of(object_of(resolved, "details"), "rate_of_bond") == "true";
}

Limit line_limit(const Judged& of) {
  LineRate line = line_rate(object_of(of.document.body, "resolved"));
  if (of.row.kind == "pair") {
    const std::string pattern = label_of(of.row, "pattern");
    if (pattern == "one-to-many" || pattern == "many-to-one") {
      return {.value = kNone, .origin = "several flows share a link in the pattern " + pattern};
    }
    return {.value = value_of(of.row, "line_bits_per_s"),
            .origin = of.row.line_origin.empty() ? line.origin : of.row.line_origin};
  }
  if (!std::isfinite(line.bits_per_s)) return {.value = kNone, .origin = line.origin};
  if (threads_share_a_bond(of.document.body)) {
    return {.value = kNone,
            .origin =
                "which ports of a bond several threads use is not known: give an absolute "
                "limit, or each thread as many queue pairs as the bond has ports"};
  }
  const bool both = label_of(of.row, "direction") == "both_ways";
  return {.value = line.bits_per_s * (both ? 2 : 1),
          .origin = fmt::format("{}{}", line.origin, both ? ", both ways" : "")};
}

Limit baseline_limit(const Expectation& expectation, const Judged& of, const Measure& measure) {
  const auto found = expectation.rows->find(identity_of(of.document, of.row));
  if (found == expectation.rows->end()) {
    return {.value = kNone, .origin = "the baseline has no such row"};
  }
  return {.value = found->second,
          .origin = fmt::format("{} of {}", measure.text(found->second), expectation.baseline)};
}

Limit limit_of(const Expectation& expectation, const Judged& of, const Measure& measure) {
  if (expectation.of == Of::absolute) return {.value = expectation.value, .origin = {}};
  Limit whole =
      expectation.of == Of::line ? line_limit(of) : baseline_limit(expectation, of, measure);
  if (std::isfinite(whole.value)) {
    whole.origin = fmt::format("{:.4g} % of {}", expectation.value * 100, whole.origin);
    whole.value *= expectation.value;
  }
  return whole;
}

/// How many more runs like this one it takes until the interval, which shrinks with the root of
/// their number, leaves the limit outside.
double more_runs(const Estimate& interval, double limit) {
  const double half = (interval.high - interval.low) / 2;
  const double apart = std::abs(interval.value - limit);
  const double all = std::pow(half / std::max(apart, interval.value * 1e-3), 2);
  return std::ceil(std::max(1.0, all - 1));
}

Json judge(const Expectation& expectation, const Measured& row, const Measure& measure,
           const Limit& limit) {
  const Estimate interval = interval_of(row, key_of(expectation.quantity));
  const bool has_interval = std::isfinite(interval.low);
  const auto keeps = [&](double value) {
    return expectation.at_least ? value >= limit.value : value <= limit.value;
  };
  Status status = Status::open;
  const bool low = keeps(has_interval ? interval.low : interval.value);
  const bool high = keeps(has_interval ? interval.high : interval.value);
  std::string text = measure.text(interval.value);
  if (has_interval) {
    text += fmt::format(" ({} to {})", measure.text(interval.low),
                        std::isfinite(interval.high) ? measure.text(interval.high) : "unknown");
  }
  Json more = nullptr;
  if (!std::isfinite(limit.value)) {
    text += "; " + limit.origin;
  } else {
    if (low == high) status = low ? Status::pass : Status::fail;
    text += fmt::format(", limit {}{}", measure.text(limit.value),
                        limit.origin.empty() ? "" : ": " + limit.origin);
    if (status == Status::open && std::isinf(interval.high)) {
      text += "; a longer run would decide: there are too few samples for it";
    } else if (status == Status::open) {
      const double runs = more_runs(interval, limit.value);
      more = runs;
      text += fmt::format(
          "; about {:.0f} more run{} like this one, or one {:.0f} times as long, would decide",
          runs, runs == 1 ? "" : "s", runs + 1);
    }
  }
  Json judged = judgement(expectation.text, row_text(row), status, std::move(text));
  judged["value"] = finite(interval.value);
  judged["low"] = finite(interval.low);
  judged["high"] = finite(interval.high);
  judged["limit"] = finite(limit.value);
  judged["more_runs"] = more;
  return judged;
}

/// A row that was cut off is none. Nor is the latency of a load that is beyond what the path takes,
/// where the run chose the loads.
bool counts(const Judged& of, std::string_view key) {
  if (value_of(of.row, "complete") == 0) return false;
  const bool latency = of.row.kind == "load" && key.ends_with("_ns");
  const Json& config = list_of(of.document.body, "config");
  return !latency || value_of(of.row, "saturated") != 1 ||
         !fact_of(config, "rate_messages_per_s").empty() ||
         !fact_of(config, "rate_bits_per_s").empty();
}

/// A collective takes the largest size that its ranks can share, up to the one that was asked for.
bool has_size(const Expectation& expectation, const Measured& row) {
  const std::string text = label_of(row, "size_bytes");
  if (text.empty()) return expectation.least_size == 0;
  const double size = std::strtod(text.c_str(), nullptr);
  const double count = value_of(row, "count");
  const double next = row.kind == "collective" && count >= 1 ? size + size / count : size + 1;
  return next > double(expectation.least_size) && size <= double(expectation.most_size);
}

std::string absent_text(const Expectation& expectation) {
  std::string text = fmt::format("no row that was measured has {}", expectation.quantity);
  if (expectation.least_size > 0) text += " at " + format_size(expectation.least_size);
  if (expectation.least_size > 0 && expectation.most_size > expectation.least_size) {
    text += " or more";
  }
  return text;
}

}  // namespace

Json judgement(std::string expectation, std::string row, Status status, std::string text) {
  return {{"expectation", std::move(expectation)},
          {"row", std::move(row)},
          {"status", name(status)},
          {"value", nullptr},
          {"low", nullptr},
          {"high", nullptr},
          {"limit", nullptr},
          {"more_runs", nullptr},
          {"text", std::move(text)}};
}

void read_baseline(Expectation& expectation) {
  if (expectation.of != Of::baseline || expectation.rows) return;
  std::map<std::string, std::vector<double>> values;
  for (const Document& document : read_documents(expectation.baseline)) {
    for_each_measured(document, [&](const Measured& row) {
      const std::string_view key = key_of(expectation.quantity);
      const Estimate one = interval_of(row, key);
      if (row.replaced || !std::isfinite(one.value) || std::isinf(one.high) ||
          !counts({document, row}, key)) {
        return;
      }
      values[identity_of(document, row)].push_back(one.value);
    });
  }
  std::map<std::string, double> rows;
  for (auto& [identity, list] : values) {
    std::sort(list.begin(), list.end());
    rows[identity] = (list[(list.size() - 1) / 2] + list[list.size() / 2]) / 2;
  }
  expectation.rows = std::make_shared<const std::map<std::string, double>>(std::move(rows));
}

void judge_expectations(Document& document, std::span<const Expectation> expectations) {
  Json judged = Json::array();
  std::vector<std::pair<const Expectation*, std::string>> absent;  // and why
  bool profile_applies = false;
  for (const Expectation& given : expectations) {
    Expectation expectation = given;
    read_baseline(expectation);
    const std::string_view key = key_of(expectation.quantity);
    const Measure measure = *measure_of(key);
    struct Sort {
      Status status;
      const char* rest;
      std::vector<Json> rows{};
      std::size_t more = 0;
    };
    std::array<Sort, 3> sorts{Sort{Status::fail, "break it"}, Sort{Status::open, "are open"},
                              Sort{Status::pass, "keep it"}};
    bool any = false;
    bool any_limit = false;
    for_each_measured(document, [&](const Measured& row) {
      if (!has_size(expectation, row) || !std::isfinite(value_of(row, key))) return;
      if (!counts({document, row}, key)) return;
      any = true;
      if (row.replaced) return;  // many flows at once may have slowed it; the later value decides
      const Limit limit = limit_of(expectation, {document, row}, measure);
      any_limit |= std::isfinite(limit.value);
      Json one = judge(expectation, row, measure, limit);
      for (Sort& sort : sorts) {
        if (one["status"] != name(sort.status)) continue;
        if (sort.rows.size() < kMostJudged) {
          sort.rows.push_back(std::move(one));
        } else {
          ++sort.more;
        }
        break;
      }
    });
    for (Sort& sort : sorts) {
      for (Json& one : sort.rows) judged.push_back(std::move(one));
      if (sort.more == 0) continue;
      judged.push_back(
          judgement(expectation.text, "", sort.status,
                    fmt::format("{} more rows {}, not listed here", sort.more, sort.rest)));
    }
    profile_applies |= any && expectation.of_profile;
    if (!any) {
      absent.emplace_back(&given, absent_text(given));
    } else if (given.of == Of::baseline && !any_limit) {
      absent.emplace_back(
          &given, fmt::format("{} has none of the rows that were measured", given.baseline));
    }
  }
  for (const auto& [expectation, why] : absent) {
    const bool open = expectation->of_profile && profile_applies;
    judged.push_back(judgement(expectation->text, "", open ? Status::open : Status::fail, why));
  }
  document.body["expectations"] = std::move(judged);
}

}  // namespace rdmabench::report
