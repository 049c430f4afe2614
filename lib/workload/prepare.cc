#include "rdmabench/workload/prepare.h"

#include <fmt/format.h>

namespace rdmabench::inline v1::workload {

void check_plan(const LoopKey& key, const EpochPlan& plan) {
  constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 32;
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 48;  // ticks of all gaps together
  if (plan.iterations == 0 || plan.iterations >= kMostMessages) {
    throw Error(Fault::usage,
                fmt::format("invalid number of messages {} in an epoch", plan.iterations),
                fmt::format("It may have 1 to {}.", kMostMessages - 1));
  }
  if (const std::uint64_t bytes = transport::traits(key.operation).bytes;
      bytes != 0 && plan.size != bytes) {
    throw Error(Fault::usage,
                fmt::format("{} of {} bytes", transport::name(key.operation), plan.size),
                fmt::format("It acts on {} bytes: use `sizes` {}.", bytes, bytes));
  }
  if (key.shape != Shape::load && !key.paced) return;
  if (plan.gap_q16 == 0) {
    throw Error(Fault::usage, "no rate was given to pace messages",
                "Give a rate, or measure as fast as it goes with 'bw'.");
  }
  if ((plan.gap_q16 >> 16) >= kLongest / plan.iterations) {
    throw Error(Fault::usage,
                fmt::format("{} messages, {} ticks apart, take too long for one epoch",
                            plan.iterations, plan.gap_q16 >> 16),
                "Give a higher rate or fewer messages.");
  }
}

void check_drained(std::uint64_t under_way) {
  if (under_way == 0) return;
  throw Error(Fault::failed, fmt::format("{} posts have not completed", under_way),
              "Post the last one of each queue pair with Signal::now and poll until it completes.");
}

}  // namespace rdmabench::inline v1::workload
