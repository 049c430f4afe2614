#include "rdmabench/verbs/handles.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "rdmabench/base/error.h"
#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
namespace {

// Acknowledging takes a mutex, so it is done for many events at once.
constexpr unsigned kAcknowledgeAt = 64;

CompletionChannel open_channel(ibv_context& context) {
  CompletionChannel channel(ibv_create_comp_channel(&context));
  const auto fail = [&context](const char* call) {
    const int code = errno;
    throw setup_error(SetupCall::create_comp_channel,
                      fmt::format("{}({})", call, ibv_get_device_name(context.device)), code,
                      {.context = &context});
  };
  if (channel == nullptr) fail("ibv_create_comp_channel");
  const int flags = fcntl(channel->fd, F_GETFL);
  if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) < 0) fail("fcntl");
  return channel;
}

}  // namespace

CompletionQueues::CompletionQueues(ibv_context& context, const CompletionQueueSpec& spec)
    : count_(spec.receives == 0 ? 1 : 2) {
  if (spec.events) channel_ = open_channel(context);
  queues_[0] = create_completion_queue(context, spec.sends, channel_.get(), spec.vector);
  if (count_ == 2) {
    queues_[1] = create_completion_queue(context, spec.receives, channel_.get(), spec.vector);
  }
  for (std::uint32_t i = 0; i < count_; ++i) all_[i] = queues_[i].get();
}

CompletionQueues::~CompletionQueues() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (unacknowledged_[i] != 0) ibv_ack_cq_events(queues_[i].get(), unacknowledged_[i]);
  }
}

bool CompletionQueues::arm(WaitFailure& failure) noexcept {
  bool any = false;
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (armed_[i]) continue;
    if (const int code = ibv_req_notify_cq(queues_[i].get(), 0); code != 0) {
      failure = {"ibv_req_notify_cq", code > 0 ? code : errno};
      return true;
    }
    armed_[i] = any = true;
  }
  return any;
}

void CompletionQueues::take_events(WaitFailure& failure) noexcept {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) {
    const std::uint32_t i = queue == queues_[0].get() ? 0 : 1;
    armed_[i] = false;
    if (++unacknowledged_[i] == kAcknowledgeAt) {
      ibv_ack_cq_events(queue, std::exchange(unacknowledged_[i], 0));
    }
  }
  if (errno != EAGAIN && errno != EINTR) failure = {"ibv_get_cq_event", errno};
}

CompletionQueues::WaitFailure CompletionQueues::wait_for_event(
    std::chrono::milliseconds at_most) noexcept {
  WaitFailure failure;
  if (channel_ == nullptr || arm(failure)) return failure;
  pollfd readable{.fd = channel_->fd, .events = POLLIN, .revents = 0};
  const auto wait = std::clamp<std::int64_t>(at_most.count(), 0, std::numeric_limits<int>::max());
  const int ready = poll(&readable, 1, static_cast<int>(wait));
  if (ready < 0 && errno != EINTR) failure = {"poll", errno};
  if (ready > 0) take_events(failure);
  return failure;
}

}  // namespace rdmabench::inline v1::verbs
