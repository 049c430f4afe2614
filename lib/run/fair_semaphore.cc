#include "run/fair_semaphore.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::run {

FairSemaphore::Turn FairSemaphore::wait(const std::string& address, const Deadline& deadline,
                                        const std::stop_token& stop) {
  const auto most = std::chrono::ceil<std::chrono::milliseconds>(deadline.left());
  std::unique_lock lock(mutex_);
  const auto own = waiting_.emplace(waiting_.end(), address);
  hand_out();
  if (own->changed.wait_for(lock, stop, deadline.left(), [&] { return own->may_go; })) {
    return Turn(this, {own});
  }
  const auto before = std::distance(waiting_.begin(), own);
  waiting_.erase(own);
  throw Error(Fault::failed,
              fmt::format("waited {} ms for its turn to open an endpoint, after {} other clients",
                          most.count(), held_.size() + static_cast<std::size_t>(before)),
              fmt::format("Start fewer clients at once, or raise `timeout`{}.",
                          command_.empty() ? "" : fmt::format(" and '{} --timeout'", command_)));
}

std::size_t FairSemaphore::waiting() {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

/// In the order of arrival. Skips an address that holds its share.
void FairSemaphore::hand_out() noexcept {
  for (auto next = waiting_.begin(); next != waiting_.end() && held_.size() < all_;) {
    const auto own = next++;
    const auto of_address = std::count_if(held_.begin(), held_.end(), [&](const Entry& entry) {
      return entry.address == own->address;
    });
    if (static_cast<std::size_t>(of_address) >= each_) continue;
    held_.splice(held_.end(), waiting_, own);
    own->may_go = true;
    own->changed.notify_one();
  }
}

void FairSemaphore::end(Entries::iterator own) noexcept {
  const std::lock_guard lock(mutex_);
  held_.erase(own);
  hand_out();
}

}  // namespace rdmabench::inline v1::run
