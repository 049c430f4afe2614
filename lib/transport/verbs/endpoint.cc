#include "rdmabench/transport/verbs/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "rdmabench/base/error.h"
#include "rdmabench/verbs/completion.h"
#include "rdmabench/verbs/device.h"
#include "rdmabench/verbs/queue_pair.h"
#include "wire.h"

namespace rdmabench::transport::verbs {
namespace {

namespace mechanism = rdmabench::verbs;
using mechanism::Context;

static_assert(Transport<Endpoint>);

constexpr std::uint32_t kDefaultInline =
    220;                       // what most adapters take without a larger work request
constexpr int kMaxReads = 16;  // outstanding reads: enough for any path, little memory

/// One entry per post and receive that may be outstanding, and one to spare.
std::uint64_t completion_entries(const EndpointRequest& request) {
  return std::uint64_t{request.depth} + request.receives + 1;
}

void check_limit(std::string_view what, std::uint64_t wanted, std::string_view limit_name,
                 std::int64_t limit, std::string_view device, std::string_view remedy) {
  if (limit <= 0 || wanted <= static_cast<std::uint64_t>(limit))
    return;  // 0: the device does not say
  throw Error(Fault::usage,
              fmt::format("{} {} on {}: its {} is {}", wanted, what, device, limit_name, limit),
              remedy);
}

/// Throws unless `request` makes sense and the device can carry it.
void check_request(const EndpointRequest& request, ibv_context& context, std::uint8_t port) {
  if (request.max_size == 0 || request.depth == 0 || request.receives == 0 ||
      request.send_slots == 0 || request.receive_slots == 0) {
    throw Error(Fault::usage, "an endpoint without size, depth, receives or slots",
                "Each is at least 1.");
  }
  if (request.signal_every == 0 || request.signal_every > request.depth) {
    throw Error(Fault::usage,
                fmt::format("one completion in {} posts with a depth of {}", request.signal_every,
                            request.depth),
                "Take --signal-every from 1 to --depth.");
  }
  const ibv_device_attr device = mechanism::query_device(context);
  const std::string_view name = ibv_get_device_name(context.device);
  const auto check = [name](std::string_view what, std::uint64_t wanted,
                            std::string_view limit_name, std::int64_t limit,
                            std::string_view remedy) {
    check_limit(what, wanted, limit_name, limit, name, remedy);
  };
  check("outstanding posts", request.depth, "max_qp_wr", device.max_qp_wr, "Lower --depth.");
  check("posted receives", request.receives, "max_qp_wr", device.max_qp_wr, "Lower --depth.");
  check("completion queue entries", completion_entries(request), "max_cqe", device.max_cqe,
        "Lower --depth.");
  check("byte messages", request.max_size, "max_msg_sz",
        mechanism::query_port(context, port).max_msg_sz, "Lower --size.");
}

Context open_checked(const Placement& placement, const EndpointRequest& request) {
  Context context = mechanism::open_device(placement.device);
  check_request(request, *context, placement.port);
  return context;
}

/// Bytes sent inline, before the device has had its say.
std::uint32_t wanted_inline(const EndpointRequest& request) {
  std::uint64_t wanted = request.latency ? kDefaultInline : 0;
  if (request.inline_limit >= 0) wanted = static_cast<std::uint64_t>(request.inline_limit);
  return static_cast<std::uint32_t>(std::min(wanted, request.max_size));
}

std::uint32_t random_psn() {
  return std::random_device{}() & 0xffffff;
}

std::uint8_t bound_reads(int limit) {
  return static_cast<std::uint8_t>(std::clamp(limit, 0, kMaxReads));
}

constexpr ibv_wr_opcode work_request_opcode(OperationCode code) {
  switch (code) {
    case OperationCode::send:
      return IBV_WR_SEND;
    case OperationCode::write:
      return IBV_WR_RDMA_WRITE;
    case OperationCode::write_imm:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case OperationCode::read:
      return IBV_WR_RDMA_READ;
    case OperationCode::send_imm:
      return IBV_WR_SEND_WITH_IMM;
    case OperationCode::fetch_add:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case OperationCode::compare_swap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
  }
  return IBV_WR_SEND;
}

}  // namespace

RegisteredSlots::RegisteredSlots(ibv_pd& domain, mechanism::Access access, std::uint64_t max_size,
                                 std::uint32_t count)
    : stride(memory::slot_stride(max_size)),
      slots(count),
      buffer(stride * count),
      region(mechanism::register_memory(domain, buffer.bytes(), access)) {}

Endpoint::Endpoint(const EndpointRequest& request, std::string_view choice)
    : request_(request),
      placement_(read_placement(choice)),
      context_(open_checked(placement_, request)),
      domain_(mechanism::allocate_protection_domain(*context_)),
      sends_(*domain_, mechanism::Access::local, request.max_size, request.send_slots),
      receives_(*domain_, mechanism::Access::local, request.max_size, request.receive_slots),
      window_(*domain_, mechanism::Access::window, request.max_size, request.send_slots),
      completions_(mechanism::create_completion_queue(
          *context_, static_cast<std::uint32_t>(completion_entries(request)))),
      depth_(request.depth),
      signal_every_(request.signal_every),
      until_signal_(request.signal_every),
      psn_(random_psn()) {
  const std::uint32_t inline_bytes = wanted_inline(request);
  mechanism::SizedQueuePair sized = mechanism::create_queue_pair(
      *domain_, *completions_,
      {.sends = request.depth, .receives = request.receives, .inline_bytes = inline_bytes});
  queue_pair_ = std::move(sized.queue_pair);
  inline_bytes_ = std::min(inline_bytes, sized.inline_bytes);
  mechanism::initialize(*queue_pair_, placement_.port);

  const ibv_device_attr device = mechanism::query_device(*context_);
  const ibv_port_attr port = mechanism::query_port(*context_, placement_.port);
  driver_ = mechanism::driver_name(*context_->device);
  gid_ = mechanism::query_gid(*context_, placement_.port, placement_.gid_index);
  lid_ = port.lid;
  ethernet_ = port.link_layer == IBV_LINK_LAYER_ETHERNET;
  reads_in_ = bound_reads(device.max_qp_rd_atom);
  reads_out_ = bound_reads(device.max_qp_init_rd_atom);
  build_requests();
}

void Endpoint::build_requests() {
  sge_.lkey = sends_.region->lkey;
  send_address_ = reinterpret_cast<std::uintptr_t>(sends_.buffer.data());
  send_wr_.sg_list = &sge_;
  send_wr_.num_sge = 1;
  token_wr_.opcode = IBV_WR_SEND;  // and no scatter/gather entry: a message of 0 bytes

  receive_sge_.lkey = receives_.region->lkey;
  receive_sge_.length = static_cast<std::uint32_t>(request_.max_size);
  receive_wr_.sg_list = &receive_sge_;
  receive_wr_.num_sge = 1;
  const auto first = reinterpret_cast<std::uintptr_t>(receives_.buffer.data());
  for (std::uint32_t slot = 0; slot < request_.receives; ++slot) {
    receive_addresses_.push_back(first + slot % receives_.slots * receives_.stride);
  }
}

std::string Endpoint::address() const {
  return write_address({.qpn = queue_pair_->qp_num,
                        .psn = psn_,
                        .lid = lid_,
                        .gid = gid_,
                        .mtu = placement_.mtu,
                        .reads_in = reads_in_,
                        .window_key = window_.region->rkey,
                        .window = reinterpret_cast<std::uintptr_t>(window_.buffer.data()),
                        .window_bytes = window_.buffer.size(),
                        .stride = window_.stride});
}

void Endpoint::connect(std::string_view peer_address) {
  if (!peer_.empty()) throw Error(Fault::usage, "a verbs endpoint was connected twice");
  const Address peer = read_address(peer_address);
  // Both sides open the same slots, so what this side touches of the peer's window is its own
  // layout.
  if (peer.stride != window_.stride || peer.window_bytes < window_.buffer.size()) {
    throw Error(
        Fault::failed,
        fmt::format("the peer's window has {} bytes in slots of {}, and this side needs {} in "
                    "slots of {}",
                    peer.window_bytes, peer.stride, window_.buffer.size(), window_.stride),
        "Run the same release of rdmabench on both sides.");
  }
  if (peer.mtu != placement_.mtu) {
    throw Error(Fault::failed, fmt::format("the peer's path MTU is {} and this side's is {}",
                                           peer.mtu, placement_.mtu));
  }
  window_address_ = peer.window;
  window_key_ = peer.window_key;
  reads_out_ = std::min(reads_out_, peer.reads_in);
  post_all_receives();
  mechanism::connect(*queue_pair_, {.port = placement_.port,
                                    .gid_index = placement_.gid_index,
                                    .global = placement_.global,
                                    .mtu = placement_.mtu,
                                    .local_psn = psn_,
                                    .remote_psn = peer.psn,
                                    .remote_qpn = peer.qpn,
                                    .remote_lid = peer.lid,
                                    .remote_gid = peer.gid,
                                    .reads_out = reads_out_,
                                    .reads_in = reads_in_});
  peer_ = fmt::format("{} LID {} queue pair {}", to_text(peer.gid), peer.lid, peer.qpn);
}

void Endpoint::post_all_receives() {
  for (std::uint32_t slot = 0; slot < request_.receives; ++slot) {
    if (post_receive(slot) == PostStatus::posted) continue;
    throw Error(Fault::failed, fmt::format("ibv_post_recv({} of {})", slot + 1, request_.receives),
                "Lower --depth.", failed_code_);
  }
}

void Endpoint::prepare(OperationCode code, std::uint64_t size) {
  if (size == 0 || size > request_.max_size) {
    throw Error(Fault::usage, fmt::format("a message of {} bytes", size),
                fmt::format("This endpoint was opened for 1 to {} bytes.", request_.max_size));
  }
  // Its completion would be taken for one of the posts to come.
  if (completed_ != posted_) {
    throw Error(Fault::failed, fmt::format("{} posts have not completed", posted_ - completed_),
                "Post the last one with Signal::now and poll until it completes.");
  }
  posted_ = completed_ = 0;
  until_signal_ = signal_every_;
  sge_.length = static_cast<std::uint32_t>(size);
  send_wr_.opcode = work_request_opcode(code);
  send_wr_.wr.rdma.rkey = window_key_;
  const bool carries_data = code != OperationCode::read;
  send_flags_ = carries_data && size <= inline_bytes_ ? IBV_SEND_INLINE : 0;
}

Description Endpoint::describe() const {
  Description description{.backend = "verbs",
                          .provider = driver_.empty() ? "verbs" : driver_,
                          .device = fmt::format("{}:{}", placement_.device, placement_.port),
                          .transport = "rc",
                          .completion = "delivery",
                          .details = {}};
  const auto add = [&description](std::string_view key, std::string value) {
    description.details.emplace_back(key, std::move(value));
  };
  add("link_layer", ethernet_ ? "Ethernet" : "InfiniBand");
  add("gid", to_text(gid_));
  add("gid_index", std::to_string(placement_.gid_index));
  if (lid_ != 0) add("lid", std::to_string(lid_));
  add("path", placement_.reason);
  add("mtu", std::to_string(placement_.mtu));
  add("inline", std::to_string(inline_bytes_));
  add("max_rd_atomic", std::to_string(reads_out_));
  return description;
}

std::string Endpoint::failure() const {
  if (!failed_) return "nothing failed";
  std::string text;
  if (failed_call_ != nullptr) {
    text = fmt::format("{}: {}.", failed_call_, errno_text(failed_code_));
  } else {
    const std::uint64_t id = failed_completion_.wr_id;
    const bool receive = (id & kReceiveBit) != 0;
    text = fmt::format("{} {}: {}", receive ? "receive" : "post", id & ~kReceiveBit,
                       mechanism::to_text(failed_completion_));
  }
  return fmt::format("{} On {}:{} {} queue pair {}, to {}, path MTU {}.", text, placement_.device,
                     placement_.port, to_text(gid_), queue_pair_->qp_num,
                     peer_.empty() ? "no peer yet" : peer_, placement_.mtu);
}

PostStatus Endpoint::refuse_send(int code) noexcept {
  until_signal_ = 1;  // the request was not posted: let the next one carry the signal
  // A queue that is full empties as completions are polled; with nothing outstanding it never will.
  if (code == ENOMEM && posted_ != completed_) return PostStatus::busy;
  return refuse("ibv_post_send", code);
}

PostStatus Endpoint::refuse(const char* call, int code) noexcept {
  if (!failed_) {
    failed_ = true;
    failed_call_ = call;
    failed_code_ = code;
  }
  return PostStatus::failed;
}

int Endpoint::fail(const ibv_wc& completion) noexcept {
  // The first is the cause; what is flushed after it only follows.
  if (!failed_) {
    failed_ = true;
    failed_completion_ = completion;
  }
  return -1;
}

int Endpoint::fail(int poll_result) noexcept {
  refuse("ibv_poll_cq", poll_result < 0 ? -poll_result : EIO);
  return -1;
}

}  // namespace rdmabench::transport::verbs
