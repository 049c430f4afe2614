#include "rdmabench/transport/ucx/objects.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "context.h"
#include "loaded/library.h"
#include "transport/slots.h"

namespace rdmabench::inline v1::transport::ucx {
namespace {

constexpr std::uint32_t kAlways =
    UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
constexpr ucp_tag_t kImmediateBits = (ucp_tag_t{1} << kNumberAt) - 1;

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(loaded::ucp.function(name));
}

Calls find_calls() {
  Calls calls{};
  find(calls.tag_send, "ucp_tag_send_nbx");
  find(calls.tag_receive, "ucp_tag_recv_nbx");
  find(calls.active_send, "ucp_am_send_nbx");
  find(calls.active_receive, "ucp_am_recv_data_nbx");
  find(calls.active_release, "ucp_am_data_release");
  find(calls.put, "ucp_put_nbx");
  find(calls.get, "ucp_get_nbx");
  find(calls.atomic, "ucp_atomic_op_nbx");
  find(calls.flush, "ucp_ep_flush_nbx");
  find(calls.progress, "ucp_worker_progress");
  find(calls.free, "ucp_request_free");
  return calls;
}

memory::Buffer make_memory(const EndpointRequest& request, std::span<std::byte> buffer,
                           std::uint32_t slots) {
  memory::Request where = memory::parse_request(request.memory);
  where.numa = memory::parse_numa(request.numa);
  return make_slots(where, buffer, request, slots);
}

}  // namespace

Mapping::Mapping(ucp_context_h context, const memory::Buffer& memory) : context_(context) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  params.address = memory.data();
  params.length = memory.size();
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  check(ucp_mem_map(context, &params, &handle_), Fault::failed,
        fmt::format("ucp_mem_map() of {} bytes", memory.size()),
        "Raise 'ulimit -l', or lower `sizes` or `depth`.");
}

Mapping::~Mapping() {
  if (handle_ != nullptr) ucp_mem_unmap(context_, handle_);
}

std::string Mapping::key() const {
  void* packed = nullptr;
  std::size_t size = 0;
  check(ucp_rkey_pack(context_, handle_, &packed, &size), Fault::failed, "ucp_rkey_pack()");
  std::string bytes(static_cast<const char*>(packed), size);
  ucp_rkey_buffer_release(packed);
  return bytes;
}

Objects::Objects(const EndpointRequest& request, std::string_view /*choice*/)
    : calls_((check_messages(request), find_calls())),
      operations_(request.operations),
      max_size_(request.max_size),
      depth_(request.depth),
      longest_list_(request.options.post_list),
      flushed_from_(request.delivery || request.options.ofi.delivery ? Signal::by_interval
                                                                     : Signal::now),
      request_(request),
      context_(open_context(request)) {
  send_memory_ = make_memory(request, first_buffer(request), request.send_slots);
  receive_memory_ = make_memory(request, request.receive_buffer, request.receive_slots);
  window_memory_ = make_memory(request, first_buffer(request), request.send_slots);
  for (const std::span<std::byte> buffer : more_buffers(request)) {
    memory::Request where = memory::parse_request(request.memory);
    where.existing = buffer.data();
    more_memory_.emplace_back(where, buffer.size());
  }
  map_memory();
  prepare_posts();
  prepare_receives();
  worker_ = open_worker(context_.get());
  polled_ = worker_.get();
  if (is_active(request)) take_active_messages();
  if (request.options.events) {
    check(ucp_worker_get_efd(polled_, &wait_fd_), Fault::unavailable, "ucp_worker_get_efd()",
          "Leave out `events`, or name transports that have them by `ucx_tls`.");
  }
}

Objects::~Objects() {
  close();
}

void Objects::map_memory() {
  const auto map = [&](const memory::Buffer& memory) {
    return mappings_.emplace_back(context_.get(), memory).handle();
  };
  auto* const sends = map(send_memory_);
  receive_param_.memh = map(receive_memory_);
  map(window_memory_);
  send_region_ = region_of(send_memory_, first_buffer(request_), request_, request_.send_slots);
  receive_region_ =
      region_of(receive_memory_, request_.receive_buffer, request_, request_.receive_slots);
  window_region_ = region_of(window_memory_, first_buffer(request_), request_, request_.send_slots);
  regions_.push_back({send_region_.data, window_bytes(send_region_, request_), sends});
  for (const memory::Buffer& memory : more_memory_) {
    regions_.push_back({memory.data(), memory.size(), map(memory)});
  }
}

void Objects::prepare_posts() {
  queue_pairs_.resize(request_.options.queue_pairs);
  for (std::uint32_t i = 0; i < queue_pairs_.size(); ++i) {
    QueuePair& pair = queue_pairs_[i];
    pair.ends.data = send_region_.data;
    pair.tag = ucp_tag_t{i} << kNumberAt;
    pair.owner = this;
    pair.param.op_attr_mask = kAlways | UCP_OP_ATTR_FIELD_MEMH |
                              (request_.latency ? 0U : std::uint32_t{UCP_OP_ATTR_FLAG_MULTI_SEND});
    pair.param.cb.send = &on_sent;
    pair.param.user_data = &pair;
    pair.param.memory_type = UCS_MEMORY_TYPE_HOST;
    pair.param.memh = regions_[0].handle;
    pair.flush.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    pair.flush.cb.send = &on_sent;
    pair.flush.user_data = &pair;
    pair.atomic = pair.flush;
    pair.atomic.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    pair.atomic.datatype = ucp_dt_make_contig(kAtomicBytes);
    pair.borrowed = is_active(request_) ? pair.param : pair.atomic;
    pair.borrowed.cb.send = &on_operand;
    if (!operations_.has(OperationCode::compare_swap) && !is_active(request_)) continue;
    pair.operands.resize(request_.depth);
    for (Operand& operand : pair.operands) {
      operand = {.queue_pair = &pair, .word = 0, .next = pair.free_operands};
      pair.free_operands = &operand;
    }
  }
}

