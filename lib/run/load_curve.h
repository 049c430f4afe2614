// Latency under load: from a light load to one beyond capacity.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "rdmabench/results/result.h"
#include "run/epochs.h"
#include "run/hooks.h"

namespace rdmabench::inline v1::run {

/// Of capacity. The last one lies beyond it: there an open loop's latency grows for as long as it
/// runs.
inline constexpr std::array kLoads{0.1, 0.2,  0.3, 0.4,  0.5, 0.6, 0.7,
                                   0.8, 0.85, 0.9, 0.95, 1.0, 1.1};

/// Sets `saturated` of the rows of one size, from the lightest load to the heaviest, and `knee` and
/// `knee_reliable` of the one before the first whose latency rises steeply. No row is a knee where
/// the first rises steeply already, or none does.
void mark_knee(std::span<report::LoadResult> rows);

class LoadCurve {
 public:
  LoadCurve(Session& session, Epochs& epochs, const Config& config, const RunHooks& hooks)
      : session_(session), epochs_(epochs), config_(config), hooks_(hooks) {}

  /// Measures every load in turn at config.sizes[index], and appends their rows.
  void run(std::size_t index, report::Report& report);

 private:
  report::LoadResult run_load(std::uint64_t size, double offered);
  double capacity(std::uint64_t size);

  Session& session_;
  Epochs& epochs_;
  const Config& config_;
  const RunHooks& hooks_;
};

}  // namespace rdmabench::inline v1::run
