#include "run/processors.h"

#include <algorithm>
#include <utility>

namespace rdmabench::inline v1::run {

Polling::Polling(Processors& processors, const std::string& address, std::size_t threads)
    : processors_(processors), threads_(threads) {
  const std::lock_guard lock(processors_.mutex_);
  address_ = processors_.of_address_.try_emplace(address, 0).first;
  address_->second += threads_;
  processors_.all_ += threads_;
  processors_.addresses_ = processors_.of_address_.size();
}

Polling::~Polling() {
  const std::lock_guard lock(processors_.mutex_);
  processors_.all_ -= threads_;
  if ((address_->second -= threads_) == 0) processors_.of_address_.erase(address_);
  processors_.addresses_ = processors_.of_address_.size();
}

double Polling::rest() const noexcept {
  const auto all = static_cast<double>(processors_.all_.load(std::memory_order_relaxed));
  if (all <= processors_.count_) return 0;
  const auto addresses =
      static_cast<double>(processors_.addresses_.load(std::memory_order_relaxed));
  const auto own = static_cast<double>(address_->second.load(std::memory_order_relaxed));
  return std::max(0.0, own * addresses / processors_.count_ - 1);
}

std::chrono::nanoseconds IdleThread::nap(const Polling& polling,
                                         std::chrono::nanoseconds busy) noexcept {
  constexpr auto kSpin = std::chrono::milliseconds(1);
  constexpr double kLongest = 1e8;  // ns: the end of a server waits for a thread that sleeps
  const auto polled = static_cast<double>((busy - std::exchange(busy_, busy)).count());
  if (idle_ < kSpin) return {};
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(std::min(kLongest, polled * polling.rest())));
}

}  // namespace rdmabench::inline v1::run
