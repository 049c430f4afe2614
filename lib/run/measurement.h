// One size after another over an open session: warm-up, epochs, result.
#pragma once

#include <chrono>
#include <vector>

#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/stop.h"
#include "rdmabench/report/result.h"
#include "rdmabench/run/config.h"
#include "rdmabench/run/session.h"

namespace rdmabench::run {

/// The client's measuring. Its clock is anchored when it is made, and again at each result.
class Measurement {
 public:
  Measurement(Session& session, const Config& config, const OnProgress& on_progress);

  /// Measures config.sizes[index] and appends the row. When that fails half way, what there is by
  /// then is appended, marked, and the Error goes on.
  void run(std::size_t index, report::Report& report);

  /// What a tick has been worth since the start.
  measure::TickRate rate() const;

 private:
  workload::EpochResult epoch(std::uint64_t size, std::uint64_t iterations);
  std::uint64_t warm_up(std::uint64_t size);

  /// A target that is not notified of what it serves cannot tell a long epoch from a stopped
  /// initiator. So no epoch may take longer than a quarter of the timeout, at the speed last seen.
  void bound_epochs(std::uint64_t iterations, std::chrono::nanoseconds elapsed);

  template <class Sink>
  void run_size(std::size_t index, std::vector<typename Sink::Result>& rows);

  Session& session_;
  const Config& config_;
  const OnProgress& on_progress_;
  measure::Anchor anchor_;
  std::vector<measure::Ticks> intervals_;
  std::uint64_t longest_epoch_ = 1;
};

}  // namespace rdmabench::run
