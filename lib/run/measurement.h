// One size after another over an open session: warm-up, epochs, result.
#pragma once

#include <cstddef>
#include <vector>

#include "rdmabench/results/result.h"
#include "run/epochs.h"
#include "run/hooks.h"

namespace rdmabench::inline v1::run {

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

}  // namespace rdmabench::inline v1::run
