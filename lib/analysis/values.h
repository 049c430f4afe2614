// The values of the launches, by quantity.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/projection.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/analysis/launch.h"

namespace rdmabench::inline v1::analysis {

/// Values can be compared if test, operation, meaning and size are equal.
struct QuantityKey {
  std::string test;
  std::string operation;
  std::string kind;
  Metric metric = Metric::p50;
  std::uint64_t size_bytes = 0;
  std::optional<double> load;  ///< the requested load, to three digits

  auto tied() const { return std::tie(test, operation, kind, metric, size_bytes, load); }
  bool operator<(const QuantityKey& other) const { return tied() < other.tied(); }
};

bool belongs(const QuantityKey& key, const Family& family);

struct Point {
  const Launch* launch = nullptr;
  double log_value = 0;
};

/// One side's values. If a launch has several rows of a quantity, their median.
struct Sample {
  std::vector<Point> points;
  std::string refusal;  ///< why there is no value; else empty
};

using Quantities = std::map<QuantityKey, Sample>;

/// Of the given metrics, or of all if there are none.
Quantities collect_quantities(const std::vector<const Launch*>& launches,
                              const std::vector<Metric>& metrics);

std::vector<double> logs(const Sample& sample);

/// The order of two sides' launches; unknown where one has no time.
LaunchSequence order_of(const std::vector<const Launch*>& a, const std::vector<const Launch*>& b);

/// The session of each launch: another begins after a rest of more than two hours. A launch without
/// a time is of the first one.
std::map<const Launch*, std::size_t> sessions_of(std::vector<const Launch*> launches);

/// Judges one quantity. Verdicts are its own: no correction for others is made yet.
Cell make_cell(const QuantityKey& key, const Sample& a, const Sample& b,
               const ComparisonOptions& options);

/// The launches of both kinds of curve.
std::vector<std::string> sources_of(const LinkSamples& samples);

/// Of the launch's facts, by name; "" for none.
std::string fact_of(const Launch& launch, const std::string& name);

/// Throws Error(usage) for two sides of one name, or of none.
void check_names(const std::string& a, const std::string& b);

/// "+3.2 %": by how much a ratio, given by its logarithm, differs from 1.
std::string percent(double log_ratio);

/// A name at the head of a column: its end, where it is longer than `most`.
std::string short_name(const std::string& name, std::size_t most);

/// "5 %", of 0.05.
std::string percent_of(double ratio);

/// "1 launch", "3 launches", "1 quantity".
std::string counted(std::size_t number, std::string_view one);

/// "64K", "64 @0.5".
std::string cell_text(const Cell& cell);

/// "write bandwidth", "read latency p99".
std::string family_text(const Family& family);

/// What stands in the way of a verdict, and what to do about it, or how many more launches it
/// takes; empty where neither is known. A whole sentence.
std::string advice(const JointVerdict& outcome, const ComparedSide& a, const ComparedSide& b);

}  // namespace rdmabench::inline v1::analysis
