// How an endpoint of UCX finds its peer, and leaves it.
#include <fmt/format.h>

#include <algorithm>

#include "context.h"
#include "messages.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/log.h"
#include "rdmabench/transport/ucx/objects.h"
#include "transport/slots.h"

namespace rdmabench::inline v1::transport::ucx {

std::string Objects::address() const {
  ucp_address_t* packed = nullptr;
  std::size_t size = 0;
  check(ucp_worker_get_address(worker_.get(), &packed, &size), Fault::failed,
        "ucp_worker_get_address()");
  Address address{.version = version(),
                  .worker = std::string(reinterpret_cast<const char*>(packed), size),
                  .queue_pairs = request_.options.queue_pairs,
                  .service = request_.options.service};
  ucp_worker_release_address(worker_.get(), packed);
  constexpr std::size_t kWindow = 2;  // of the mappings
  const auto add = [&](const std::byte* data, std::uint64_t bytes, const Mapping& mapping) {
    address.regions.push_back({reinterpret_cast<std::uintptr_t>(data), bytes, mapping.key()});
  };
  add(window_region_.data, window_bytes(window_region_, request_), mappings_[kWindow]);
  for (std::size_t i = 0; i < more_memory_.size(); ++i) {
    add(more_memory_[i].data(), more_memory_[i].size(), mappings_[kWindow + 1 + i]);
  }
  return write_address(address);
}

void Objects::connect(std::string_view peer_address) {
  const Address peer = read_address(peer_address);
  check_leave(request_);
  const std::uint64_t own = window_bytes(window_region_, request_);
  if (request_.buffers.empty() && peer.regions[0].bytes != own) {
    throw Error(
        Fault::failed,
        fmt::format("the peer's window has {} bytes, this side's {}", peer.regions[0].bytes, own),
        "Both sides must be opened for the same messages.");
  }
  if (peer.queue_pairs != request_.options.queue_pairs) {
    throw Error(Fault::failed,
                fmt::format("the peer has {} queue pairs, not {}", peer.queue_pairs,
                            request_.options.queue_pairs),
                "Both sides must be opened for the same queue pairs.");
  }
  if (peer.service != request_.options.service) {
    throw Error(Fault::failed,
                fmt::format("the peer's messages are of `service` {}, this side's of {}",
                            name(peer.service), name(request_.options.service)),
                "Both sides must be opened for the same messages.");
  }
  peer_regions_ = peer.regions;
  for (ReceiveContext& receive : receives_) {
    const PostStatus posted =
        is_active(request_) ? receive_active(receive) : receive_tagged(receive);
    if (posted == PostStatus::posted) continue;
    throw Error(Fault::failed, failure(), "Lower `depth`.");
  }
  open_queue_pairs(peer.worker);
  log_line(
      [&] { return fmt::format("chosen: ucx: {}", quoted_lanes(ucx::lanes(queue_pairs_[0].ep))); });
}

void Objects::open_queue_pairs(std::string_view worker_address) {
  // UCX reads what it packed itself by what the bytes say, and not by their number: zeros behind
  // them end that.
  constexpr std::size_t kZeros = 4096;
  std::string address(worker_address);
  address.resize(address.size() + kZeros);
  for (QueuePair& pair : queue_pairs_) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler = {.cb = &on_error, .arg = this};
    check(ucp_ep_create(worker_.get(), &params, &pair.ep), Fault::failed, "ucp_ep_create()",
          "Both sides need transports that reach the other and report a dead peer: see `ucx_tls`.");
    for (const PeerRegion& region : peer_regions_) {
      std::string key(region.key);
      key.resize(key.size() + kZeros);
      ucp_rkey_h unpacked = nullptr;
      check(ucp_ep_rkey_unpack(pair.ep, key.data(), &unpacked), Fault::failed,
            "ucp_ep_rkey_unpack()", "Use the same UCX on both sides.");
      pair.remote_keys.emplace_back(unpacked);
    }
    pair.ends.remote_base = peer_regions_[0].base;
    pair.ends.remote_key = pair.remote_keys[0].get();
  }
}

/// A flush first, so that nothing of ours is lost on its way, and bounded: a dead peer, or one that
/// is idle, answers none. Then by force, which UCX permits in error mode PEER alone, and which
/// needs some progress of its own.
void Objects::close() noexcept {
  constexpr auto kLongest = std::chrono::seconds(1);
  // The endpoints of a run close one after another in one thread, and all of them within its
  // timeout: those behind one that waited in vain wait a tenth.
  static thread_local Deadline waited_in_vain = Deadline::after({});
  const int share = waited_in_vain.passed() ? 1 : 10;
  const auto wait = [&](std::chrono::nanoseconds longest, const auto& done) {
    const Deadline deadline = Deadline::after(longest / share);
    while (!done()) {
      calls_.progress(polled_);
      if (!deadline.passed()) continue;
      waited_in_vain = Deadline::after(kLongest);
      return;
    }
  };
  if (failed_ == UCS_OK && posted_ != 0) {
    for (QueuePair& pair : queue_pairs_) {
      if (pair.ep == nullptr) continue;
      void* const flush = calls_.flush(pair.ep, &pair.flush);
      if (flush == nullptr || is_error(flush)) continue;
      ++pair.under_way;
      ++under_way_;
    }
    wait(std::min<std::chrono::nanoseconds>(request_.timeout / 4, kLongest),
         [&] { return under_way_ == 0 || failed_ != UCS_OK; });
  }
  drop_unclaimed();
  for (QueuePair& pair : queue_pairs_) {
    pair.remote_keys.clear();
    if (pair.ep == nullptr) continue;
    ucp_request_param_t force{};
    force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    force.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* const closing = ucp_ep_close_nbx(pair.ep, &force);
    if (closing == nullptr || is_error(closing)) continue;
    calls_.free(
        closing);  // once it has completed, which the loop below and the worker's end see to
  }
  wait(std::chrono::milliseconds(100), [&] { return under_way_ == 0; });
  for (ReceiveContext& receive : receives_) {
    if (receive.is_posted && receive.request != nullptr)
      ucp_request_cancel(polled_, receive.request);
  }
}

}  // namespace rdmabench::inline v1::transport::ucx
