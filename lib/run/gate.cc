#include "gate.h"

#include <fmt/format.h>

#include "rdmabench/base/error.h"

namespace rdmabench::run {

void Gate::pass(std::uint32_t clients, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  Group& group = groups_[clients];  // one for each size asked for: the protocol bounds them
  const std::uint64_t opened = group.opened;
  if (++group.waiting == clients) {
    group.waiting = 0;
    ++group.opened;
    changed_.notify_all();
    return;
  }
  const bool complete =
      changed_.wait_for(lock, deadline.left(), [&] { return group.opened != opened; });
  if (complete) return;
  const std::uint32_t there = group.waiting--;
  throw Error(Fault::failed,
              fmt::format("only {} of {} clients of the incast came in time", there, clients),
              "Start them at the same time, or raise `timeout`.");
}

}  // namespace rdmabench::run
