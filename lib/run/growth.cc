#include "run/growth.h"

#include <algorithm>
#include <utility>

namespace rdmabench::inline v1::run {

using workload::EpochResult;
using workload::Mark;

Growth::Growth(const workload::EpochPlan& plan, std::size_t workers, bool cuts, More more)
    : cuts_(cuts),
      extent_{.iterations = plan.iterations, .whole = !plan.grows},
      more_(std::move(more)),
      marks_(workers),
      told_(workers) {}

void Growth::extend(std::size_t worker, workload::Extent& extent,
                    const EpochResult* pump) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    // One that has not seen what came last still tells of what was before.
    if (pump != nullptr && extent.iterations == extent_.iterations) tell(worker, *pump);
    if (!extent_.whole && !extent_.over) {
      if (const std::optional<std::uint64_t> more = more_(worker)) {
        extent_.iterations += *more;
        extent_.whole = *more == 0;
        told_.assign(told_.size(), false);
      }
    }
  } catch (...) {
    failure_ = std::current_exception();
    end();
  }
  extent = extent_;
}

void Growth::tell(std::size_t worker, const EpochResult& pump) {
  Marks& marks = marks_[worker];
  for (std::uint32_t i = 0; cuts_ && i < pump.mark_count; ++i) {
    const Mark& mark = pump.marks[i];
    if (marks.empty() || mark.completed > marks.back().completed) marks.push_back(mark);
  }
  begin_ = begin_ == 0 ? pump.begin : done_ == 0 ? std::min(begin_, pump.begin) : begin_;
  told_[worker] = true;
}

bool Growth::all_told() const noexcept {
  return std::find(told_.begin(), told_.end(), false) == told_.end();
}

StreamPart Growth::part(measure::Ticks end, std::uint64_t done) {
  StreamPart part{.begin = std::exchange(begin_, end),
                  .end = end,
                  .messages = done - std::exchange(done_, done)};
  std::size_t count = marks_.front().size();
  for (const Marks& marks : marks_) count = std::min(count, marks.size());
  for (std::size_t i = 1; i < count; ++i) {
    double rate = 0;
    for (const Marks& marks : marks_) {
      const Mark& from = marks[i - 1];
      const Mark& to = marks[i];
      if (to.time <= from.time) {  // a coarse clock
        part.times.clear();
        return part;
      }
      rate += static_cast<double>(to.completed - from.completed) /
              static_cast<double>(to.time - from.time);
    }
    part.times.push_back(1 / rate);
  }
  return part;
}

StreamPart Growth::cut() {
  measure::Ticks end = begin_;
  std::uint64_t done = 0;
  for (const Marks& marks : marks_) {
    end = std::max(end, marks.back().time);
    done += marks.back().completed;
  }
  StreamPart cut = part(end, done);
  for (Marks& marks : marks_) marks.erase(marks.begin(), marks.end() - 1);
  return cut;
}

std::uint64_t Growth::pending() const noexcept {
  return extent_.iterations * marks_.size() - done_;
}

StreamPart Growth::finish(const Results& results) {
  if (failure_) std::rethrow_exception(failure_);
  measure::Ticks end = begin_;
  for (std::size_t i = 0; i < results.size(); ++i) {
    tell(i, results[i]);
    end = std::max(end, results[i].end);
  }
  return part(end, extent_.iterations * marks_.size());
}

}  // namespace rdmabench::inline v1::run
