// Active messages: UCX calls a handler for each that comes, and the receive is found here. Their
// header is the tag of a tagged message. Source: ucp_worker_set_am_recv_handler(),
// ucp_am_send_nbx() and ucp_am_recv_data_nbx() of ucp.h.
#include <cstring>

#include "context.h"
#include "rdmabench/transport/ucx/objects.h"

namespace rdmabench::inline v1::transport::ucx {
namespace {

/// What one call for progress may bring while all receives are out: over tcp 64 KiB of each of 16
/// sockets, of which the shortest message takes 22 bytes.
constexpr std::size_t kMostUnclaimed = 65536;
constexpr std::size_t kMostCopied = std::size_t{4} << 20;  // bytes

}  // namespace

void Objects::take_active_messages() {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kActiveId;
  // And not UCP_AM_FLAG_PERSISTENT_DATA, by which UCX would copy each message that its transport
  // does not leave in a buffer.
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = &on_active;
  handler.arg = this;
  check(ucp_worker_set_am_recv_handler(polled_, &handler), Fault::unavailable,
        "ucp_worker_set_am_recv_handler()", "Leave out `service` am.");
  receive_param_.op_attr_mask &= ~std::uint32_t{UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
  receive_param_.cb.recv_am = &on_fetched;
  unclaimed_.resize(kMostUnclaimed);
  for (Unclaimed& one : unclaimed_) free_unclaimed_.push(one);
  copies_.resize(kMostCopied);
}

/// Whatever a peer sends: its header is of a known length, its queue pair is there, and it fits.
ucs_status_t Objects::on_active(void* owner, const void* header, std::size_t header_bytes,
                                void* data, std::size_t bytes,
                                const ucp_am_recv_param_t* how) noexcept {
  Objects& self = *static_cast<Objects*>(owner);
  const bool is_here = (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  const auto refuse = [&](const char* unfit) {
    if (self.failed_ == UCS_OK) self.unfit_ = unfit;
    self.fail(UCS_ERR_REJECTED);
    return is_here ? UCS_OK : UCS_ERR_REJECTED;
  };
  constexpr const char* kStrange = "an active message that is none of this library's came";
  constexpr const char* kTooMany =
      "65536 active messages, or 4 MiB of them, came before their receives: post more, or poll "
      "more often";
  ucp_tag_t tag = 0;
  if (header_bytes != sizeof tag) return refuse(kStrange);
  std::memcpy(&tag, header, sizeof tag);
  const std::uint64_t number = tag >> kNumberAt;
  if (number >= self.queue_pairs_.size()) return refuse(kStrange);
  if (bytes > self.max_size_)
    return refuse("an active message came that is longer than this side was opened for");
  QueuePair& pair = self.queue_pairs_[number];
  ReceiveContext* const receive = pair.receives.pop();
  if (receive != nullptr && is_here) [[likely]] {
    if (bytes != 0) std::memcpy(receive->buffer, data, bytes);
    self.arrived(*receive, tag, bytes);
    return UCS_OK;
  }
  Unclaimed message{.data = data, .bytes = bytes, .tag = tag, .is_here = is_here};
  if (receive != nullptr) return self.fill(*receive, message), UCS_OK;
  Unclaimed* const place = self.free_unclaimed_.pop();
  if (place == nullptr) return refuse(kTooMany);
  const bool stays = !is_here || (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
  if (!stays && !self.keep(message)) return refuse(kTooMany);
  *place = message;
  pair.unclaimed.push(*place);
  return stays ? UCS_INPROGRESS : UCS_OK;
}

/// False where there is no room.
bool Objects::keep(Unclaimed& message) noexcept {
  if (message.bytes > copies_.size() - copied_) return false;
  std::byte* const copy = copies_.data() + copied_;
  if (message.bytes != 0) std::memcpy(copy, message.data, message.bytes);
  message.data = copy;
  message.is_copied = true;
  copied_ += message.bytes;
  ++copies_waiting_;
  return true;
}

/// False where UCX cannot fetch it.
bool Objects::fill(ReceiveContext& receive, const Unclaimed& message) noexcept {
  if (message.is_here) {
    if (message.bytes != 0) std::memcpy(receive.buffer, message.data, message.bytes);
    arrived(receive, message.tag, message.bytes);
    return true;
  }
  receive.tag = message.tag;
  receive.is_posted = true;
  receive_param_.user_data = &receive;
  void* const result =
      calls_.active_receive(polled_, message.data, receive.buffer, message.bytes, &receive_param_);
  if (result != nullptr && !is_error(result)) return true;
  receive.is_posted = false;
  if (result == nullptr) {
    arrived(receive, message.tag, message.bytes);
  } else {
    fail(result);
  }
  return result == nullptr;
}

void Objects::on_fetched(void* request, ucs_status_t status, std::size_t bytes,
                         void* context) noexcept {
  auto& receive = *static_cast<ReceiveContext*>(context);
  Objects& owner = *receive.owner;
  receive.is_posted = false;
  if (status == UCS_OK) {
    owner.arrived(receive, receive.tag, bytes);
  } else {
    owner.fail(status);
  }
  owner.calls_.free(request);
}

PostStatus Objects::receive_active(ReceiveContext& receive) noexcept {
  QueuePair& pair = *receive.queue_pair;
  Unclaimed* const message = pair.unclaimed.pop();
  if (message == nullptr) return pair.receives.push(receive), PostStatus::posted;
  const bool is_filled = fill(receive, *message);
  if (message->is_copied) {
    if (--copies_waiting_ == 0) copied_ = 0;
  } else if (message->is_here) {
    calls_.active_release(polled_, message->data);
  }
  free_unclaimed_.push_front(*message);
  return is_filled ? PostStatus::posted : PostStatus::failed;
}

/// And those that come later, while the endpoint closes.
void Objects::drop_unclaimed() noexcept {
  for (QueuePair& pair : queue_pairs_) {
    pair.receives = {};
    while (const Unclaimed* const message = pair.unclaimed.pop()) {
      if (!message->is_copied) calls_.active_release(polled_, message->data);
    }
  }
  free_unclaimed_ = {};
}

}  // namespace rdmabench::inline v1::transport::ucx
