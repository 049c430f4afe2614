// A run of collectives among the ranks of a job: what `rdmabench coll` and nccl-tests' command
// lines have in common.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rdmabench/collective/engines.h"
#include "rdmabench/collective/run.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::inline v1::tools {

struct CollJob {
  /// Rank 0: what is measured among the ranks of these hosts, and how they are divided.
  std::function<void(collective::CollectivePlan& plan, const std::vector<std::string>& hosts)>
      fill{};
  collective::CollectivePlan plan{};         ///< but for what `fill` enters
  std::vector<std::string> devices{"all"};   ///< of collective::MemberOptions
  bool check_by_cpu = false;                 ///< of collective::MemberOptions
  std::vector<run::Requirement> required{};  ///< of collective::prove()
  std::string backend = "nccl";              ///< "nccl", "mpi"
  collective::MpiOptions mpi{};
  collective::NcclOptions nccl{};
  control::RendezvousOptions rendezvous{};
  report::Facts config{};
  /// Measure it after the collectives; without a memory in that of the back end, or in the host's
  /// where that cannot be.
  std::optional<collective::PointToPointOptions> wire{};
  /// Rank 0: writes what there is, also where the run failed. False where a result is not what was
  /// expected.
  std::function<bool(const collective::Run& run, const collective::PointToPoint& wire)> write{};
  /// Rank 0: prints what is new, after each row of a table that is printed as it comes.
  std::function<void(const collective::Run& so_far)> print{};
  /// Writes after each row too: a file can be replaced, and some launchers kill a rank within
  /// milliseconds of its signal.
  bool write_each_row = false;
};

/// Takes part in the run; returns the exit code. Ends the process where a library hangs: then the
/// results are written before. Throws Error as collective::lead() and follow() do.
int run_job(CollJob& job);

}  // namespace rdmabench::inline v1::tools
