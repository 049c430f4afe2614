// What is measured, and what came of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/collective/check.h"
#include "rdmabench/collective/numbers.h"
#include "rdmabench/report/conditions.h"
#include "rdmabench/report/fact.h"

namespace rdmabench::collective {

/// As in CollectivePlan.
struct Amount {
  std::uint32_t batch = 1;
  std::uint64_t iterations = 0;
  std::uint64_t warmup = 0;
};

/// The same on every rank, but only rank 0's counts.
struct CollectivePlan {
  std::vector<Call> calls{};     ///< a row each, in this order
  std::uint32_t batch = 1;       ///< operations of one sample: started together, awaited together
  std::uint64_t iterations = 0;  ///< samples of a row; 0: until the median is known
  std::uint64_t warmup = 5;      ///< samples before them, checked but not counted
  /// Of a row, where it is to depend on the call; in the bounds that check() has for the three
  /// above.
  std::function<Amount(const Call& call, std::uint32_t ranks)> amount{};
  /// Without `iterations` a row ends when the interval around its median is this narrow, to either
  /// side and relative to it, by a look at `min_iterations` or at twice as many as the look before
  /// (see MedianWatch) ...
  double precision = 0.02;
  std::uint64_t min_iterations = 20;
  /// ... or after this time.
  std::chrono::nanoseconds budget = std::chrono::seconds(2);
  bool check = true;                                     ///< every result
  std::uint64_t buffer_bytes = std::uint64_t{64} << 20;  ///< of all slots of one side, about
  /// Of every wait: of one sample, of an answer, of the library's set-up and end.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

/// Throws Error(usage) for what cannot be: nothing to measure, a root that is no rank, numbers out
/// of bounds.
void check(const CollectivePlan& plan, std::uint32_t ranks);

/// The first wrong stretch that any rank found.
struct WrongAt {
  std::uint32_t rank = 0;
  Wrong wrong{};
};

struct Row {
  Call call{};
  std::uint64_t size_bytes = 0;
  std::string skipped{};         ///< why this was not measured; "" where it was
  std::uint64_t iterations = 0;  ///< samples
  std::uint64_t warmup = 0;
  std::uint32_t batch = 1;
  Numbers numbers{};
  bool converged = true;  ///< false: the budget ended before the median was known
  double algorithm_bytes_per_s = 0;
  std::optional<double> bus_bytes_per_s{};
  std::string bus_reason{};  ///< why there is none
  bool checked = false;
  Checked results{};  ///< of all ranks
  std::optional<WrongAt> first_wrong{};
  report::Facts facts{};  ///< of the library, for this row
};

/// One rank of the run.
struct RankReport {
  RankIdentity identity{};
  report::Facts facts{};
  ClockOffset clock{};                      ///< as last compared
  std::vector<report::Counter> counters{};  ///< of all rows together
  std::vector<std::string> notes{};
};

struct Run {
  std::string backend{};
  report::Facts config{};
  report::Facts environment{};  ///< of rank 0's machine
  report::Facts library{};
  std::vector<RankReport> ranks{};
  std::vector<Row> rows{};
  std::vector<std::string> notes{};
  std::string error{};          ///< why it ended early; finished rows stay
  Fault fault = Fault::failed;  ///< of the error
  Blame blame{};                ///< whom that is put down to
};

/// Whether it ended early or any result was wrong.
bool failed(const Run& run);

/// The reason where every row was skipped, else "".
std::string nothing_measured(const Run& run);

}  // namespace rdmabench::collective
