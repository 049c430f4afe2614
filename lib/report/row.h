// A result as named cells: the one list that JSON and CSV write, so that neither can lack a metric.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rdmabench/report/result.h"

namespace rdmabench::report {

/// One line of a bandwidth result's time; CSV leaves them out.
using Intervals = std::vector<Interval>;

/// std::monostate where there is no value, so that a double in a cell is always finite.
using Cell = std::variant<std::monostate, std::string, double, std::uint64_t, bool,
                          std::vector<std::string>, Intervals>;

Cell finite(double value);

struct Field {
  std::string_view key;
  Cell cell;
};
using Row = std::vector<Field>;

/// The keys and their order do not depend on the result.
Row to_row(const LatencyResult& result, const Resolved& resolved);
Row to_row(const BandwidthResult& result, const Resolved& resolved);
Row to_row(const LoadResult& result, const Resolved& resolved);

struct Percentile {
  std::string_view key;
  std::string_view name;
  double percent;
  double measure::LatencySummary::*value;
};
inline constexpr std::array<Percentile, 5> kPercentiles{{
    {"p50_ns", "p50", 50, &measure::LatencySummary::p50_ns},
    {"p90_ns", "p90", 90, &measure::LatencySummary::p90_ns},
    {"p99_ns", "p99", 99, &measure::LatencySummary::p99_ns},
    {"p999_ns", "p99.9", 99.9, &measure::LatencySummary::p999_ns},
    {"p9999_ns", "p99.99", 99.99, &measure::LatencySummary::p9999_ns},
}};

}  // namespace rdmabench::report
