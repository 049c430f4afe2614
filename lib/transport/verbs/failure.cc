// What went wrong on the data path: kept there in a few fields, put into words here.
#include <fmt/format.h>

#include <cerrno>

#include "rdmabench/base/error.h"
#include "rdmabench/transport/verbs/core.h"
#include "verbs/completion.h"
#include "verbs/device_events.h"

namespace rdmabench::inline v1::transport::verbs {

namespace ibv = rdmabench::verbs;

bool Core::device_failed() noexcept {
  return events_->look();
}

std::string Core::device_report() const {
  events_->look();
  return events_->text(completion_failed());
}

bool Core::completion_failed() const noexcept {
  return failed_ && refused_operation_.empty() && failed_call_ == nullptr;
}

bool Core::device_comes_first() const noexcept {
  return !failed_ || events_->beyond_queue_pairs() ||
         (completion_failed() && failed_completion_.status == IBV_WC_WR_FLUSH_ERR);
}

std::string Core::failure() const {
  const bool device_failed = events_->look();
  const std::string reported = events_->text(completion_failed());
  if (!failed_ && reported.empty()) return "nothing failed";
  std::string text;
  std::uint32_t number = queues_.pairs.front()->qp_num;
  if (!failed_) {
    // What the device reported is all there is.
  } else if (!refused_operation_.empty()) {
    text = fmt::format("{} of {} bytes on an endpoint that was not opened for it.",
                       refused_operation_, refused_bytes_);
  } else if (failed_call_ != nullptr) {
    text = fmt::format("{}: {}.", failed_call_, errno_text(failed_code_));
  } else {
    const std::uint64_t id = failed_completion_.wr_id;
    const bool receive = (id & kReceiveBit) != 0;
    // With one queue pair a wr_id is a count of more than 32 bits.
    const bool tagged = !receive && send_queues_.size() > 1;
    const std::uint64_t send_queue = tagged ? id >> 32 : 0;
    if (send_queue < send_queues_.size()) number = send_queues_[send_queue].queue_pair->qp_num;
    text = fmt::format("{} {}{}: {}", receive ? "receive" : "post",
                       receive  ? id & ~kReceiveBit
                       : tagged ? (id & 0xffffffff) - 1
                                : id - 1,
                       tagged ? fmt::format(" of queue pair {}", send_queue) : "",
                       ibv::to_text(failed_completion_));
  }
  const bool both = !text.empty() && !reported.empty();
  text = device_failed && device_comes_first()
             ? fmt::format("{}{}{}", reported, both ? " Then " : "", text)
             : fmt::format("{}{}{}", text, both ? " " : "", reported);
  return fmt::format("{} On {}:{} {} queue pair {}, to {}, path MTU {}.", text, local_path_.device,
                     local_path_.port, to_text(gid_), number, peer_.empty() ? "no peer yet" : peer_,
                     local_path_.mtu);
}

Failure Core::failed_call() const {
  if (!events_->fatal().empty() && device_comes_first()) {
    return {.library = "libibverbs",
            .call = "ibv_get_async_event",
            .status = std::string(events_->fatal())};
  }
  if (!failed_ || !refused_operation_.empty()) return {};
  if (failed_call_ == nullptr) {
    return {.library = "libibverbs",
            .call = "ibv_poll_cq",
            .status = std::string(ibv::explain(failed_completion_.status).name)};
  }
  const std::string_view call = failed_call_;
  return {.code = failed_code_,
          .library = "libibverbs",
          .call = std::string(call.substr(0, call.find(' ')))};
}

PostStatus Core::refuse_send(SendQueue& send_queue, int code) noexcept {
  send_queue.signal_at =
      send_queue.posted;  // the request was not posted: let the next one carry the signal
  // A queue that is full empties as completions are polled; with nothing outstanding it never will.
  if (code == ENOMEM && send_queue.posted != send_queue.limit - depth_) return PostStatus::busy;
  return refuse(plan_.extended ? "ibv_wr_complete" : "ibv_post_send", code);
}

PostStatus Core::refuse_list(SendQueue& send_queue, int code, const ibv_send_wr* refused) noexcept {
  // A part of it is under way, and the callers know of whole lists only.
  if (refused != send_queue.list.data()) return refuse("ibv_post_send of a list, in part", code);
  return refuse_send(send_queue, code);
}

PostStatus Core::refuse(const char* call, int code) noexcept {
  if (!failed_) {
    failed_ = true;
    failed_call_ = call;
    failed_code_ = code;
  }
  return PostStatus::failed;
}

int Core::fail(const ibv_wc& completion) noexcept {
  // The first is the cause; what is flushed after it only follows.
  if (!failed_) {
    failed_ = true;
    failed_completion_ = completion;
  }
  return -1;
}

int Core::fail(int poll_result) noexcept {
  refuse("ibv_poll_cq", poll_result < 0 ? -poll_result : EIO);
  return -1;
}

bool Core::fail(ibv::CompletionQueues::WaitFailure failure) noexcept {
  if (failure.call == nullptr) return true;
  refuse(failure.call, failure.code);
  return false;
}

}  // namespace rdmabench::inline v1::transport::verbs
