// The launches' values, by what they are values of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "rdmabench/analysis/comparison.h"
#include "rdmabench/analysis/launch.h"

namespace rdmabench::analysis {

/// What can be held against another: the same test, operation and meaning at the same size.
struct QuantityKey {
  std::string test;
  std::string operation;
  std::string kind;
  Metric metric = Metric::p50;
  std::uint64_t size_bytes = 0;
  std::optional<double> load;  ///< to three digits, as it was asked for

  auto tied() const { return std::tie(test, operation, kind, metric, size_bytes, load); }
  bool operator<(const QuantityKey& other) const { return tied() < other.tied(); }
};

bool belongs(const QuantityKey& key, const Family& family);

/// One launch's value.
struct Point {
  const Launch* launch = nullptr;
  double log_value = 0;
};

/// One side's values. Those of a launch with several rows of one quantity are its median.
struct Sample {
  std::vector<Point> points;
  std::string refusal;  ///< why the data cannot carry it; empty if they can
};

using Quantities = std::map<QuantityKey, Sample>;

/// Of the given metrics, or of all if there are none.
Quantities collect_quantities(const std::vector<const Launch*>& launches,
                              const std::vector<Metric>& metrics);

std::vector<double> logs(const Sample& sample);

}  // namespace rdmabench::analysis
