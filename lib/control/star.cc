#include "star.h"

#include <utility>

#include "admission.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr int kMaxAtOnce = 16;  // messages of one rank before it is another's turn
constexpr std::chrono::milliseconds kWordLimit{500};  // of one message to a rank
constexpr std::uint64_t kLate = kMaxRanks;            // the listener's key

}  // namespace

Star::Star(std::vector<std::optional<Channel>> channels, Listener* late)
    : channels_(std::move(channels)), late_(late) {
  for (std::size_t rank = 0; rank < channels_.size(); ++rank) {
    if (channels_[rank]) readiness_.watch(*channels_[rank], rank);
  }
  if (late_ != nullptr) readiness_.watch(*late_, kLate);
}

void Star::end(std::uint32_t rank, std::string reason, MessageType type) {
  events_.push_back({.rank = rank, .ended = true, .type = type, .text = std::move(reason)});
  channels_[rank].reset();
}

void Star::send(std::uint32_t rank, MessageType type, std::string_view payload) {
  if (!channels_[rank]) return;
  try {
    channels_[rank]->send(type, payload, Deadline::after(kWordLimit));
  } catch (const std::exception& error) {
    end(rank, error.what());
  }
}

void Star::take(std::uint32_t rank) {
  try {
    for (int i = 0; i < kMaxAtOnce && channels_[rank]; ++i) {
      std::optional<Message> message = channels_[rank]->receive_ready("next message");
      if (!message) return;
      if (message->type.code() == kAbortCode) {
        return end(rank, std::move(message->payload), message->type);
      }
      events_.push_back({.rank = rank, .type = message->type, .text = std::move(message->payload)});
    }
  } catch (const std::exception& error) {
    end(rank, error.what());
  }
}

void Star::wait(Deadline deadline, std::vector<Event>& events) {
  if (events_.empty()) {
    for (const std::uint64_t key : readiness_.wait(deadline)) {
      key == kLate ? refuse_late(*late_) : take(static_cast<std::uint32_t>(key));
    }
  }
  std::move(events_.begin(), events_.end(), std::back_inserter(events));
  events_.clear();
}

void Star::drop(std::uint32_t rank, std::string_view reason) {
  if (channels_[rank]) channels_[rank]->abort(reason);
  channels_[rank].reset();
}

}  // namespace rdmabench::inline v1::control
