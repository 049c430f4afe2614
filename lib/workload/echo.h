// The target of an open loop: sends each message back, several at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workload/open_loop.h"
#include "workload/slots.h"

namespace rdmabench::inline v1::workload {

/// The answer to message k carries the immediate k and, when validating, the same pattern, from
/// slot k % slots: the initiator sends k only after it has received the last answer from that slot.
template <transport::Transport T, class Op, bool kValidate>
class Echo {
 public:
  Echo(T& endpoint, const EpochPlan& plan, Watch& watch, EpochResult& result)
      : endpoint_(endpoint),
        plan_(plan),
        result_(result),
        io_(endpoint, plan, watch, result),
        region_(endpoint.send_region()),
        queue_pairs_(endpoint.queue_pairs()),
        owed_(std::uint64_t{plan.receives} * queue_pairs_) {}

  bool run() noexcept {
    while (answered_ < plan_.iterations) {
      if (!answer_all() || !take()) {
        if (!is_about_data(result_.outcome)) result_.message = result_.arrived;
        return false;
      }
    }
    result_.message = answered_;
    return io_.drain();
  }

 private:
  bool take() noexcept {
    const auto on_receive = [this](const transport::Received& received) noexcept {
      arrived(received);
      io_.give_back(received.slot);
    };
    const bool pending = answered_ < result_.arrived;
    const bool going = pending ? io_.poll_once(Wait::room_to_post, on_receive)
                               : io_.poll(Wait::message, on_receive);
    return going && result_.outcome == Outcome::ok;
  }

  void arrived(const transport::Received& received) noexcept {
    const std::uint64_t k = T::kOrdersMessages ? result_.arrived : received.immediate;
    if (!has_length(received, plan_.size)) return complain(Outcome::wrong_size, k);
    if (Op::kImmediate && received.immediate != static_cast<std::uint32_t>(k)) {
      return complain(Outcome::wrong_immediate, k);
    }
    if (k >= plan_.iterations || result_.arrived - answered_ >= owed_.size()) {
      return complain(Outcome::wrong_messages, k);
    }
    if constexpr (kValidate) {
      const auto message = Op::kTwoSided
                               ? message_in(endpoint_.receive_region(), received.slot, plan_.size)
                               : message_in(endpoint_.window(), k, plan_.size);
      if (!check_message<T>(message, k, tag_of(k), io_, result_)) return;
    }
    owed_[result_.arrived % owed_.size()] = static_cast<std::uint32_t>(k);
    ++result_.arrived;
  }

  bool answer_all() noexcept {
    while (answered_ < result_.arrived) {
      const std::uint64_t k = owed_[answered_ % owed_.size()];
      if constexpr (kValidate) {
        memory::fill_pattern(message_in(region_, k, plan_.size), tag_of(k));
      }
      const std::uint64_t offset = k % region_.slots * region_.stride;
      const transport::PostStatus status = endpoint_.template post<Op>(
          offset, offset, plan_.size, k,
          answered_ + queue_pairs_ >= plan_.iterations ? transport::Signal::now
                                                       : transport::Signal::by_interval,
          queue_pair_);
      if (status == transport::PostStatus::busy) return true;
      if (status == transport::PostStatus::failed) {
        return io_.end(Outcome::post_failed, Wait::nothing);
      }
      ++answered_;
      next_queue_pair<T>(queue_pair_, queue_pairs_);
    }
    return true;
  }

  void complain(Outcome outcome, std::uint64_t k) noexcept {
    workload::complain(io_, result_, outcome, k);
  }

  T& endpoint_;
  const EpochPlan& plan_;
  EpochResult& result_;
  EpochIo<T> io_;
  transport::Region region_;
  std::uint32_t queue_pairs_;
  std::uint32_t queue_pair_ = 0;
  std::vector<std::uint32_t> owed_;  ///< a ring: messages that were not answered yet
  std::uint64_t answered_ = 0;
};

template <transport::Transport T, class Op, bool kValidate>
EpochResult echo_target(T& endpoint, const EpochPlan& plan, Watch& watch,
                        std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  Echo<T, Op, kValidate> echo(endpoint, plan, watch, result);
  echo.run();
  return result;
}

}  // namespace rdmabench::inline v1::workload
