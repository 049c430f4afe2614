// The additive model of one metric and size: cells, their fit by median polish, and the scales that
// scores are made of. All values are logarithms, and higher is better for latency too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {

struct Cell {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint32_t rail = 0;
  std::uint32_t round = 0;
  double y = 0;
};

/// A measurement that gave no value between nodes that were not lost.
struct FailedCell {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint32_t rail = 0;
  const std::string* error = nullptr;  ///< owned by the matrix
};

/// Everything of one metric and size.
struct Slice {
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  std::uint32_t nodes = 0;
  std::uint32_t rails = 0;
  std::vector<Cell> screening;  ///< each ordered pair and rail once: the median of its measurements
  std::vector<Cell> confirming;
  std::vector<FailedCell> failed;
  std::uint32_t measured = 0;  ///< with a value

  std::size_t port(std::uint32_t rail, std::uint32_t node) const {
    return std::size_t{rail} * nodes + node;
  }
};

/// Splits a matrix by metric and size, in that order. Throws as attribute() does. `left_out` counts
/// the measurements of patterns that the model does not describe.
std::vector<Slice> slices(const Matrix& matrix, std::size_t& left_out);

/// Replaces the repeated measurements of a pair by their upper median, so that each pair counts
/// once.
void merge_repeated(std::vector<Cell>& cells);

/// Whether a cell shares an end with other flows, and so does not show what its pair can do.
bool is_left_out(const Measurement& cell);

/// One direction of a node on one rail: how its cells differ from typical.
struct Effect {
  double value = 0;
  std::uint32_t cells = 0;
  std::uint32_t partners = 0;  ///< distinct
  bool pinned = false;         ///< held at 0, because confirming measurements cleared it
};

enum class Direction : std::uint8_t { sending, receiving };
inline constexpr Direction kDirections[] = {Direction::sending, Direction::receiving};

/// What to hold at 0: a node's direction on one rail, or on all.
struct Pin {
  Direction direction = Direction::sending;
  std::uint32_t node = 0;
  std::optional<std::uint32_t> rail;
};

struct Fit {
  std::vector<double> typical;       ///< by rail; 0 without cells
  std::vector<std::uint32_t> cells;  ///< by rail
  std::vector<Effect> sending;       ///< by port
  std::vector<Effect> receiving;     ///< by port
  std::vector<double> residuals;     ///< of the screening cells, in their order
  double sigma = 0;                  ///< of one cell about the model, on the worse side
  double port_scale = 0;             ///< of a port's effect times the root of its cells
  double node_scale = 0;             ///< the same of the mean effect over rails

  const std::vector<Effect>& effects(Direction direction) const {
    return direction == Direction::sending ? sending : receiving;
  }
  /// The model's value of a cell.
  double predicted(const Slice& slice, const Cell& cell) const {
    return typical[cell.rail] + sending[slice.port(cell.rail, cell.sender)].value +
           receiving[slice.port(cell.rail, cell.receiver)].value;
  }
};

/// Whether ports have so few cells that two dips of one hide each other, and the noise.
bool has_few_cells(const Slice& slice);

/// `sigma` is infinite where there are too few cells to tell noise from effects.
Fit fit(const Slice& slice, const std::vector<Pin>& pins);

/// The pooled effect of one direction of a node, over the rails on which it was measured.
struct Pooled {
  double value = 0;  ///< mean over cells
  std::uint32_t cells = 0;
  std::uint32_t partners = 0;  ///< of the rail with most
  bool pinned = false;         ///< on any rail
};
Pooled pooled(const Slice& slice, const Fit& fit, Direction direction, std::uint32_t node);

/// Robust standard deviation about 0: the median absolute value, or the lower quartile's where that
/// is greater, scaled for a normal distribution. Values beyond 5 of it are removed and it is
/// computed again, so that outliers do not hide themselves.
double scale_about_zero(std::vector<double> values);

inline constexpr double kNormalMad = 1.4826;  ///< standard deviation over median absolute deviation
inline constexpr double kFloor = 1e-3;        ///< scores use at least this scale, 0.1 %

// What is judged.
inline constexpr double kMinEffect = 0.03;   ///< of nodes and rails: smaller deviations are typical
inline constexpr double kRouteEffect = 0.1;  ///< of a route, which is often judged by a single cell
inline constexpr double kScore = 5;          ///< standard deviations beyond which it is a finding
inline constexpr double kLeadScore = 3;      ///< and beyond which it is measured again
inline constexpr double kConfirmScore = 3;   ///< that the confirming measurements reach alone
inline constexpr std::uint32_t kMinPartners = 3;  ///< distinct, in a direction; fewer judge nothing
inline constexpr double kHalf = 0.4;  ///< share of nodes from which two groups are ambiguous
inline constexpr double kMaxScreenedShare = 0.25;  ///< of cells; more slow ones are not bad routes
inline constexpr double kMaxRouteShare = 0.15;     ///< the same of those that are slow again

}  // namespace rdmabench::inline v1::fabric
