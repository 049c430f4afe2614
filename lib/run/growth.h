// The messages of an epoch that grows while it runs, and what its workers have done of them.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::run {

/// What all workers did from one look at them to the next, as if it were an epoch of its own.
struct StreamPart {
  measure::Ticks begin = 0;
  measure::Ticks end = 0;
  std::uint64_t messages = 0;   ///< of all workers
  std::vector<double> times{};  ///< ticks for each of them, in parts; none where there are few
};

/// Thread rule: any thread.
class Growth {
 public:
  using Results = std::vector<workload::EpochResult>;
  /// How many more messages each worker has: 0 where no more will come, nothing while that is not
  /// known. It may throw, which ends the epoch.
  using More = std::function<std::optional<std::uint64_t>(std::size_t worker)>;

  /// Of `plan.iterations` messages of each worker at first. `cuts`: somebody will call cut(); else
  /// no marks are kept, for nobody would ever drop them.
  Growth(const workload::EpochPlan& plan, std::size_t workers, bool cuts, More more);

  /// As Watch::let_grow() wants it.
  void extend(std::size_t worker, workload::Extent& extent,
              const workload::EpochResult* pump) noexcept;

  std::uint64_t iterations() const noexcept { return extent_.iterations; }

  // For More, and when all workers have ended.

  void end() noexcept { extent_.over = true; }
  bool over() const noexcept { return extent_.over; }
  /// Whether every worker has come so far that it soon needs more.
  bool all_told() const noexcept;
  /// What was done since the last cut, or since the begin.
  StreamPart cut();
  /// Of all workers: messages that are agreed on, and were not done at the last cut().
  std::uint64_t pending() const noexcept;
  /// What is left to the end of all workers. Throws what More threw.
  StreamPart finish(const Results& results);

 private:
  /// Marks of one worker since the last cut, which is the first of them.
  using Marks = std::vector<workload::Mark>;

  StreamPart part(measure::Ticks end, std::uint64_t done);
  void tell(std::size_t worker, const workload::EpochResult& pump);

  bool cuts_;
  std::mutex mutex_;
  workload::Extent extent_;
  More more_;
  std::exception_ptr failure_;
  std::vector<Marks> marks_;
  std::vector<bool> told_;
  measure::Ticks begin_ = 0;
  std::uint64_t done_ = 0;  ///< messages of all workers until then
};

}  // namespace rdmabench::inline v1::run
