// Findings as text: what stands out, by which measurements, and what to do next.
#pragma once

#include <string>
#include <vector>

#include "attribution_judge.h"

namespace rdmabench::inline v1::fabric {

/// Describes one slice of one matrix. Slice and matrix must outlive it.
class Words {
 public:
  Words(const Matrix& matrix, const Slice& slice, const Fit& fit) noexcept
      : matrix_(matrix), slice_(slice), fit_(fit) {}

  /// A direction, or both directions of one node in the same scope.
  Finding ends(const std::vector<EndSuspect>& ends) const;
  Finding rail(const RailSuspect& suspect) const;
  /// One route on one rail, or on all of its rails alike.
  Finding route(const std::vector<RouteSuspect>& rails, bool all_rails) const;
  Finding failing(const Failing& part) const;
  /// A group of routes: `slow` of the `measured` cells from `senders` to `receivers` are slow.
  static std::string block(const std::vector<std::uint32_t>& senders,
                           const std::vector<std::uint32_t>& receivers, std::size_t slow,
                           std::size_t measured);
  std::string groups(const std::vector<TwoGroups>& alike) const;
  std::string too_many_routes(std::size_t count) const;
  std::string most_failed() const;
  /// "bandwidth of 1M"
  std::string subject() const;

 private:
  std::string rail_name(std::uint32_t rail, std::uint32_t rank) const;
  /// "0.52 of the typical 392 Gb/s"
  std::string of_typical(double effect, double typical) const;
  double ratio(double effect) const;
  std::string value(double log_value) const;
  std::string end_clause(const EndSuspect& end) const;
  std::string other_direction(const EndSuspect& end) const;
  Finding start(Part part, std::uint32_t a, double effect, double score, State state) const;

  const Matrix& matrix_;
  const Slice& slice_;
  const Fit& fit_;
};

/// Measured over typical of an effect for which lower is worse; over 1 for latency.
double ratio_of(Metric metric, double effect);

/// "bandwidth of 1M"
std::string subject(Metric metric, std::uint64_t size_bytes);

}  // namespace rdmabench::inline v1::fabric
