#include "incast_barrier.h"

#include <fmt/format.h>

#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::run {

void IncastBarrier::pass(const std::string& job, std::uint32_t clients, const Deadline& deadline,
                         const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto place = groups_.try_emplace({job, clients}).first;
  Group& group = place->second;
  const std::uint64_t opened = group.opened;
  ++group.inside;
  if (++group.waiting == clients) {
    group.waiting = 0;
    ++group.opened;
    changed_.notify_all();
  }
  const bool complete =
      changed_.wait_for(lock, stop, deadline.left(), [&] { return group.opened != opened; });
  const std::uint32_t there = complete ? 0 : group.waiting--;
  if (--group.inside == 0) groups_.erase(place);
  if (complete) return;
  throw Error(Fault::failed,
              fmt::format("only {} of {} clients of the incast{} came in time", there, clients,
                          job.empty() ? "" : fmt::format(" '{}'", ascii_only(job, 40))),
              "Start them at the same time with the same `incast_job`, or raise `timeout`.");
}

std::size_t IncastBarrier::groups() {
  const std::lock_guard lock(mutex_);
  return groups_.size();
}

}  // namespace rdmabench::inline v1::run
