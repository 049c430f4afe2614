// Numbers of one column of a table.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "rdmabench/report/text_table.h"

namespace rdmabench::report {

inline constexpr int kSignificantDigits = 6;
inline constexpr double kMessagesPerMillion = 1e6;

/// What is left out first of a table that is too wide.
enum : int { kLateOut = 2, kMiddleOut, kEarlyOut, kFirstOut };

/// Numbers under one heading. They share their decimals, so that the points stand in line: as many
/// as leave the largest six significant digits, and not more than `limit`.
class NumberColumn {
 public:
  /// `dispensable` as in TextTable::Column.
  NumberColumn(std::string heading, int limit, int dispensable = 0)
      : column_{.heading = std::move(heading), .dispensable = dispensable}, limit_(limit) {}

  const TextTable::Column& column() const { return column_; }

  /// What is not finite is "-".
  void add(double value) {
    values_.push_back(value);
    if (std::isfinite(value)) largest_ = std::max(largest_, std::abs(value));
  }

  std::string text(std::size_t row) const {
    if (!std::isfinite(values_[row])) return "-";
    return fmt::format("{:.{}f}", values_[row], decimals());
  }

 private:
  int decimals() const {
    const int before_point = largest_ < 10 ? 1 : 1 + static_cast<int>(std::log10(largest_));
    return std::clamp(kSignificantDigits - before_point, 0, limit_);
  }

  TextTable::Column column_;
  int limit_;
  std::vector<double> values_;
  double largest_ = 0;
};

}  // namespace rdmabench::report
