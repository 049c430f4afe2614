// A whole run: what rank 0 decides, and what every rank does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rdmabench/collective/engine.h"
#include "rdmabench/collective/rank_group.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::collective {

/// What is this rank's own affair.
struct MemberOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  ///< as CollectivePlan::timeout
  /// RDMA or network devices whose counters are read, before and after all rows together; "all"
  /// alone: every RDMA device there is
  std::vector<std::string> devices{"all"};
  report::Facts facts{};   ///< for RankReport::facts
  std::string root = "/";  ///< holds sys and proc; a test gives a directory of its own
};

using OnRow = std::function<void(const Run&)>;

/// Rank 0: opens the library with the others, measures the plan's calls and fills in `run` as it
/// goes, calling `on_row` after each row. What goes wrong, on whatever rank, ends in run.error,
/// with the rank that is to blame; the library is then given up. The others wait to hear of it:
/// write the results, then dismiss().
///
/// Throws Error(usage) for a plan that cannot be, before anything is opened, and, as long as no row
/// is done, Error(usage) or Error(unavailable) of any rank's library.
void lead(RankGroup& group, Engine& engine, const CollectivePlan& plan,
          const MemberOptions& options, Run& run, const OnRow& on_row = {});

/// Rank 0: ends a run that failed, on all ranks.
void dismiss(RankGroup& group, const Run& run) noexcept;

/// The other ranks: obey rank 0 until it has done. Throws Error(failed) with rank 0's verdict where
/// the run fails, here or elsewhere.
void follow(RankGroup& group, Engine& engine, const MemberOptions& options);

}  // namespace rdmabench::collective
