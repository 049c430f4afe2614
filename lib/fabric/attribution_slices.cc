// Splits a matrix by metric and size; throws for values that no measurement can have.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "attribution_fit.h"
#include "measure/ranks.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {
namespace {

[[noreturn]] void refuse(std::size_t index, const std::string& what) {
  throw Error(Fault::usage, fmt::format("measurement {} of the matrix: {}", index, what),
              "The file is damaged or was not written by rdmabench fabric");
}

void check(const Matrix& matrix, std::size_t index) {
  const Measurement& cell = matrix.measurements[index];
  const std::size_t nodes = matrix.nodes.size();
  if (cell.sender >= nodes || cell.receiver >= nodes) {
    refuse(index,
           fmt::format("nodes {} and {}, but there are {}", cell.sender, cell.receiver, nodes));
  }
  if (cell.sender == cell.receiver) refuse(index, fmt::format("node {} with itself", cell.sender));
  if (cell.rail >= kMaxRails) {
    refuse(index, fmt::format("rail {}, but at most {} are possible", cell.rail, kMaxRails));
  }
  if (cell.error.empty() && !(std::isfinite(cell.value) && cell.value > 0)) {
    refuse(index, fmt::format("the value {} and no error", cell.value));
  }
}

}  // namespace

void merge_repeated(std::vector<Cell>& cells) {
  const auto key = [](const Cell& cell) {
    return std::tuple(cell.rail, cell.sender, cell.receiver);
  };
  std::stable_sort(cells.begin(), cells.end(),
                   [&](const Cell& a, const Cell& b) { return key(a) < key(b); });
  std::vector<Cell> merged;
  std::vector<double> values;
  for (std::size_t i = 0; i < cells.size();) {
    values.clear();
    std::size_t next = i;
    for (; next < cells.size() && key(cells[next]) == key(cells[i]); ++next) {
      values.push_back(cells[next].y);
    }
    merged.push_back(cells[i]);
    merged.back().y = measure::at_rank(values, values.size() / 2);
    i = next;
  }
  cells = std::move(merged);
}

bool is_left_out(const Measurement& cell) {
  return !cell.confirming && (cell.pattern == "one-to-many" || cell.pattern == "many-to-one");
}

std::vector<Slice> slices(const Matrix& matrix, std::size_t& left_out) {
  std::set<std::uint32_t> gone;
  for (const LostNode& node : matrix.lost) gone.insert(node.rank);
  std::map<std::pair<Metric, std::uint64_t>, Slice> found;
  std::uint32_t rails = 0;
  left_out = 0;
  for (std::size_t i = 0; i < matrix.measurements.size(); ++i) {
    check(matrix, i);
    const Measurement& cell = matrix.measurements[i];
    if (is_left_out(cell)) {
      ++left_out;
      continue;
    }
    rails = std::max(rails, cell.rail + 1);
    Slice& slice = found[{cell.metric, cell.size_bytes}];
    if (!cell.error.empty()) {
      // Failures with a lost node say nothing about its partners.
      if (gone.count(cell.sender) == 0 && gone.count(cell.receiver) == 0) {
        slice.failed.push_back({cell.sender, cell.receiver, cell.rail, &cell.error});
      }
      continue;
    }
    const double y = cell.metric == Metric::latency ? -std::log(cell.value) : std::log(cell.value);
    auto& cells = cell.confirming ? slice.confirming : slice.screening;
    cells.push_back({cell.sender, cell.receiver, cell.rail, cell.round, y});
  }
  std::vector<Slice> list;
  for (auto& [key, slice] : found) {
    slice.metric = key.first;
    slice.size_bytes = key.second;
    slice.nodes = static_cast<std::uint32_t>(matrix.nodes.size());
    slice.rails = rails;
    slice.measured = static_cast<std::uint32_t>(slice.screening.size() + slice.confirming.size());
    merge_repeated(slice.screening);
    list.push_back(std::move(slice));
  }
  return list;
}

}  // namespace rdmabench::inline v1::fabric