void Objects::prepare_receives() {
  // A message that is here before its receive comes by the callback too: releases before 1.18 tell
  // nothing of one that completes within the call.
  receive_param_.op_attr_mask = kAlways | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  // Short ones are copied, and looking at their handle costs a dozen instructions.
  constexpr std::uint64_t kCopied = 1024;
  if (max_size_ > kCopied) receive_param_.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
  receive_param_.cb.recv = &on_received;
  receive_param_.memory_type = UCS_MEMORY_TYPE_HOST;
  // Without immediates a receive matches one tag, which UCX finds by a table.
  tag_mask_ = ~(operations_.has(OperationCode::send_imm) ? kImmediateBits : ucp_tag_t{0});
  receives_.resize(std::size_t{request_.receives} * queue_pairs_.size());
  for (std::uint32_t slot = 0; slot < receives_.size(); ++slot) {
    ReceiveContext& receive = receives_[slot];
    receive.owner = this;
    receive.slot = slot;
    receive.queue_pair = &queue_pairs_[slot / request_.receives];
    receive.tag = receive.queue_pair->tag;
    receive.buffer = receive_region_.data + slot % receive_region_.slots * receive_region_.stride;
  }
  back_.resize(receives_.size());
  arrivals_.resize(std::bit_ceil(receives_.size()));
  arrivals_mask_ = arrivals_.size() - 1;
}

PostStatus Objects::receive_tagged(ReceiveContext& receive) noexcept {
  receive_param_.user_data = &receive;
  receive.is_posted = true;
  void* const result = calls_.tag_receive(polled_, receive.buffer, max_size_, receive.tag,
                                          tag_mask_, &receive_param_);
  if (is_error(result)) {
    receive.is_posted = false;
    fail(result);
    return PostStatus::failed;
  }
  if (receive.is_posted) receive.request = result;
  return PostStatus::posted;
}

[[gnu::flatten]] void Objects::post_given_back() noexcept {
  for (std::size_t i = 0; i < given_back_; ++i) receive_tagged(*back_[i]);
  given_back_ = 0;
}

void Objects::on_sent(void* request, ucs_status_t status, void* queue_pair) noexcept {
  auto& pair = *static_cast<QueuePair*>(queue_pair);
  Objects& owner = *pair.owner;
  --pair.under_way;
  --owner.under_way_;
  if (status != UCS_OK) owner.fail(status);
  owner.calls_.free(request);
}

void Objects::on_operand(void* request, ucs_status_t status, void* lent) noexcept {
  auto& operand = *static_cast<Operand*>(lent);
  operand.next = std::exchange(operand.queue_pair->free_operands, &operand);
  on_sent(request, status, operand.queue_pair);
}

void Objects::on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                          void* context) noexcept {
  auto& receive = *static_cast<ReceiveContext*>(context);
  Objects& owner = *receive.owner;
  receive.is_posted = false;
  if (status == UCS_OK) {
    owner.arrived(receive, info->sender_tag, info->length);
  } else {
    owner.fail(status);
  }
  owner.calls_.free(request);
}

void Objects::on_error(void* owner, ucp_ep_h /*ep*/, ucs_status_t status) noexcept {
  static_cast<Objects*>(owner)->fail(status);
}

bool Objects::has_regions(const RegionMessage& message, bool two_sided) const noexcept {
  const auto [local, remote, local_at, remote_at, bytes, word] = message;
  return local < regions_.size() && lies_within(local_at, bytes, regions_[local].bytes) &&
         (two_sided || (remote < peer_regions_.size() &&
                        lies_within(remote_at, bytes, peer_regions_[remote].bytes)));
}

Ends Objects::ends_of(const QueuePair& pair, const RegionMessage& message,
                      bool two_sided) const noexcept {
  Ends ends = pair.ends;
  ends.data = regions_[message.local].data;
  if (two_sided) return ends;
  ends.remote_base = peer_regions_[message.remote].base;
  ends.remote_key = pair.remote_keys[message.remote].get();
  return ends;
}

bool Objects::sleep(std::chrono::milliseconds at_most) noexcept {
  post_given_back();
  if (arrivals_begin_ != arrivals_end_ || failed_ != UCS_OK) return true;  // poll() tells it
  const ucs_status_t armed = ucp_worker_arm(polled_);
  if (armed == UCS_ERR_BUSY) return true;  // something came meanwhile
  if (armed == UCS_OK) {
    pollfd wait{.fd = wait_fd_, .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, static_cast<int>(at_most.count())) >= 0 || errno == EINTR) return true;
  }
  fail(armed != UCS_OK ? armed : UCS_ERR_IO_ERROR);
  return false;
}

}  // namespace rdmabench::inline v1::transport::ucx
