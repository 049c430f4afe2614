// Latency under load: from a light load to one beyond capacity.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rdmabench/report/result.h"
#include "run/epochs.h"
#include "run/hooks.h"

namespace rdmabench::run {

/// Sets `saturated` of the rows of one size, from the lightest load to the heaviest, and `knee` and
/// `knee_reliable` of the one before the first whose latency rises steeply. No row is a knee where
/// the first rises steeply already, or none does.
void mark_knee(std::span<report::LoadResult> rows);

class LoadCurve {
 public:
  LoadCurve(Session& session, Epochs& epochs, const Config& config, const RunHooks& hooks)
      : session_(session), epochs_(epochs), config_(config), hooks_(hooks) {}

  /// Measures every load in turn at config.sizes[index], and appends their rows.
  void run(std::size_t index, std::vector<report::LoadResult>& rows);

 private:
  report::LoadResult run_load(std::uint64_t size, double offered);
  double capacity(std::uint64_t size);

  Session& session_;
  Epochs& epochs_;
  const Config& config_;
  const RunHooks& hooks_;
};

}  // namespace rdmabench::run
