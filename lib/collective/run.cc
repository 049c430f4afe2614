#include "rdmabench/collective/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands.h"

namespace rdmabench::inline v1::collective {
namespace {

void refuse(const std::string& what, const std::string& remedy) {
  throw Error(Fault::usage, what, remedy);
}

}  // namespace

void check(const CollectivePlan& plan, std::uint32_t ranks) {
  if (plan.calls.empty()) refuse("nothing to measure", "Name an operation and a size.");
  if (plan.batch == 0 || plan.batch > kMaxBatch) {
    refuse(fmt::format("invalid `batch` {}", plan.batch), fmt::format("Take 1 to {}.", kMaxBatch));
  }
  if (plan.iterations > kMaxSamples) {
    refuse(fmt::format("invalid `iterations` {}", plan.iterations),
           fmt::format("Every sample is kept: take {} at most.", kMaxSamples));
  }
  if (plan.precision <= 0 || plan.precision >= 1) {
    refuse(fmt::format("invalid `precision` {}", plan.precision),
           "Take more than 0 and less than 1.");
  }
  if (plan.budget.count() <= 0 || plan.timeout < std::chrono::milliseconds(100)) {
    refuse("`budget` or `timeout` is too short",
           "Take a `budget` over 0 and a `timeout` of 100 ms or more.");
  }
  for (const Call& call : plan.calls) {
    if (call.count == 0) refuse("invalid `count` 0", "Take 1 element or more.");
    if (has_root(call.operation) && call.root >= ranks) {
      refuse(fmt::format("invalid `root` {} of {}", call.root, name(call.operation)),
             fmt::format("There are the ranks 0 to {}.", ranks - 1));
    }
  }
}

std::string name_of_operation(const Row& row) {
  const std::uint64_t iteration = row.first_wrong->wrong.iteration;
  if (iteration < (row.warmup + row.iterations) * row.batch) {
    return fmt::format("operation {}", iteration);
  }
  return "an operation after the timed ones";
}

bool failed(const Run& run) {
  return !run.error.empty() ||
         std::any_of(run.findings.begin(), run.findings.end(),
                     [](const RequirementFinding& one) { return one.status == Status::fail; }) ||
         std::any_of(run.rows.begin(), run.rows.end(),
                     [](const Row& row) { return row.results.wrong_operations > 0; });
}

std::string_view action_of(const Bisected& bisected) noexcept {
  const bool one_part = std::any_of(bisected.suspects.begin(), bisected.suspects.end(),
                                    [](const auto& parts) { return parts.size() == 1; });
  return one_part ? kActionOfRank : "investigate";
}

std::string nothing_measured(const Run& run) {
  const bool all = std::all_of(run.rows.begin(), run.rows.end(),
                               [](const Row& row) { return !row.skipped.empty(); });
  return all && !run.rows.empty() ? run.rows.front().skipped : "";
}

}  // namespace rdmabench::inline v1::collective
