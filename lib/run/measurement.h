// One size after another over an open session: warm-up, epochs, result.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "rdmabench/report/result.h"
#include "run/epochs.h"
#include "run/hooks.h"

namespace rdmabench::run {

struct RateInterval {
  double low = 0;  ///< both 0 for a single epoch
  double high = 0;
};

/// The interval of a mean rate, by measure::estimate_dependent_mean() of the epochs' times for a
/// message, in their order; of fewer than six epochs at 95 % by Student's t of the times' logs. The
/// rate lies within, also where a stall made one epoch long; from six epochs on no end is faster
/// than the fastest one.
RateInterval rate_interval(double rate, std::span<const double> epoch_times);

/// How the target of a message that posts this sees it arrive: "receive", "remote-cq-data",
/// "memory-poll".
std::string_view signal_of(transport::OperationCode posted) noexcept;

/// The client's measuring.
class Measurement {
 public:
  Measurement(Session& session, const Config& config, const RunHooks& hooks);

  /// Measures config.sizes[index] and appends the row. When that fails half way, what there is by
  /// then is appended, marked, and the Error goes on.
  void run(std::size_t index, report::Report& report);

  /// What a tick has been worth since the start.
  measure::TickRate rate() const { return epochs_.rate(); }

 private:
  template <class Sink>
  void run_size(std::size_t index, std::vector<typename Sink::Result>& rows);

  Session& session_;
  const Config& config_;
  const RunHooks& hooks_;
  Epochs epochs_;
};

}  // namespace rdmabench::run
