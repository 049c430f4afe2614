#include "values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rdmabench/base/error.h"
#include "rdmabench/measure/statistics.h"
#include "report/compared.h"

namespace rdmabench::inline v1::analysis {
namespace {

/// 10 samples beyond the percentile, as in measure::percentile_supported().
std::uint64_t samples_needed(double percent) {
  return static_cast<std::uint64_t>(std::ceil(10 / (1 - percent / 100) - 1e-6));
}

struct Value {
  std::optional<double> value;
  std::string refusal;
};

double percent_of(Metric metric) {
  return metric == Metric::p50 ? 50 : metric == Metric::p99 ? 99 : 99.9;
}

/// None if the test has no such metric.
std::optional<Value> value_of(const std::string& test, const Row& row, Metric metric) {
  if ((metric == Metric::bandwidth) != (test == "bandwidth")) return std::nullopt;
  if (metric == Metric::bandwidth) return Value{row.bits_per_s, {}};
  if ((metric == Metric::mean) != row.mean_ns.has_value()) return std::nullopt;
  if (metric == Metric::mean) return Value{row.mean_ns, {}};
  const double percent = percent_of(metric);
  for (const Percentile& one : row.percentiles) {
    if (one.percent != percent) continue;
    if (one.supported) return Value{one.value_ns, {}};
    return Value{std::nullopt, fmt::format("{} samples, where {} takes {}", row.samples,
                                           name(metric), samples_needed(percent))};
  }
  return Value{};
}

using RowValues = std::map<QuantityKey, std::vector<double>>;

void take_row(const Launch& launch, const Row& row, Metric metric, Quantities& quantities,
              RowValues& values) {
  const std::optional<Value> found = value_of(launch.test, row, metric);
  if (!found) return;
  QuantityKey key{launch.test, row.operation, row.kind, metric, row.size_bytes, row.load};
  if (key.load) key.load = std::round(*key.load * 1000) / 1000;
  Sample& sample = quantities[key];
  const double value = found->value.value_or(0);
  if (value > 0 && std::isfinite(value)) {
    values[key].push_back(std::log(value));
  } else if (sample.refusal.empty()) {
    sample.refusal =
        fmt::format("{}: {}", launch.source,
                    !found->refusal.empty() ? found->refusal
                    : found->value ? fmt::format("a value of {:g}, which has no logarithm", value)
                                   : "no value");
  }
}

}  // namespace

bool belongs(const QuantityKey& key, const Family& family) {
  return key.test == family.test && key.operation == family.operation && key.kind == family.kind &&
         key.metric == family.metric;
}

Quantities collect_quantities(const std::vector<const Launch*>& launches,
                              const std::vector<Metric>& metrics) {
  Quantities quantities;
  for (const Launch* launch : launches) {
    RowValues values;
    for (const Row& row : launch->rows) {
      for (const Metric metric : kMetrics) {
        const bool wanted =
            metrics.empty() || std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
        if (wanted) take_row(*launch, row, metric, quantities, values);
      }
    }
    for (const auto& [key, some] : values) {
      quantities[key].points.push_back({launch, measure::median(std::span<const double>(some))});
    }
  }
  return quantities;
}

std::vector<double> logs(const Sample& sample) {
  std::vector<double> values;
  for (const Point& point : sample.points) values.push_back(point.log_value);
  return values;
}

LaunchSequence order_of(const std::vector<const Launch*>& a, const std::vector<const Launch*>& b) {
  std::vector<double> times[2];
  for (const Launch* launch : a) {
    if (!launch->time_s) return {};
    times[0].push_back(*launch->time_s);
  }
  for (const Launch* launch : b) {
    if (!launch->time_s) return {};
    times[1].push_back(*launch->time_s);
  }
  return find_order(times[0], times[1]);
}

std::map<const Launch*, std::size_t> sessions_of(std::vector<const Launch*> launches) {
  constexpr double kRestS = 2 * 3600;
  const auto time = [](const Launch* launch) { return launch->time_s.value_or(-INFINITY); };
  std::ranges::stable_sort(launches, {}, time);
  std::map<const Launch*, std::size_t> sessions;
  std::size_t session = 0;
  std::optional<double> last;
  for (const Launch* launch : launches) {
    if (last && *launch->time_s - *last > kRestS) ++session;
    if (launch->time_s) last = launch->time_s;
    sessions[launch] = session;
  }
  return sessions;
}

std::vector<std::string> sources_of(const LinkSamples& samples) {
  std::vector<std::string> sources;
  for (const auto* list : {&samples.latency, &samples.bandwidth}) {
    for (const LinkSample& one : *list) sources.push_back(one.source);
  }
  return sources;
}

void check_names(const std::string& a, const std::string& b) {
  if (!a.empty() && !b.empty() && a != b) return;
  throw Error(Fault::usage, fmt::format("sides named '{}' and '{}'", a, b),
              "Give each side a name of its own by `a_name` and `b_name`.");
}

std::string percent(double log_ratio) {
  return report::signed_percent(std::expm1(log_ratio));
}

std::string short_name(const std::string& name, std::size_t most) {
  constexpr std::string_view kCut = "...";
  if (name.size() <= most) return name;
  return std::string(kCut) + name.substr(name.size() - (most - kCut.size()));
}

}  // namespace rdmabench::inline v1::analysis
